//! What Throng should reach: the paper's network at a strong guarantee, and a small model on fixed features.

use anyhow::Result;
use throng_learn::{Average, MechanismName};

use super::Scale;
use super::bench::Results;
use super::cost::Cost;
use super::curves;
use super::job::{Job, Mean};
use super::paper::title;
use super::recipes::{self, EPSILON_LOCAL, LONG};
use super::source::{Features, Source};
use throng_simulate::dataset::PictureSet;
use crate::experiments::lab::people;
use crate::experiments::{Row, Section};

/// A training and what it should reach.
struct Target {
    name: &'static str,
    job: Job,
    /// In %.
    least: f64,
    /// The paper's best cell for the same data, at its epsilon_central of 18.
    paper: f64,
    /// epsilon_central has to be below.
    epsilon_below: f64,
}

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    Ok(targets(scale)?.into_iter().map(|target| target.job).collect())
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-targets", "What can be had at epsilon_central 1");
    section.text = vec![
        format!(
            "Every report has epsilon_local {EPSILON_LOCAL}; epsilon_central is certified for the whole training, under replacement, \
             at delta 1e-5. \"Paper\" is its best cell for the same pictures, at epsilon_central 18 \
             by its own accounting. Edges are fixed functions of a picture: nothing is trained before. PrivUnit is a randomizer \
             with less noise than the paper's sign at the same epsilon_local. Sampling counts: epsilon_central is for an observer \
             who cannot tell who was asked in which step; notes have it without that credit. Where one example has several \
             reports they are one respondent's; notes have what as many distinct respondents would get, in another training. \
             Means over {} runs or more; trainings of the network with every report of another example were made once.",
            scale.runs
        ),
        scale.settings_from(),
    ];
    for target in targets(scale)? {
        let Some(runs) = results.of(&target.job) else { continue };
        let Source::Pictures(set, _) = target.job.source else { continue };
        let steps = target.job.settings.steps;
        let ours = Mean::accuracy(runs, steps);
        let Some(cost) = Cost::of(&target.job)? else { continue };
        let name = format!(
            "{}, {}, {} reports in each of {} steps",
            title(set),
            target.name,
            people(target.job.settings.reports() as f64),
            people(steps as f64)
        );
        let seconds = Mean::of(runs.iter().map(|run| run.seconds)).mean;
        let row = Row::order(
            TABLE,
            format!("{name}: accuracy in %"),
            scale.quick || ours.mean >= target.least,
            format!("at least {}", target.least),
        );
        section.rows.push(
            Row { paper: Some(target.paper), ..row }
                .throng(ours.mean)
                .note(format!("{ours} over {} runs of {seconds:.0} s", runs.len())),
        );
        section.rows.push(cost.row(
            TABLE,
            format!("{name}: certified epsilon_central"),
            cost.sampled < target.epsilon_below,
            format!("below {}", target.epsilon_below),
        ));
    }
    Ok(section)
}

fn targets(scale: &Scale) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for (set, [cnn, sign, unit], paper) in
        [(PictureSet::Mnist, [93.4, 93.0, 96.0], 93.9), (PictureSet::FashionMnist, [75.4, 77.5, 84.0], 76.4)]
    {
        let edges = |mechanism, reports, steps, average| {
            let features = (set, Features::Edges);
            recipes::linear(scale, features, (mechanism, EPSILON_LOCAL), reports, steps, average)
        };
        let distinct = Job { runs: 1, ..recipes::simulated_cnn(scale, set, 10_000, LONG, 1)? };
        targets.extend([
            Target {
                name: "the paper's network",
                job: curves::job(scale, set, 10_000)?,
                least: cnn,
                paper,
                epsilon_below: 1.0,
            },
            Target {
                name: "the same, every report of another example",
                job: distinct,
                least: cnn,
                paper,
                epsilon_below: 1.0,
            },
            Target {
                name: "softmax regression on edges",
                job: edges(MechanismName::Sign, 10_000, 200, Average::Last)?,
                least: sign,
                paper,
                epsilon_below: 1.0,
            },
            Target {
                name: "the same through PrivUnit",
                job: edges(MechanismName::PrivUnit, 60_000, 500, Average::SecondHalf)?,
                least: unit,
                paper,
                epsilon_below: ABOUT_ONE,
            },
        ]);
    }
    Ok(targets)
}

const TABLE: &str = "targets";
/// What 500 steps of everybody may cost, where all else has to be below 1.
const ABOUT_ONE: f64 = 1.05;
