//! ANALYZE: fragments become tallies, tallies become estimates with their errors.
//!
//! Pure: values in, values out.

mod accuracy;
mod analyzer;
mod batch;
mod ranking;

pub use accuracy::{Accuracy, rmse};
pub use analyzer::Analyzer;
pub use batch::{BatchOpener, Rejected};
pub use ranking::{Ranked, ranking};
