//! The parties that run for as long as a survey does, as servers.

pub mod analyzer;
pub mod group_commit;
mod layer_keys;
pub mod shuffler;
mod waits;
mod worker;

pub use analyzer::{AnalyzerConfig, AnalyzerServer};
pub use shuffler::{Shuffler, ShufflerConfig};
