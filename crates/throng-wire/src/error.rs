//! What can be wrong with a file, a key or a request. What can be wrong with an envelope is a `Rejection`.

use thiserror::Error;
use throng_survey::Place;

/// Every way in which something is refused, each saying what to change. No variant can carry a key or a fragment.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or record that is not in its one canonical form.
    #[error("the {kind} cannot be read: {reason}")]
    Document {
        /// What it should be.
        kind: &'static str,
        /// What to change.
        reason: String,
    },
    /// An address outside its grammar.
    #[error("not an address: {0}")]
    Address(&'static str),
    /// A document of another survey.
    #[error("the {kind} of {party} belongs to another survey")]
    OtherSurvey {
        /// What it is.
        kind: &'static str,
        /// Who it says it is by.
        party: Place,
    },
    /// A party that the survey does not name.
    #[error("the survey names no {0}")]
    UnknownParty(Place),
    /// A signature that the pinned key did not make.
    #[error("the {kind} is not signed by the key that the survey pins for {party}")]
    Signature {
        /// What it is.
        kind: &'static str,
        /// Who should have signed.
        party: Place,
    },
    /// Parties that have not signed the survey.
    #[error("the survey is not signed by: {}", list(.0))]
    Unsigned(Vec<Place>),
    /// A weak signing key: a point of small order, with which anyone can sign, or a second spelling of another key.
    #[error("a signing key is weak: generate another with `throng keygen`")]
    WeakKey,
    /// Keys that cannot be used as they are.
    #[error("the layer keys are wrong: {0}")]
    Keys(String),
    /// A party without a key for an epoch.
    #[error("{party} has no layer key for epoch {epoch}: fetch its newest key list")]
    NoKey {
        /// Whose key.
        party: Place,
        /// For when.
        epoch: u64,
    },
    /// Something cannot be sealed.
    #[error("sealing failed: {0}")]
    Seal(&'static str),
    /// Statements of an epoch that do not fit together.
    #[error("the epoch's statements do not hold: {0}")]
    Statement(String),
    /// The survey file, or a hash, a key or a name that it is written with.
    #[error(transparent)]
    Survey(#[from] throng_survey::Error),
}

fn list(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ")
}
