//! Privacy audits: attempts to break the promises, each with a verdict and its confidence.
//!
//! | promise | where |
//! |---|---|
//! | a report is ε_local-private, whatever fails | [`local`], and [`randomizers`], over [`reports`], [`labels`] and [`gradients`] |
//! | a release is (ε_central, δ)-private | [`central`], by its counts |
//! | hops and the network cannot tell what somebody answered, or whether they had anything to say | [`wire`] |
//! | a model is as private as its statement says | [`membership`] |
//!
//! A measurement can refute a promise and never prove one: *kept* means that this attack did not break it, with the number of
//! tries that is stated. The proofs are in the accountant and in the exact tests; an audit looks for the bugs that they cannot
//! see.

pub mod central;
mod counts;
pub mod game;
pub mod gradients;
pub mod labels;
pub mod local;
pub mod membership;
pub mod randomizers;
pub mod reports;
pub mod verdict;
pub mod wire;

pub use verdict::Verdict;
