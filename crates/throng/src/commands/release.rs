//! `throng release`: what an epoch says, with its errors, under a guarantee, once the ledger has agreed.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use indicatif::ProgressBar;
use throng_wire::{Route, Signed, SignedSurvey};

use super::studio::{drawn, studio};
use super::{Format, print};
use crate::cli::release::ReleaseArgs;
use crate::progress;
use throng_analyze::Picture;
use throng_host::bundle::Bundle;
use throng_host::out_dir::OutDir;
use throng_serve::analysis::published::{KEYS, LEDGER, RELEASE, SIGNATURES, STATEMENTS, SURVEY};
use throng_serve::analysis::{
    self, Delivered, Opener, PublishedReleases, ReleaseLedger, ReleaseName, Released, SealedFiles,
    TallyFiles, Wanted,
};
use throng_serve::analyzer::{AnalyzedSurvey, AnalyzerConfig};

/// Makes a release, writes its files and prints it.
pub fn run(args: &ReleaseArgs, format: Format) -> Result<()> {
    let mut config = AnalyzerConfig::read(&args.config)?;
    args.data.iter().for_each(|data| config.data.clone_from(data));
    let (files, bundle) = survey(args, &config)?;
    let survey = bundle.survey();
    let names = survey.survey().labels.as_ref().map(|labels| labels.names.as_slice()).unwrap_or_default();
    let label = match &args.label {
        None if names.is_empty() => 0,
        None => bail!("the survey has labels: name one of {} with --label", names.join(", ")),
        Some(_) if names.is_empty() => bail!("the survey has no labels: leave --label out"),
        Some(name) => {
            let at = names.iter().position(|known| known == name);
            at.ok_or_else(|| anyhow!("the survey has no label {name}; it has: {}", names.join(", ")))? as u32
                + 1
        }
    };
    let tallies = TallyFiles::new(&config.data, survey.hash());
    let until =
        Instant::now().checked_add(Duration::from_secs(args.wait_s)).context("--wait-s is too long")?;
    let epoch = match args.epoch {
        Some(epoch) => epoch,
        None => {
            let newest = || newest(&config.data, survey, label);
            wait(until, 1, || Ok(newest()?.is_some().into()))?;
            newest()?.context("no epoch has been released yet")?
        }
    };
    if let Some(width) = args.width {
        let attributes = survey.survey().domain();
        ensure!(attributes % u64::from(width) == 0, "--width {width} does not divide {attributes} values");
    }
    let there = || Ok(Delivered::of_epoch(&config.data, survey, label, epoch)?.instances());
    wait(until, u64::from(survey.survey().delivery.instances), there)?;

    let (budget, key) = (config.budget.guarantee()?, config.data_key());
    let opener = Opener {
        data: &config.data,
        survey,
        keys: config.keys(files),
        population: &files.population,
        budget,
        key: &key,
        memory: config.memory(),
    };
    let mut opening = Opening::begin();
    let (release, refused) =
        analysis::release(&opener, (label, epoch), &mut |read, all| opening.note(read, all))?;
    opening.end();
    let wanted = Wanted { top: args.top, confidence: args.confidence, liars: args.liars };
    let mut released = Released::of(survey.survey(), &release, (&files.population, budget), wanted)?;
    released.instances_sealed = refused;
    let given = (0..release.estimates().counts().len()).map(|value| release.given(value));
    let counts: Vec<f64> = given.map(|count| count.unwrap_or(f64::NAN)).collect();
    let picture = args.width.and_then(|width| Picture::of_counts(width, &counts));
    let published =
        PublishedReleases::new(&config.data, &key).at(survey.hash(), ReleaseName { epoch, label });
    let dir = args.out.as_deref().unwrap_or(published.dir());
    let out = args.out.as_deref().map(OutDir::open).transpose()?;
    let mut contents = released.files(survey.survey(), &release, picture.as_ref(), studio().as_deref())?;
    let (lines, spent) = ReleaseLedger::open(&config.data, &key, budget)?.excerpt(&files.population)?;
    // What is said to be spent is what the published lines come to, whoever else made a release meanwhile.
    released.epsilon_spent = spent.epsilon().value();
    contents.extend(evidence(&bundle, &tallies, (label, epoch))?);
    contents.push((LEDGER, lines.into_bytes()));
    let names = contents.iter().map(|(name, _)| *name).chain([RELEASE]);
    released.files = names.map(str::to_owned).collect();
    contents.push((RELEASE, (serde_json::to_string_pretty(&released)? + "\n").into_bytes()));
    out.map_or(Ok(()), |out| out.write(&contents))?;
    // The analyzer has a copy of its own, which its dashboard shows.
    published.write(&contents)?;
    released.directory = Some(dir.display().to_string());
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&released)? + "\n")),
        Format::Text => {
            let drawn = picture.map(|picture| drawn(&picture));
            print(&format!("{}{released}", drawn.unwrap_or_default()))
        }
    }
}

/// What anyone needs to check a release with `throng verify`, and everybody may know: the survey with all signatures, the
/// key lists, and what the hops signed about this epoch.
fn evidence(
    bundle: &Bundle,
    tallies: &TallyFiles,
    (label, epoch): (u32, u64),
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let signed = bundle.survey();
    let mut statements = Vec::new();
    for instance in 1..=signed.survey().delivery.instances {
        let route = Route { survey: signed.hash(), label, epoch, instance };
        // Those of a batch that stays sealed are not about this release.
        if tallies.was_counted(&route)?.is_some() {
            statements.extend(tallies.statements(signed, &route)?.iter().flat_map(Signed::to_bytes));
        }
    }
    let [survey, signatures, _, keys] = bundle.files_after(None)?.map(|(_, text)| text.into_bytes());
    Ok(vec![(SURVEY, survey), (SIGNATURES, signatures), (KEYS, keys), (STATEMENTS, statements)])
}

/// The survey that is meant, among those of the analyzer.
fn survey<'a>(args: &ReleaseArgs, config: &'a AnalyzerConfig) -> Result<(&'a AnalyzedSurvey, Bundle)> {
    let wanted = args.survey.as_deref().map(Bundle::read).transpose()?;
    let mut found = Vec::new();
    for files in &config.surveys {
        let bundle = Bundle::read(&files.survey)?;
        if wanted.as_ref().is_none_or(|wanted| wanted.survey().hash() == bundle.survey().hash()) {
            found.push((files, bundle));
        }
    }
    match found.len() {
        0 => bail!("the analyzer of {} does not have this survey: add it to its file", args.config.display()),
        1 => found.pop().context("there is one"),
        _ => bail!("the analyzer has {} surveys: say which with --survey", found.len()),
    }
}

/// The newest epoch that an instance which gets fragments has released.
fn newest(data: &Path, survey: &SignedSurvey, label: u32) -> Result<Option<u64>> {
    let mut epochs = TallyFiles::new(data, survey.hash()).epochs(label)?;
    epochs.extend(SealedFiles::new(data, survey.hash()).epochs(label)?);
    for epoch in epochs.into_iter().rev() {
        if Delivered::of_epoch(data, survey, label, epoch)?.can_be_released(survey.survey(), label) {
            return Ok(Some(epoch));
        }
    }
    Ok(None)
}

/// How far what waited sealed is opened, shown where that takes more than a moment.
struct Opening {
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Opening {
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
