//! `throng demo`: the whole system on this machine, every party a process of its own.

mod ground;
mod respondents;
mod result;
mod timing;

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use indicatif::{HumanCount, ProgressBar};
use serde_json::Value;
use throng_encode::Body;
use throng_simulate::dataset::drawing;
use throng_wire::{Place, Survey};

use super::deployment::Deployment;
pub use super::deployment::PartyProcess;
use super::stop::StopSignal;
use super::{Format, print};
use crate::cli::DemoArgs;
use crate::progress;
use ground::Ground;
pub use result::{DemoResult, PartyView};
use throng_account::Refusal;
use throng_account::rounding::at_most;
use throng_analyze::Picture;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::client::SendError;
use throng_host::out_dir::OutDir;
use throng_plot::Png;
use throng_plot::terminal::Canvas;
use throng_serve::analysis::{EpochDelivery, ReleaseSummary, TallyFiles};
use timing::{BusyMachine, SAMPLED, Speed, Timing, Work};

/// Plans a survey, deploys it, has respondents answer it, releases it, and shows the result beside the truth.
pub fn run(args: &DemoArgs, format: Format) -> Result<()> {
    let started = Instant::now();
    let demo = Demo::check(args)?;
    let stop = StopSignal::on_signal("stopped; no process of the demo is left, and no temporary file")?;
    let mut ground = if args.keep { Ground::kept(&demo.out)? } else { Ground::temporary()? };
    let (deployment, mut result) = demo.survey(&ground, &stop).inspect_err(|_| {
        if stop.asked() {
            ground.abandon();
        }
        if let Some(dir) = ground.left() {
            say(&format!("left       {}, to look at until the next demo", dir.display()));
        }
    })?;
    result.seconds = started.elapsed().as_secs_f64();
    demo.show(&mut result, &deployment, format)?;
    ground.finish()?;
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

    /// Everything from the plan to the release. If this machine is so busy that too few can send while the epoch lasts, once
    /// more from the beginning with a longer one: its length is in the survey, which all parties sign.
    fn survey(&self, ground: &Ground, stop: &StopSignal) -> Result<(Deployment, DemoResult)> {
        let mut times = 1;
        loop {
            let mut deployment = Deployment::new(ground.clear()?)?;
            match self.deploy(&mut deployment, times, stop) {
                Ok(result) => return Ok((deployment, result)),
                Err(error) if times < TIMES_MAX && error.is::<BusyMachine>() => {
                    say(&format!("late       {:#}", error.root_cause()));
                    say("again      from the beginning, with an epoch that is longer");
                    times *= 3;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Everything once, with epochs that are `times` as long as they would have to be.
    fn deploy(&self, deployment: &mut Deployment, times: u64, stop: &StopSignal) -> Result<DemoResult> {
        let (work, draft) = self.plan(deployment, times, stop)?;
        let bar = progress::bar(2 * draft.places().count() as u64, "keys and signatures made")?;
        let step = || {
            bar.inc(1);
            stop.check()
        };
        deployment.make_parties(&draft, step)?;
        bar.finish_and_clear();
        let bundle = Arc::new(Bundle::read(deployment.survey())?);
        let survey = bundle.survey().survey();
        let parties = survey.places().count();
        say(&format!("keys       {parties} parties have made their keys and signed the survey"));

        let (epoch, answers) = self.answers(deployment, &bundle, &work, stop)?;
        let envelopes = u64::from(survey.delivery.envelopes * survey.delivery.instances);
        let sealed = HumanCount(envelopes * self.values.len() as u64);
        say(&format!(
            "answers    {} respondents sealed {sealed} envelopes",
            HumanCount(self.values.len() as u64)
        ));

        let begins_ms = epoch * survey.epoch_s * 1000;
        say(&format!(
            "epoch      {} s long, begins in {:.1} s; everyone sends at a time of their own",
            survey.epoch_s,
            begins_ms.saturating_sub(SystemClock.now_ms()) as f64 / 1000.0
        ));
        until(begins_ms, "seconds until the epoch begins", stop)?;
        let (taken, failed) = self.send(deployment, &bundle, epoch, answers, stop)?;
        self.check_sent(deployment, survey, &taken, failed)?;
        until(survey.epoch_end_s(epoch) * 1000, "seconds until the epoch ends", stop)?;
        say(
            "tick       first hops close, count and shuffle; last hops drop chaff; the analyzer opens what is booked",
        );
        self.wait_for_batches(deployment, survey, &bundle, epoch, stop)?;
        let release = self.release(deployment, epoch)?;
        let tallies = TallyFiles::new(&deployment.path("analyzer/data"), bundle.survey().hash());
        let seen = result::seen(&bundle, epoch, &tallies)?;
        DemoResult::new(self, &bundle, &release, &taken, (deployment.processes(), seen))
    }

    /// Has all respondents answer for an epoch that has not begun when the answers are sealed and all parties are there.
    fn answers(
        &self,
        deployment: &mut Deployment,
        bundle: &Bundle,
        work: &Work,
        stop: &StopSignal,
    ) -> Result<(u64, Vec<Vec<Body>>)> {
        let survey = bundle.survey().survey();
        // The first of them, for nothing but the time that they take now and here.
        let sample = ((self.values.len() as f64 * SAMPLED) as usize).clamp(SAMPLE_MIN, SAMPLE_MAX);
        let (start, far) = (Instant::now(), survey.epoch_at(SystemClock.now_s()) + 2 + 3600 / survey.epoch_s);
        respondents::seal(bundle, &self.values[..sample], far, &ProgressBar::hidden(), stop)?;
        let takes = work.rest(sample as f64 / self.values.len() as f64, start.elapsed());

        let bar = progress::bar(self.values.len() as u64, "answers randomized and sealed")?;
        let mut is_started = false;
        let seal = |epoch: u64| {
            bar.set_position(0);
            let seal = || respondents::seal(bundle, &self.values, epoch, &bar, stop);
            if is_started {
                return seal();
            }
            is_started = true;
            // Answers need the keys of all parties; the first hops need the list of those who may answer.
            std::thread::scope(|scope| {
                let sealing = scope.spawn(seal);
                self.start(deployment, survey, &bar, stop)?;
                sealing.join().map_err(|_| anyhow!("a thread that seals panicked"))?
            })
        };
        let answers =
            timing::in_time(survey.epoch_s, takes, &SystemClock, seal, |line| bar.suspend(|| say(line)))?;
        bar.finish_and_clear();
        Ok(answers)
    }

    /// Makes the credentials, and starts all processes.
    fn start(
        &self,
        deployment: &mut Deployment,
        survey: &Survey,
        bar: &ProgressBar,
        stop: &StopSignal,
    ) -> Result<()> {
        deployment.enrol(self.values.len())?;
        deployment.start(survey, || stop.check())?;
        for PartyProcess { role, pid, address, .. } in deployment.processes() {
            let address = if address.is_empty() { "comes for its batches" } else { &address };
            bar.suspend(|| say(&format!("process    {role:<17} pid {pid:<8} {address}")));
        }
        bar.suspend(|| deployment.dashboard().map(|url| say(&format!("dashboard  {url}"))))
    }

    /// Plans the survey with `throng plan`, for a crowd that is reached even if some cannot answer, and an epoch that begins
    /// when everyone is ready.
    fn plan(&self, deployment: &mut Deployment, times: u64, stop: &StopSignal) -> Result<(Work, Survey)> {
        let waiting = progress::waiting("planning, and measuring how fast this machine is")?;
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
        let work = speed.work(self.values.len() as u64, (3, 2), envelopes, times);
        let timing = Timing::choose(SystemClock.now_s(), &work);
        let planned = plan(deployment, timing.epoch_s)?;
        waiting.finish_and_clear();
        stop.check()?;
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
        if let Some(busy) = speed.busy() {
            say(&format!("busy       {busy}"));
        }
        let lit = self.truth.pixels().iter().filter(|&&pixel| pixel > 0).count();
        let (each, error) = (self.values.len() as f64 / lit.max(1) as f64, number("standard_error"));
        if each < 3.0 * error {
            say(&format!(
                "note       {lit} lit pixels have {each:.1} respondents each, and noise is {error:.1}: a simpler drawing, or \
                 more --respondents, can be recognised better"
            ));
        }
        let text = fs::read_to_string(deployment.survey())?;
        Ok((work, Survey::from_toml(&text)?))
    }

    fn send(
        &self,
        deployment: &Deployment,
        bundle: &Arc<Bundle>,
        epoch: u64,
        answers: Vec<Vec<Body>>,
        stop: &StopSignal,
    ) -> Result<(Vec<BTreeSet<u32>>, Option<SendError>)> {
        let folder = deployment.path("enrolment/respondents");
        let credentials = respondents::credentials(&folder, self.values.len())?;
        let bodies = (answers.len() * bundle.survey().survey().delivery.instances as usize) as u64;
        let bar = progress::bar(bodies, "bodies sent over TLS")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (taken, failed) =
            runtime.block_on(respondents::send(bundle, epoch, answers, credentials, &bar, stop))?;
        bar.finish_and_clear();
        let receipts = HumanCount(taken.iter().map(|instances| instances.len() as u64).sum());
        say(&format!("sent       {receipts} of {} bodies, each with a signed receipt", HumanCount(bodies)));
        Ok((taken, failed))
    }

    /// Whether enough respondents could send to every instance that is there. If not, this machine was too slow, and the
    /// error says so: no crowd rule has refused anything.
    fn check_sent(
        &self,
        deployment: &mut Deployment,
        survey: &Survey,
        taken: &[BTreeSet<u32>],
        failed: Option<SendError>,
    ) -> Result<()> {
        let ended = deployment.ended();
        let is_there = |instance: &u32| {
            !ended.iter().any(|place| matches!(place, Place::Hop { instance: i, .. } if i == instance))
        };
        let there = (1..=survey.delivery.instances).filter(is_there);
        let sent = |instance: u32| taken.iter().filter(|taken| taken.contains(&instance)).count() as u64;
        let fewest = there.map(sent).min().unwrap_or(u64::MAX);
        if fewest < survey.crowd.respondents_min {
            bail!(BusyMachine(format!(
                "{} of {} respondents could send to every instance while the epoch lasted, which was {} s long{}",
                HumanCount(fewest),
                HumanCount(taken.len() as u64),
                survey.epoch_s,
                failed.map_or(String::new(), |error| format!(" ({error})"))
            )));
        }
        Ok(())
    }

    /// Waits for the batches of all instances whose hops are still there.
    fn wait_for_batches(
        &self,
        deployment: &mut Deployment,
        survey: &Survey,
        bundle: &Bundle,
        epoch: u64,
        stop: &StopSignal,
    ) -> Result<()> {
        let data = deployment.path("analyzer/data");
        let bar = progress::bar(u64::from(survey.delivery.instances), "instances have delivered")?;
        let all = stop.wait(BATCHES_MAX, || {
            let ended = deployment.ended();
            ensure!(!ended.contains(&Place::Analyzer), "the analyzer has ended; its log may say why");
            let dead = |instance| {
                ended.iter().any(|place| matches!(place, Place::Hop { instance: i, .. } if *i == instance))
            };
            let there = EpochDelivery::of_epoch(&data, bundle.survey(), 0, epoch)?;
            bar.set_position(there.instances());
            Ok((1..=survey.delivery.instances).all(|instance| there.has(instance) || dead(instance)))
        })?;
        bar.finish_and_clear();
        let (came, of, within) = (bar.position(), survey.delivery.instances, BATCHES_MAX.as_secs());
        let late =
            || BusyMachine(format!("{came} of {of} batches came within {within} s of the end of the epoch"));
        // Once is long enough.
        ensure!(all, "{}", late());
        Ok(())
    }

    /// Makes the release with `throng release`.
    fn release(&self, deployment: &mut Deployment, epoch: u64) -> Result<ReleaseSummary> {
        let line = format!(
            "release --config analyzer/analyzer.toml --survey survey.toml --epoch {epoch} --width {} --top 30 --json",
            self.truth.width()
        );
        let out = deployment.path("release").display().to_string();
        let waiting = progress::waiting("the analyzer books, opens and counts")?;
        let released = deployment.run(&line, &["--out", &out]).map_err(|error| {
            // What a rule refuses there is refused here.
            let text = format!("{error:#}");
            match text.split_once("refused: ") {
                Some((_, reason)) => anyhow!(Refusal(reason.to_owned())),
                None => error,
            }
        });
        waiting.finish_and_clear();
        Ok(serde_json::from_str(&released?)?)
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

/// Waits for a time.
fn until(time_ms: u64, noun: &str, stop: &StopSignal) -> Result<()> {
    let left_s = || time_ms.saturating_sub(SystemClock.now_ms()).div_ceil(1000);
    let all_s = left_s();
    let bar = progress::bar(all_s, noun)?;
    stop.wait(Duration::MAX, || {
        bar.set_position(all_s.saturating_sub(left_s()));
        Ok(SystemClock.now_ms() >= time_ms)
    })?;
    bar.finish_and_clear();
    Ok(())
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
/// How long batches may take after the tick: they come if the hops live, however little of the machine these get.
const BATCHES_MAX: Duration = Duration::from_secs(900);
/// How many answers are sealed to see how long that takes. There are more respondents than that.
const SAMPLE_MIN: usize = 20;
const SAMPLE_MAX: usize = 1000;
/// How much longer than needed epochs get at most, where uploads were late.
const TIMES_MAX: u64 = 9;
/// Pixels of a file for each of the drawing.
const PIXEL: u32 = 12;
