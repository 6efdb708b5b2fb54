//! The privacy of all reports together.
//!
//! Everything here takes guarantees and counts, as data, and answers with a guarantee or with the reason why none
//! can be given. n always counts honest respondents.

pub mod amplification;
pub mod attacker;
mod binomial;
pub mod composition;
pub mod deletion;
pub mod epochs;
mod error;
pub mod gaussian;
pub mod ledger;
pub mod planner;

pub use error::Error;
