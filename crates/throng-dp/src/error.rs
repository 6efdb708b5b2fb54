//! What can be wrong with parameters and values. No message carries a respondent's value.

use thiserror::Error;

/// Every way in which this crate refuses its input, each saying what to change.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An epsilon that is NaN, negative or infinite.
    #[error("epsilon is {0}; give a finite number that is at least 0")]
    Epsilon(f64),
    /// A delta that is not a probability.
    #[error("delta is {0}; give a number between 0 and 1")]
    Delta(f64),
    /// An epsilon for which there is no integer noise.
    #[error("epsilon is {0} per unit; discrete noise needs a number between 2^-52 and 1000")]
    NoiseEpsilon(f64),
    /// An epsilon that leaves nothing of the value in the report.
    #[error(
        "epsilon is {0}, so every report would be a fair coin and no estimate exists; give a larger epsilon"
    )]
    NoSignal(f64),
    /// A domain that is empty or too large.
    #[error("the domain has {0} values; give a size between 1 and 2^32")]
    DomainSize(u64),
    /// Something that has to be at least one is zero.
    #[error("{0} is zero; give at least 1")]
    ZeroCount(&'static str),
    /// A number that is larger than its limit.
    #[error("{what} is {got}, more than the limit of {limit}")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The number given.
        got: u64,
        /// The largest number allowed.
        limit: u64,
    },
    /// A respondent's value is not in the domain. The value itself is left out on purpose.
    #[error("the value is outside the domain of {size} values; values are numbered from 0")]
    OutsideDomain {
        /// The size of the domain.
        size: u64,
    },
    /// A sketch of which some cells have fewer fragments than others.
    #[error(
        "a sketch can be estimated from a part of its fragments only if all cells have the same number of them: wait for the others"
    )]
    PartOfSketch,
    /// A value none of whose fragments has come.
    #[error("no fragment of this value is in the estimates: it is missing")]
    Missing,
    /// A value of another kind than the survey asks for.
    #[error("this survey asks for {0}")]
    ValueKind(&'static str),
    /// A record names more values than the mechanism has room for, or one of them twice.
    #[error("a record may set at most {limit} different bits, each once")]
    RecordBits {
        /// How many bits a record may set.
        limit: u32,
    },
    /// A record has the wrong number of attributes.
    #[error("the record has {got} attributes where the survey has {expected}")]
    RecordLength {
        /// Attributes in the record.
        got: usize,
        /// Attributes in the survey.
        expected: usize,
    },
    /// A report or fragment names an attribute that does not exist.
    #[error("a fragment names an attribute beyond the last of {attributes}; it was not counted")]
    UnknownAttribute {
        /// The number of attributes.
        attributes: u64,
    },
    /// A report with the wrong number of runs or fragments.
    #[error("the report has {got} parts where the survey has {expected}; it was not counted")]
    ReportParts {
        /// Parts in the report.
        got: usize,
        /// Runs or report fragments in the survey.
        expected: u32,
    },
    /// A report that this mechanism cannot have made.
    #[error("the report does not fit this mechanism; it was not counted")]
    ForeignReport,
    /// A stored backstop does not fit the mechanism it is given to.
    #[error("the stored backstop does not fit this mechanism; it belongs to another survey")]
    ForeignBackstop,
    /// A tally of another mechanism.
    #[error("a tally over {left} attributes does not belong to a survey of {right}")]
    TallyMismatch {
        /// Attributes of the one.
        left: usize,
        /// Attributes of the other.
        right: usize,
    },
    /// A tally that does not fit in memory.
    #[error("a tally of {attributes} attributes does not fit in memory; use a smaller domain or a sketch")]
    TallyMemory {
        /// The number of attributes.
        attributes: u64,
    },
    /// A gradient of the wrong length.
    #[error("the gradient has {got} coordinates where the model has {expected}")]
    GradientLength {
        /// Coordinates in the gradient.
        got: usize,
        /// Coordinates in the model.
        expected: usize,
    },
    /// A gradient with a coordinate that is NaN or infinite.
    #[error("the gradient has a coordinate that is not a finite number; clip or skip this example")]
    GradientNotFinite,
    /// A clipping norm that is not a positive number.
    #[error("the clipping norm is {0}; give a finite number above 0")]
    ClippingNorm(f64),
    /// A probability that is not strictly between 0 and 1.
    #[error("{what} is {got}; give a number strictly between 0 and 1")]
    Probability {
        /// Which probability.
        what: &'static str,
        /// The number given.
        got: f64,
    },
}
