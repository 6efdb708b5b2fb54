//! What the hops signed about the epoch, instance by instance.

use std::collections::BTreeMap;

use throng_analyze::{CountedBatch, InstanceTally, Rejected};
use throng_wire::statement::{STATEMENT_LEN, check_cascade};
use throng_wire::{Digest, EpochStatement, Place, Route, Signed, SignedSurvey};

use super::Verdict;
use crate::error::Result;
use throng_host::bundle::KeyLists;

/// The crowds that statements show, as tallies without a count. An instance whose statements do not hold is left out.
pub(super) fn check(
    survey: &SignedSurvey,
    channel: Route,
    bytes: &Result<Vec<u8>>,
    keys: &KeyLists,
    verdict: &mut Verdict,
) -> Result<Vec<InstanceTally>> {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            verdict.failed("statements", format!("{error:#}"));
            return Ok(Vec::new());
        }
    };
    let mut of_instance: BTreeMap<u32, Vec<Signed<EpochStatement>>> = BTreeMap::new();
    for (at, record) in bytes.chunks(STATEMENT_LEN).enumerate() {
        match Signed::<EpochStatement>::from_bytes(record) {
            Ok(statement) => {
                of_instance.entry(statement.claimed().route.instance).or_default().push(statement);
            }
            Err(error) => verdict.failed("statements", format!("record {}: {error}", at + 1)),
        }
    }
    let mut parts = Vec::new();
    for (instance, statements) in of_instance {
        let what = format!("instance {instance}");
        match check_instance(survey, Route { instance, ..channel }, &statements, keys) {
            Ok(Some(respondents)) => {
                let hops = statements.len();
                verdict.ok(
                    &what,
                    format!(
                        "{hops} hops signed that they agree on a crowd of {respondents}, and {} are asked for",
                        survey.survey().crowd.respondents_min
                    ),
                );
                parts.push(part(survey, Route { instance, ..channel }, Some(respondents))?);
            }
            Ok(None) => {
                verdict.ok(&what, "a hop signed that it destroyed the epoch".into());
                parts.push(part(survey, Route { instance, ..channel }, None)?);
            }
            Err(reason) => verdict.failed(&what, reason),
        }
    }
    Ok(parts)
}

/// The crowd of an instance, `None` where it destroyed the epoch.
fn check_instance(
    survey: &SignedSurvey,
    route: Route,
    statements: &[Signed<EpochStatement>],
    keys: &KeyLists,
) -> Result<Option<u64>, String> {
    let mut verified = Vec::new();
    for signed in statements {
        let statement = *signed.verify(survey).map_err(|error| error.to_string())?;
        let hop = Place::hop(route.instance, statement.hop);
        if statement.route != route {
            return Err(format!("{hop} signed a statement about another survey, label or epoch"));
        }
        for (of, digest) in [(hop, statement.key_list), (Place::Analyzer, statement.analyzer_key_list)] {
            if keys.find(of, digest).is_none() {
                return Err(format!(
                    "{hop} names a key list of {of} that is not among the published ones: somebody was shown other keys"
                ));
            }
        }
        verified.push(statement);
    }
    check_cascade(survey.survey(), &verified).map_err(|error| error.to_string())
}

/// What an analyzer would have counted of such a crowd, without any count.
fn part(survey: &SignedSurvey, route: Route, respondents: Option<u64>) -> Result<InstanceTally> {
    let mut tally = survey.survey().mechanism()?.tally()?;
    let counted = respondents.map(|respondents| {
        tally.add_respondents(respondents);
        CountedBatch { batch: Digest::of(&[]), envelopes: 0, rejected: Rejected::default(), tally }
    });
    Ok(InstanceTally { route, counted })
}
