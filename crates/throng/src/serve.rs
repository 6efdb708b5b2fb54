//! The parties that run for as long as a survey does, as servers.

pub mod group_commit;
pub mod shuffler;
mod worker;

pub use shuffler::{Shuffler, ShufflerConfig};
