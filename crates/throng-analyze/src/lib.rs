//! ANALYZE: fragments become tallies, tallies become estimates with their errors.
//!
//! Pure: values in, values out. Opening sealed fragments and releasing results come with the shufflers.

mod accuracy;
mod analyzer;
mod ranking;

pub use accuracy::{Accuracy, rmse};
pub use analyzer::Analyzer;
pub use ranking::{Ranked, ranking};
