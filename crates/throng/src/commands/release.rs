//! `throng release`: what an epoch says, with its errors, under a guarantee, once the ledger has agreed.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use throng_wire::Channel;

use super::studio::{drawn, studio};
use super::{Format, print};
use crate::cli::release::ReleaseArgs;
use crate::progress;
use throng_host::bundle::Bundle;
use throng_serve::analysis::DisplayOptions;
use throng_serve::{Analyzer, AnalyzerConfig, ReleaseOptions};

/// Makes a release, writes its files and prints it.
pub fn run(args: &ReleaseArgs, format: Format) -> Result<()> {
    let mut config = AnalyzerConfig::read(&args.config)?;
    args.data.iter().for_each(|data| config.data.clone_from(data));
    let analyzer = Analyzer::new(config);
    let bundle = survey(args, &analyzer)?;
    let survey = bundle.survey().survey();
    let label = survey.label_number(args.label.as_deref()).context("--label")?;
    let until =
        Instant::now().checked_add(Duration::from_secs(args.wait_s)).context("--wait-s is too long")?;
    let epoch = match args.epoch {
        Some(epoch) => epoch,
        None => {
            let newest = || analyzer.newest_epoch(&bundle, label);
            wait(until, 1, || Ok(newest()?.is_some().into()))?;
            newest()?.context("no epoch has been released yet")?
        }
    };
    let studio = studio();
    let options = ReleaseOptions {
        wanted: DisplayOptions { top: args.top, confidence: args.confidence, liars: args.liars },
        width: args.width,
        out: args.out.as_deref(),
        studio: studio.as_deref(),
    };
    // What is wrong with these nobody waits for.
    options.check(survey)?;
    let channel = Channel { label, epoch };
    wait(until, u64::from(survey.delivery.instances), || Ok(analyzer.instances_done(&bundle, channel)?))?;
    let mut opening = OpeningProgress::begin();
    let (released, picture) =
        analyzer.release_with(&bundle, channel, &options, &mut |read, all| opening.note(read, all))?;
    opening.end();
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&released)? + "\n")),
        Format::Text => {
            let drawn = picture.map(|picture| drawn(&picture));
            print(&format!("{}{released}", drawn.unwrap_or_default()))
        }
    }
}

/// The survey that is meant, among those of the analyzer.
fn survey(args: &ReleaseArgs, analyzer: &Analyzer) -> Result<Bundle> {
    let wanted = args.survey.as_deref().map(Bundle::read).transpose()?;
    let mut found = analyzer.surveys()?;
    found.retain(|one| wanted.as_ref().is_none_or(|wanted| wanted.survey().hash() == one.survey().hash()));
    match found.len() {
        0 => bail!("the analyzer of {} does not have this survey: add it to its file", args.config.display()),
        1 => found.pop().context("there is one"),
        _ => bail!("the analyzer has {} surveys: say which with --survey", found.len()),
    }
}

/// How far what waited sealed is opened, shown where that takes more than a moment.
struct OpeningProgress {
    since: Instant,
    bar: Option<ProgressBar>,
}

impl OpeningProgress {
    fn begin() -> Self {
        Self { since: Instant::now(), bar: None }
    }

    fn note(&mut self, read: u64, all: u64) {
        if self.bar.is_none() && self.since.elapsed() > MOMENT {
            self.bar = progress::bar(all, "bytes opened and counted").ok();
        }
        self.bar.iter().for_each(|bar| bar.set_position(read));
    }

    fn end(self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Waits until all are there, or the time is over: what is there by then is taken.
fn wait(until: Instant, all: u64, there: impl Fn() -> Result<u64>) -> Result<()> {
    let bar = progress::bar(all, "instances have delivered")?;
    loop {
        let present = there()?;
        if present >= all || Instant::now() >= until {
            break;
        }
        bar.set_position(present);
        sleep(PAUSE);
    }
    bar.finish_and_clear();
    Ok(())
}

const PAUSE: Duration = Duration::from_millis(200);
const MOMENT: Duration = Duration::from_secs(2);
