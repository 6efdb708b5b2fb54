//! Why something failed, in words that are fit for a log: no addresses, no counts, nothing that another party wrote.

use thiserror::Error;
use throng_host::ErrorKind;
use throng_host::net::Problem;
use throng_host::net::client::SendError;
use throng_host::net::endpoint::Endpoint;
use throng_wire::{Address, Place};

use crate::error;

/// A reason in a log, or on a dashboard: one of these and nothing else. Other parties are named by their places, and none of
/// their words is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// A party that is away, or that showed another certificate.
    #[error("{0} cannot be reached, or broke the connection off, or does not prove to be that party")]
    Unreachable(Place),
    /// A party with an address that is none.
    #[error("the address of {0} cannot be called")]
    NotCallable(Place),
    /// A party that has too much to do.
    #[error("{0} asks to be called later")]
    Later(Place),
    /// A party with another clock.
    #[error("it is another time at {0}")]
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
    /// A batch is larger than the memory for it.
    #[error("a batch cannot be shuffled in so little memory; raise memory_mib")]
    Memory,
    /// A batch that is none.
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
        "another party has a statement of this hop that its journal has not: the hop was restored from a copy, or runs twice. It \
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
    /// What is wrong with this machine's own files and settings. [`Reason::of`] makes it, of nothing that came over the network.
    #[error("{0}")]
    #[non_exhaustive]
    Own(String),
    /// Another party sent something that does not hold.
    #[error("another party did not do what it was asked for")]
    Party,
}

impl Reason {
    /// What went wrong, without a count: how long a file or a batch is tells how large the crowd was.
    pub(crate) fn of(error: &error::Error) -> Self {
        match error.root() {
            error::Error::Hop(error) => Self::of_hop(error),
            error::Error::Party(reason) => reason.clone(),
            _ if error.kind() == ErrorKind::Network => Self::Party,
            _ => Self::Own(format!("{error:#}")),
        }
    }

    /// The same for an error of a hop.
    pub(crate) fn of_hop(error: &throng_shuffle::Error) -> Self {
        use throng_shuffle::Error;
        match error {
            Error::Batch(throng_batch::Error::Memory { .. }) => Self::Memory,
            Error::Batch(_) => Self::Records,
            Error::Damaged { file, .. } => Self::HopFile(file),
            Error::Contradicted { .. } => Self::Contradicted,
            other => Self::Own(other.to_string()),
        }
    }

    /// A party that could not be asked.
    fn not_sent(party: &Address, error: &SendError) -> Self {
        let place = party.party;
        match error {
            _ if Endpoint::new(party).is_err() => Self::NotCallable(place),
            SendError::Refused(_) => Self::NotCallable(place),
            SendError::Unreachable(_) => Self::Unreachable(place),
            SendError::Later { .. } => Self::Later(place),
            SendError::WrongTime { .. } => Self::OtherTime(place),
        }
    }

    /// One that has answered with a problem, without its own words.
    fn refused(party: &Address, problem: &Problem) -> Self {
        let is_name = |name: &str| {
            name.len() < 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        let name = if is_name(&problem.name) { &problem.name } else { "unnamed" };
        Self::Answers { place: party.party, status: problem.status.as_u16(), name: name.to_owned() }
    }
}

/// What a party answered; or why it did not, by its place.
pub(crate) fn answer<T>(party: &Address, answer: Result<Result<T, Problem>, SendError>) -> Result<T, Reason> {
    answer
        .map_err(|error| Reason::not_sent(party, &error))?
        .map_err(|problem| Reason::refused(party, &problem))
}

#[cfg(test)]
mod tests {
    use throng_wire::SurveyHash;

    use super::*;
    use crate::error::{Context, Error};

    #[test]
    fn a_reason_has_no_address_and_no_word_of_another_party() {
        let url = "http://127.0.0.1:1234".to_owned();
        let (survey, party) = (SurveyHash::new([1; 32]), Place::hop(1, 2));
        let address = Address { survey, party, serial: 1, url, certificate: None };
        let said = "127.0.0.1:1234 says that it has 17 uploads";
        let failed = |error| answer::<()>(&address, Err(error)).unwrap_err();
        let refused = |name: &'static str| {
            let problem = Problem::new(hyper::StatusCode::CONFLICT, name, said);
            answer::<()>(&address, Ok(Err(problem))).unwrap_err()
        };
        for (reason, expected) in [
            (failed(SendError::Unreachable(said.into())), Reason::Unreachable(party)),
            (failed(SendError::Refused(said.into())), Reason::NotCallable(party)),
            (failed(SendError::Later { reason: said.into(), after_s: 17 }), Reason::Later(party)),
            (
                failed(SendError::WrongTime { reason: said.into(), their_s: 17, over: true }),
                Reason::OtherTime(party),
            ),
            (refused("conflict"), Reason::Answers { place: party, status: 409, name: "conflict".into() }),
            (refused("17 uploads"), Reason::Answers { place: party, status: 409, name: "unnamed".into() }),
        ] {
            assert_eq!(reason, expected);
            let text = reason.to_string();
            assert!(
                text.contains("instance-1-hop-2") && !text.contains("127") && !text.contains("17"),
                "{text}"
            );
            // Whatever was being done, the log has the reason alone.
            let error = Err::<(), _>(reason).context("epoch 3 of label 0").unwrap_err();
            assert_eq!(Reason::of(&error), expected);
        }
        let unsent = Error::from(SendError::Unreachable(said.into()));
        assert_eq!(Reason::of(&unsent), Reason::Party);
        let own = Err::<(), _>(Error::damaged("it is too short")).context("in a.keys").unwrap_err();
        assert_eq!(Reason::of(&own).to_string(), "in a.keys: it is too short");
    }

    #[test]
    fn a_reason_of_a_hop_has_no_count() {
        use throng_shuffle::Error;
        let memory = throng_batch::Error::Memory { bytes: 1717, limit: 17 };
        for error in [
            Error::Batch(memory),
            Error::Damaged { file: "journal", at: 17 },
            Error::Contradicted { epoch: 17 },
            Error::Batch(throng_batch::Error::TooMany { got: 17 }),
        ] {
            let reason = Reason::of(&error.into()).to_string();
            assert!(!reason.contains("17"), "{reason}");
        }
    }
}
