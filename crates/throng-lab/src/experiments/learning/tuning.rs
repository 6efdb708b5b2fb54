//! Hyperparameter tuning: learning rates tried on training examples that were held out.

use anyhow::Result;
use throng_learn::{Average, MechanismName, Rate, Settings};

use super::Scale;
use super::bench::Results;
use super::job::{Job, Mean};
use super::paper::{RES, title};
use super::recipes::{self, EPSILON_LOCAL, LONG};
use super::source::{Features, Question, Source};
use crate::experiments::lab::people;
use crate::experiments::{Row, Section};
use throng_simulate::dataset::PictureSet;

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    Ok(trainings(scale)?.iter().flat_map(|(_, job)| FACTORS.map(|factor| tried(job, factor))).collect())
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-tuning", "Where learning rates come from");
    section.text = vec![format!(
        "Each training of this experiment with its learning rate and with others, on five sixths of the training examples and \
         judged on the rest; the test set is not looked at. Factors are of the rate that is used everywhere else. One run \
         each: differences below a point are chance. A rate is kept if none of the others is better by {KEPT} points.",
    )];
    for (name, job) in trainings(scale)? {
        let accuracies: Vec<Option<f64>> = FACTORS
            .iter()
            .map(|&factor| {
                results.of(&tried(&job, factor)).map(|runs| Mean::accuracy(runs, job.settings.steps).mean)
            })
            .collect();
        let Some(best) = accuracies.iter().flatten().copied().reduce(f64::max) else { continue };
        for (factor, accuracy) in FACTORS.into_iter().zip(accuracies) {
            let Some(accuracy) = accuracy else { continue };
            let cell = format!("{name}, rate times {factor}: held-out accuracy in %");
            let row = if factor == 1.0 {
                let holds = scale.quick || accuracy >= best - KEPT;
                Row::order(TABLE, cell, holds, "the rate that is used: among the best")
            } else {
                Row::order(TABLE, cell, true, "another rate")
            };
            section.rows.push(row.throng(accuracy));
        }
    }
    Ok(section)
}

/// Every training with settings of its own.
fn trainings(scale: &Scale) -> Result<Vec<(String, Job)>> {
    let mut all = Vec::new();
    for printed in RES.iter().filter(|printed| printed.set != PictureSet::Cifar10) {
        let name = title(printed.set);
        // Rates go with the noise: what suits the ends suits what is between.
        for (reports, steps) in [(2_000, SHORT), (10_000, SHORT), (10_000, LONG)] {
            let job = recipes::cnn(scale, printed.set, reports, steps)?;
            all.push((format!("{name}, network, batch {}, {steps} steps", people(reports as f64)), job));
        }
        let edges = |mechanism, reports, steps, average| {
            let features = (printed.set, Features::Edges);
            recipes::linear(scale, features, (mechanism, EPSILON_LOCAL), reports, steps, average)
        };
        all.push((format!("{name}, edges, sign"), edges(MechanismName::Sign, 10_000, 200, Average::Last)?));
        all.push((
            format!("{name}, edges, PrivUnit"),
            edges(MechanismName::PrivUnit, 49_000, 500, Average::SecondHalf)?,
        ));
    }
    // A little fewer than the five sixths that are left.
    for (name, job) in super::cifar::edges(scale)?.into_iter().chain(super::cifar::learned(scale)?) {
        let reports = job.settings.examples_each_step.min(job.respondents as usize * 4 / 5);
        let settings = Settings { examples_each_step: reports, ..job.settings };
        all.push((format!("CIFAR-10, {name}"), Job { settings, ..job }));
    }
    for (_, job) in &mut all {
        debug_assert!(matches!(job.source, Source::Pictures(..)));
        job.runs = 1;
        job.question = Question::HeldOut;
    }
    Ok(all)
}

/// The same with another rate.
fn tried(job: &Job, factor: f64) -> Job {
    let rate = match job.settings.rate {
        Rate::Constant(rate) => Rate::Constant(factor * rate),
        Rate::Linear { start, end } => Rate::Linear { start: factor * start, end: factor * end },
        Rate::InverseRoot(c) => Rate::InverseRoot(factor * c),
    };
    Job { settings: Settings { rate, ..job.settings }, ..job.clone() }
}

const TABLE: &str = "tuning";
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];
/// About the length of the runs of Table res.
const SHORT: u64 = 600;
const KEPT: f64 = 1.0;
