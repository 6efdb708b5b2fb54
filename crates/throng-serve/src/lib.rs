//! The servers of a survey, shuffler and analyzer; and the analyzer's releases, as a call:
//!
//! ```
//! # let finished = throng_testing::finished_epoch::FinishedEpoch::new(3000);
//! # let (dir, survey, epoch) = (finished.analyzer(), finished.bundle(), finished.epoch);
//! use throng_serve::Analyzer;
//!
//! let released = Analyzer::open(dir)?.release(&survey, epoch)?;
//! let largest = &released.top[0];
//! println!("about {:.0} hold {}", largest.estimate, largest.name);
//! println!("epsilon_central {:.2}", released.promise.central.epsilon_central);
//! # assert_eq!((released.respondents, released.epsilon_spent <= 10.0), (3000, true));
//! # let early = Analyzer::open(finished.analyzer())?.release(survey, epoch + 1).unwrap_err();
//! # assert_eq!(early.kind(), throng_host::ErrorKind::Invalid);
//! # Ok::<(), throng_serve::Error>(())
//! ```
//!
//! | question | where |
//! |---|---|
//! | how does a hop run? | [`shuffler`], on files by [`file_store`] |
//! | what does an epoch say, and what does that spend? | [`Analyzer`] |
//! | how does an analyzer run? | [`analyzer`] |
//! | what does an analyzer keep, and how does it become a release? | [`analysis`] |
//! | what does its operator see? | [`dashboard`], [`operate`] |
//! | who draws and simulates? | [`studio`] |
//! | what went wrong, and what can be done about it? | [`Error`] |
//! | what can anyone check of a release? | [`verify`] |

pub mod analysis;
pub mod analyzer;
pub mod dashboard;
mod error;
pub mod file_store;
pub mod operate;
mod raster;
mod reason;
pub mod shuffler;
pub mod studio;
pub mod verify;

pub use analyzer::{Analyzer, AnalyzerConfig, AnalyzerServer, ReleaseOptions};
pub use error::{Error, Result};
pub use operate::{Contacts, Log, LogFormat, OperatorPort, Vitals};
pub use raster::Raster;
pub use reason::Reason;
pub use shuffler::{Shuffler, ShufflerConfig};
pub use studio::Studio;
