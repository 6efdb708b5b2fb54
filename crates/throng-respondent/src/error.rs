//! What a respondent cannot do, and what to do about it.

use thiserror::Error;
use throng_account::rounding::{at_least, at_most};
use throng_host::ErrorKind;

/// An error of a respondent: a rule that refused, something to change, or a state directory that has to be put back.
///
/// `{}` writes the outermost sentence, `{:#}` all of them, from the outside in. Ask [`kind`](Self::kind) what can be done about
/// it, and [`refusal`](Self::refusal) for the rule. No sentence has a value in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A rule refused the answer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A survey for those who are enrolled, without a credential for it.
    #[error(
        "this survey is for those who are enrolled: draw a secret of your own with --enrol DIR and hand in the files, or name the \
         file of a credential that you were given with --credential"
    )]
    NotEnrolled,
    /// Wrong or damaged, or something that the machine or the network did not do.
    #[error(transparent)]
    Host(#[from] throng_host::Error),
    /// No answer can be made of this value for this survey.
    #[error(transparent)]
    Answer(#[from] throng_encode::Error),
    /// An invalid mechanism or limit.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// Bodies were refused by a hop for good, or are too late.
    #[error("not everything could be sent: {0}")]
    Lost(String),
    /// The state directory is in use.
    #[error("another process uses it; wait until it is done")]
    Busy,
    /// A thread of the page ended before its work was done.
    #[cfg(feature = "page")]
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

/// A rule that refused an answer: which one it is, and what would have to change. Nothing was spent.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The survey does not keep what it claims, for the reason that is given. Nothing on this side changes that.
    #[error("refused: the survey's claim does not hold: {0}")]
    Claim(String),
    /// The person has set no limit: [`set_epsilon_limit`](crate::Respondent::set_epsilon_limit) sets one.
    #[error(
        "refused: you have set no limit for what all answers to all surveys may spend together, and this answer spends epsilon \
         {:.4}: say yours once with --epsilon-limit E, and it is kept (on a terminal you are asked)",
        at_most(*epsilon_added)
    )]
    NoLimit {
        /// What the answer would spend.
        epsilon_added: f64,
    },
    /// The person's limit leaves less than the answer spends: leave it, or raise the limit.
    #[error(
        "refused: this answer spends epsilon {:.4}, and of your limit of {epsilon_limit} only {:.4} is left; --epsilon-limit \
         {epsilon_needed} would allow it, at the price of your privacy",
        at_most(*epsilon_added),
        at_least(*epsilon_left)
    )]
    Limit {
        /// What the answer would spend.
        epsilon_added: f64,
        /// The limit ...
        epsilon_limit: f64,
        /// ... what is left of it ...
        epsilon_left: f64,
        /// ... and a limit that would do.
        epsilon_needed: f64,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The rule that said no, whatever context was added.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Context { source, .. } => source.refusal(),
            _ => None,
        }
    }

    /// What can be done about it. A refusal stays one under any context; otherwise the outermost kind that is known counts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(_) => ErrorKind::Refused,
            Self::Context { source, .. } if source.refusal().is_some() => ErrorKind::Refused,
            Self::Host(error) => error.kind(),
            Self::Context { kind, source, .. } => kind.unwrap_or_else(|| source.kind()),
            Self::Lost(_) => ErrorKind::Network,
            Self::Busy => ErrorKind::Io,
            #[cfg(feature = "page")]
            Self::Thread(_) => ErrorKind::Io,
            Self::Answer(_) | Self::Mechanism(_) | Self::NotEnrolled => ErrorKind::Invalid,
        }
    }
}

throng_host::error_context!(Error);
throng_host::error_through_host!(
    Error: std::io::Error,
    throng_account::Error,
    throng_survey::Error,
    throng_wire::Error,
    serde_json::Error,
);
