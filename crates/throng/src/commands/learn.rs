//! `throng learn`: a model from anonymous reports, on data whose truth is known.

mod result;
mod study;

use std::time::Instant;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use throng_learn::Randomness;

pub use result::LearnResult;
use study::Study;
pub(super) use study::source;

use super::stop::StopSignal;
use super::{Format, print};
use crate::cli::learn::LearnArgs;
use crate::memory::peak_rss_bytes;
use crate::progress;
use throng_account::rounding::at_most;
use throng_lab::learning::{
    Checkpoint, Plan, Point, Run, accuracies, card, curve_csv, curve_png, safetensors,
};

/// Trains, writes the files where asked to, and prints the result.
pub fn run(args: &LearnArgs, format: Format) -> Result<()> {
    let stop = StopSignal::on_signal("stopped")?;
    let start = Instant::now();
    let study = Study::check(args)?;
    let done = train(&study, &stop)?;
    let mut result = LearnResult::of(&study.plan, &done);
    result.seconds = start.elapsed().as_secs_f64();
    result.peak_rss_bytes = peak_rss_bytes();
    if study.out.is_some() {
        write(&study, &done, &mut result)?;
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&result)? + "\n")),
        Format::Text => print(&result.to_string()),
    }
}

/// All runs that are not done yet, from where they were.
fn train(study: &Study, stop: &StopSignal) -> Result<Checkpoint> {
    let plan = &study.plan;
    let mut at = study.resumed()?;
    let runs = at.seeds.len();
    let steps = plan.settings.steps;
    let bar = progress::bar(runs as u64 * steps, "steps")?;
    while at.done.len() < runs {
        let number = at.done.len();
        let randomness = Randomness::new(at.seeds[number]);
        let mut run = match at.state.take() {
            None => Run::start(plan, randomness)?,
            Some(state) => Run::resume(plan, randomness, state, std::mem::take(&mut at.curve))?,
        };
        while !run.is_done() {
            if stop.asked() {
                bar.finish_and_clear();
                return Err(stopped(study, &mut at, &run));
            }
            if let Some(point) = run.step()? {
                say(&bar, number, runs, steps, &point);
            }
            let step = run.state().step();
            bar.set_position(number as u64 * steps + step);
            if step.is_multiple_of(study.checkpoint_every) && step < steps {
                keep(study, &mut at, &run)?;
            }
        }
        let trained = run.trained();
        // The first run's model is the one that is given out, decided before any was made.
        if number == 0 {
            at.model = trained.model;
        }
        at.done.push(trained.curve);
        // The next run starts anew, not from the last checkpoint of this one.
        (at.state, at.curve) = (None, Vec::new());
        study.write(&at)?;
    }
    bar.finish_and_clear();
    Ok(at)
}

/// Writes down where a run is, if there is a place for it.
fn keep(study: &Study, at: &mut Checkpoint, run: &Run<'_>) -> Result<()> {
    if study.out.is_some() {
        at.state = Some(run.state().clone());
        at.curve = run.curve().to_vec();
        study.write(at)?;
    }
    Ok(())
}

/// What to say after Ctrl-C, when everything that is worth keeping was kept.
fn stopped(study: &Study, at: &mut Checkpoint, run: &Run<'_>) -> anyhow::Error {
    let place =
        format!("step {} of {} of run {}", run.state().step(), study.plan.settings.steps, at.done.len() + 1);
    if let Err(error) = keep(study, at, run) {
        return error.context(format!("stopped after {place}"));
    }
    match &study.out {
        Some((_, path)) => anyhow::anyhow!(
            "stopped after {place}; run the same command again to go on from {}",
            path.display()
        ),
        None => anyhow::anyhow!("stopped after {place}; nothing was kept, since there was no --out DIR"),
    }
}

fn say(bar: &ProgressBar, number: usize, runs: usize, steps: u64, point: &Point) {
    let run = if runs > 1 { format!("run {} of {runs}, ", number + 1) } else { String::new() };
    let cost = point.epsilon_central.map_or_else(
        || "no guarantee".into(),
        |epsilon| format!("epsilon_central {:.4} so far", at_most(epsilon)),
    );
    let accuracy = 100.0 * point.accuracy;
    bar.suspend(|| eprintln!("{run}step {} of {steps}: accuracy {accuracy:.2} %, {cost}", point.step));
}

/// The results as files; after that the checkpoint, which has the seed, goes.
fn write(study: &Study, done: &Checkpoint, result: &mut LearnResult) -> Result<()> {
    let Some((out, path)) = &study.out else { bail!("there is no directory to write to") };
    let plan: &Plan = &study.plan;
    let about = [
        ("format", "throng learn 1".to_owned()),
        ("data", plan.data.name.clone()),
        ("model", plan.model.name().to_owned()),
        ("guarantee", plan.statement.to_string()),
        ("statement", serde_json::to_string(&plan.statement)?),
    ];
    let title = format!("{}, {}: {:.1} %", plan.data.name, plan.model.name(), 100.0 * result.accuracy);
    let mut files = vec![
        ("model.safetensors", safetensors(&plan.network, &done.model, &about)?),
        ("card.md", card(plan, done).into_bytes()),
        ("curve.csv", curve_csv(&done.done).into_bytes()),
        ("curve.png", curve_png(&title, &done.done, plan.majority())?),
    ];
    let names = files.iter().map(|(name, _)| *name).chain(["result.json"]);
    result.files = names.map(|name| out.path(name).display().to_string()).collect();
    files.push(("result.json", (serde_json::to_string_pretty(result)? + "\n").into_bytes()));
    out.write(&files)?;
    debug_assert_eq!(accuracies(&done.done).len(), done.seeds.len());
    study::remove(path)
}
