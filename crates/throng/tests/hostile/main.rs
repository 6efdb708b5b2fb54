//! Deployments in which a party, a respondent or a clock does not keep to the rules, among others who do.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod clocks;
mod fake_hop;
mod hops;
mod respondents;

use throng_testing::program::Program;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
