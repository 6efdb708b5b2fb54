//! The hyperparameters of each kind of training.
//!
//! Rates are those of `throng learn` (`learning::defaults`); the part `tuning` of this experiment tries others on held-out
//! training examples.

use anyhow::Result;
use throng_account::composition::DpSgd;
use throng_dp::{CentralGuarantee, Delta, Epsilon};
use throng_learn::{Average, Mechanism, MechanismName, Network, Protocol, Rate, Settings, Simulation};

use super::Scale;
use super::augmented_training;
use super::job::{Job, Model};
use super::paper::DELTA;
use super::source::{Features, Question, Source};
use crate::learning::{Defaults, ModelName};
use throng_simulate::dataset::PictureSet;

/// LDP-SGD of the paper's network for MNIST, on batches that are simulated by several reports of each gradient.
pub(super) fn cnn(scale: &Scale, set: PictureSet, reports: u64, steps: u64) -> Result<Job> {
    simulated_cnn(scale, set, reports, steps, (reports / scale.examples.max(1)).max(1))
}

/// The same with as many reports of each gradient as given.
pub(super) fn simulated_cnn(
    scale: &Scale,
    set: PictureSet,
    reports: u64,
    steps: u64,
    reports_each: u64,
) -> Result<Job> {
    // Noise of single models averages out, so that short of the end a model is as good as if it were the last.
    let average = Average::Exponential(0.97);
    let defaults = Defaults::of(Some(set), ModelName::Cnn, false);
    let clip = defaults.clip;
    let protocol = Protocol::Local {
        mechanism: MechanismName::Sign,
        epsilon: Epsilon::new(EPSILON_LOCAL)?,
        clip,
        reports_each: u32::try_from(reports_each)?,
        simulation: Simulation::Fast,
    };
    let noise = noise_of(&protocol, CNN_DIMENSION, reports)?;
    let settings = Settings {
        protocol,
        examples_each_step: (reports / reports_each) as usize,
        steps,
        rate: defaults.rate(Some(set), ModelName::Cnn, average, steps, Some(noise)),
        momentum: 0.0,
        average,
        radius: None,
    };
    Ok(Job {
        source: Source::Pictures(set, Features::Pixels),
        model: Model::Cnn,
        settings,
        question: Question::Test,
        checkpoints: vec![steps],
        respondents: training_examples(set),
        runs: scale.runs,
    })
}

/// LDP-SGD of softmax regression on features, each report of another example.
pub(super) fn linear(
    scale: &Scale,
    (set, features): (PictureSet, Features),
    (mechanism, epsilon_local): (MechanismName, f64),
    reports: u64,
    steps: u64,
    average: Average,
) -> Result<Job> {
    let defaults = Defaults::of(Some(set), ModelName::Hog, mechanism == MechanismName::PrivUnit);
    let clip = defaults.clip;
    let epsilon = Epsilon::new(epsilon_local)?;
    let protocol =
        Protocol::Local { mechanism, epsilon, clip, reports_each: 1, simulation: Simulation::Fast };
    let source = Source::Pictures(set, features);
    let (width, classes) = source.shape();
    let noise = noise_of(&protocol, Network::linear(width, classes).dimension(), reports)?;
    let respondents = match features {
        Features::Learned => scale.learned_respondents,
        Features::Pixels | Features::Edges => training_examples(set),
    };
    Ok(Job {
        source,
        model: Model::Linear,
        settings: Settings {
            protocol,
            examples_each_step: reports as usize,
            steps,
            rate: defaults.rate(Some(set), ModelName::Hog, average, steps, Some(noise)),
            momentum: 0.0,
            average,
            radius: None,
        },
        question: Question::Test,
        checkpoints: vec![steps],
        respondents,
        runs: scale.runs,
    })
}

/// DP-SGD of the paper's network by a trusted party, with the noise for a guarantee under replacement.
pub(super) fn trusted_cnn(
    scale: &Scale,
    set: PictureSet,
    respondents: u64,
    (asked, steps): (u64, u64),
    epsilon_central: f64,
) -> Result<Job> {
    let job = cnn(scale, set, asked, steps)?;
    trusted(job, (set, ModelName::Cnn), respondents, asked, epsilon_central)
}

/// The same of softmax regression on features.
pub(super) fn trusted_linear(
    scale: &Scale,
    (set, features): (PictureSet, Features),
    respondents: u64,
    (asked, steps): (u64, u64),
    epsilon_central: f64,
) -> Result<Job> {
    let average = Average::Exponential(0.97);
    let job = linear(scale, (set, features), (MechanismName::Sign, EPSILON_LOCAL), asked, steps, average)?;
    trusted(job, (set, ModelName::Hog), respondents, asked, epsilon_central)
}

/// A training with one Gaussian draw in each step instead of everybody's coins.
fn trusted(
    job: Job,
    (set, model): (PictureSet, ModelName),
    respondents: u64,
    asked: u64,
    epsilon_central: f64,
) -> Result<Job> {
    let Settings { steps, average, .. } = job.settings;
    let target = CentralGuarantee::new(Epsilon::new(epsilon_central)?, Delta::new(DELTA)?);
    let noise = DpSgd::new(respondents, asked, 1.0, steps)?.calibrated(target)?.noise_multiplier();
    let defaults = Defaults::of(Some(set), model, false);
    let settings = Settings {
        protocol: Protocol::Central { clip: defaults.clip, noise },
        examples_each_step: asked as usize,
        rate: defaults.rate(Some(set), model, average, steps, Some(noise / asked as f64)),
        ..job.settings
    };
    Ok(Job { settings, respondents, ..job })
}

/// The paper's network without privacy.
pub(super) fn plain_cnn(scale: &Scale, set: PictureSet) -> Result<Job> {
    let job = cnn(scale, set, 250, PLAIN_STEPS)?;
    let settings = Settings {
        protocol: Protocol::Plain,
        examples_each_step: 250,
        rate: Rate::Linear { start: 0.1, end: 0.005 },
        momentum: 0.9,
        average: Average::Last,
        ..job.settings
    };
    Ok(Job { settings, ..job })
}

/// The paper's network for CIFAR-10 without privacy, once, in a bounded time, as the part `pretrain` trains it.
pub(super) fn plain_cifar(scale: &Scale) -> Result<Job> {
    let set = PictureSet::Cifar10;
    let pictures = training_examples(set) as usize;
    let settings = augmented_training::settings(pictures, PLAIN_CIFAR_BATCH, PLAIN_CIFAR_PASSES);
    let steps = settings.steps;
    Ok(Job { model: Model::Cifar, settings, checkpoints: vec![steps], runs: 1, ..plain_cnn(scale, set)? })
}

/// Softmax regression on features without privacy.
pub(super) fn plain_linear(scale: &Scale, set: PictureSet, features: Features) -> Result<Job> {
    let job = linear(
        scale,
        (set, features),
        (MechanismName::Sign, EPSILON_LOCAL),
        500,
        PLAIN_STEPS,
        Average::SecondHalf,
    )?;
    let rate = Rate::Linear { start: 20.0, end: 1.0 };
    Ok(Job { settings: Settings { protocol: Protocol::Plain, rate, ..job.settings }, ..job })
}

/// How many training examples a set has, each one respondent's.
pub(super) fn training_examples(set: PictureSet) -> u64 {
    match set {
        PictureSet::Mnist | PictureSet::FashionMnist => 60_000,
        PictureSet::Cifar10 => 50_000,
    }
}

/// The standard deviation of each coordinate of a step's mean gradient, in clipping norms.
fn noise_of(protocol: &Protocol, dimension: usize, reports: u64) -> Result<f64> {
    let Protocol::Local { mechanism, epsilon, clip, .. } = *protocol else { return Ok(0.0) };
    Ok(Mechanism::new(mechanism, dimension, clip, epsilon)?.across() / clip / (reports as f64).sqrt())
}

/// What each report of MNIST and Fashion-MNIST guarantees by itself.
pub(super) const EPSILON_LOCAL: f64 = 1.9;
/// What each report of CIFAR-10 guarantees by itself.
pub(super) const EPSILON_LOCAL_CIFAR: f64 = 1.8;
/// The parameters of the paper's network with pools of stride 1.
const CNN_DIMENSION: usize = 26_010;
/// The steps until the curves of the paper's network are nearly flat.
pub(super) const LONG: u64 = 2_000;
/// The same of softmax regression on learned features.
pub(super) const LEARNED_LONG: u64 = 500;
const PLAIN_STEPS: u64 = 3_000;
/// How often the network for CIFAR-10 sees each picture on average: about half an hour on two cores.
pub(super) const PLAIN_CIFAR_PASSES: u64 = 8;
const PLAIN_CIFAR_BATCH: usize = 100;
