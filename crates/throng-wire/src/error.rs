//! What can be wrong with a file, a key or a request. What can be wrong with an envelope is a `Rejection`.

use thiserror::Error;

use crate::place::Place;

/// Every way in which something is refused, each saying what to change. No variant can carry a key or a fragment.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Not the TOML of a survey: a syntax error, a missing field, or one that does not exist.
    #[error("the survey file cannot be read: {0}")]
    Format(String),
    /// A field whose value makes no sense.
    #[error("the survey's {field} is wrong: {reason}")]
    Field {
        /// The field, as it is written in the file.
        field: &'static str,
        /// What to change.
        reason: String,
    },
    /// A draft: parties are still to be named.
    #[error("the survey is a draft; it has no party yet for: {}", list(.0))]
    Draft(Vec<Place>),
    /// A value that RFC 8785 has no bytes for.
    #[error("no canonical JSON: {0}")]
    Canonical(String),
    /// Not the digits of what was expected.
    #[error("not {0}: lower-case hexadecimal digits of the right number are expected")]
    Hex(&'static str),
    /// Not the name of a party.
    #[error("not a party: write analyzer, or instance-I-hop-H with numbers from 1")]
    Place,
    /// A file or record that is not in its one canonical form.
    #[error("the {kind} cannot be read: {reason}")]
    Document {
        /// What it should be.
        kind: &'static str,
        /// What to change.
        reason: String,
    },
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
    /// A signing key with which anyone can sign, or whose bytes are another's in disguise.
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
}

fn list(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ")
}
