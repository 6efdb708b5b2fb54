//! Why there is no answer to send.

use thiserror::Error;

/// Every way in which a respondent refuses or fails to answer, each saying what to change. No variant can
/// carry a value.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no time left to send in.
    #[error("epoch {epoch} is about to end; answer for the next one")]
    EpochEnds {
        /// The epoch.
        epoch: u64,
    },
    /// A backstop that was not stored by this program, or was damaged since.
    #[error("a stored backstop cannot be read: {0}")]
    Backstop(&'static str),
    /// A value that the survey does not ask for, or an invalid parameter.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// The accountant has no answer.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
    /// A survey that does not keep what it claims, or does not have a label.
    #[error(transparent)]
    Survey(#[from] throng_survey::Error),
    /// Keys, labels or seals.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
}
