//! Whole deployments as real processes: shufflers, the analyzer, respondents over TLS, and releases.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod booking;
mod budgets;
#[path = "../support/crowd.rs"]
mod crowd;
mod instances;
mod restarts;
mod rotation;
mod surveys;
#[path = "../support/town.rs"]
mod town;
