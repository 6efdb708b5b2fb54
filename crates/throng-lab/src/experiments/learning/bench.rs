//! The job runner: jobs one after the other, each as often as asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::ProgressStyle;
use rayon::{ThreadPool, ThreadPoolBuilder};
use throng_dp::Delta;
use throng_learn::{Examples, Randomness, Training};
use throng_wire::Digest;

use super::augmented_training::AugmentedTraining;
use super::job::{FinishedRun, Job, Model, Point};
use super::paper::DELTA;
use super::run_log::{Identity, RunLog};
use super::source::{Data, Origin, Place, Question};
use crate::experiments::Lab;
use crate::learning::attack::{Attack, Questions};

/// Runs jobs, or finds that they were run.
pub(super) struct Bench<'a> {
    lab: &'a Lab,
    place: &'a Place,
    kept: RunLog,
    threads: ThreadPool,
}

/// The results of all jobs.
#[derive(Debug, Default)]
pub(super) struct Results {
    done: Vec<(Job, Vec<FinishedRun>)>,
    /// Those that were left out, and why.
    missing: Vec<(Job, String)>,
}

/// A job that can be run, or was.
struct JobRequest {
    job: Job,
    /// The hash of what its features are made of.
    data: Digest,
}

impl<'a> Bench<'a> {
    pub(super) fn new(lab: &'a Lab, place: &'a Place) -> Result<Self> {
        let threads = ThreadPoolBuilder::new().num_threads(lab.threads).build()?;
        Ok(Self { lab, place, kept: RunLog::new(place.out.as_deref()), threads })
    }

    /// Runs all that can be run. Two equal jobs are run once, as often as the more demanding one asks.
    pub(super) fn run(&self, jobs: Vec<Job>) -> Result<Results> {
        let mut results = Results::default();
        let mut origins = BTreeMap::new();
        let mut wanted: Vec<JobRequest> = Vec::new();
        for job in jobs {
            if let Some(reason) = self.place.missing(job.source) {
                results.missing.push((job, reason));
                continue;
            }
            let origin = self.origin(&job, &mut origins)?;
            if !self.place.quick {
                job.check_size(self.place.respondents(job.source, origin.training))?;
            }
            let one = JobRequest { data: origin.digest, job };
            if !self.place.can_open(one.job.source) && !self.is_done(&one)? {
                results.missing.push((one.job, NO_NETWORK.into()));
                continue;
            }
            match wanted.iter_mut().find(|known| known.job.is_like(&one.job)) {
                Some(known) => known.job.runs = known.job.runs.max(one.job.runs),
                None => wanted.push(one),
            }
        }
        // What a run learns from is opened once for all runs that learn from it.
        wanted.sort_by_key(|one| one.job.source.name());
        self.announce(&wanted)?;
        for group in wanted.chunk_by(|a, b| a.job.source == b.job.source) {
            let mut opened = None;
            for one in group {
                results.done.push((one.job.clone(), self.all_runs(one, &mut opened)?));
            }
        }
        Ok(results)
    }

    /// Where the examples of a job come from; each set of them is read once for that.
    fn origin(&self, job: &Job, known: &mut BTreeMap<String, Origin>) -> Result<Origin> {
        let name = job.source.origin_name();
        if let Some(origin) = known.get(&name) {
            return Ok(*origin);
        }
        self.lab.say(format!("reading {name}"));
        let origin = self.place.origin(job.source)?;
        known.insert(name, origin);
        Ok(origin)
    }

    /// Whether all runs of a job were made before.
    fn is_done(&self, wanted: &JobRequest) -> Result<bool> {
        for run in 0..wanted.job.runs {
            if self.found(wanted, run)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn found(&self, wanted: &JobRequest, run: u64) -> Result<Option<FinishedRun>> {
        self.kept.find(&file(&wanted.job, run), &self.identity(wanted, run))
    }

    /// Says how much there is to do, not counting what was done before.
    fn announce(&self, all: &[JobRequest]) -> Result<()> {
        let mut work = 0;
        for wanted in all {
            for run in 0..wanted.job.runs {
                let is_new = self.found(wanted, run)?.is_none();
                work += if is_new { wanted.job.work(self.place.quick) } else { 0 };
            }
        }
        self.lab.progress.set_length(work.max(1));
        let style = "{spinner} {percent:>3} % in {elapsed}, about {eta} left  {wide_msg}";
        self.lab.progress.set_style(ProgressStyle::with_template(style)?);
        Ok(())
    }

    fn all_runs(
        &self,
        wanted: &JobRequest,
        opened: &mut Option<(Examples, Examples)>,
    ) -> Result<Vec<FinishedRun>> {
        let job = &wanted.job;
        let mut runs = Vec::new();
        let mut divided = None;
        for run in 0..job.runs {
            let done = match self.found(wanted, run)? {
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
                    self.kept.keep(&file(job, run), &self.identity(wanted, run), &done)?;
                    if let Some(path) = self.half_trained(job, run).filter(|path| path.is_file()) {
                        fs::remove_file(path)?;
                    }
                    done
                }
            };
            runs.push(done);
        }
        Ok(runs)
    }

    fn one_run(&self, job: &Job, data: &Data, run: u64) -> Result<FinishedRun> {
        let begun = Instant::now();
        let quick = self.place.quick;
        let settings = if quick { job.quick_settings(data.training.len()) } else { job.settings };
        let network = job.model.network(data.training.width(), data.training.classes());
        if job.model == Model::Cifar {
            let pictures = &data.training;
            let training = AugmentedTraining { network: &network, pictures, settings, seed: self.seed(run) };
            let path = self.half_trained(job, run);
            let work = job.work(quick) / settings.steps;
            let trained = training.run(path.as_deref(), |step, loss| {
                self.lab.progress.inc(work);
                self.lab.say(format!("{}, step {step} of {}, loss {loss:.3}", job.name(), settings.steps));
            })?;
            let point = Point::of(job.settings.steps, &training.judge(&trained, &data.judged)?);
            return Ok(FinishedRun {
                points: vec![point],
                attacks: None,
                seconds: begun.elapsed().as_secs_f64(),
            });
        }
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
            points.push(Point::of(checkpoint, &network.judge(training.state().model(), &data.judged)));
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
        Ok(FinishedRun { points, attacks, seconds: begun.elapsed().as_secs_f64() })
    }

    /// Where a long run is kept while it goes on.
    fn half_trained(&self, job: &Job, run: u64) -> Option<PathBuf> {
        let out = self.place.out.as_ref().filter(|_| job.model == Model::Cifar && !self.place.quick)?;
        Some(out.join(format!("half-trained-{}-seed{}.bin", file(job, run), self.seed(run))))
    }

    fn identity(&self, JobRequest { job, data }: &JobRequest, run: u64) -> Identity {
        let network = self.place.network.as_ref().filter(|_| job.source.is_learned());
        Identity {
            training: job.in_words(self.seed(run), self.place.quick),
            data: *data,
            numerics: job.settings.protocol.numerics(),
            network: network.map(|network| network.name),
        }
    }

    fn seed(&self, run: u64) -> u64 {
        self.lab.seed.wrapping_mul(1_000_003).wrapping_add(run)
    }
}

impl Results {
    /// The runs of a job, if it could be run.
    pub(super) fn of(&self, job: &Job) -> Option<&[FinishedRun]> {
        let found = self.done.iter().find(|(known, _)| known.is_like(job))?;
        Some(&found.1[..found.1.len().min(job.runs as usize)])
    }

    /// How long all runs took, whenever they were made.
    pub(super) fn seconds(&self) -> f64 {
        self.done.iter().flat_map(|(_, runs)| runs).map(|run| run.seconds).sum()
    }

    /// Why some of these jobs were left out, each reason once.
    pub(super) fn missing(&self, jobs: &[Job]) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for (job, reason) in &self.missing {
            if jobs.contains(job) && !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        reasons
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

/// What is said of trainings on learned features that were not made while their network was there.
const NO_NETWORK: &str = "Of CIFAR-10 with learned features only trainings that were finished before are shown, because the network \
                          that they are of is no longer there: run this experiment with --only pretrain and the same --out first, and \
                          all of them are made with the new network.";
/// The confidence of limits.
const CONFIDENCE: f64 = 0.95;
const RELABELLINGS: u32 = 999;
/// Where the randomness of attacks begins.
const ATTACKS: u64 = 1 << 32;
