//! Table res: accuracy against privacy, for three data sets and three batch sizes.

use anyhow::Result;
use throng_account::amplification::blanket::Inequality;
use throng_account::composition::LdpSgd;
use throng_dp::{Delta, Epsilon};
use throng_learn::{Average, MechanismName};

use super::bench::Results;
use super::cost::Cost;
use super::curves;
use super::job::{Job, Mean};
use super::paper::{Batch, CENTRAL, DELTA, PrintedAccuracies, QUOTED, RES, title};
use super::recipes::{self, LONG};
use super::source::Features;
use super::{Scale, accuracy};
use crate::experiments::lab::people;
use crate::experiments::{Row, Section};
use crate::learning::PublicPictures;
use throng_simulate::dataset::PictureSet;

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for printed in &RES {
        for batch in &printed.batches {
            jobs.push(read(scale, printed, batch)?);
            if printed.set != PictureSet::Cifar10 {
                jobs.push(curves::job(scale, printed.set, batch.reports)?);
            }
        }
    }
    jobs.extend(distinct(scale)?.into_iter().flatten());
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-table", "Accuracy against privacy");
    section.text = text(scale);
    let (mut deviations, mut lengths, mut certified) = (Vec::new(), Vec::new(), Vec::new());
    for printed in &RES {
        for batch in &printed.batches {
            let steps = steps(scale, printed, batch)?;
            let job = read(scale, printed, batch)?;
            let runs = results.of(&job);
            let costs = Cost::after(&job, &steps)?;
            for (i, central) in CENTRAL.into_iter().enumerate() {
                let cell = format!("{}, epsilon_central {central}", name(scale, printed, batch, &job));
                let step = job.checkpoints[i];
                lengths.push(
                    Row::order(
                        "res: steps",
                        format!("{cell}: steps"),
                        steps[i] > 0,
                        "what the paper's accounting allows",
                    )
                    .rule(steps[i] as f64)
                    .throng(step as f64),
                );
                certified.push(
                    costs[i]
                        .row(
                            "res: certified epsilon_central",
                            format!("{cell}: epsilon_central after its steps"),
                            costs[i].sampled < central,
                            "below what the paper's accounting says",
                        )
                        .rule(central),
                );
                let Some(runs) = runs else { continue };
                let ours = Mean::accuracy(runs, step);
                let (paper, deviation) = batch.accuracies[i];
                let mut row = accuracy(scale, "res", format!("{cell}: accuracy in %"), paper, ours.mean);
                if let Some(long) = curves::job(scale, printed.set, batch.reports)
                    .ok()
                    .filter(|_| printed.set != PictureSet::Cifar10)
                    .and_then(|long| results.of(&long))
                {
                    row = row.throng(Mean::accuracy(long, LONG).mean);
                }
                section.rows.push(row);
                deviations.push(
                    Row {
                        paper: Some(deviation),
                        ..Row::order(
                            "res: deviations",
                            format!("{cell}: deviation of a run"),
                            true,
                            "for the reader",
                        )
                    }
                    .rule(ours.deviation),
                );
            }
        }
    }
    for quoted in &QUOTED {
        let (paper, epsilon) = quoted.trusted;
        let cell = format!(
            "{}, best known of a trusted party, no local guarantee, epsilon_central {epsilon} under removal: accuracy in %",
            title(quoted.set)
        );
        section
            .rows
            .push(Row { paper: Some(paper), ..Row::order("res", cell, true, "as the paper quotes it") });
    }
    section.rows.extend(distinct_rows(scale, results)?);
    section.rows.extend(deviations.into_iter().chain(lengths).chain(certified));
    Ok(section)
}

/// What was trained with every report of another example: an accuracy, and the epsilon_central that belongs to it.
fn distinct_rows(scale: &Scale, results: &Results) -> Result<Vec<Row>> {
    const TABLE: &str = "res: distinct examples";
    let mut rows = Vec::new();
    for (printed, job) in RES.iter().zip(distinct(scale)?) {
        let Some(job) = job else { continue };
        let (Some(runs), Some(cost)) = (results.of(&job), Cost::of(&job)?) else { continue };
        let steps = job.settings.steps;
        let cell = format!(
            "{}, {} examples x 1 in each of {} steps",
            title(printed.set),
            people(job.settings.examples_each_step as f64),
            people(steps as f64)
        );
        rows.push(
            Row::order(TABLE, format!("{cell}: accuracy in %"), true, "for the reader")
                .throng(Mean::accuracy(runs, steps).mean),
        );
        let certified = format!("{cell}: certified epsilon_central");
        rows.push(cost.row(TABLE, certified, cost.certified() < 1.0, "below 1"));
    }
    Ok(rows)
}

/// A training of each set with every report of another example, once; of CIFAR-10 all trainings are.
fn distinct(scale: &Scale) -> Result<Vec<Option<Job>>> {
    let job = |printed: &PrintedAccuracies| match printed.set {
        PictureSet::Cifar10 => Ok(None),
        set => Ok(Some(Job { runs: 1, ..recipes::simulated_cnn(scale, set, DISTINCT, LONG, 1)? })),
    };
    RES.iter().map(job).collect()
}

/// How many reports a training of distinct examples has in each step.
const DISTINCT: u64 = 10_000;

/// What a batch is, and how it was run beside how the paper did.
fn name(scale: &Scale, printed: &PrintedAccuracies, batch: &Batch, job: &Job) -> String {
    let number = |count: u64| people(count as f64);
    let examples = job.settings.examples_each_step as u64;
    format!(
        "{}, batch {} ({} examples x {}; paper {} x {})",
        scale.title(printed.set),
        number(batch.reports),
        number(examples),
        job.settings.reports() / examples,
        number(batch.reports / batch.fragments),
        batch.fragments
    )
}

/// One run from which all three columns are read.
fn read(scale: &Scale, printed: &PrintedAccuracies, batch: &Batch) -> Result<Job> {
    let steps = steps(scale, printed, batch)?.map(|steps| steps.clamp(1, LONG));
    let job = match printed.set {
        PictureSet::Cifar10 => recipes::linear(
            scale,
            (printed.set, Features::Learned),
            (MechanismName::Sign, printed.epsilon_local),
            batch.reports,
            steps[2],
            Average::Exponential(0.97),
        )?,
        set => recipes::cnn(scale, set, batch.reports, steps[2])?,
    };
    Ok(Job { checkpoints: steps.to_vec(), ..job })
}

/// The steps that the paper's accounting allows for each of its epsilons.
fn steps(scale: &Scale, printed: &PrintedAccuracies, batch: &Batch) -> Result<[u64; 3]> {
    let training = training(scale, printed, batch)?;
    let mut steps = [0; 3];
    for (steps, central) in steps.iter_mut().zip(CENTRAL) {
        *steps = training.steps_as_paper(Inequality::Bennett, Epsilon::new(central)?, Delta::new(DELTA)?)?;
    }
    Ok(steps)
}

fn training(scale: &Scale, printed: &PrintedAccuracies, batch: &Batch) -> Result<LdpSgd> {
    let respondents = match printed.set {
        PictureSet::Cifar10 => scale.learned_respondents,
        set => recipes::training_examples(set),
    };
    Ok(LdpSgd::new(respondents, batch.reports, Epsilon::new(printed.epsilon_local)?, 1)?)
}

fn text(scale: &Scale) -> Vec<String> {
    vec![
        format!(
            "LDP-SGD: in every step a random part of all respondents sends the gradient of a network's loss on their picture, \
             each as one randomized sign of a random direction, through a shuffler. The paper states its epsilon_central by its \
             own accounting (shuffling by Bennett's inequality, sampling, advanced composition, delta {DELTA:e}) and prints no \
             number of steps; that accounting allows those in \"paper's own rule\" of the table of steps. All three columns are \
             read from runs of the length of the last, over {} seeds; models are averaged over the last steps (0.97), which costs \
             no privacy. The epsilon_central that is certified of each of these runs is in the last table, with credit for \
             sampling; its notes have it without. With distinct respondents nobody would have to stop so early: \"Throng\" is the \
             accuracy of MNIST and Fashion-MNIST after {} steps, whose epsilon_central is in the learning curves.",
            scale.runs,
            people(LONG as f64)
        ),
        format!(
            "A batch of m reports of MNIST and Fashion-MNIST is simulated by {} examples with m/{} reports each; one of CIFAR-10 \
             has m distinct examples with one report each. The paper's fragments, 1, 2 or 5 reports of each of 2,000 examples \
             (CIFAR-10: 5,000), are the three batch sizes of a set, in this order: each cell says what was run, and what the paper \
             ran. Several reports of one example are one respondent's, and are accounted for together: that is what the last table \
             certifies of a simulated batch. The paper states the guarantee of m distinct respondents instead, which belongs to \
             another training. Such trainings, of {} distinct examples in each step, are in the table \"res: distinct examples\", each \
             with the accuracy and the epsilon_central of the same run; they take ten times as long, so there is one of each set. Batches \
             of 2,000 and 4,000 distinct examples were not trained: of them there is a certified epsilon_central in the notes, and \
             no accuracy.",
            people(scale.examples as f64),
            people(scale.examples as f64),
            people(DISTINCT as f64)
        ),
        match scale.learned_from {
            Some(PublicPictures::StandIn) => format!(
                "The paper learns its features for CIFAR-10 from CIFAR-100. Here they are learned from {}, and {} respondents are left: \
                 an easier task, so that these cells stand in for the paper's and do not repeat it.",
                PublicPictures::StandIn.title(),
                people(scale.learned_respondents as f64)
            ),
            Some(PublicPictures::Cifar100) => {
                "The features for CIFAR-10 are learned from CIFAR-100, as in the paper.".into()
            }
            None => {
                "Steps and epsilon_central of CIFAR-10 are those of the paper's 50,000 respondents.".into()
            }
        },
        scale.settings_from(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of steps of an independent implementation of the same accounting, to 1 %.
    #[test]
    fn steps_are_those_of_the_papers_accounting() {
        let scale = Scale::for_tests();
        let mnist = RES.iter().find(|printed| printed.set == PictureSet::Mnist).unwrap();
        let known = [(2_000, [87, 220, 460]), (4_000, [118, 334, 780]), (10_000, [86, 256, 620])];
        for (batch, (reports, expected)) in mnist.batches.iter().zip(known) {
            assert_eq!(batch.reports, reports);
            for (ours, known) in steps(&scale, mnist, batch).unwrap().into_iter().zip(expected) {
                assert!(ours.abs_diff(known) <= 1 + known / 100, "{reports}: {ours} {known}");
            }
        }
    }
}
