//! What a server cannot do, and what its operator can do about it.

use thiserror::Error;
use throng_account::Refusal;
use throng_host::ErrorKind;
use throng_host::net::SendError;

use crate::reason::Reason;

/// An error of a shuffler, an analyzer, its dashboard, or a check of what it published.
///
/// `{}` writes the outermost sentence, `{:#}` all of them, from the outside in. Ask [`kind`](Self::kind) what can be done about
/// it, and [`refusal`](Self::refusal) for the rule.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Refused, wrong or damaged, or something that the machine or the network did not do.
    #[error(transparent)]
    Host(#[from] throng_host::Error),
    /// A hop cannot go on.
    #[error(transparent)]
    Hop(#[from] throng_shuffle::Error),
    /// A batch cannot be read or shuffled.
    #[error(transparent)]
    Batch(#[from] throng_batch::Error),
    /// Batches that nothing can be estimated from.
    #[error(transparent)]
    Estimate(#[from] throng_analyze::Error),
    /// An invalid mechanism or guarantee.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// An invalid table, or one that cannot be written.
    #[error(transparent)]
    Table(#[from] csv::Error),
    /// Another party did not do what it was asked for.
    #[error(transparent)]
    Party(#[from] Reason),
    /// A thread of ours ended before its work was done.
    #[error(transparent)]
    Thread(#[from] tokio::task::JoinError),
    /// A thread of ours has panicked.
    #[error("{0}")]
    Panicked(&'static str),
    /// An error, and what was being done.
    #[error(fmt = chain)]
    Context {
        /// What was being done, or what to do now.
        what: String,
        /// What the error is, where this is known only here.
        kind: Option<ErrorKind>,
        /// What went wrong.
        source: Box<Error>,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The rule that said no, whatever context was added.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Host(error) => error.refusal(),
            Self::Context { source, .. } => source.refusal(),
            _ => None,
        }
    }

    /// What can be done about it. A refusal stays one under any context; otherwise the outermost kind that is known counts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            _ if self.refusal().is_some() => ErrorKind::Refused,
            Self::Host(error) => error.kind(),
            Self::Context { kind, source, .. } => kind.unwrap_or_else(|| source.kind()),
            Self::Hop(throng_shuffle::Error::Damaged { .. }) => ErrorKind::Damaged,
            Self::Hop(throng_shuffle::Error::Store(_)) | Self::Batch(throng_batch::Error::Volume(_)) => {
                ErrorKind::Io
            }
            Self::Thread(_) | Self::Panicked(_) => ErrorKind::Io,
            Self::Party(_) => ErrorKind::Network,
            _ => ErrorKind::Invalid,
        }
    }

    /// The innermost error, without any context.
    pub(crate) fn root(&self) -> &Self {
        match self {
            Self::Context { source, .. } => source.root(),
            other => other,
        }
    }
}

throng_host::error_context!(Error);
throng_host::error_through_host!(
    Error: std::io::Error,
    Refusal,
    SendError,
    throng_account::Error,
    throng_survey::Error,
    throng_wire::Error,
    serde_json::Error,
    toml::de::Error,
);
