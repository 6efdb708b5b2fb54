//! Why another party did not take something.

use thiserror::Error;

/// Why something was not delivered, and whether the same bytes may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// It would be refused again: something has to change first.
    #[error("{0}")]
    Refused(String),
    /// It may work later, with the same bytes.
    #[error("{0}")]
    Unreachable(String),
    /// The same, but not before so many seconds are over.
    #[error("{reason}")]
    Later {
        /// What it said.
        reason: String,
        /// Its `Retry-After`.
        after_s: u64,
    },
    /// By the clock of whoever was asked, this is not the time for it.
    #[error("{reason}")]
    WrongTime {
        /// What it said.
        reason: String,
        /// Which time it is there: seconds since 1970-01-01T00:00:00Z.
        their_s: u64,
        /// Too late, for good; otherwise too early.
        over: bool,
    },
}

impl SendError {
    /// Whether the same bytes may be taken later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Unreachable(_) | Self::Later { .. } => true,
            Self::WrongTime { over, .. } => !over,
        }
    }
}
