//! Why something failed, in words that are fit for a log: no addresses, no counts, nothing that another party wrote.

use anyhow::anyhow;
use throng_shuffle::Error;
use throng_wire::Address;

use throng_host::net::Problem;
use throng_host::net::client::SendError;
use throng_host::net::endpoint::Endpoint;

/// What a party answered; or why it did not, by its place.
pub(crate) fn answer<T>(party: &Address, answer: Result<Result<T, Problem>, SendError>) -> anyhow::Result<T> {
    answer.map_err(|error| not_sent(party, &error))?.map_err(|problem| refused(party, &problem))
}

/// A party that could not be asked.
fn not_sent(party: &Address, error: &SendError) -> anyhow::Error {
    let (place, text) = (party.party.to_string(), error.to_string());
    match Endpoint::new(party) {
        Ok(endpoint) => anyhow!("{}", text.replace(&endpoint.authority(), &place)),
        Err(_) => anyhow!("the address of {place} cannot be called"),
    }
}

/// One that has answered with a problem, without its own words.
fn refused(party: &Address, problem: &Problem) -> anyhow::Error {
    let is_name =
        |name: &str| name.len() < 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let name = if is_name(&problem.name) { &problem.name } else { "unnamed" };
    anyhow!("{} answers {} {name}", party.party, problem.status.as_u16())
}

/// What went wrong, without a count: how long a file or a batch is tells how large the crowd was.
pub(crate) fn of(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Error>() {
        Some(error) => of_hop(error),
        None => format!("{error:#}"),
    }
}

/// The same for an error of a hop.
pub(crate) fn of_hop(error: &Error) -> String {
    match error {
        Error::Memory { .. } => "a batch cannot be shuffled in so little memory; raise memory_mib".into(),
        Error::TooMany { .. } | Error::RecordLength { .. } => "a batch has records that do not fit".into(),
        Error::Damaged { file, .. } => {
            format!(
                "the {file} file is damaged; put it back as it was when the hop stopped, or reset this survey with \
                 `throng serve shuffler --reset --survey NAME`: a damaged epoch is not released"
            )
        }
        Error::Contradicted { .. } => {
            "another party has a statement of this hop that its journal has not: the hop was restored from a copy, or runs twice. It \
             signs nothing more; stop the other one and put back its data, or reset this survey with `throng serve shuffler --reset \
             --survey NAME`"
                .into()
        }
        other => other.to_string(),
    }
}
