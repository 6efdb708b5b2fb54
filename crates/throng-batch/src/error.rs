//! What can go wrong.

/// Errors that an engine cannot go on with. What is wrong with a single envelope is counted, and never an error.
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
    /// A batch that cannot be shuffled in the memory that it may take, not even in buckets.
    #[error("a batch of {bytes} bytes cannot be shuffled in {limit} bytes of memory; raise the limit")]
    Memory {
        /// The batch.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// The files failed.
    #[error("the files of the batch failed: {0}; make room or mend them, and do the same again")]
    Volume(#[from] std::io::Error),
    /// A file that is not as it was written.
    #[error("the {file} file is damaged at {at}; put it back as it was")]
    Damaged {
        /// Which file.
        file: &'static str,
        /// Where, in bytes or records.
        at: u64,
    },
    /// A batch that is not the one of its manifest.
    #[error("the batch is not the one of its manifest: {0}")]
    Manifest(&'static str),
    /// What the mechanism says of a fragment.
    #[error(transparent)]
    Mechanism(#[from] throng_dp::Error),
}
