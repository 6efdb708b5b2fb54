//! A training that is to be measured, and what came out.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use throng_learn::{Curve, Evaluation, Network, Protocol, Settings};

use super::source::{Question, Source};
use crate::learning::attack::Attack;
use crate::learning::{mean_and_deviation, paper_network};

/// A training that is measured several times: all that decides it, but for the randomness.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Job {
    /// What it learns from.
    pub(super) source: Source,
    /// What it learns.
    pub(super) model: Model,
    /// How.
    pub(super) settings: Settings,
    /// What is asked of it.
    pub(super) question: Question,
    /// After which steps it is judged, in rising order; the last step is one of them.
    pub(super) checkpoints: Vec<u64>,
    /// How many respondents there are, if it learns from all there should be.
    pub(super) respondents: u64,
    /// How often it is run.
    pub(super) runs: u64,
}

/// What is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// The paper's network for MNIST.
    Cnn,
    /// The paper's network for CIFAR-10, all of it, on pictures that are mirrored and moved.
    Cifar,
    /// Softmax regression.
    Linear,
}

/// One run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct FinishedRun {
    /// How the model did, at each checkpoint.
    pub(super) points: Vec<Point>,
    /// The attack on the last model: against others of the same pool, and against the test set.
    pub(super) attacks: Option<(Attack, Attack)>,
    /// How long it took; if it went on after a stop, since then.
    pub(super) seconds: f64,
}

/// How a model did after some steps.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Point {
    pub(super) step: u64,
    /// In %.
    pub(super) accuracy: f64,
    /// The mean loss.
    pub(super) loss: f64,
}

/// A mean over runs, and the deviation of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Job {
    /// The name of its files: short, and another for every other job of this program.
    pub(super) fn name(&self) -> String {
        let Settings { steps, examples_each_step, .. } = self.settings;
        let question = match self.question {
            Question::Test => "",
            Question::HeldOut => "-held-out",
            Question::Membership => "-half",
            Question::Risk => "-risk",
        };
        let protocol = match self.settings.protocol {
            Protocol::Plain => "plain".to_owned(),
            Protocol::Central { noise, .. } => format!("central-{noise:.3}"),
            Protocol::Local { mechanism, epsilon, .. } => format!("{mechanism:?}-{}", epsilon.value()),
        };
        let rate = self.settings.rate.at(0, steps);
        // The curve of a last layer is as long as a training of it that averages otherwise.
        let is_curve = self.model == Model::Linear && self.checkpoints.len() > 3;
        let curve = if is_curve { "-curve" } else { "" };
        format!(
            "{}-{protocol}-m{}-s{examples_each_step}-t{steps}-r{rate:.4}{question}{curve}",
            self.source.name(),
            self.settings.reports(),
        )
        .to_ascii_lowercase()
    }

    /// All that decides a run, but for its data and the program, in words.
    pub(super) fn in_words(&self, seed: u64, quick: bool) -> String {
        let Self { source, model, settings, question, checkpoints, .. } = self;
        format!("{source:?} {model:?} {settings:?} {question:?} {checkpoints:?} seed {seed} quick {quick}")
    }

    /// Refuses data of another size than the guarantee is computed for. Of held-out examples none is stated.
    pub(super) fn check_size(&self, respondents: u64) -> Result<()> {
        let found = self.question.trained_on(respondents).unwrap_or(self.respondents);
        ensure!(
            found == self.respondents,
            "{} has {found} examples to train on, and epsilon_central is computed for {}; put the whole set into the data \
             directory, as its authors publish it, or try any other data with throng learn",
            self.source.origin_name(),
            self.respondents
        );
        Ok(())
    }

    /// A measure of the work of one run.
    pub(super) fn work(&self, quick: bool) -> u64 {
        let steps = if quick { QUICK_STEPS } else { self.settings.steps };
        let size = match self.model {
            Model::Cnn => 26,
            Model::Cifar => 2_600,
            Model::Linear => 4,
        };
        steps * size * (self.settings.examples_each_step as u64 + 100)
    }

    /// The same, small enough for a look at whether it works. Points keep the names of the steps they stand for.
    pub(super) fn quick_settings(&self, examples: usize) -> Settings {
        Settings {
            steps: self.settings.steps.min(QUICK_STEPS),
            examples_each_step: self.settings.examples_each_step.min(examples),
            ..self.settings
        }
    }
}

impl Model {
    /// Its network for inputs of some width.
    pub(super) fn network(self, width: usize, classes: usize) -> Network {
        match self {
            Self::Cnn => Network::paper_cnn(1, Curve::Tanh, classes),
            Self::Cifar => paper_network(classes),
            Self::Linear => Network::linear(width, classes),
        }
    }
}

impl Point {
    /// From how a model did on each of some examples.
    pub(super) fn of(step: u64, judged: &[Evaluation]) -> Self {
        let loss = judged.iter().map(|one| one.loss).sum::<f64>() / judged.len() as f64;
        Self { step, accuracy: 100.0 * Evaluation::accuracy(judged), loss }
    }
}

impl Mean {
    /// Over some numbers, of which there is at least one.
    pub(super) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (mean, deviation) = mean_and_deviation(&numbers.into_iter().collect::<Vec<f64>>());
        Self { mean, deviation }
    }

    /// Of the accuracy of some runs at a step that they were judged at.
    pub(super) fn accuracy(runs: &[FinishedRun], step: u64) -> Self {
        Self::at(runs, step, |point| point.accuracy)
    }

    pub(super) fn at(runs: &[FinishedRun], step: u64, of: impl Fn(&Point) -> f64) -> Self {
        let points = runs.iter().flat_map(|run| run.points.iter().filter(|point| point.step == step));
        Self::of(points.map(of))
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ± {:.1}", self.mean, self.deviation)
    }
}

/// Enough to see that everything works.
const QUICK_STEPS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::super::Scale;
    use super::super::recipes;
    use super::*;
    use throng_simulate::dataset::PictureSet;

    #[test]
    fn data_of_another_size_than_accounted_for_is_refused() {
        let job = recipes::cnn(&Scale::for_tests(), PictureSet::Mnist, 10_000, 2_000).unwrap();
        job.check_size(60_000).unwrap();
        let error = job.check_size(59_999).unwrap_err().to_string();
        assert!(
            error.contains("mnist has 59999")
                && error.contains("60000")
                && error.contains("put the whole set")
        );
        let half = Job { question: Question::Membership, respondents: 30_000, ..job.clone() };
        half.check_size(60_000).unwrap();
        assert!(half.check_size(50_000).is_err());
        Job { question: Question::HeldOut, ..job }.check_size(50_000).unwrap();
    }
}
