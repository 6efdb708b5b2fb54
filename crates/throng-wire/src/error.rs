//! What can be wrong with a survey file.

use thiserror::Error;

/// Every way in which a file is refused, each saying what to change.
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
}
