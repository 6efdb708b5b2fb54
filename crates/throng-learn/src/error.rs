//! Errors of training: why something cannot be learned.

use thiserror::Error;

/// Every refusal, each saying what to change.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that are not what they should be; whoever read them adds the file's name.
    #[error("at byte {offset}: {what}")]
    Bytes {
        /// Where.
        offset: u64,
        /// What is wrong there, and what would be right.
        what: String,
    },
    /// A setting outside its range.
    #[error("{what} is {got}: {expected}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// What it was.
        got: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// Examples that a model cannot be trained on.
    #[error("{0}")]
    Examples(String),
    /// An error of the mechanism.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// An error of the accountant.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}
