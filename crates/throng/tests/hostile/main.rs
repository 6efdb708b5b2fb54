//! Deployments in which a party, a respondent or a clock does not keep to the rules, among others who do.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod clocks;
#[path = "../support/crowd.rs"]
mod crowd;
mod fake_hop;
mod hops;
mod respondents;
#[path = "../support/town.rs"]
mod town;
