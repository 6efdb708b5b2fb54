//! Local differential privacy: the privacy and utility of one report.
//!
//! This is the crate to audit first: every coin that protects a respondent is tossed here, every guarantee about a
//! single report is computed here, and nothing here touches a file, a socket, a clock or the system's entropy.
//!
//! | question | type |
//! |---|---|
//! | how is a guarantee written: epsilon, delta, and between which neighbors? | [`Epsilon`], [`Delta`], [`LocalGuarantee`] |
//! | how is a coin tossed exactly? | [`sampling`] |
//! | how is one yes-or-no question answered? | [`Binary`] |
//! | how is a histogram reported, one bit per value? | [`OneHot`] |
//! | and a domain that is too large for that? | [`CountSketch`], [`PlainSketch`] |
//! | and several attributes, of which one is sampled? | [`Record`], [`Attributes`] |
//! | and a set of values, sampled or with a split budget? | [`SetValued`] |
//! | what do several runs with a split budget give? | [`Repetition`] |
//! | what is sent over many epochs, in which answers may change? | [`ReportFragments`], [`PermanentCoins`], [`AnswerSeries`] |
//! | how is a gradient sent in 129 bits, or in 128 with less noise? | [`Gradient`], [`PrivUnit`] |
//! | which of these does a survey name, what does it read and what does it give? | [`Mechanism`], [`Encoding`], [`Coins`], [`Value`], [`Fragments`] |
//! | which counts follow, with which errors? | [`Tally`], [`Estimates`], [`estimate`] |

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
pub use randomizer::repetition::Repetition;
pub use randomizer::set_valued::{SetValued, Spend};
pub use randomizer::{BitRandomizer, Estimator, ExactDistribution, Probability, Randomizer};
pub use value::Value;
