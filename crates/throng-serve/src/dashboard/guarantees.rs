//! What a survey guarantees, and what would be left of it: the accountant's answers to "what if?".

use axum::extract::{RawQuery, State};
use serde::Serialize;
use serde_json::{Value, json};
use throng_account::CancelToken;
use throng_account::attacker::{Coalition, Exposure, RemainingPrivacy};
use throng_account::bound::{BOUNDS, Bound};
use throng_dp::{CentralGuarantee, Coins, LocalGuarantee, Neighbors, Removal, Replacement};
use throng_survey::{CheckedClaim, LocalPromise, Promise, terms};
use throng_wire::Survey;

use super::query::{Query, bad};
use super::{Json, PathParam, SharedState};
use throng_host::net::Problem;

/// `GET /api/surveys/{survey}/guarantee?instances&analyzer&honest_fraction&respondents&bound&label`: what is left if so many
/// instances are bad (and the analyzer, if `analyzer` is `true`), that share of the crowd is honest, and so many respond under
/// that label; without one, under the label whose fragments go to the fewest instances.
pub(super) async fn what_if(
    State(serving): State<SharedState>,
    PathParam(survey): PathParam<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<ScenarioResult>, Problem> {
    let names = ["instances", "analyzer", "honest_fraction", "respondents", "bound", "label"];
    let query = Query::read(query.as_deref(), &names)?;
    serving
        .work_while_wanted(move |serving, wanted| {
            let survey = serving.survey(&survey)?.survey.survey();
            let planned = Scenario::planned(survey);
            let asked = Scenario {
                bad_instances: query
                    .within("instances", 0, survey.delivery.instances)?
                    .unwrap_or(planned.bad_instances),
                analyzer: query.number("analyzer")?.unwrap_or(planned.analyzer),
                honest_fraction: query
                    .within("honest_fraction", 0.001, 1.0)?
                    .unwrap_or(planned.honest_fraction),
                respondents: query
                    .within("respondents", 1, 1_000_000_000_000)?
                    .unwrap_or(planned.respondents),
                bound: query.text("bound").map_or(planned.bound, str::to_owned),
            };
            let label = query.number("label")?;
            wanted.account(ADVICE, |go_on| ScenarioResult::of(survey, asked, label, go_on))?.map(Json)
        })
        .await
}

/// A scenario: what may have happened.
#[derive(PartialEq, Serialize)]
struct Scenario {
    bad_instances: u32,
    analyzer: bool,
    honest_fraction: f64,
    respondents: u64,
    /// Written with what it proves.
    #[serde(skip)]
    bound: String,
}

impl Scenario {
    /// That all is as the survey says.
    fn planned(survey: &Survey) -> Self {
        Self {
            bad_instances: 0,
            analyzer: false,
            honest_fraction: survey.honest_fraction(),
            respondents: survey.crowd.respondents_min,
            bound: survey.claim.bound.clone(),
        }
    }
}

/// What a scenario leaves.
#[derive(Serialize)]
pub(super) struct ScenarioResult {
    #[serde(flatten)]
    asked: Scenario,
    instances: u32,
    /// Which of them get fragments under the label.
    instances_receiving: Vec<u32>,
    label: u32,
    hops: u32,
    respondents_min: u64,
    /// With so few the epoch is destroyed, and there is no release.
    destroyed: bool,
    /// Whether nothing else is asked than what the survey itself says.
    planned: bool,
    #[serde(flatten)]
    guarantee: Guarantee,
    /// What one fragment says that is known to be somebody's.
    epsilon_fragment: f64,
    /// How many fragments each bit is sent in.
    fragments: u32,
    /// The guarantee under replacement: what tells two answers apart that somebody could have given.
    replacement: ReplacementBounds,
    /// What it is worth that somebody took part at all, for the crowd that is planned.
    absence: String,
    /// What the attacker leaves.
    left: RemainingPrivacyJson,
    /// What the guarantee rests on, in sentences.
    assumptions: Vec<String>,
    /// Every bound, in plain words.
    bounds: Vec<Value>,
}

/// What is guaranteed then.
#[derive(Serialize)]
#[serde(untagged)]
enum Guarantee {
    /// What a release guarantees, and what is left without it.
    Kept(Promise),
    /// Nothing can be said of a release: its numbers are null. What holds whatever fails holds then, too.
    Nothing {
        epsilon_central: (),
        delta: f64,
        neighbors: &'static str,
        bound: String,
        honest_respondents: (),
        #[serde(flatten)]
        local: LocalPromise,
        reason: String,
    },
}

/// Bounds under replacement.
#[derive(Serialize)]
struct ReplacementBounds {
    epsilon_local: f64,
    epsilon_fragment: f64,
    epsilon_central: Option<f64>,
    delta: Option<f64>,
}

/// What is left of a respondent's privacy.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum RemainingPrivacyJson {
    /// The guarantee of a release.
    Central { epsilon: f64, delta: f64 },
    /// Nothing of the value is seen; that somebody took part is.
    ParticipationOnly,
    /// Some fragments are known to be the respondent's.
    Local { fragments: u32, epsilon: f64, epsilon_with_release: f64 },
    /// Only the floor.
    Floor { epsilon: f64 },
}

impl ScenarioResult {
    fn of(
        survey: &Survey,
        asked: Scenario,
        label: Option<u32>,
        go_on: CancelToken<'_>,
    ) -> Result<Self, Problem> {
        let refused = |error: &dyn ToString| bad(error.to_string());
        let claim = match label {
            Some(label) => CheckedClaim::under(survey, label),
            None => CheckedClaim::check(survey),
        };
        let claim = claim.map_err(|error| refused(&error))?;
        let mut terms = terms(survey, claim.label).map_err(|error| refused(&error))?;
        terms.honest_fraction = asked.honest_fraction;
        terms.bound = Bound::named(&asked.bound).map_err(|error| refused(&error))?;
        let crowd = &survey.crowd;
        let kept = terms.guarantee_at_least(asked.respondents, crowd.respondents_min, go_on);
        let bound = asked.bound.clone();
        let (kept, guarantee) = match kept {
            Ok(kept) => {
                let mut promise = claim.promise.of_crowd(kept.central, kept.honest);
                promise.central.bound = bound;
                (Some(kept), Guarantee::Kept(promise))
            }
            Err(error) => {
                let Promise { central, local, .. } = claim.promise.clone();
                let nothing = Guarantee::Nothing {
                    epsilon_central: (),
                    delta: central.delta,
                    neighbors: Removal::NAME,
                    bound,
                    honest_respondents: (),
                    local,
                    reason: error.to_string(),
                };
                (None, nothing)
            }
        };
        // The worst that so many can be: as many as there are of those that get fragments.
        let bad_instances = asked.bad_instances.min(claim.exposure.instances);
        let attacker = match asked.analyzer {
            true => Coalition::AnalyzerAndInstances(bad_instances),
            false => Coalition::Instances(bad_instances),
        };
        let central = kept.map_or(claim.claimed, |kept| kept.central);
        let left = Exposure { central, ..claim.exposure }.left(attacker).map_err(|error| refused(&error))?;
        let floor = claim.floor.epsilon().value();
        let [local, fragment] = [claim.floor, claim.fragment]
            .map(|removal| LocalGuarantee::<Replacement>::from(removal).epsilon().value());
        let released = kept.map(|kept| CentralGuarantee::<Replacement>::from(kept.central));
        let assumptions = assumptions(survey, &asked, claim.label, kept.map(|kept| kept.honest));
        Ok(Self {
            instances: survey.delivery.instances,
            instances_receiving: survey.receiving(claim.label),
            label: claim.label,
            hops: survey.delivery.hops,
            respondents_min: crowd.respondents_min,
            destroyed: asked.respondents < crowd.respondents_min,
            planned: asked == Scenario::planned(survey),
            guarantee,
            epsilon_fragment: claim.fragment.epsilon().value(),
            fragments: match terms.coins {
                Coins::Runs { .. } => 1,
                Coins::Fragments { tau, .. } => tau,
            },
            replacement: ReplacementBounds {
                epsilon_local: local,
                epsilon_fragment: fragment,
                epsilon_central: released.map(|released| released.epsilon().value()),
                delta: released.map(|released| released.delta().value()),
            },
            absence: claim.absence_in_words(),
            left: remaining(left, kept.map(|kept| kept.central), floor),
            assumptions,
            bounds: BOUNDS.iter().map(in_words).collect(),
            asked,
        })
    }
}

fn remaining(
    left: RemainingPrivacy,
    central: Option<CentralGuarantee<Removal>>,
    floor: f64,
) -> RemainingPrivacyJson {
    match (left, central) {
        (RemainingPrivacy::Central(_), Some(central)) => RemainingPrivacyJson::Central {
            epsilon: central.epsilon().value(),
            delta: central.delta().value(),
        },
        (RemainingPrivacy::Central(_), None) => RemainingPrivacyJson::Floor { epsilon: floor },
        (RemainingPrivacy::ParticipationOnly, _) => RemainingPrivacyJson::ParticipationOnly,
        (RemainingPrivacy::Local { fragments, exposed, with_release }, _) => RemainingPrivacyJson::Local {
            fragments,
            epsilon: exposed.epsilon().value(),
            epsilon_with_release: with_release.epsilon().value(),
        },
    }
}

fn assumptions(survey: &Survey, asked: &Scenario, label: u32, honest: Option<u64>) -> Vec<String> {
    let mut all = Vec::new();
    let labels = survey.labels.as_ref();
    if let Some((name, profile)) =
        labels.and_then(|labels| Some((labels.name(label)?, labels.profile(label)?)))
    {
        let profile: Vec<String> = profile.iter().map(u32::to_string).collect();
        all.push(format!(
            "Fragments under the label {name} go to these instances alone: {}. Bad instances are taken to be among them.",
            profile.join(", ")
        ));
    }
    if let Some(honest) = honest {
        let follow = (asked.respondents as f64 * asked.honest_fraction).floor() as u64;
        // Of those beyond the plan nobody need be counted on; of a label's crowd, only as many as each instance keeps.
        let counted_on = match (honest < follow, labels.is_some()) {
            (false, _) => String::new(),
            (true, true) => {
                format!(
                    " Every instance deletes some at random; each keeps {honest} of them at least, who hide each other there."
                )
            }
            (true, false) => format!(" {honest} of them are counted on."),
        };
        all.push(format!(
            "{follow} of {} respondents follow the protocol and do not tell the attacker what they sent.{counted_on}",
            asked.respondents
        ));
    }
    all.push(format!(
        "Of the {} hops of an instance that is not counted as bad, one at least is honest.",
        survey.delivery.hops
    ));
    all.push(format!(
        "Each person sends one answer in an epoch, and the first hops count people: an epoch with fewer than {} is destroyed.",
        survey.crowd.respondents_min
    ));
    all
}

/// A bound's name, where it is from, and what it assumes.
fn in_words(bound: &Bound) -> Value {
    let words = WORDS.iter().find(|(name, _)| *name == bound.name).map_or("", |(_, words)| *words);
    json!({ "name": bound.name, "source": bound.source, "words": words })
}

/// What to do about a question that takes too long.
const ADVICE: &str = ": ask for a bound other than exact; `throng account` takes its time";

/// For readers who have never seen a bound.
const WORDS: [(&str, &str); 6] = [
    (
        "exact",
        "Computed for exactly the coins that this survey tosses, against the worst answers that all other people could \
         have given, and rounded to the safe side. It is the tightest that is known here, and the default.",
    ),
    (
        "fmt23",
        "Holds for any randomizer of this strength: it pictures every honest respondent as sometimes answering like a \
         stand-in for you. Safe, and a little looser than exact because it does not know which coins were tossed.",
    ),
    ("clones21", "The same idea two years earlier, with fewer stand-ins: safe, and looser still."),
    (
        "blanket",
        "Counts only the part of each answer that is pure noise, the blanket that hides you. A formula for any \
         randomizer: safe, simple, and far from tight for small crowds.",
    ),
    (
        "lemma",
        "The paper's own formula behind its tables. It needs a large crowd and says nothing outside its conditions.",
    ),
    (
        "theorem",
        "The paper's headline theorem: easy to state, and the loosest. It is kept for comparison with the paper.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use throng_account::TO_THE_END;
    use throng_testing::survey::{FRAGMENTED, with};

    use super::*;
    use crate::dashboard::{Cancellation, PATIENCE};

    #[test]
    fn what_if_is_answered_while_somebody_waits() {
        let survey = Survey::from_toml(&profiles()).unwrap();
        let waiting = Arc::new(());
        let answer = |patience| {
            let wanted = Cancellation { waiting: Arc::downgrade(&waiting), until: Instant::now() + patience };
            wanted
                .account(ADVICE, |go_on| ScenarioResult::of(&survey, Scenario::planned(&survey), None, go_on))
        };
        assert!(answer(PATIENCE).is_ok());
        let late = answer(Duration::ZERO).err().unwrap();
        assert_eq!((late.status.as_u16(), late.name.as_ref()), (422, "too-much"));
        assert!(late.detail.contains("throng account"), "{late}");
    }

    /// A guarantee has the same names here as in a release, each once; where nothing can be said, the floor has them.
    #[test]
    fn a_guarantee_is_a_promise_or_a_reason_and_the_floor() {
        let survey = Survey::from_toml(FRAGMENTED).unwrap();
        let claim = CheckedClaim::check(&survey).unwrap();
        let by = |bound: &str, respondents: u64| {
            let asked = Scenario { bound: bound.into(), respondents, ..Scenario::planned(&survey) };
            let what = ScenarioResult::of(&survey, asked, None, TO_THE_END).ok().unwrap();
            let text = serde_json::to_string(&what).unwrap();
            assert_eq!(text.matches("\"bound\":").count(), 1, "{text}");
            serde_json::to_value(&what).unwrap()
        };
        let kept = by("exact", survey.crowd.respondents_min);
        let promise: Promise = serde_json::from_value(kept.clone()).unwrap();
        assert_eq!(promise, claim.promise.of_crowd(claim.central, claim.promise.honest_respondents));
        assert_eq!((kept.get("reason"), &kept["left"]["kind"]), (None, &json!("central")));
        let nothing = by("theorem", 100);
        assert_eq!((&nothing["bound"], &nothing["neighbors"]), (&json!("theorem"), &json!("removal")));
        assert_eq!((&nothing["epsilon_local"], &nothing["backstop"]), (&json!(5.25), &json!(true)));
        assert_eq!(
            (&nothing["epsilon_central"], &nothing["honest_respondents"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!((&nothing["delta"], &nothing["left"]["kind"]), (&json!(1e-6), &json!("floor")));
        assert!(!nothing["reason"].as_str().unwrap().is_empty());
        let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let [kept, nothing] = [&kept, &nothing].map(keys);
        assert_eq!(nothing.difference(&kept).collect::<Vec<_>>(), ["reason"]);
    }

    #[test]
    fn every_bound_is_put_into_words() {
        assert!(BOUNDS.iter().all(|bound| !in_words(bound)["words"].as_str().unwrap().is_empty()));
    }

    /// Four fragments of a bit: of three instances each sees two at most, of one all; more bad ones than there are change
    /// nothing. Without a label the answer is for the smallest profile.
    #[test]
    fn a_trust_profile_is_asked_about_by_its_label() {
        let survey = Survey::from_toml(&profiles()).unwrap();
        let of = |label, bad_instances| {
            let (analyzer, honest_fraction, respondents) = (true, 0.9, 100_000);
            let asked =
                Scenario { bad_instances, analyzer, honest_fraction, respondents, bound: "exact".into() };
            ScenarioResult::of(&survey, asked, label, TO_THE_END).ok()
        };
        for (label, bad, receiving, seen) in [
            (Some(1), 1, &[1, 2, 3][..], 2),
            (Some(1), 3, &[1, 2, 3], 4),
            (Some(2), 1, &[2], 4),
            (Some(2), 3, &[2], 4),
            (None, 2, &[2], 4),
        ] {
            let what = of(label, bad).unwrap();
            assert_eq!((&what.instances_receiving[..], what.asked.bad_instances), (receiving, bad));
            assert_eq!((what.instances, what.label), (3, label.unwrap_or(2)));
            assert!(
                matches!(what.left, RemainingPrivacyJson::Local { fragments, .. } if fragments == seen),
                "{label:?} {bad}"
            );
            assert_eq!(
                what.assumptions[0].contains("label one go to these instances alone: 2."),
                receiving == [2]
            );
            // How many are honest, and how many of them deletion leaves, are two numbers.
            let Guarantee::Kept(promise) = &what.guarantee else { panic!("nothing is kept") };
            let (follow, left) = ("90000 of 100000 respondents follow", promise.honest_respondents);
            let stay = format!("each keeps {left} of them at least");
            assert!(left < 90_000);
            assert!(what.assumptions.iter().any(|one| one.contains(follow) && one.contains(&stay)));
        }
        assert!(of(Some(0), 1).is_none() && of(Some(3), 1).is_none(), "no such labels");
    }

    /// Fragments of the second label go to instance 2 alone.
    fn profiles() -> String {
        let crowd = r#"{ respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }"#;
        let fields = [
            ("name", r#""which-pixel""#),
            ("crowd", crowd),
            ("delivery", r#"{ instances = 3, hops = 2, envelopes = 200, cover = "chaff" }"#),
            ("claim", r#"{ epsilon_central = 1.5, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
        ];
        let labels = "[labels]\nnames = [\"all\", \"one\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\n";
        with(FRAGMENTED, &fields) + labels + "profiles = { one = [2] }\n"
    }
}
