//! The accountant's errors: why there is no answer.

use thiserror::Error;

/// Every way in which the accountant refuses a question, each saying what to change.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A bound was asked outside the conditions under which it is proved.
    #[error("not applicable: {0}")]
    NotApplicable(String),
    /// A bound that does not exist.
    #[error("there is no bound called {name:?}; use one of {names}")]
    UnknownBound {
        /// The name given.
        name: String,
        /// All that there are.
        names: String,
    },
    /// A parameter that makes no sense.
    #[error("{what} is {got}; {expected}")]
    Parameter {
        /// Which parameter.
        what: &'static str,
        /// The number given.
        got: f64,
        /// What to give instead.
        expected: &'static str,
    },
    /// A target that no survey can meet.
    #[error("no such survey: {reason}{}", if alternatives.is_empty() { String::new() } else { format!("; feasible would be: {}", alternatives.join("; or ")) })]
    Infeasible {
        /// Why not.
        reason: String,
        /// What is near and would work.
        alternatives: Vec<String>,
    },
    /// More fragments than a respondent can be asked to send.
    #[error(
        "too many fragments: each respondent would send about {fragments:.0}, and {} envelopes to each instance to hide \
         their number, more than the {limit} that a plan may ask for; choose a larger epsilon_central, a larger \
         crowd or fewer values{change}",
        envelopes.map_or_else(|| "over four billion".to_owned(), |envelopes| envelopes.to_string())
    )]
    TooManyFragments {
        /// How many fragments a respondent would send in an epoch, on average.
        fragments: f64,
        /// How many envelopes it would take to hide their number at one instance; `None` beyond 2^32.
        envelopes: Option<u32>,
        /// How many a plan may ask for.
        limit: u32,
        /// What else to choose, after a comma.
        change: String,
    },
    /// The work was cancelled: [`crate::CancelToken`] said no.
    #[error("cancelled: nobody waits for this any more")]
    Cancelled,
    /// A budget or another rule says no.
    #[error("refused: {0}")]
    Refused(String),
    /// A privacy parameter that is not one.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
}
