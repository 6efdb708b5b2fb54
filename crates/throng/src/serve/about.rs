//! What every server tells of the surveys that it is a party of.

use std::net::SocketAddr;

use serde_json::{Value, json};
use throng_wire::{Place, SignedSurvey};

use super::operator_port;

/// A survey in the summary of a party, with a warning for everything that parties share; `more` is what the party adds.
pub(super) fn summary(survey: &SignedSurvey, place: Place, (name, more): (&str, Value)) -> Value {
    json!({
        "survey": survey.hash(),
        "name": survey.survey().name,
        "place": place,
        name: more,
        "warnings": survey.survey().warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What the operator should look at again.
pub(super) fn warnings<'a>(
    surveys: impl Iterator<Item = &'a SignedSurvey>,
    operator_listen: Option<SocketAddr>,
) -> Vec<String> {
    let surveys = surveys.flat_map(|survey| survey.survey().warnings()).map(|warning| warning.to_string());
    surveys.chain(operator_port::warning(operator_listen)).collect()
}

/// A survey's name and the beginning of its hash: names may be the same, and numbers may not.
pub(super) fn unique_name(survey: &SignedSurvey) -> String {
    format!("{}@{:.8}", survey.survey().name, survey.hash().to_string())
}
