//! What every server tells of the surveys that it is a party of.

use std::net::SocketAddr;

use serde_json::{Value, json};
use throng_wire::{Place, SignedSurvey};

use super::operator_port;
use throng_host::bundle::Bundle;

/// A survey in the summary of a party, with a warning for everything that parties share; `more` is what the party adds.
pub(crate) fn summary(bundle: &Bundle, place: Place, (name, more): (&str, Value)) -> Value {
    let survey = bundle.survey();
    json!({
        "survey": survey.hash(),
        "name": survey.survey().name,
        "place": place,
        name: more,
        "warnings": bundle.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What the operator should look at again.
pub(crate) fn warnings<'a>(
    bundles: impl Iterator<Item = &'a Bundle>,
    operator_listen: Option<SocketAddr>,
) -> Vec<String> {
    let surveys = bundles.flat_map(Bundle::warnings).map(|warning| warning.to_string());
    surveys.chain(operator_port::warning(operator_listen)).collect()
}

/// A survey's name and the beginning of its hash: names may be the same, and numbers may not.
pub(crate) fn unique_name(survey: &SignedSurvey) -> String {
    format!("{}@{:.8}", survey.survey().name, survey.hash().to_string())
}
