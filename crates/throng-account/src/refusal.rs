//! Refusals: what a privacy or crowd rule says no to, which is not a failure.

use std::fmt;

/// The error of a request that a privacy or crowd rule stopped: a sentence that names the rule.
#[derive(Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.0)
    }
}

impl std::error::Error for Refusal {}
