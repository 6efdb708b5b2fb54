//! What can go wrong.

/// What a hop cannot go on with. What is wrong with a request is a `Refusal`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
        "another party has a statement of this hop about epoch {epoch} that is not in its journal: the hop was restored from \
         a copy, or runs twice. It signs nothing more; stop the other one and put back its data, or give up everything \
         since: `throng serve shuffler --reset --survey NAME`"
    )]
    Contradicted {
        /// What it is about.
        epoch: u64,
    },
    /// A new store, which would begin by a clock that is not believed.
    #[error(
        "the clock is past all layer keys, and a new hop notes by the clock with which epoch it begins: set the clock right, or add \
         keys with `throng keygen rotate`"
    )]
    Clock,
    /// A step was asked of a replica that does not hold the lease.
    #[error(
        "another replica holds the lease on the journal of this hop and takes its steps: ask that one, or wait until its lease \
         ends and this one gets it"
    )]
    Follower,
    /// A record of the journal could be neither written nor taken back.
    #[error("the journal could not be written to its end; start this hop again")]
    Broken,
    /// What the engine says of a batch.
    #[error(transparent)]
    Batch(throng_batch::Error),
    /// Something that should have been signed, found or opened by now.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
    /// A request that is not carried out.
    #[error(transparent)]
    Refused(#[from] crate::Refusal),
}

impl From<throng_batch::Error> for Error {
    /// What the engine says of the hop's own files, the hop says with what to do about it.
    fn from(error: throng_batch::Error) -> Self {
        match error {
            throng_batch::Error::Volume(error) => Self::Store(error),
            throng_batch::Error::Damaged { file, at } => Self::Damaged { file, at },
            error => Self::Batch(error),
        }
    }
}
