//! `throng demo`: the whole system on this machine, every party a process of its own.

mod drawing;
mod respondents;
mod result;
mod timing;

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use indicatif::HumanCount;
use serde_json::Value;
use throng_wire::{Place, Survey};

use super::deployment::Deployment;
pub use super::deployment::Running;
use super::stop::Stop;
use super::{Format, print};
use crate::analysis::{Delivered, TallyFiles};
use crate::bundle::Bundle;
use crate::cli::DemoArgs;
use crate::clock::{now_ms, now_s};
use crate::exit::Refusal;
use crate::out_dir::OutDir;
use crate::picture::Picture;
use crate::progress;
use crate::rounding::at_most;
use crate::terminal::Canvas;
pub(crate) use drawing::{cat, shares};
pub use result::{DemoResult, Seen};
use timing::{Speed, Timing};

/// Plans a survey, deploys it, has respondents answer it, releases it, and shows the result beside the truth.
pub fn run(args: &DemoArgs, format: Format) -> Result<()> {
    let started = Instant::now();
    let demo = Demo::check(args)?;
    let stop = Stop::on_signal("stopped; no process of the demo is left, and no temporary file")?;
    // Removed in the end, whatever happens; with --keep it stays where the results are.
    let temporary =
        tempfile::Builder::new().prefix("throng-demo-").tempdir().context("no temporary directory")?;
    let dir = if args.keep { demo.out.path("deployment") } else { temporary.path().to_owned() };
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    ensure!(
        fs::read_dir(&dir)?.next().is_none(),
        "{} has the deployment of an earlier demo: remove it, or choose another --out",
        dir.display()
    );
    let mut deployment = Deployment::new(dir.canonicalize()?)?;
    let mut result = demo.survey(&mut deployment, &stop)?;
    result.seconds = started.elapsed().as_secs_f64();
    demo.show(&mut result, &deployment, format)?;
    if args.keep {
        say("all parties go on; Ctrl-C ends them, and the files stay");
        say(&format!("dashboard  {}", deployment.dashboard()?));
        say(&format!("check it   throng verify {}", deployment.path("release").display()));
        while stop.check().is_ok() {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(())
}

/// The arguments, checked: all that can be wrong with them is known before work starts.
struct Demo {
    truth: Picture,
    /// Which pixel each respondent holds.
    values: Vec<u64>,
    out: OutDir,
}

impl Demo {
    fn check(args: &DemoArgs) -> Result<Self> {
        let truth = match &args.image {
            Some(path) => drawing::fitted(&Picture::open(path).context("--image")?)?,
            None => drawing::cat()?,
        };
        ensure!(
            args.respondents >= RESPONDENTS_MIN,
            "--respondents {} is too small a crowd to hide anyone: give at least {RESPONDENTS_MIN}",
            args.respondents
        );
        let values = drawing::values(&truth, args.respondents)?;
        // Last, because it may make a directory.
        Ok(Self { truth, values, out: OutDir::open(&args.out)? })
    }

    /// Everything from the plan to the release.
    fn survey(&self, deployment: &mut Deployment, stop: &Stop) -> Result<DemoResult> {
        let checked = || stop.check();
        let (timing, draft) = self.plan(deployment)?;
        checked()?;
        deployment.make_parties(&draft, checked)?;
        let bundle = Arc::new(Bundle::read(&deployment.survey())?);
        let survey = bundle.survey().survey();
        let parties = survey.places().count();
        say(&format!("keys       {parties} parties have made their keys and signed the survey"));

        // Answers need the keys of all parties; the first hops need the list of those who may answer.
        let bar = progress::bar(self.values.len() as u64, "answers randomized and sealed")?;
        let answers = std::thread::scope(|scope| {
            let sealing = scope.spawn(|| respondents::seal(&bundle, &self.values, timing.epoch, &bar, stop));
            deployment.enrol(self.values.len())?;
            deployment.start(survey, checked)?;
            for Running { role, pid, address, .. } in deployment.processes() {
                let address = if address.is_empty() { "comes for its batches" } else { &address };
                bar.suspend(|| say(&format!("process    {role:<17} pid {pid:<8} {address}")));
            }
            bar.suspend(|| deployment.dashboard().map(|url| say(&format!("dashboard  {url}"))))?;
            sealing.join().map_err(|_| anyhow!("a thread that seals panicked"))?
        })?;
        bar.finish_and_clear();
        let envelopes = u64::from(survey.delivery.envelopes * survey.delivery.instances);
        let sealed = HumanCount(envelopes * self.values.len() as u64);
        say(&format!(
            "answers    {} respondents sealed {sealed} envelopes",
            HumanCount(self.values.len() as u64)
        ));

        let starts_ms = timing.epoch * survey.epoch_s * 1000;
        let wait_ms = starts_ms.saturating_sub(now_ms());
        say(&format!(
            "epoch      {} s long, begins in {:.1} s; everyone sends at a time of their own",
            survey.epoch_s,
            wait_ms as f64 / 1000.0
        ));
        let taken = self.send(deployment, &bundle, answers, stop)?;
        let end_s = survey.epoch_end_s(timing.epoch);
        stop.wait(Duration::from_secs(60), || Ok(now_s() >= end_s))?;
        say(
            "tick       first hops close, count and shuffle; last hops drop chaff; the analyzer opens what is booked",
        );
        self.wait_for_batches(deployment, survey, &bundle, timing.epoch, stop)?;
        let release = self.release(deployment, timing.epoch)?;
        let tallies = TallyFiles::new(&deployment.path("analyzer/data"), bundle.survey().hash());
        let seen = result::seen(&bundle, timing.epoch, &tallies)?;
        DemoResult::new(self, &bundle, &release, &taken, (deployment.processes(), seen))
    }

    /// Plans the survey with `throng plan`, for a crowd that is reached even if some cannot answer, and an epoch that begins
    /// when everyone is ready.
    fn plan(&self, deployment: &mut Deployment) -> Result<(Timing, Survey)> {
        let crowd = (self.values.len() as f64 * CROWD_SHARE).floor().to_string();
        let domain = self.truth.domain();
        let plan = |deployment: &mut Deployment, epoch_s: u64| -> Result<Value> {
            let line = format!(
                "plan --epsilon-central {EPSILON_CENTRAL} --delta {DELTA} --respondents {crowd} --domain {domain} \
                 --honest-fraction 1 --encoding one-hot --instances 3 --hops 2 --epoch-s {epoch_s} --name demo --out survey.toml --json"
            );
            let question = ["--question", "Which pixel of the drawing do you hold?"];
            Ok(serde_json::from_str(&deployment.run(&line, &question)?)?)
        };
        // Once to know how much work it is, and once more with an epoch that fits.
        let first = plan(deployment, 60)?;
        deployment.commands.clear();
        let envelopes = first["envelopes_per_instance"].as_u64().context("a plan without envelopes")?;
        let speed = Speed::measure()?;
        let work = speed.work(self.values.len() as u64, 3, 2, envelopes);
        let timing = Timing::choose(now_s(), &work);
        let planned = plan(deployment, timing.epoch_s)?;
        let number = |name: &str| planned[name].as_f64().unwrap_or(f64::NAN);
        say(&format!(
            "plan       epsilon_central {EPSILON_CENTRAL}, delta {DELTA} from {} respondents: epsilon_local {:.4}, \
             {envelopes} envelopes",
            HumanCount(crowd.parse()?),
            at_most(number("epsilon_floor"))
        ));
        let seals = HumanCount(work.seals);
        say(&format!(
            "           {seals} seals at {:.0} us here: about {:.0} s in all",
            speed.seal_us,
            work.all_s()
        ));
        let lit = self.truth.pixels().iter().filter(|&&pixel| pixel > 0).count();
        let (each, error) = (self.values.len() as f64 / lit.max(1) as f64, number("standard_error"));
        if each < 3.0 * error {
            say(&format!(
                "note       {lit} lit pixels have {each:.1} respondents each, and noise is {error:.1}: a simpler drawing, or \
                 more --respondents, can be recognised better"
            ));
        }
        let text = fs::read_to_string(deployment.survey())?;
        Ok((timing, Survey::from_toml(&text)?))
    }

    fn send(
        &self,
        deployment: &Deployment,
        bundle: &Arc<Bundle>,
        answers: Vec<throng_encode::Answer>,
        stop: &Stop,
    ) -> Result<Vec<BTreeSet<u32>>> {
        let folder = deployment.path("enrolment/respondents");
        let credentials = respondents::credentials(&folder, self.values.len())?;
        let bodies = (answers.len() * bundle.survey().survey().delivery.instances as usize) as u64;
        let bar = progress::bar(bodies, "bodies sent over TLS")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let taken = runtime.block_on(respondents::send(bundle, answers, credentials, &bar, stop))?;
        bar.finish_and_clear();
        let receipts = HumanCount(taken.iter().map(|instances| instances.len() as u64).sum());
        say(&format!("sent       {receipts} of {} bodies, each with a signed receipt", HumanCount(bodies)));
        Ok(taken)
    }

    /// Waits for the batches of all instances whose hops are still there.
    fn wait_for_batches(
        &self,
        deployment: &mut Deployment,
        survey: &Survey,
        bundle: &Bundle,
        epoch: u64,
        stop: &Stop,
    ) -> Result<()> {
        let data = deployment.path("analyzer/data");
        let bar = progress::bar(u64::from(survey.delivery.instances), "instances have delivered")?;
        let all = stop.wait(BATCHES_MAX, || {
            let ended = deployment.ended();
            ensure!(!ended.contains(&Place::Analyzer), "the analyzer has ended; its log may say why");
            let dead = |instance| {
                ended.iter().any(|place| matches!(place, Place::Hop { instance: i, .. } if *i == instance))
            };
            let there = Delivered::of_epoch(&data, bundle.survey(), 0, epoch)?;
            bar.set_position(there.instances());
            Ok((1..=survey.delivery.instances).all(|instance| there.has(instance) || dead(instance)))
        })?;
        bar.finish_and_clear();
        ensure!(all, "not all batches came within {} s", BATCHES_MAX.as_secs());
        Ok(())
    }

    /// Makes the release with `throng release`.
    fn release(&self, deployment: &mut Deployment, epoch: u64) -> Result<Value> {
        let line = format!(
            "release --config analyzer/analyzer.toml --survey survey.toml --epoch {epoch} --width {} --top 30 --json",
            self.truth.width()
        );
        let out = deployment.path("release").display().to_string();
        let released = deployment.run(&line, &["--out", &out]).map_err(|error| {
            // What a rule refuses there is refused here.
            let text = format!("{error:#}");
            match text.split_once("refused: ") {
                Some((_, reason)) => anyhow!(Refusal(reason.to_owned())),
                None => error,
            }
        })?;
        Ok(serde_json::from_str(&released)?)
    }

    /// Writes the files, and prints the result.
    fn show(&self, result: &mut DemoResult, deployment: &Deployment, format: Format) -> Result<()> {
        let estimate = result.picture(&self.truth)?;
        let truth = result.bright(&self.truth)?;
        let names = ["truth.png", "estimate.png", "side-by-side.png", "commands.sh", "result.json"];
        result.files = names.iter().map(|name| self.out.path(name).display().to_string()).collect();
        let commands = format!(
            "# What `throng demo` ran, in its own directory. {}\n{}\n",
            "A real deployment runs the same, on machines of different operators.",
            deployment.commands.join("\n")
        );
        let json = serde_json::to_string_pretty(&result)? + "\n";
        let contents: [Vec<u8>; 5] = [
            truth.enlarged(PIXEL).to_png()?,
            estimate.enlarged(PIXEL).to_png()?,
            truth.beside(&estimate).enlarged(PIXEL).to_png()?,
            commands.into_bytes(),
            json.clone().into_bytes(),
        ];
        self.out.write(&names.into_iter().zip(contents).collect::<Vec<_>>())?;
        match format {
            Format::Json => print(&json),
            Format::Text => {
                let canvas = Canvas::of_stdout();
                let wide = canvas.columns >= 4 * truth.width() as usize + 2
                    && canvas.rows >= truth.height() as usize;
                let factor = if wide { 2 } else { 1 };
                let pictures = canvas.draw(&[
                    ("what they hold", &truth.enlarged(factor)),
                    ("what the analyzer found", &estimate.enlarged(factor)),
                ]);
                print(&format!("\n{pictures}\n{result}"))
            }
        }
    }
}

/// A line about what is going on.
fn say(line: &str) {
    eprintln!("{line}");
}

const EPSILON_CENTRAL: &str = "1";
const DELTA: &str = "1e-6";
/// The survey is planned for this share of the respondents: some may be unable to answer.
const CROWD_SHARE: f64 = 0.95;
const RESPONDENTS_MIN: u64 = 100;
/// How long batches may take after the tick.
const BATCHES_MAX: Duration = Duration::from_secs(120);
/// Pixels of a file for each of the drawing.
const PIXEL: u32 = 12;
