//! The privacy accountant: central differential privacy, of all reports together.
//!
//! Everything here takes guarantees and counts, as data, and answers with a guarantee or with the reason why none
//! can be given. n always counts honest respondents.
//!
//! | question | where |
//! |---|---|
//! | what does a crowd add to a local guarantee? | [`amplification`], one bound per file |
//! | which bound is meant by a name? | [`bound`] |
//! | what do several releases guarantee together? | [`composition`], [`epochs`], [`ledger`] |
//! | what does a crowd label cost? | [`label`], [`deletion`] |
//! | what does a release say about whether somebody took part at all? | [`absence`] |
//! | what is left if parties are compromised? | [`attacker`] |
//! | how often does a loss exceed its ε? | [`exceeded`] |
//! | how often do two bits of a person meet at one instance? | [`meeting`] |
//! | what can one respondent who lies do to an estimate? | [`liar`] |
//! | which parameters does a survey need? | [`planner`] |
//! | what do the terms of a survey guarantee, for the crowd that took part? | [`terms`] |
//! | what would a trusted party have to add? | [`gaussian`], [`composition::DpSgd`] |
//! | how is long work cancelled? | [`CancelToken`], [`planner::plan_while`], [`terms::Terms::guarantee_while`] |
//! | what does a frequency say about a probability? | [`clopper_pearson()`] |
//! | what do two frequencies say about ε? | [`distinguishing`] |

pub mod absence;
pub mod amplification;
pub mod attacker;
mod binomial;
pub mod bound;
pub mod clopper_pearson;
pub mod composition;
pub mod deletion;
pub mod distinguishing;
pub mod epochs;
mod error;
pub mod exceeded;
pub mod gaussian;
pub mod label;
pub mod ledger;
pub mod liar;
pub mod meeting;
mod memo;
mod patience;
pub mod planner;
mod refusal;
pub mod rounding;
pub mod terms;
#[cfg(test)]
mod testing;
pub mod traffic;

pub use clopper_pearson::clopper_pearson;
pub use error::Error;
pub use patience::{CancelToken, TO_THE_END};
pub use refusal::Refusal;
