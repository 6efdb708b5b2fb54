//! Statistics from a crowd of people without data about any of them.
//!
//! This is the library behind the program `throng`, and the only crate of the project that touches files, the
//! clock or the operating system's entropy. What one report guarantees is in `throng_dp`.
//!
//! ```
//! use throng::dataset::Dataset;
//! use throng::simulation::{Mode, Simulation};
//! use throng_dp::{Epsilon, Mechanism, OneHot};
//!
//! // Three respondents hold the first value, nobody the second, five the third.
//! let crowd = Dataset::of_counts("crowd", vec![3, 0, 5])?;
//! let mechanism = Mechanism::plain(OneHot::new(crowd.domain(), Epsilon::new(20.0)?)?);
//! let counts = crowd.counts();
//! let simulation = Simulation { mechanism: &mechanism, counts, mode: Mode::Respondent, seed: 7, threads: 1 };
//! let estimates = simulation.run(|_| ())?.estimates;
//! assert!(estimates.counts().iter().zip([3.0, 0.0, 5.0]).all(|(count, truth)| (count - truth).abs() < 0.001));
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod cli;
pub mod commands;
pub mod exit;
pub use throng_host::memory;
pub mod progress;
pub mod questions;
