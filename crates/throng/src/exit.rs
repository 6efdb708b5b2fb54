//! Exit codes: scripts can tell a refusal from a failure.

use std::fmt;

/// The command did what it was asked to.
pub const DONE: u8 = 0;
/// A privacy or crowd rule said no. Nothing is wrong with the program or its input.
pub const REFUSED: u8 = 1;
/// Something went wrong. Usage errors have the same code.
pub const FAILED: u8 = 2;

/// The error of a command that a privacy or crowd rule stopped: a sentence that names the rule.
#[derive(Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.0)
    }
}

impl std::error::Error for Refusal {}

/// The exit code of an error, whatever context was added to it.
pub fn code(error: &anyhow::Error) -> u8 {
    if error.is::<Refusal>() { REFUSED } else { FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_a_failure() {
        let refusal = || anyhow::Error::new(Refusal("90 respondents where the survey asks for 100".into()));
        assert_eq!(code(&refusal()), REFUSED);
        assert_eq!(code(&refusal().context("the epoch was destroyed")), REFUSED);
        assert_eq!(code(&anyhow::anyhow!("the disk is full")), FAILED);
    }
}
