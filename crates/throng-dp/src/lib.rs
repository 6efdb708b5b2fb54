//! The privacy and utility of one report.

#[cfg(test)]
mod contract;
mod error;
pub mod estimate;
pub mod fragmenting;
mod guarantee;
pub mod normal;
pub mod randomizer;
pub mod sampling;
#[cfg(test)]
mod testing;

pub use error::Error;
pub use estimate::{Estimates, Tally};
pub use fragmenting::{Attributes, Backstop, ReportFragments};
pub use guarantee::{CentralGuarantee, Delta, Epsilon, LocalGuarantee, Neighbors, Removal, Replacement};
pub use randomizer::binary::Binary;
pub use randomizer::count_sketch::{CountSketch, PlainSketch, SketchShape};
pub use randomizer::gradient::{Gradient, GradientReport};
pub use randomizer::one_hot::OneHot;
pub use randomizer::repeated::Repeated;
pub use randomizer::set_valued::{SetValued, Spend};
pub use randomizer::{BitRandomizer, Estimator, ExactDistribution, Probability, Randomizer};
