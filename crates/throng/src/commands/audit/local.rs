//! `throng audit local`: lower bounds of ε_local.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use throng_dp::Epsilon;
use throng_wire::Survey;

use super::{AuditSettings, conclude, verdict_line};
use crate::cli::audit::LocalArgs;
use crate::commands::{Format, print};
use crate::progress;
use throng_account::rounding::{at_least, at_most};
use throng_lab::audit::Verdict;
use throng_lab::audit::game::Stream;
use throng_lab::audit::local::{LocalMeasurement, Promise, RESOLUTION};
use throng_lab::audit::randomizers::RandomizerName;

pub(super) fn run(args: &LocalArgs, format: Format) -> Result<()> {
    let sure = AuditSettings::check(&args.sureness)?;
    let promises = |excess: f64| promises(args, excess);
    if let Some(seeds) = args.self_check {
        return self_check(&promises, seeds, sure, format);
    }
    let promises = promises(if args.broken { RESOLUTION } else { 1.0 })?;
    let found = measure(&promises, sure.error(), sure.seed)?;
    let verdict = Verdict::all(found.iter().map(|one| one.verdict));
    let result = LocalResult { confidence: sure.confidence, seed: sure.seed, verdict, randomizers: found };
    conclude(&result, || text(&result, sure), verdict, "a randomizer spends more than it claims", format)
}

/// The result of `throng audit local`. The names are stable.
#[derive(Debug, Serialize)]
struct LocalResult {
    confidence: f64,
    seed: u64,
    verdict: Verdict,
    randomizers: Vec<LocalMeasurement>,
}

/// What is to be audited, as typed.
fn promises(args: &LocalArgs, excess: f64) -> Result<Vec<Promise>> {
    if !args.survey.is_empty() {
        let mut promises = Vec::new();
        for path in &args.survey {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let survey = Survey::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
            promises.extend(Promise::of_survey(&survey, excess)?);
        }
        return Ok(promises);
    }
    let names: &[RandomizerName] =
        if args.randomizer.is_empty() { RandomizerName::ALL } else { &args.randomizer };
    let mut promises = Vec::new();
    for &epsilon in &args.epsilon {
        ensure!(epsilon > 0.0, "--epsilon is {epsilon}; give numbers above 0, for example --epsilon 1,8");
        let epsilon = Epsilon::new(epsilon).context("--epsilon")?;
        for name in names {
            promises.push(name.promise(epsilon, excess)?);
        }
    }
    Ok(promises)
}

/// All of them, with an error probability that they share.
fn measure(promises: &[Promise], error: f64, seed: u64) -> Result<Vec<LocalMeasurement>> {
    let each = error / promises.len().max(1) as f64;
    let bar = progress::bar(promises.len() as u64, "randomizers")?;
    let found = (0..).zip(promises).map(|(measurement, promise)| {
        let found = promise.measure(each, Stream { seed, measurement });
        bar.inc(1);
        found
    });
    let found = found.collect();
    bar.finish_and_clear();
    found
}

fn text(result: &LocalResult, sure: AuditSettings) -> String {
    let mut text = format!(
        "{:<26}{:<13}{:>10}{:>13}{:>9}{:>15}  {}\n",
        "randomizer", "neighbors", "claimed", "lower bound", "share", "reports", ""
    );
    for one in &result.randomizers {
        text += &format!(
            "{:<26}{:<13}{:>10.4}{:>13.4}{:>7.1} %{:>15}  {}{}\n",
            one.name,
            one.neighbors,
            at_most(one.claimed),
            at_least(one.lower),
            100.0 * one.lower / one.claimed,
            HumanCount(one.reports).to_string(),
            one.verdict.word(),
            match (one.verdict, one.resolved) {
                (Verdict::Broken, _) => format!(": {}", one.statistic),
                (Verdict::Kept, true) => String::new(),
                (Verdict::Kept, false) =>
                    format!(", but an excess of {:.0} % might not show", 100.0 * (RESOLUTION - 1.0)),
            }
        );
    }
    let kept = "No randomizer was seen to spend more than it claims.";
    text + &verdict_line(result.verdict, sure, kept, "A randomizer spends more than it claims")
}

/// How the audit does on right randomizers and on broken ones.
#[derive(Debug, Serialize)]
struct SelfCheck {
    name: String,
    claimed: f64,
    seeds: u64,
    passed: u64,
    caught: u64,
    /// The longest that a right one took.
    passed_s_max: f64,
    /// The longest that a broken one took.
    caught_s_max: f64,
    /// The most processor time that a right one took, on all cores together: whatever else the machine does.
    passed_cpu_s_max: f64,
    /// The most processor time that a broken one took.
    caught_cpu_s_max: f64,
}

/// The processor time of this process so far.
fn cpu_s() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + 1e-9 * spent.tv_nsec as f64
}

/// Tries every promise with many seeds, kept and broken. An audit that does not do what it should is a failure.
fn self_check(
    promises: &dyn Fn(f64) -> Result<Vec<Promise>>,
    seeds: u64,
    sure: AuditSettings,
    format: Format,
) -> Result<()> {
    ensure!(seeds > 0, "--self-check 0 tries nothing; give the number of seeds, for example 20");
    let (right, broken) = (promises(1.0)?, promises(RESOLUTION)?);
    let bar = progress::bar(seeds * right.len() as u64, "trials")?;
    let mut checked = Vec::new();
    for (measurement, (right, broken)) in (0..).zip(right.iter().zip(&broken)) {
        let mut one = SelfCheck {
            name: right.name.clone(),
            claimed: right.claimed.value(),
            seeds,
            passed: 0,
            caught: 0,
            passed_s_max: 0.0,
            caught_s_max: 0.0,
            passed_cpu_s_max: 0.0,
            caught_cpu_s_max: 0.0,
        };
        for seed in (0..seeds).map(|number| sure.seed.wrapping_add(number)) {
            let measure = |promise: &Promise| -> Result<(bool, f64, f64)> {
                let (start, start_cpu_s) = (Instant::now(), cpu_s());
                let found = promise.measure(sure.error(), Stream { seed, measurement })?;
                Ok((found.verdict.is_broken(), start.elapsed().as_secs_f64(), cpu_s() - start_cpu_s))
            };
            let (accused, took_s, took_cpu_s) = measure(right)?;
            one.passed += u64::from(!accused);
            one.passed_s_max = one.passed_s_max.max(took_s);
            one.passed_cpu_s_max = one.passed_cpu_s_max.max(took_cpu_s);
            let (caught, took_s, took_cpu_s) = measure(broken)?;
            one.caught += u64::from(caught);
            one.caught_s_max = one.caught_s_max.max(took_s);
            one.caught_cpu_s_max = one.caught_cpu_s_max.max(took_cpu_s);
            bar.inc(1);
        }
        checked.push(one);
    }
    bar.finish_and_clear();
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&checked)? + "\n"))?,
        Format::Text => {
            let mut text = format!(
                "{:<26}{:>10}{:>16}{:>11}{:>11}{:>16}{:>11}{:>11}\n",
                "randomizer", "claimed", "right: passed", "longest", "CPU", "1.05: caught", "longest", "CPU"
            );
            for one in &checked {
                let of = |hits: u64| format!("{hits} of {seeds}");
                text += &format!(
                    "{:<26}{:>10.4}{:>16}{:>9.1} s{:>9.1} s{:>16}{:>9.1} s{:>9.1} s\n",
                    one.name,
                    one.claimed,
                    of(one.passed),
                    one.passed_s_max,
                    one.passed_cpu_s_max,
                    of(one.caught),
                    one.caught_s_max,
                    one.caught_cpu_s_max
                );
            }
            print(&(text + &format!("seeds {} to {}\n", sure.seed, sure.seed.wrapping_add(seeds - 1))))?;
        }
    }
    let well = |one: &SelfCheck| one.passed == seeds && 20 * one.caught >= 19 * seeds;
    ensure!(checked.iter().all(well), "the audit did not do what it should: see the table");
    Ok(())
}
