//! Whole deployments as real processes: shufflers, the analyzer, respondents over TLS, and releases.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod booking;
mod budgets;
mod instances;
mod restarts;
mod rotation;
mod surveys;

use throng_testing::program::Program;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
