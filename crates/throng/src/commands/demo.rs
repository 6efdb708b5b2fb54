//! `throng demo`: one survey in memory, from a picture to its estimate.

mod result;

use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result};
use getrandom::SysRng;
use getrandom::rand_core::TryRng;
use throng_dp::{Epsilon, Mechanism, OneHot};

pub use result::{DemoResult, HeavyHitters, SimultaneousError};

use super::{Format, print};
use crate::cli::DemoArgs;
use crate::dataset::Dataset;
use crate::out_dir::OutDir;
use crate::picture::Picture;
use crate::progress;
use crate::simulation::{Mode, Simulation};
use crate::terminal::Canvas;

/// Runs the survey, writes its files and prints its result.
pub fn run(args: &DemoArgs, format: Format) -> Result<()> {
    let Demo { truth, data, mechanism, out } = Demo::check(args)?;

    let fragments = data.respondents() as f64 * mechanism.fragments_expected();
    if fragments > FRAGMENTS_QUICK {
        eprintln!(
            "note: {fragments:.0e} fragments to draw; a larger --epsilon-local or a smaller picture is faster"
        );
    }
    let seed = SysRng.try_next_u64().context("the operating system has no random numbers")?;
    let (counts, mode, threads) = (data.counts(), Mode::Respondent, workers(&truth)?);
    let simulation = Simulation { mechanism: &mechanism, counts, mode, seed, threads };
    let bar = progress::bar(simulation.steps(), simulation.step_noun())?;
    let start = Instant::now();
    let simulated = simulation.run(|more| bar.inc(more))?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();

    let result = DemoResult {
        files: FILES.iter().map(|name| out.path(name).display().to_string()).collect(),
        workers: threads,
        seconds,
        ..DemoResult::measure(&truth, &data, &mechanism, &simulated)?
    };

    // All bytes are made first, so that the files are written in one go.
    let estimate = truth.redrawn(simulated.estimates.counts());
    let json = serde_json::to_string_pretty(&result)? + "\n";
    let contents =
        [truth.to_png()?, estimate.to_png()?, truth.beside(&estimate).to_png()?, json.clone().into_bytes()];
    out.write(&FILES.into_iter().zip(contents).collect::<Vec<_>>())?;

    match format {
        Format::Json => print(&json),
        Format::Text => {
            let pictures = Canvas::of_stdout().draw(&[("truth", &truth), ("estimate", &estimate)]);
            print(&format!("{pictures}\n{result}"))
        }
    }
}

/// The arguments, checked: all that can be wrong with them is known before work starts.
struct Demo {
    truth: Picture,
    data: Dataset,
    mechanism: Mechanism,
    out: OutDir,
}

impl Demo {
    fn check(args: &DemoArgs) -> Result<Self> {
        let truth = match &args.image {
            Some(path) => Picture::open(path).context("--image")?,
            None => Picture::from_png(HORSE).context("the built-in picture")?,
        };
        let data = Dataset::of_picture("picture", truth.clone(), 1.0)?;
        let epsilon = Epsilon::new(args.epsilon_local).context("--epsilon-local")?;
        let mechanism = Mechanism::OneHot(OneHot::new(truth.domain(), epsilon).context("--epsilon-local")?);
        // Last, because it may make a directory.
        Ok(Self { truth, data, mechanism, out: OutDir::open(&args.out)? })
    }
}

/// All cores, unless their tallies would need too much memory or some would have no respondent.
fn workers(truth: &Picture) -> Result<usize> {
    let cores = available_parallelism().context("cannot count the cores of this machine")?.get() as u64;
    Ok(cores.min(COUNTERS_MAX / truth.domain()).min(truth.luminosity()).max(1) as usize)
}

const HORSE: &[u8] = include_bytes!("../../data/horse.png");
const FILES: [&str; 4] = ["truth.png", "estimate.png", "side-by-side.png", "result.json"];
/// A few minutes on a small machine.
const FRAGMENTS_QUICK: f64 = 1e10;
/// 1 GiB of tallies.
const COUNTERS_MAX: u64 = 1 << 27;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_picture_has_the_size_of_the_papers_horse() {
        let horse = Picture::from_png(HORSE).unwrap();
        assert_eq!((horse.height(), horse.width()), (274, 320));
        assert_eq!((horse.domain(), horse.luminosity()), (87_680, 1_914_589));
    }

    #[test]
    fn there_is_a_worker_for_everyone_and_memory_for_every_worker() {
        assert_eq!(workers(&Picture::new(2, 1, vec![1, 0]).unwrap()).unwrap(), 1);
        assert!(workers(&Picture::new(1 << 13, 1 << 13, vec![1; 1 << 26]).unwrap()).unwrap() <= 2);
    }
}
