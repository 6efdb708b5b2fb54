//! Why a survey is refused.

use thiserror::Error;

use crate::place::Place;

/// Every way in which a survey, or something that it is written with, is refused; each says what to change.
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
    /// The survey promises more than its parameters keep.
    #[error("the survey's claim does not hold: {0}")]
    Claim(String),
    /// A label that the survey does not list.
    #[error("{0}")]
    Label(String),
    /// A parameter of a target that makes no sense.
    #[error("{field}: {reason}")]
    Target {
        /// The parameter, as [`Target`](crate::Target) calls it.
        field: &'static str,
        /// What to change.
        reason: String,
    },
    /// A target that makes sense, and that no survey meets: the rule, and what would be feasible.
    #[error(transparent)]
    Unmet(throng_account::Error),
    /// A parameter that is none.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
    /// The accountant has no answer.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}

fn list(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ")
}
