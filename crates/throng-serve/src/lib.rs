//! The parties that run for as long as a survey does, as servers.
//!
//! | question | where |
//! |---|---|
//! | how does a hop run? | [`shuffler`], on files by [`file_store`] |
//! | how does an analyzer run? | [`analyzer`] |
//! | what does an analyzer keep, and how does it become a release? | [`analysis`] |
//! | what does its operator see? | [`dashboard`], [`operate`] |
//! | who draws and simulates? | [`studio`] |
//! | what went wrong, and what can be done about it? | [`Error`] |
//! | what can anyone check of a release? | [`verify`] |

pub mod analysis;
pub mod analyzer;
pub mod dashboard;
mod drawn;
mod error;
pub mod file_store;
pub mod operate;
mod reason;
pub mod shuffler;
pub mod studio;
pub mod verify;

pub use analyzer::{AnalyzerConfig, AnalyzerServer};
pub use drawn::Drawn;
pub use error::{Error, Result};
pub use operate::{Contacts, Log, LogFormat, OperatorPort, Vitals};
pub use reason::Reason;
pub use shuffler::{Shuffler, ShufflerConfig};
pub use studio::Studio;
