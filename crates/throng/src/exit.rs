//! Exit codes: scripts can tell a refusal from a failure.

use std::fmt;

use throng_account::Refusal;

/// The command did what it was asked to.
pub const DONE: u8 = 0;
/// A privacy or crowd rule said no, or an audit found a promise broken. The program did what it was asked to.
pub const REFUSED: u8 = 1;
/// Something went wrong. Usage errors have the same code.
pub const FAILED: u8 = 2;

/// The error of an audit that found a promise broken: a sentence that names the promise.
#[derive(Debug)]
pub struct BrokenPromise(pub String);

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken: {}", self.0)
    }
}

impl std::error::Error for BrokenPromise {}

/// The exit code of an error, whatever context was added to it.
pub fn code(error: &anyhow::Error) -> u8 {
    let refused = |error: &(dyn std::error::Error + 'static)| {
        error.is::<Refusal>()
            || error.is::<BrokenPromise>()
            || error.downcast_ref::<throng_host::Error>().is_some_and(|error| error.refusal().is_some())
            || error.downcast_ref::<throng_serve::Error>().is_some_and(|error| error.refusal().is_some())
            || error.downcast_ref::<throng_respondent::Error>().is_some_and(|error| error.refusal().is_some())
    };
    if error.chain().any(refused) { REFUSED } else { FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_a_failure() {
        let refusal = || anyhow::Error::new(Refusal("90 respondents where the survey asks for 100".into()));
        assert_eq!(code(&refusal()), REFUSED);
        let typed =
            || throng_host::Error::from(Refusal("90 respondents where the survey asks for 100".into()));
        assert_eq!(code(&typed().into()), REFUSED);
        assert_eq!(code(&anyhow::Error::new(typed()).context("the epoch was destroyed")), REFUSED);
        assert_eq!(code(&throng_host::Error::invalid("give at least 1").into()), FAILED);
        assert_eq!(code(&refusal().context("the epoch was destroyed")), REFUSED);
        assert_eq!(
            code(&anyhow::Error::new(BrokenPromise("a report says more than it claims".into()))),
            REFUSED
        );
        assert_eq!(code(&anyhow::anyhow!("the disk is full")), FAILED);
    }
}
