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
        "the {file} file is damaged at {at}; put it back as it was when the hop stopped, or give up what is not released yet: \
         `throng serve shuffler --reset --survey NAME`"
    )]
    Damaged {
        /// Which file.
        file: &'static str,
        /// Where, in bytes or records.
        at: u64,
    },
    /// There is no journal, and there was one.
    #[error(
        "the journal is missing, and what was signed is not known without it; put it back as it was when the hop stopped, or give up \
         everything since: `throng serve shuffler --reset --survey NAME`"
    )]
    NoJournal,
    /// There is a journal, and no mark.
    #[error(
        "the mark of the journal is missing, so that nobody can tell whether the journal is the newest; put the mark back, or give up \
         everything since: `throng serve shuffler --reset --survey NAME`"
    )]
    NoMark,
    /// The journal is not the one that the mark was written for.
    #[error(
        "the journal and its mark do not belong together: one of them was cut, or comes from a copy. Something else may have been \
         signed since; put back both as they were when the hop stopped, or give up everything since: `throng serve \
         shuffler --reset --survey NAME`"
    )]
    RolledBack,
    /// Another party has a statement of this hop that the hop does not know.
    #[error(
        "another party has a statement of this hop about epoch {epoch} that its journal has not: the hop was restored from a copy, \
         or runs twice. It signs nothing more; stop the other one and put back its data, or give up everything \
         since: `throng serve shuffler --reset --survey NAME`"
    )]
    Contradicted {
        /// What it is about.
        epoch: u64,
    },
    /// A store that would begin by a clock which is not believed.
    #[error(
        "the clock is past all layer keys, and a hop that begins writes down when: set the clock right, or add keys with `throng \
         keygen rotate`"
    )]
    Clock,
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
