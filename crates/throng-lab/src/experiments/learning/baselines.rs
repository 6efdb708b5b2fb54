//! The same networks without privacy, and trained by a trusted party.

use anyhow::{Context, Result};

use super::augmented_training::MOVED;
use super::bench::Results;
use super::cost::Cost;
use super::curves;
use super::job::{Job, Mean};
use super::paper::{QUOTED, title};
use super::recipes::{self, LONG, PLAIN_CIFAR_PASSES};
use super::source::Features;
use super::{Scale, accuracy};
use crate::experiments::{Row, Section};
use throng_simulate::dataset::PictureSet;

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for set in SETS {
        jobs.push(recipes::plain_cnn(scale, set)?);
        jobs.push(recipes::plain_linear(scale, set, Features::Edges)?);
        jobs.push(trusted(scale, set)?.1);
        jobs.push(curves::job(scale, set, 10_000)?);
    }
    jobs.push(recipes::plain_cifar(scale)?);
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-baselines", "What privacy costs");
    section.text = vec![
        format!(
            "The paper's network for MNIST without privacy, over {} runs, beside the number that the paper has for it; softmax \
             regression on the edges of pictures without privacy; and DP-SGD by a trusted party, who sees all gradients, at the \
             epsilon_central that LDP-SGD with 10,000 distinct respondents in each of {LONG} steps is certified to have, on 500 \
             pictures in as many steps. The accuracy of LDP-SGD is that of batches simulated by several reports of each example; \
             trainings with distinct ones are in the sections of the table and of targets.",
            scale.runs
        ),
        format!(
            "The paper's network for CIFAR-10 without privacy is trained once, for {PLAIN_CIFAR_PASSES} passes over all 50,000 \
             training pictures, mirrored and moved by up to {MOVED} pixels at random. That bounds its time."
        ),
        scale.settings_from(),
    ];
    for quoted in QUOTED.iter().filter(|quoted| SETS.contains(&quoted.set)) {
        let set = quoted.set;
        let name = title(set);
        let mean = |job: &Job| results.of(job).map(|runs| Mean::accuracy(runs, job.settings.steps));
        let plain = recipes::plain_cnn(scale, set)?;
        if let Some(ours) = mean(&plain) {
            let cell = format!("{name}, network without privacy: accuracy in %");
            section.rows.push(
                accuracy(scale, TABLE, cell, quoted.plain, ours.mean)
                    .note(format!("{ours} over {} runs", plain.runs)),
            );
        }
        if let Some(ours) = mean(&recipes::plain_linear(scale, set, Features::Edges)?) {
            let cell = format!("{name}, softmax regression on edges without privacy: accuracy in %");
            section.rows.push(Row::order(TABLE, cell, true, "for the reader").throng(ours.mean));
        }
        let (cost, trusted) = trusted(scale, set)?;
        if let (Some(central), Some(local)) = (mean(&trusted), mean(&curves::job(scale, set, 10_000)?)) {
            let cell = format!("{name}, network at epsilon_central {:.3}: accuracy in %", cost.sampled);
            let holds = scale.quick || central.mean > local.mean;
            section.rows.push(
                Row::order(TABLE, cell, holds, "a trusted party does better")
                    .throng(local.mean)
                    .gaussian(central.mean)
                    .note(format!("epsilon_central of LDP-SGD as it was run is {}", cost.in_words())),
            );
        }
    }
    let plain = recipes::plain_cifar(scale)?;
    let quoted = QUOTED.iter().find(|quoted| quoted.set == PictureSet::Cifar10);
    if let (Some(runs), Some(quoted)) = (results.of(&plain), quoted) {
        let ours = Mean::accuracy(runs, plain.settings.steps).mean;
        let cell = format!("CIFAR-10, network without privacy, {PLAIN_CIFAR_PASSES} passes: accuracy in %");
        section.rows.push(accuracy(scale, TABLE, cell, quoted.plain, ours).note("one run"));
    }
    Ok(section)
}

/// DP-SGD at the epsilon_central of LDP-SGD with 10,000 reports in each step.
fn trusted(scale: &Scale, set: PictureSet) -> Result<(Cost, Job)> {
    let local = curves::job(scale, set, 10_000)?;
    let cost = Cost::of(&local)?.context("LDP-SGD has a guarantee")?;
    let respondents = recipes::training_examples(set);
    let job = recipes::trusted_cnn(scale, set, respondents, (500, LONG), cost.sampled)?;
    Ok((cost, job))
}

const TABLE: &str = "baselines";
const SETS: [PictureSet; 2] = [PictureSet::Mnist, PictureSet::FashionMnist];
