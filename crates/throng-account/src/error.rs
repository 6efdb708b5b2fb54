//! Why there is no answer.

use thiserror::Error;

/// Every way in which the accountant refuses a question, each saying what to change.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A bound was asked outside the conditions under which it is proved.
    #[error("not applicable: {0}")]
    NotApplicable(String),
    /// A bound that does not exist.
    #[error("there is no bound called {0:?}; use one of {names}", names = bounds())]
    UnknownBound(String),
    /// A parameter that makes no sense.
    #[error("{what} is {got}; {expected}")]
    Parameter {
        /// Which parameter.
        what: &'static str,
        /// The number given.
        got: f64,
        /// What to give instead.
        expected: &'static str,
    },
    /// A target that no survey can meet.
    #[error("no such survey: {reason}{}", if alternatives.is_empty() { String::new() } else { format!("; feasible would be: {}", alternatives.join("; or ")) })]
    Infeasible {
        /// Why not.
        reason: String,
        /// What is near and would work.
        alternatives: Vec<String>,
    },
    /// A budget or another rule says no.
    #[error("refused: {0}")]
    Refused(String),
    /// A privacy parameter that is not one.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
}

fn bounds() -> String {
    let names: Vec<&str> = crate::bound::BOUNDS.iter().map(|bound| bound.name).collect();
    names.join(", ")
}
