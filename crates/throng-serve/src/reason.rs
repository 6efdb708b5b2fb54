//! Why something failed, in words that are fit for a log: no addresses, no counts, nothing that another party wrote.

use thiserror::Error;
use throng_wire::Place;

/// A reason in a log, or on a dashboard: one of these and nothing else. Other parties are named by their places, and none of
/// their words is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// A party that is away, or that showed another certificate.
    #[error("{0} cannot be reached, or broke the connection off, or does not prove to be that party")]
    Unreachable(Place),
    /// A party with an invalid address.
    #[error("the address of {0} cannot be called")]
    NotCallable(Place),
    /// A party that has too much to do.
    #[error("{0} asks to be called later")]
    Later(Place),
    /// A party with another clock.
    #[error("the clock of {0} says another time than the one here")]
    OtherTime(Place),
    /// A party that answered with a problem.
    #[error("{place} answers {status} {name}")]
    Answers {
        /// The party.
        place: Place,
        /// The status of its answer.
        status: u16,
        /// The name of the problem: lower-case letters.
        name: String,
    },
    /// The same while something was done for an epoch.
    #[error("{what}: {reason}")]
    During {
        /// What was done, in words of our own.
        what: String,
        /// Why it failed.
        reason: Box<Reason>,
    },
    /// A batch is larger than the memory for it.
    #[error("a batch cannot be shuffled in so little memory; raise memory_mib")]
    Memory,
    /// A batch that the engine cannot work on, for another reason than memory.
    #[error("a batch has records that do not fit")]
    Records,
    /// A file of a hop.
    #[error(
        "the {0} file is damaged; put it back as it was when the hop stopped, or reset this survey with `throng serve shuffler \
         --reset --survey NAME`: a damaged epoch is not released"
    )]
    HopFile(&'static str),
    /// A hop that was restored from a copy, or runs twice.
    #[error(
        "another party has a statement of this hop that is not in its journal: the hop was restored from a copy, or runs twice. It \
         signs nothing more; stop the other one and put back its data, or reset this survey with `throng serve shuffler --reset \
         --survey NAME`"
    )]
    Contradicted,
    /// A batch that nobody came for.
    #[error("nobody has taken it in the time that the survey gives; what was stated about it stays")]
    NotTaken,
    /// A batch for a hop that was not there yet.
    #[error("the next hop began, or was reset, after this epoch, and never takes it")]
    BeforeNext,
    /// A batch that is gone.
    #[error("the last hop has erased it: this instance is missing from the epoch, for good")]
    ErasedThere,
    /// A batch that nobody opened in time.
    #[error("it waited sealed for longer than the survey allows, and was never opened")]
    NeverOpened,
    /// Uploads are not taken.
    #[error("no room, no disk, or no thread that writes: see /readyz")]
    NoRoom,
    /// The system's limit of open files is too low.
    #[error("the system allows fewer open files than connections_max needs: raise its limit (LimitNOFILE)")]
    OpenFiles,
    /// The journal was cut.
    #[error("the journal ended in an unfinished record, which was never acted on")]
    JournalCut,
    /// Uploads were cut.
    #[error(
        "uploads ended in a group that was not synced: nobody was given a receipt for it, unless the disk has lost it since"
    )]
    UploadsCut,
    /// A survey that is not served.
    #[error("{file}: {reason}")]
    Survey {
        /// Its file, as the configuration names it.
        file: String,
        /// Why.
        reason: Box<Reason>,
    },
    /// A warning about the survey's files or the configuration.
    #[error("{0}")]
    #[non_exhaustive]
    Warning(String),
    /// What is wrong with this machine's own files and settings. It is made of nothing that came over the network.
    #[error("{0}")]
    #[non_exhaustive]
    Own(String),
    /// Another party sent something that does not hold.
    #[error("another party did not do what it was asked for")]
    Party,
}
