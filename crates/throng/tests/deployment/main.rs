//! Whole deployments as real processes: shufflers, the analyzer, respondents over TLS, and releases.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod surveys;
#[path = "../support/town.rs"]
mod town;
