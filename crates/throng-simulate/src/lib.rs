//! Simulation of surveys on a known truth, in memory: data sets, and crowds that answer.
//!
//! | question | where |
//! |---|---|
//! | what does a crowd hold? | [`dataset`] |
//! | what does a survey make of it? | [`simulation`] |
//! | which names does a person type for these? | [`Choice`], [`choices!`] |

pub mod choice;
pub mod dataset;
pub mod simulation;

pub use choice::Choice;
