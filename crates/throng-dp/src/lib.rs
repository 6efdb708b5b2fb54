//! The privacy and utility of one report.
//!
//! This is the crate to audit first: every coin that protects a respondent is tossed here, every guarantee about a
//! single report is computed here, and nothing here touches a file, a socket, a clock or the system's entropy.
//!
//! | idea | where |
//! |---|---|
//! | epsilon, delta, removal and replacement | [`Epsilon`], [`Delta`], [`LocalGuarantee`] |
//! | exact coins | [`sampling`] |
//! | one yes-or-no question | [`Binary`] |
//! | a histogram, one bit per value | [`OneHot`] |
//! | a large domain, hashed | [`CountSketch`], [`PlainSketch`] |
//! | several attributes, of which one is sampled | [`Record`], [`Attributes`] |
//! | a set of values, sampled or with a split budget | [`SetValued`] |
//! | several runs with a split budget | [`Repeated`] |
//! | fragments behind a backstop, over epochs in which answers change | [`ReportFragments`], [`PermanentCoins`], [`AnswerSeries`] |
//! | a gradient in 129 bits, or in 128 with less noise | [`Gradient`], [`PrivUnit`] |
//! | whichever of these a survey names: encoding and coins, what it reads and what it gives | [`Mechanism`], [`Encoding`], [`Coins`], [`Value`], [`Fragments`] |
//! | counts with their errors | [`Tally`], [`Estimates`], [`estimate`] |

mod assignment;
#[cfg(test)]
mod contract;
mod encoding;
mod error;
pub mod estimate;
pub mod fragmenting;
mod fragments;
mod guarantee;
mod mechanism;
pub mod normal;
pub mod randomizer;
pub mod sampling;
#[cfg(test)]
mod testing;
mod value;

pub use encoding::{EncodedReport, Encoding, EncodingKind};
pub use error::Error;
pub use estimate::{Coins, Estimates, Tally};
pub use fragmenting::{AnswerSeries, Backstop, PermanentCoins, ReportFragments};
pub use fragments::Fragments;
pub use guarantee::{
    Absence, CentralGuarantee, Delta, Epsilon, LocalGuarantee, Neighbors, Relabelling, Removal, Replacement,
};
pub use mechanism::Mechanism;
pub use randomizer::attributes::Attributes;
pub use randomizer::binary::Binary;
pub use randomizer::count_sketch::{CountSketch, PlainSketch, RowCells, SketchShape, SketchSums};
pub use randomizer::gradient::{Gradient, GradientRandomizer, GradientReport, PrivUnit};
pub use randomizer::one_hot::OneHot;
pub use randomizer::record::Record;
pub use randomizer::repeated::Repeated;
pub use randomizer::set_valued::{SetValued, Spend};
pub use randomizer::{BitRandomizer, Estimator, ExactDistribution, Probability, Randomizer};
pub use value::Value;
