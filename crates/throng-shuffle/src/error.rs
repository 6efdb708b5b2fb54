//! What can go wrong.

/// What a hop cannot go on with. What is wrong with a request is a `Refusal`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A record has another length than the batch.
    #[error(
        "a record of {got} bytes does not fit a batch of records of {expected} bytes; send exactly {expected}"
    )]
    RecordLength {
        /// The length that came.
        got: usize,
        /// The length that the batch has.
        expected: usize,
    },
    /// More records than a permutation has numbers for.
    #[error(
        "a batch of {got} records is too large to permute in memory; permute it on disk, in parts of at most 2^32"
    )]
    TooMany {
        /// How many there are.
        got: u64,
    },
    /// The store failed.
    #[error(
        "the store failed: {0}; make room or mend it, and start again: nothing that was acknowledged is lost"
    )]
    Store(#[from] std::io::Error),
    /// A file that is not as it was written.
    #[error(
        "the {file} file is damaged at {at}; restore it, or, unless it is the journal, reset this hop: a damaged epoch is \
         not released"
    )]
    Damaged {
        /// Which file.
        file: &'static str,
        /// Where, in bytes or records.
        at: u64,
    },
    /// The journal could be neither written nor taken back.
    #[error("the journal could not be written to its end; start this hop again")]
    Broken,
    /// A batch that does not fit the memory that it may take, not even in buckets.
    #[error("a batch of {bytes} bytes cannot be shuffled in {limit} bytes of memory; raise the limit")]
    Memory {
        /// The batch.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// Something that should have been signed, found or opened by now.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
    /// A request that is not carried out.
    #[error(transparent)]
    Refused(#[from] crate::Refusal),
}
