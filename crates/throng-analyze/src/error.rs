//! The analyzer's errors: why something cannot be analyzed.

use thiserror::Error;

/// Every refusal of the analyzer, each saying what is wrong.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The statements of the hops do not hold together, or are not of this channel.
    #[error("the hops' statements do not hold: {0}")]
    Statements(String),
    /// A batch is not the one that its statements are about.
    #[error("the batch is not the one that the last hop signed: {0}")]
    Batch(&'static str),
    /// A batch that an engine cannot work on.
    #[error("the batch cannot be counted: {0}")]
    Engine(String),
    /// Stored bytes that are no tally.
    #[error("this is not a tally of this version, or it is damaged: put back a copy of it")]
    Damaged,
    /// Tallies that are not of one release.
    #[error("these tallies are not of one release: {0}")]
    Parts(&'static str),
    /// Nothing to release.
    #[error("no instance has released this epoch")]
    Nothing,
    /// A sketch without all its cells.
    #[error("every value of a sketch needs its cells at all instances: wait for the batch of instance {0}")]
    Waiting(String),
    /// An error of the mechanism.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// An error of the accountant.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}

impl From<throng_batch::Error> for Error {
    fn from(error: throng_batch::Error) -> Self {
        match error {
            throng_batch::Error::Manifest(wrong) => Self::Batch(wrong),
            throng_batch::Error::Mechanism(error) => Self::Mechanism(error),
            other => Self::Engine(other.to_string()),
        }
    }
}
