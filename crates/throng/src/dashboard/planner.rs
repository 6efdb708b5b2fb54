//! The planner: what `throng plan` answers, with a sample crowd on which it is tried at once.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde::Serialize;

use super::query::{Query, bad};
use super::sample::{Sample, Tried};
use super::{Download, Json, Shared, problem};
use crate::cli::{EncodingArg, PlanArgs};
use crate::commands::plan::{Planned, planned};
use crate::exit::Refusal;
use crate::net::Problem;

/// `GET /api/plan`: `plan` is what `throng plan --json` prints for these parameters; `sample` what a crowd of that many
/// makes of it. A picture decides how many values there are, close to `domain`.
pub(super) async fn plan(
    State(serving): State<Shared>,
    RawQuery(query): RawQuery,
) -> Result<Json<PlanPage>, Problem> {
    let names: Vec<&str> = NAMES.iter().copied().chain(["sample", "seed"]).collect();
    let query = Query::read(query.as_deref(), &names)?;
    serving
        .work(move |_| {
            let mut args = arguments(&query)?;
            let name = query.text("sample").map(str::to_owned);
            let domain = args.domain.unwrap_or(0);
            let sample = name.map(|name| Ok((Sample::named(&name, domain, args.respondents)?, name)));
            let sample = sample.transpose().map_err(|error: anyhow::Error| bad(error.to_string()))?;
            if let Some((sample, _)) = &sample {
                args.domain = Some(sample.domain());
            }
            let plan = planned(&args).map_err(|error| refused(&error))?;
            let seed = query.number("seed")?.unwrap_or(1);
            let tried = sample.map(|(sample, name)| {
                sample.tried(&name, &plan.survey, plan.noise_threshold, seed).map_err(|error| problem(&error))
            });
            Ok(Json(PlanPage { domain: args.domain.unwrap_or(0), sample: tried.transpose()?, plan }))
        })
        .await
}

/// `GET /api/plan/survey.toml`: the file that `throng plan --out` writes.
pub(super) async fn survey_file(
    State(serving): State<Shared>,
    RawQuery(query): RawQuery,
) -> Result<Download, Problem> {
    let query = Query::read(query.as_deref(), &NAMES)?;
    serving
        .work(move |_| {
            let plan = planned(&arguments(&query)?).map_err(|error| refused(&error))?;
            let text = plan.survey.to_toml().map_err(|error| problem(&error.into()))?;
            Ok(Download { name: "survey.toml".into(), kind: "application/toml", bytes: text.into_bytes() })
        })
        .await
}

/// A plan, and what a crowd makes of it.
#[derive(Serialize)]
pub(super) struct PlanPage {
    domain: u64,
    plan: Planned,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<Tried>,
}

/// The arguments that `throng plan` would be given.
fn arguments(query: &Query) -> Result<PlanArgs, Problem> {
    Ok(PlanArgs {
        epsilon_central: query.need("epsilon_central")?,
        delta: query.need("delta")?,
        respondents: query.need("respondents")?,
        domain: Some(query.need("domain")?),
        attribute: Vec::new(),
        report_fragments: query.number("report_fragments")?.unwrap_or(1),
        instances: query.number("instances")?.unwrap_or(3),
        hops: query.number("hops")?.unwrap_or(2),
        honest_fraction: query.number("honest_fraction")?.unwrap_or(1.0),
        encoding: match query.text("encoding") {
            None => None,
            Some("one-hot") => Some(EncodingArg::OneHot),
            Some("sketch") => Some(EncodingArg::Sketch),
            Some(_) => return Err(bad("encoding is one-hot or sketch, or left out")),
        },
        label: Vec::new(),
        epsilon_deletion: None,
        delta_deletion: None,
        zipf: None,
        sample: None,
        crowd_for_share: None,
        hash_seed: 1,
        name: query.text("name").unwrap_or("survey").to_owned(),
        question: query.text("question").unwrap_or_default().to_owned(),
        epoch_s: query.number("epoch_s")?.unwrap_or(86_400),
        out: None,
    })
}

/// A target that cannot be met is 422; a parameter that makes no sense is 400.
fn refused(error: &anyhow::Error) -> Problem {
    match error.downcast_ref::<Refusal>() {
        Some(Refusal(sentence)) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", sentence.clone())
        }
        None => bad(format!("{error:#}")),
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
