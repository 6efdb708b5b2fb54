//! What is wrong with a request, in words for whoever sent it. None tells anything about anyone else.

/// Why a hop does not do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The channel is none of this hop's.
    #[error("this hop has no such channel; check survey, instance and label")]
    Unknown,
    /// The epoch is over.
    #[error("this epoch is closed; answer in the current one")]
    Closed,
    /// An answer came before its epoch began, or a batch before its epoch was over, by this hop's clock.
    #[error("it is too early for this here; check both clocks and send the same again later")]
    Early,
    /// The same respondent has sent other bytes.
    #[error(
        "another answer of this respondent was taken for this epoch; send the same bytes again, or nothing"
    )]
    Conflict,
    /// A body or batch of a length that it cannot have.
    #[error("it does not have the length that the survey says")]
    Length,
    /// There is no room for more.
    #[error("this hop has no room left for this epoch; its operator has to give it more memory or disk")]
    Full,
    /// The batch was acknowledged, and is erased.
    #[error("this batch was acknowledged and is erased")]
    Gone,
    /// The batch was not taken in time, and is erased.
    #[error("this batch has waited for longer than the survey allows, and is erased")]
    Expired,
    /// Nothing is decided for this epoch.
    #[error("nothing is decided for this epoch yet")]
    Undecided,
    /// The statements that come with a batch do not hold, or are not of the hops before.
    #[error("the statements of the hops before do not hold")]
    Statements,
    /// A batch that is not what the statement says, or a hash that is not the batch's.
    #[error("this is not the batch that the statement names")]
    Batch,
    /// The epoch is before the first that this hop states anything about.
    #[error("this hop began, or was reset, after that epoch, and never states anything about it")]
    Before,
    /// The hop has found out that it was restored from a copy.
    #[error("this hop has stopped until its operator has looked at it")]
    Stopped,
    /// The same batch is being received at this moment.
    #[error("this batch is being received already; wait and send it again")]
    Busy,
}
