//! Statistics from a crowd of people without data about any of them.
//!
//! This is the library behind the program `throng`, and the only crate of the project that touches files, the
//! clock or the operating system's entropy. What one report guarantees is in `throng_dp`.
//!
//! ```
//! use throng::picture::Picture;
//! use throng::pipeline;
//! use throng_dp::{Epsilon, OneHot};
//!
//! // Three respondents hold the first pixel, nobody the second, five the third.
//! let truth = Picture::new(3, 1, vec![3, 0, 5])?;
//! let mechanism = OneHot::new(truth.domain(), Epsilon::new(20.0)?)?;
//! let outcome = pipeline::run(&mechanism, &truth.values(), &[[7; 32]], |_| ())?; // real seeds are random
//! assert_eq!(truth.redrawn(outcome.estimates.counts()).pixels(), [3, 0, 5]);
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod bound;
pub mod cli;
pub mod commands;
pub mod dataset;
pub mod exit;
pub mod experiments;
pub mod memory;
pub mod out_dir;
pub mod picture;
pub mod pipeline;
pub mod plot;
pub mod progress;
pub mod rank_plot;
pub mod simulation;
pub mod terminal;
