//! Figure MLResl: accuracy against steps, until it no longer rises.

use anyhow::Result;
use throng_learn::{Average, MechanismName};

use super::bench::Results;
use super::cost::Cost;
use super::job::{FinishedRun, Job, Mean};
use super::paper::{QUOTED, RES};
use super::recipes::{self, EPSILON_LOCAL, EPSILON_LOCAL_CIFAR, LEARNED_LONG, LONG};
use super::source::Features;
use super::{Scale, accuracy};
use crate::experiments::lab::people;
use crate::experiments::{Figure, Image, Row, Section};
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_simulate::dataset::PictureSet;

/// The long run of one batch size.
pub(super) fn job(scale: &Scale, set: PictureSet, reports: u64) -> Result<Job> {
    let (job, checkpoints) = match set {
        PictureSet::Cifar10 => {
            let features = (set, Features::Learned);
            let mechanism = (MechanismName::Sign, EPSILON_LOCAL_CIFAR);
            let average = Average::Exponential(0.97);
            let job = recipes::linear(scale, features, mechanism, reports, LEARNED_LONG, average)?;
            (job, CHECKPOINTS_LEARNED.to_vec())
        }
        set => (recipes::cnn(scale, set, reports, LONG)?, CHECKPOINTS.to_vec()),
    };
    Ok(Job { checkpoints, runs: scale.short_runs, ..job })
}

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for (set, reports) in curves() {
        jobs.push(job(scale, set, reports)?);
    }
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-curves", "Learning curves");
    section.text = vec![
        format!(
            "Accuracy after every number of steps up to {}, at epsilon_local {EPSILON_LOCAL} per report, over {} runs each; for \
             CIFAR-10 of a last layer on learned features, up to {LEARNED_LONG} steps at {EPSILON_LOCAL_CIFAR}. The paper lets its \
             runs go on until they saturate, whatever that costs by its accounting. What it costs is in the table: epsilon_central \
             is certified, under replacement, at delta 1e-5, with credit for sampling. Batches of MNIST and Fashion-MNIST are \
             simulated by several reports of each example, which are accounted for as one respondent's; notes have it without \
             credit for sampling, and for a training with as many distinct respondents, which is not this one.",
            people(LONG as f64),
            scale.short_runs
        ),
        format!(
            "The flat ends of MNIST and Fashion-MNIST are not saturation: learning rates fall to a twentieth by the last step, \
             which alone makes an end flat. The best of all batches after {} steps is beside what the paper says its runs saturate at. \
             Rates of CIFAR-10 do not fall.",
            people(LONG as f64)
        ),
        scale.settings_from(),
    ];
    for quoted in &QUOTED {
        let mut series = Vec::new();
        let mut best = None::<Mean>;
        for (set, reports) in curves().filter(|(set, _)| *set == quoted.set) {
            let job = job(scale, set, reports)?;
            let Some(runs) = results.of(&job) else { continue };
            series.extend(drawn(&job, runs));
            let last = Mean::accuracy(runs, job.settings.steps);
            if best.is_none_or(|best| best.mean < last.mean) {
                best = Some(last);
            }
            let Some(cost) = Cost::of(&job)? else { continue };
            let cell = format!("{}, batch {}", scale.title(set), people(reports as f64));
            section.rows.push(
                Row::order(TABLE, format!("{cell}: accuracy in %"), true, "for the reader")
                    .throng(last.mean)
                    .note(format!("{last} over {} runs", runs.len())),
            );
            section.rows.push(cost.row(
                TABLE,
                format!("{cell}: certified epsilon_central"),
                cost.sampled < 1.0,
                "below 1, where the paper's accounting says more than 18",
            ));
        }
        let Some(best) = best else { continue };
        let cell = format!("{}, best of all batches: accuracy in %", scale.title(quoted.set));
        section.rows.push(accuracy(scale, TABLE, cell, quoted.saturated, best.mean));
        section.figures.push(Figure {
            name: format!("learning-curves-{}", quoted.set.name()),
            caption: "Mean over runs; the dashed lines are one deviation above and below.".into(),
            image: Image::Plot(Plot {
                title: scale.title(quoted.set),
                x: Axis::linear("steps"),
                y: Axis::linear("accuracy in %"),
                series,
            }),
        });
    }
    Ok(section)
}

/// A curve with its spread: two dashed lines beside it.
fn drawn(job: &Job, runs: &[FinishedRun]) -> [Series; 2] {
    let reports = people(job.settings.reports() as f64);
    let means: Vec<(f64, Mean)> =
        job.checkpoints.iter().map(|&step| (step as f64, Mean::accuracy(runs, step))).collect();
    let line = means.iter().map(|(step, mean)| (*step, mean.mean)).collect();
    // Down one side and up the other; the gap keeps the two apart.
    let below = means.iter().map(|(step, mean)| (*step, mean.mean - mean.deviation));
    let above = means.iter().map(|(step, mean)| (*step, mean.mean + mean.deviation));
    let spread = below.chain([(f64::NAN, f64::NAN)]).chain(above).collect();
    [
        Series { name: format!("batch {reports}"), points: line, style: Style::Line },
        Series { name: format!("batch {reports}, spread"), points: spread, style: Style::Beside },
    ]
}

fn curves() -> impl Iterator<Item = (PictureSet, u64)> {
    RES.iter().flat_map(|printed| printed.batches.iter().map(|batch| (printed.set, batch.reports)))
}

const TABLE: &str = "MLResl";
const CHECKPOINTS: [u64; 15] =
    [50, 100, 150, 200, 300, 400, 500, 600, 800, 1_000, 1_200, 1_400, 1_600, 1_800, LONG];
const CHECKPOINTS_LEARNED: [u64; 10] = [20, 40, 70, 100, 150, 200, 250, 300, 400, LEARNED_LONG];
