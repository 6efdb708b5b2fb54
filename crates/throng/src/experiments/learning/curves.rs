//! Figure MLResl: accuracy against steps, until it no longer rises.

use anyhow::Result;

use super::bench::Results;
use super::job::{Done, Job, Mean};
use super::paper::{QUOTED, RES, title};
use super::recipes::{self, LONG};
use super::{Scale, accuracy};
use crate::dataset::PictureSet;
use crate::experiments::lab::people;
use crate::experiments::{Figure, Image, Row, Section};
use crate::plot::{Axis, Plot, Series, Style};

/// The long run of one batch size.
pub(super) fn job(scale: &Scale, set: PictureSet, reports: u64) -> Result<Job> {
    let job = recipes::cnn(scale, set, reports, LONG)?;
    Ok(Job { checkpoints: CHECKPOINTS.to_vec(), runs: scale.short_runs, ..job })
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
            "Accuracy after every number of steps up to {}, at epsilon_local {} per report, over {} runs each. The paper lets \
             its runs go on until they saturate, whatever that costs by its accounting. What it costs is in the table: \
             epsilon_central is certified, under replacement, at delta 1e-5.",
            people(LONG as f64),
            recipes::EPSILON_LOCAL,
            scale.short_runs
        ),
        scale.settings_from(),
    ];
    for quoted in QUOTED.iter().filter(|quoted| quoted.set != PictureSet::Cifar10) {
        let mut series = Vec::new();
        let mut best = None::<Mean>;
        for (set, reports) in curves().filter(|(set, _)| *set == quoted.set) {
            let job = job(scale, set, reports)?;
            let Some(runs) = results.of(&job) else { continue };
            series.extend(drawn(&job, runs));
            let last = Mean::accuracy(runs, LONG);
            if best.is_none_or(|best| best.mean < last.mean) {
                best = Some(last);
            }
            let epsilon = job.epsilon()?.unwrap_or(f64::INFINITY);
            let cell = format!("{}, batch {}", title(set), people(reports as f64));
            section.rows.push(
                Row::order(TABLE, format!("{cell}: accuracy in %"), true, "for the reader")
                    .throng(last.mean)
                    .note(format!("{last} over {} runs", runs.len())),
            );
            section.rows.push(
                Row::order(
                    TABLE,
                    format!("{cell}: certified epsilon_central"),
                    epsilon < 1.0,
                    "below 1, where the paper's accounting says more than 18",
                )
                .throng(epsilon),
            );
        }
        let Some(best) = best else { continue };
        let cell = format!("{}, best of all batches: accuracy in %", title(quoted.set));
        section.rows.push(accuracy(scale, TABLE, cell, quoted.saturated, best.mean));
        section.figures.push(Figure {
            name: format!("learning-curves-{}", quoted.set.name()),
            caption: "Mean over runs; the dashed lines are one deviation above and below.".into(),
            image: Image::Plot(Plot {
                title: format!(
                    "{} at epsilon_local {} per report",
                    title(quoted.set),
                    recipes::EPSILON_LOCAL
                ),
                x: Axis::linear("steps"),
                y: Axis::linear("accuracy in %"),
                series,
            }),
        });
    }
    Ok(section)
}

/// A curve with its spread, for at most two dashed lines beside it.
fn drawn(job: &Job, runs: &[Done]) -> [Series; 2] {
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
        Series { name: format!("batch {reports}, spread"), points: spread, style: Style::Dashed },
    ]
}

fn curves() -> impl Iterator<Item = (PictureSet, u64)> {
    let gray = RES.iter().filter(|printed| printed.set != PictureSet::Cifar10);
    gray.flat_map(|printed| printed.batches.iter().map(|batch| (printed.set, batch.reports)))
}

const TABLE: &str = "MLResl";
const CHECKPOINTS: [u64; 15] =
    [50, 100, 150, 200, 300, 400, 500, 600, 800, 1_000, 1_200, 1_400, 1_600, 1_800, LONG];
