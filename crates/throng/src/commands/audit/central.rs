//! `throng audit central`: lower bounds of ε_central.

use std::fs;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use serde::Serialize;
use throng_account::amplification::exact;
use throng_dp::{BitRandomizer, Delta, Epsilon, OneHot};
use throng_wire::Survey;

use super::{Sure, conclude, verdict_line};
use crate::audit::Verdict;
use crate::audit::central::{Crowd, Found, Questions, one_hot_of};
use crate::audit::game::Stream;
use crate::cli::audit::CentralArgs;
use crate::commands::Format;

pub(super) fn run(args: &CentralArgs, format: Format) -> Result<()> {
    let sure = Sure::check(&args.sureness)?;
    let crowd = crowd(args)?;
    let deltas = args.at_delta.iter().map(|&delta| {
        ensure!(delta > 0.0 && delta < 1.0, "--at-delta is {delta}; give numbers between 0 and 1");
        Ok(Delta::new(delta)?)
    });
    let questions =
        Questions { deltas: deltas.collect::<Result<_>>()?, games: args.games, error: sure.error() };
    let found = crowd.audit(&questions, Stream { seed: sure.seed, measurement: 0 })?;
    let verdict = Verdict::all(found.iter().flat_map(|one| &one.bounds).map(|one| one.verdict));
    let result = CentralResult {
        respondents: crowd.respondents,
        holders: crowd.holders,
        epsilon_local: crowd.one_hot.coin().epsilon().value(),
        neighbors: "removal",
        games: args.games,
        confidence: sure.confidence,
        seed: sure.seed,
        verdict,
        found,
    };
    let broken = "a release says more about a respondent than a bound claims";
    conclude(&result, || text(&result, sure), verdict, broken, format)
}

/// The result of `throng audit central`. The names are stable.
#[derive(Debug, Serialize)]
struct CentralResult {
    respondents: u64,
    holders: u64,
    epsilon_local: f64,
    neighbors: &'static str,
    games: u64,
    confidence: f64,
    seed: u64,
    verdict: Verdict,
    found: Vec<Found>,
}

/// The crowd, as typed or as a survey has it.
fn crowd(args: &CentralArgs) -> Result<Crowd> {
    let (respondents, one_hot) = match &args.survey {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let survey = Survey::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
            let honest = survey.crowd.respondents_min as f64 * survey.crowd.honest_fraction;
            (honest.floor() as u64, one_hot_of(&survey.mechanism()?)?)
        }
        None => {
            let (central, delta) = (args.epsilon_central, args.delta);
            let local = match args.epsilon_local {
                Some(local) => Epsilon::new(local).context("--epsilon-local")?,
                None => {
                    let central = Epsilon::new(central).context("--epsilon-central")?;
                    let delta = Delta::new(delta).context("--delta")?;
                    exact::epsilon_local_certified(args.respondents, central, delta)?
                }
            };
            (args.respondents, OneHot::new(2, local)?)
        }
    };
    ensure!(respondents >= 2, "a crowd of {respondents} hides nobody; give at least 2 respondents");
    let others = if args.broken { respondents / 2 } else { respondents } - 1;
    ensure!(
        args.holders <= others,
        "--holders {} is more than the others there are; give at most {others}",
        args.holders
    );
    Ok(Crowd { respondents, holders: args.holders, others, one_hot, mode: args.mode })
}

fn text(result: &CentralResult, sure: Sure) -> String {
    let mut text = format!(
        "{} respondents, {} others hold the value; epsilon_local {:.4}, {} neighbors, {} games in each world\n",
        HumanCount(result.respondents),
        HumanCount(result.holders),
        result.epsilon_local,
        result.neighbors,
        HumanCount(result.games)
    );
    for found in &result.found {
        text += &format!("\nat delta {}: epsilon_central is at least {:.4}\n", found.delta, found.lower);
        text += &format!("  {:<12}{:>10}{:>22}\n", "bound", "claims", "times the lower bound");
        for one in &found.bounds {
            text += &match (one.claimed, one.looseness) {
                (Some(claimed), Some(looseness)) => {
                    format!("  {:<12}{claimed:>10.4}{looseness:>22.2}  {}\n", one.bound, one.verdict.word())
                }
                (Some(claimed), None) => {
                    format!("  {:<12}{claimed:>10.4}{:>22}  {}\n", one.bound, "", one.verdict.word())
                }
                (None, _) => format!("  {:<12}{:>10}\n", one.bound, "none here"),
            };
        }
    }
    let kept = "No bound was exceeded.";
    text + &verdict_line(
        result.verdict,
        sure,
        kept,
        "A release says more about a respondent than a bound claims",
    )
}
