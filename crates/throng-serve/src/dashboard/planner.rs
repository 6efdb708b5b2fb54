//! The planner: what `throng plan` answers, with a sample crowd on which it is tried at once.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde::Serialize;
use throng_survey::plan::{Domain, EncodingChoice, SurveyPlan, Target};

use super::query::{Query, bad};
use super::{Cancellation, Download, Json, SharedState, file_name, problem};
use crate::studio::{SampleResult, Trial};
use throng_host::net::Problem;

/// `GET /api/plan`: `plan` is what `throng plan --json` prints for these parameters; `sample` what a crowd of that many
/// makes of it. A picture decides how many values there are, close to `domain`.
pub(super) async fn plan(
    State(serving): State<SharedState>,
    RawQuery(query): RawQuery,
) -> Result<Json<PlanPage>, Problem> {
    let names: Vec<&str> = NAMES.iter().copied().chain(["sample", "seed"]).collect();
    let query = Query::read(query.as_deref(), &names)?;
    serving
        .work_while_wanted(move |serving, wanted| {
            let (mut target, mut domain) = target(&query)?;
            let name = query.text("sample").map(str::to_owned);
            let named = |name: String| {
                let sample = serving.studio()?.sample(&name, domain, target.respondents);
                sample.map_err(|error| bad(error.to_string()))
            };
            let sample = name.map(named).transpose()?;
            if let Some(sample) = &sample {
                domain = sample.domain();
                target.asked = Domain::Values(domain);
            }
            let plan = worked_out(&target, wanted)?;
            let seed = query.number("seed")?.unwrap_or(1);
            let wanted = |advice: &str| wanted.check(advice);
            let trial =
                Trial { survey: &plan.survey, threshold: plan.noise_threshold, seed, wanted: &wanted };
            let tried = sample.map(|sample| sample.tried(&trial));
            Ok(Json(PlanPage { domain, sample: tried.transpose()?, plan }))
        })
        .await
}

/// `GET /api/plan/survey.toml`: the file that `throng plan --out` writes.
pub(super) async fn survey_file(
    State(serving): State<SharedState>,
    RawQuery(query): RawQuery,
) -> Result<Download, Problem> {
    let query = Query::read(query.as_deref(), &NAMES)?;
    serving
        .work_while_wanted(move |_, wanted| {
            let plan = worked_out(&target(&query)?.0, wanted)?;
            let text = plan.survey.to_toml().map_err(|error| problem(&error.into()))?;
            let name = file_name::of_draft(&plan.survey.name);
            Ok(Download { name, kind: "application/toml", bytes: text.into_bytes() })
        })
        .await
}

/// A plan, and what a crowd makes of it.
#[derive(Serialize)]
pub(super) struct PlanPage {
    domain: u64,
    plan: SurveyPlan,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<SampleResult>,
}

/// A plan, unless nobody waits for it any more or it takes too long. For a crowd that is much too small it takes long to
/// find a size that would do.
fn worked_out(target: &Target, wanted: &Cancellation) -> Result<SurveyPlan, Problem> {
    wanted.account(ADVICE, |go_on| throng_survey::plan_while(target, go_on))?.map_err(|error| refused(&error))
}

/// The target that is asked for, each parameter within what this server has time and room for, and how many values there are.
fn target(query: &Query) -> Result<(Target, u64), Problem> {
    let missing = |name: &str| bad(format!("give {name}"));
    let count = |name: &str, most: u32, otherwise: u32| -> Result<u32, Problem> {
        Ok(query.within(name, 1, most)?.unwrap_or(otherwise))
    };
    let domain = query.within("domain", 2, (1 << 53) - 1)?.ok_or_else(|| missing("domain"))?;
    let target = Target {
        epsilon_central: query
            .within("epsilon_central", 0.01, 20.0)?
            .ok_or_else(|| missing("epsilon_central"))?,
        delta: query.within("delta", 1e-15, 0.01)?.ok_or_else(|| missing("delta"))?,
        respondents: query
            .within("respondents", 2, 1_000_000_000_000)?
            .ok_or_else(|| missing("respondents"))?,
        asked: Domain::Values(domain),
        report_fragments: count("report_fragments", 64, 1)?,
        instances: count("instances", 32, 3)?,
        hops: count("hops", 16, 2)?,
        honest_fraction: query.within("honest_fraction", 0.01, 1.0)?,
        encoding: match query.text("encoding") {
            None => None,
            Some("one-hot") => Some(EncodingChoice::OneHot),
            Some("sketch") => Some(EncodingChoice::Sketch),
            Some(_) => return Err(bad("encoding is one-hot or sketch, or left out")),
        },
        name: query.short("name", 100)?.unwrap_or("survey").to_owned(),
        question: query.short("question", 1000)?.unwrap_or_default().to_owned(),
        epoch_s: query.within("epoch_s", 1, 10 * 366 * 86_400)?.unwrap_or(86_400),
        ..Target::default()
    };
    Ok((target, domain))
}

/// A target that cannot be met is 422; a parameter that makes no sense is 400.
fn refused(error: &throng_survey::Error) -> Problem {
    match error {
        throng_survey::Error::Unmet(rule) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", rule.to_string())
        }
        other => bad(other.to_string()),
    }
}

const NAMES: [&str; 12] = [
    "epsilon_central",
    "delta",
    "respondents",
    "domain",
    "report_fragments",
    "instances",
    "hops",
    "honest_fraction",
    "encoding",
    "name",
    "question",
    "epoch_s",
];

/// What to do about a plan that takes too long.
const ADVICE: &str = ": choose a larger crowd, fewer report fragments, or a larger epsilon_central; `throng plan` takes its time";

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};
    use std::time::Instant;

    use super::*;
    use crate::dashboard::PATIENCE;

    #[test]
    fn a_plan_is_worked_out_for_whoever_still_waits() {
        let query = "epsilon_central=1&delta=1e-6&respondents=40000&domain=90";
        let (args, _) = target(&Query::read(Some(query), &NAMES).unwrap()).unwrap();
        // Nothing of it is remembered yet.
        let waiting = Arc::new(());
        let [soon, over] = [Instant::now() + PATIENCE, Instant::now()];
        let gone = worked_out(&args, &Cancellation { waiting: Weak::new(), until: soon }).unwrap_err();
        assert_eq!(gone.status, StatusCode::INTERNAL_SERVER_ERROR);
        let late =
            worked_out(&args, &Cancellation { waiting: Arc::downgrade(&waiting), until: over }).unwrap_err();
        assert_eq!((late.status, late.name.as_ref()), (StatusCode::UNPROCESSABLE_ENTITY, "too-much"));
        assert!(late.detail.contains("`throng plan` takes its time"), "{late}");
        let plan =
            worked_out(&args, &Cancellation { waiting: Arc::downgrade(&waiting), until: soon }).unwrap();
        assert_eq!((plan.survey.crowd.respondents_min, plan.survey.domain()), (40_000, 90));
    }
}
