//! Where jobs are run, one after the other, each as often as asked.

use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::ProgressStyle;
use rayon::{ThreadPool, ThreadPoolBuilder};
use throng_dp::Delta;
use throng_learn::{Examples, Judged, Randomness, Training};

use super::job::{Done, Job, Point};
use super::kept::Kept;
use super::paper::DELTA;
use super::source::{Data, Place, Question, Source};
use crate::experiments::Lab;
use crate::learning::attack::{Attack, Questions};

/// Runs jobs, or finds that they were run.
pub(super) struct Bench<'a> {
    lab: &'a Lab,
    place: &'a Place,
    kept: Kept,
    threads: ThreadPool,
}

/// What jobs gave.
#[derive(Debug, Default)]
pub(super) struct Results {
    done: Vec<(Job, Vec<Done>)>,
    /// Why some were left out, each reason once.
    pub(super) missing: Vec<String>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(lab: &'a Lab, place: &'a Place) -> Result<Self> {
        let threads = ThreadPoolBuilder::new().num_threads(lab.threads).build()?;
        Ok(Self { lab, place, kept: Kept::new(place.out.as_deref()), threads })
    }

    /// Runs all that can be run. Two equal jobs are run once, as often as the more demanding one asks.
    pub(super) fn run(&self, jobs: Vec<Job>) -> Result<Results> {
        let mut results = Results::default();
        let mut wanted: Vec<Job> = Vec::new();
        for job in jobs {
            match (self.place.missing(job.source), wanted.iter_mut().find(|known| known.is_like(&job))) {
                (Some(reason), _) if results.missing.contains(&reason) => {}
                (Some(reason), _) => results.missing.push(reason),
                (None, Some(known)) => known.runs = known.runs.max(job.runs),
                (None, None) => wanted.push(job),
            }
        }
        // What a run learns from is opened once for all runs that learn from it.
        wanted.sort_by_key(|job| job.source.name());
        self.announce(&wanted)?;
        for group in wanted.chunk_by(|a, b| a.source == b.source) {
            let mut opened = None;
            for job in group {
                results.done.push((job.clone(), self.all_runs(job, &mut opened)?));
            }
        }
        Ok(results)
    }

    /// Says how much there is to do, not counting what was done before.
    fn announce(&self, jobs: &[Job]) -> Result<()> {
        let mut work = 0;
        for job in jobs {
            for run in 0..job.runs {
                let found: Option<Done> = self.kept.find(&file(job, run), &self.identity(job, run))?;
                work += if found.is_none() { job.work(self.place.quick) } else { 0 };
            }
        }
        self.lab.progress.set_length(work.max(1));
        let style = "{spinner} {percent:>3} % in {elapsed}, about {eta} left  {wide_msg}";
        self.lab.progress.set_style(ProgressStyle::with_template(style)?);
        Ok(())
    }

    fn all_runs(&self, job: &Job, opened: &mut Option<(Examples, Examples)>) -> Result<Vec<Done>> {
        let mut runs = Vec::new();
        let mut divided = None;
        for run in 0..job.runs {
            let (name, identity) = (file(job, run), self.identity(job, run));
            let done = match self.kept.find(&name, &identity)? {
                Some(done) => done,
                None => {
                    if divided.is_none() {
                        if opened.is_none() {
                            self.lab.say(format!("reading {}", job.source.name()));
                            *opened = Some(self.place.open(job.source)?);
                        }
                        let (training, test) = opened.as_ref().context("nothing was opened")?;
                        divided = Some(job.question.divide(training, test)?);
                    }
                    let data = divided.as_ref().context("nothing was divided")?;
                    let done = self.threads.install(|| self.one_run(job, data, run))?;
                    self.kept.keep(&name, &identity, &done)?;
                    done
                }
            };
            runs.push(done);
        }
        Ok(runs)
    }

    fn one_run(&self, job: &Job, data: &Data, run: u64) -> Result<Done> {
        let begun = Instant::now();
        let quick = self.place.quick;
        let settings = if quick { job.quick_settings(data.training.len()) } else { job.settings };
        let network = job.model.network(data.training.width(), data.training.classes());
        let randomness = Randomness::numbered(self.seed(run));
        let mut training = Training::new(&network, &data.training, settings, randomness)?;
        let mut points = Vec::new();
        let work = job.work(quick) / settings.steps;
        for &checkpoint in &job.checkpoints {
            // A short run stands for a long one, checkpoint by checkpoint.
            let until =
                if quick { (checkpoint * settings.steps).div_ceil(job.settings.steps) } else { checkpoint };
            while training.state().step() < until {
                training.step()?;
                self.lab.progress.inc(work);
                self.lab.say(format!(
                    "{}, run {} of {}, step {} of {}",
                    job.name(),
                    run + 1,
                    job.runs,
                    training.state().step(),
                    settings.steps
                ));
            }
            let judged = network.judge(training.state().model(), &data.judged);
            let loss = judged.iter().map(|one| one.loss).sum::<f64>() / judged.len() as f64;
            points.push(Point { step: checkpoint, accuracy: 100.0 * Judged::accuracy(&judged), loss });
        }
        let attacks = match (&data.others, job.question) {
            (Some(others), Question::Membership) => {
                let delta = Delta::new(DELTA)?;
                let relabellings = if quick { 99 } else { RELABELLINGS };
                let questions = Questions { delta, confidence: CONFIDENCE, relabellings };
                let mut rng = self.lab.rng(ATTACKS + run);
                let model = training.state().model();
                let mut on =
                    |others| Attack::on(&network, model, &data.training, others, &questions, &mut rng);
                Some((on(others)?, on(&data.judged)?))
            }
            _ => None,
        };
        Ok(Done { points, attacks, seconds: begun.elapsed().as_secs_f64() })
    }

    fn identity(&self, job: &Job, run: u64) -> String {
        let learned = match job.source {
            Source::Pictures(_, super::source::Features::Learned) => {
                self.place.pretrained().map_or(String::new(), |network| network.identity())
            }
            _ => String::new(),
        };
        job.identity(self.seed(run), self.place.quick) + &learned
    }

    fn seed(&self, run: u64) -> u64 {
        self.lab.seed.wrapping_mul(1_000_003).wrapping_add(run)
    }
}

impl Results {
    /// The runs of a job, if it could be run.
    pub(super) fn of(&self, job: &Job) -> Option<&[Done]> {
        let found = self.done.iter().find(|(known, _)| known.is_like(job))?;
        Some(&found.1[..found.1.len().min(job.runs as usize)])
    }
}

impl Job {
    /// Whether it is the same training, however often.
    fn is_like(&self, other: &Self) -> bool {
        Self { runs: 0, ..self.clone() } == Self { runs: 0, ..other.clone() }
    }
}

fn file(job: &Job, run: u64) -> String {
    format!("{}-run{run}", job.name())
}

/// The confidence of limits.
const CONFIDENCE: f64 = 0.95;
const RELABELLINGS: u32 = 999;
/// Where the randomness of attacks begins.
const ATTACKS: u64 = 1 << 32;
