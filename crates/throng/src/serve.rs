//! The parties that run for as long as a survey does, as servers.

mod about;
pub mod analyzer;
mod config_file;
pub mod contacts;
mod damage;
pub mod directory;
pub mod group_commit;
mod layer_keys;
pub mod log;
pub mod operator_port;
mod reasons;
pub mod shuffler;
mod survey_files;
pub mod vitals;
mod waits;
mod worker;

pub use analyzer::{AnalyzerConfig, AnalyzerServer};
pub use contacts::Contacts;
pub use log::{Log, LogFormat};
pub use operator_port::OperatorPort;
pub use shuffler::{Shuffler, ShufflerConfig};
pub use vitals::Vitals;
