//! `throng audit central`: lower bounds of ε_central.

use std::fs;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use serde::Serialize;
use throng_account::amplification::exact;
use throng_account::bound::Bound;
use throng_account::terms::Terms;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Mechanism, OneHot, Removal};
use throng_survey::CentralPromise;
use throng_wire::Survey;
use throng_wire::survey::Encoding;

use super::{AuditSettings, conclude, verdict_line};
use crate::cli::audit::CentralArgs;
use crate::commands::Format;
use throng_account::rounding::{at_least, at_most};
use throng_lab::audit::Verdict;
use throng_lab::audit::central::{ClaimVerdict, Crowd, DeltaFindings, Questions};
use throng_lab::audit::game::Stream;

pub(super) fn run(args: &CentralArgs, format: Format) -> Result<()> {
    let sure = AuditSettings::check(&args.sureness)?;
    let (crowd, claim) = crowd(args)?;
    let (claim, promise) = claim.unzip();
    let deltas = args.at_delta.iter().map(|&delta| {
        ensure!(delta > 0.0 && delta < 1.0, "--at-delta is {delta}; give numbers between 0 and 1");
        Ok(Delta::new(delta)?)
    });
    let deltas = deltas.collect::<Result<_>>()?;
    let questions = Questions { deltas, claim, games: args.games, error: sure.error() };
    let found = crowd.audit(&questions, Stream { seed: sure.seed, measurement: 0 })?;
    let verdict = Verdict::all(found.iter().map(DeltaFindings::verdict));
    let result = CentralResult {
        respondents: crowd.respondents,
        holders: crowd.holders,
        epsilon_local: crowd.mechanism.floor().epsilon().value(),
        claimed: promise,
        neighbors: "removal",
        games: args.games,
        confidence: sure.confidence,
        seed: sure.seed,
        verdict,
        found,
    };
    conclude(&result, || text(&result, sure), verdict, &result.broken().to_lowercase(), format)
}

/// The result of `throng audit central`. The names are stable.
#[derive(Debug, Serialize)]
struct CentralResult {
    respondents: u64,
    holders: u64,
    epsilon_local: f64,
    claimed: Option<CentralPromise>,
    neighbors: &'static str,
    games: u64,
    confidence: f64,
    seed: u64,
    verdict: Verdict,
    found: Vec<DeltaFindings>,
}

impl CentralResult {
    /// What is broken, if anything is.
    fn broken(&self) -> &'static str {
        let bound = self.found.iter().flat_map(|found| &found.bounds).any(|one| one.verdict.is_broken());
        if bound {
            "A release says more about a respondent than a bound claims"
        } else {
            "A release says more about a respondent than its survey claims"
        }
    }
}

/// What a survey claims, and as it is shown.
type SurveyClaim = (CentralGuarantee<Removal>, CentralPromise);

/// The crowd, as typed or as a survey has it, with what the survey claims.
fn crowd(args: &CentralArgs) -> Result<(Crowd, Option<SurveyClaim>)> {
    let (respondents, mechanism, terms, claim) = match &args.survey {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let survey = Survey::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
            // As a respondent's check has it: the label whose fragments go to the fewest instances.
            let fewest = survey.label_numbers().min_by_key(|&label| survey.receiving(label).len());
            let terms = throng_survey::terms(&survey, fewest.unwrap_or(0))?;
            let least = survey.crowd.respondents_min;
            // A claim that its own accountant refuses is tried as well, on those who are said to be honest.
            let honest = terms.guarantee(least).map_or_else(
                |_| (least as f64 * survey.honest_fraction()).floor() as u64,
                |kept| kept.honest,
            );
            let claim = (terms.claimed, CentralPromise::new(terms.claimed, &survey.claim.bound));
            (honest, narrow(survey).mechanism()?, terms, Some(claim))
        }
        None => {
            let (central, delta) = (args.epsilon_central, args.delta);
            let (central, delta) =
                (Epsilon::new(central).context("--epsilon-central")?, Delta::new(delta).context("--delta")?);
            let local = match args.epsilon_local {
                Some(local) => Epsilon::new(local).context("--epsilon-local")?,
                None => exact::epsilon_local_certified(args.respondents, central, delta)?,
            };
            let mechanism = Mechanism::plain(OneHot::new(2, local)?);
            let terms = Terms {
                answers_kept: false,
                coins: mechanism.coins(),
                width: mechanism.domain(),
                rows: None,
                instances: 1,
                receiving: 1,
                envelopes: 1,
                honest_fraction: 1.0,
                deletion: None,
                claimed: CentralGuarantee::new(central, delta),
                bound: Bound::named("exact")?,
            };
            (args.respondents, mechanism, terms, None)
        }
    };
    ensure!(respondents >= 2, "a crowd of {respondents} hides nobody; give at least 2 respondents");
    let others = if args.broken { respondents / 2 } else { respondents } - 1;
    ensure!(
        args.holders <= others,
        "--holders {} is more than the others there are; give at most {others}",
        args.holders
    );
    Ok((Crowd { respondents, holders: args.holders, others, mechanism, mode: args.mode, terms }, claim))
}

/// A survey whose sketch has two cells in a row. All others have nothing to do with the value, and there may be a million.
fn narrow(mut survey: Survey) -> Survey {
    if let Encoding::Sketch { cells, .. } = &mut survey.encoding {
        *cells = 2;
    }
    survey
}

fn text(result: &CentralResult, sure: AuditSettings) -> String {
    let mut text = format!(
        "{} respondents, {} others hold the value; epsilon_local {:.4}, {} neighbors, {} games in each world\n",
        HumanCount(result.respondents),
        HumanCount(result.holders),
        at_most(result.epsilon_local),
        result.neighbors,
        HumanCount(result.games)
    );
    if let Some(claimed) = &result.claimed {
        text += &format!(
            "the survey claims epsilon_central {}, delta {:e}\n",
            claimed.epsilon_central, claimed.delta
        );
    }
    for found in &result.found {
        text += &format!(
            "\nat delta {}: epsilon_central is at least {:.4}\n",
            found.delta,
            at_least(found.lower)
        );
        text += &format!("  {:<12}{:>10}{:>22}\n", "bound", "claims", "times the lower bound");
        text.extend(found.claim.iter().chain(&found.bounds).map(line));
    }
    let kept = "Nothing that is claimed was exceeded.";
    text + &verdict_line(result.verdict, sure, kept, result.broken())
}

/// What is claimed by one bound, or by the survey.
fn line(one: &ClaimVerdict) -> String {
    let Some(claimed) = one.claimed else { return format!("  {:<12}{:>10}\n", one.bound, "none here") };
    let looseness = one.looseness.map_or_else(String::new, |looseness| format!("{looseness:.2}"));
    format!("  {:<12}{:>10.4}{looseness:>22}  {}\n", one.bound, at_most(claimed), one.verdict.word())
}
