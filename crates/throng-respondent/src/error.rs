//! What a respondent cannot do, and what to do about it.

use throng_account::Refusal;
use throng_host::ErrorKind;

use thiserror::Error;

/// An error of a respondent: a rule that refused, something to change, or a state directory that has to be put back.
///
/// `{}` writes the outermost sentence, `{:#}` all of them, from the outside in. Ask [`kind`](Self::kind) what can be done about
/// it, and [`refusal`](Self::refusal) for the rule. No sentence has a value in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Refused, wrong or damaged, or something that the machine or the network did not do.
    #[error(transparent)]
    Host(#[from] throng_host::Error),
    /// No answer can be made of this value for this survey.
    #[error(transparent)]
    Answer(#[from] throng_encode::Error),
    /// A mechanism or a limit that is none.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// Bodies were refused by a hop for good, or are too late.
    #[error("not everything could be sent: {0}")]
    Lost(String),
    /// The state directory is in use.
    #[error("another process uses it; wait until it is done")]
    Busy,
    /// A thread of ours ended before its work was done.
    #[error(transparent)]
    Thread(#[from] tokio::task::JoinError),
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

    /// What can be done about it. A refusal stays one under any context; otherwise the outermost word counts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            _ if self.refusal().is_some() => ErrorKind::Refused,
            Self::Host(error) => error.kind(),
            Self::Context { kind, source, .. } => kind.unwrap_or_else(|| source.kind()),
            Self::Lost(_) => ErrorKind::Network,
            Self::Busy | Self::Thread(_) => ErrorKind::Io,
            Self::Answer(_) | Self::Mechanism(_) => ErrorKind::Invalid,
        }
    }
}

throng_host::error_context!(Error);
throng_host::error_through_host!(
    Error: std::io::Error,
    Refusal,
    throng_account::Error,
    throng_survey::Error,
    throng_wire::Error,
    serde_json::Error,
);
