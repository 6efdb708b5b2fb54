//! What can go wrong.

/// An error of the shuffler's pure parts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
}
