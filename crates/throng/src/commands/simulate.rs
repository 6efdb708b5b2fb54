//! `throng simulate`: a survey on a crowd whose truth is known.

mod files;
mod guarantees;
mod result;
mod source;

use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use getrandom::SysRng;
use getrandom::rand_core::TryRng;

pub use guarantees::Guarantees;
pub use result::{SimulateResult, TopValue};

use super::{Format, print};
use crate::cli::SimulateArgs;
use crate::memory::peak_rss_bytes;
use crate::progress;
use throng_host::out_dir::OutDir;
use throng_plot::terminal::Canvas;
use throng_simulate::dataset::Dataset;
use throng_simulate::simulation::{Simulation, SimulationOutcome};

/// Runs the survey, writes its files where asked to, and prints its result.
pub fn run(args: &SimulateArgs, format: Format) -> Result<()> {
    let study = Study::check(args)?;
    let simulation = study.simulation();
    let start = Instant::now();
    let bar = progress::bar(simulation.steps(), simulation.step_noun())?;
    let simulated = simulation.run(|more| bar.inc(more))?;
    bar.finish_and_clear();

    // A pixel's number says nothing to anybody; the picture does.
    let top = args.top.unwrap_or(if study.data.canvas().is_some() { 0 } else { 20 });
    let mut result = SimulateResult::measure(&study, &simulated, top, args.confidence)?;
    result.threads = study.threads;
    result.seconds = start.elapsed().as_secs_f64();
    result.peak_rss_bytes = peak_rss_bytes();
    if let Some(out) = &study.out {
        let files = files::of(&study, &simulated, &mut result, out)?;
        out.write(&files)?;
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&result)? + "\n")),
        Format::Text => {
            let pictures = study.data.canvas().map(|canvas| {
                let estimate = canvas.draw(simulated.estimates.counts());
                Canvas::of_stdout().draw(&[("truth", &canvas.picture), ("estimate", &estimate)]) + "\n"
            });
            print(&format!("{}{result}", pictures.unwrap_or_default()))
        }
    }
}

/// The arguments, checked: all that can be wrong with them is known before work starts.
#[derive(Debug)]
pub struct Study {
    /// The truth.
    pub data: Dataset,
    /// What is promised, and the mechanism that keeps it.
    pub guarantees: Guarantees,
    mode: throng_simulate::simulation::Mode,
    seed: u64,
    threads: usize,
    out: Option<OutDir>,
}

impl Study {
    fn check(args: &SimulateArgs) -> Result<Self> {
        ensure!(
            args.confidence > 0.0 && args.confidence < 1.0,
            "--confidence: give a number strictly between 0 and 1"
        );
        let survey = source::survey(args)?;
        let data = source::dataset(args, survey.as_ref())?;
        let guarantees = match &survey {
            Some(survey) => Guarantees::of_survey(survey, args, &data)?,
            None => Guarantees::of_args(args, &data)?,
        };
        let threads = match args.threads {
            Some(threads) => threads.get(),
            None => available_parallelism().context("cannot count the cores of this machine")?.get(),
        };
        ensure!(
            threads <= THREADS_MAX,
            "--threads: give at most {THREADS_MAX}; more than cores gain nothing"
        );
        let seed = match args.seed {
            Some(seed) => seed,
            None => SysRng.try_next_u64().context("the operating system has no random numbers")?,
        };
        let mut study = Self { data, guarantees, mode: args.mode, seed, threads, out: None };
        study.simulation().check()?;
        // The last check, since it may make a directory.
        study.out = args.out.as_deref().map(OutDir::open).transpose()?;
        Ok(study)
    }

    fn simulation(&self) -> Simulation<'_> {
        Simulation {
            mechanism: &self.guarantees.mechanism,
            counts: self.data.counts(),
            mode: self.mode,
            seed: self.seed,
            threads: self.threads,
        }
    }
}

/// The estimates as a picture, where the truth is one.
fn drawn(
    study: &Study,
    simulated: &SimulationOutcome,
) -> Option<(throng_analyze::Picture, throng_analyze::Picture)> {
    let canvas = study.data.canvas()?;
    Some((canvas.picture.clone(), canvas.draw(simulated.estimates.counts())))
}

/// More would take longer to start than any survey takes to run.
const THREADS_MAX: usize = 1024;
