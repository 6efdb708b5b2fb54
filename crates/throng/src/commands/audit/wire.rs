//! `throng audit wire`: can hops or the network tell what was answered?

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use serde::Serialize;

use super::live::{ALIKE, Latencies, Town};
use super::{AuditSettings, conclude, verdict_line};
use crate::cli::audit::WireArgs;
use crate::commands::Format;
use crate::commands::deployment::Deployment;
use crate::commands::stop::StopSignal;
use throng_lab::audit::Verdict;
use throng_lab::audit::wire::{Case, SightVerdict, Views, numbers_min};

pub(super) fn run(args: &WireArgs, format: Format) -> Result<()> {
    let started = Instant::now();
    let sure = AuditSettings::check(&args.sureness)?;
    let least = numbers_min(ALIKE, sure.error());
    ensure!(
        args.respondents >= least,
        "--respondents is {}: at this confidence fewer than {least} cannot tell anything apart",
        args.respondents
    );
    let stop = StopSignal::on_signal("stopped; no process of the audit is left, and no temporary file")?;
    let dir = tempfile::Builder::new().prefix("throng-audit-").tempdir().context("no temporary directory")?;
    let deployment = Deployment::new(fs::canonicalize(dir.path())?)?;
    let town = Town::start(deployment, args.respondents, args.epoch_s, &stop)?;
    eprintln!("parties    {} processes have their keys, and answer", town.processes());
    let mut views = Views::default();
    let answer_s = town.see_answers(args.answers, sure.seed, &mut views, &stop)?;
    eprintln!("answers    {} made for each case, under a clock of their own", HumanCount(args.answers));
    let people = (args.respondents, answer_s);
    let latencies = town.see_epochs(people, sure.seed, args.broken, &mut views, &stop)?;
    let processes = town.processes();
    drop(town);
    let sights = views.judge(sure.error())?;
    let verdict = Verdict::all(sights.iter().map(|one| one.verdict));
    let result = WireResult {
        respondents: args.respondents,
        answers: args.answers,
        processes,
        confidence: sure.confidence,
        seed: sure.seed,
        verdict,
        sights,
        latency: latency(&latencies),
        seconds: started.elapsed().as_secs_f64(),
    };
    let broken = "what was seen tells one value from another, or from nothing to say";
    conclude(&result, || text(&result, sure), verdict, broken, format)
}

/// The result of `throng audit wire`. The names are stable.
#[derive(Debug, Serialize)]
struct WireResult {
    respondents: u64,
    answers: u64,
    processes: usize,
    confidence: f64,
    seed: u64,
    verdict: Verdict,
    sights: Vec<SightVerdict>,
    latency: Vec<Latency>,
    seconds: f64,
}

/// How long uploads took.
#[derive(Debug, Serialize)]
struct Latency {
    case: Case,
    uploads: usize,
    median_ms: f64,
    longest_ms: f64,
}

fn latency(latencies: &Latencies) -> Vec<Latency> {
    let of = |case: Case| {
        let mut took = latencies[case as usize].clone();
        took.sort_unstable();
        let ms = |us: Option<&u64>| us.map_or(0.0, |&us| us as f64 / 1000.0);
        let (median_ms, longest_ms) = (ms(took.get(took.len() / 2)), ms(took.last()));
        Latency { case, uploads: took.len(), median_ms, longest_ms }
    };
    Case::ALL.map(of).into()
}

fn text(result: &WireResult, sure: AuditSettings) -> String {
    let mut text = format!(
        "{} processes; {} respondents in three epochs, and {} more answers for each case\n\n{:<38}{:<31}\n",
        result.processes,
        HumanCount(result.respondents),
        HumanCount(result.answers),
        "who",
        "sees"
    );
    for SightVerdict { sight, verdict, shown } in &result.sights {
        text += &format!("{:<38}{:<31}{:<8}{shown}\n", sight.who, sight.what, verdict.word());
    }
    text += "\nnot judged: how long an upload took here\n";
    for one in &result.latency {
        text += &format!(
            "  {:<16}{:>7.1} ms (median of {}), {:.1} ms at most\n",
            one.case.name(),
            one.median_ms,
            one.uploads,
            one.longest_ms
        );
    }
    let kept = "Nothing that was seen tells one value from another, or from nothing to say.";
    let broken = "What was seen tells one value from another, or from nothing to say";
    text + &verdict_line(result.verdict, sure, kept, broken)
}
