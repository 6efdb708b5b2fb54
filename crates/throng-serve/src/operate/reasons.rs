//! The reason of an error, as a log has it.

use throng_host::ErrorKind;
use throng_host::net::Problem;
use throng_host::net::client::SendError;
use throng_host::net::endpoint::Endpoint;
use throng_wire::Address;

use crate::error;
pub(crate) use crate::reason::Reason;

impl Reason {
    /// What went wrong, without a count: how long a file or a batch is tells how large the crowd was.
    pub(crate) fn of(error: &error::Error) -> Self {
        // What was being done is said in our own words, also of another party's fault.
        if let error::Error::Context { what, source, .. } = error
            && matches!(source.root(), error::Error::Party(_))
        {
            return Self::During { what: what.clone(), reason: Box::new(Self::of(source)) };
        }
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
    use throng_wire::{Place, SurveyHash};

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
            // What was being done is said in our own words.
            let error = Err::<(), _>(reason).context("epoch 3 of label 0").unwrap_err();
            assert_eq!(Reason::of(&error).to_string(), format!("epoch 3 of label 0: {expected}"));
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
