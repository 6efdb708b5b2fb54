//! CIFAR-10: without public data, and with a network that was trained on public pictures.

use anyhow::Result;
use throng_learn::{Average, MechanismName};

use super::Scale;
use super::bench::Results;
use super::cost::Cost;
use super::job::{Job, Mean};
use super::recipes::{self, EPSILON_LOCAL_CIFAR as EPSILON_LOCAL, LEARNED_LONG};
use super::source::Features;
use crate::experiments::lab::people;
use crate::experiments::{Row, Section};
use crate::learning::PublicPictures;
use throng_simulate::dataset::PictureSet;

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs: Vec<Job> = edges(scale)?.into_iter().map(|(_, job)| job).collect();
    jobs.push(recipes::plain_linear(scale, PictureSet::Cifar10, Features::Edges)?);
    jobs.extend(learned(scale)?.into_iter().map(|(_, job)| job));
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-cifar", "CIFAR-10");
    section.text = vec![
        format!(
            "Without public data: softmax regression on the edges and colours of pictures, fixed functions of each picture, at \
             epsilon_local {EPSILON_LOCAL} per report. The paper's 66.6 % comes from features that a network \
             learned from CIFAR-100; nothing here was learned from other pictures. Means over {} runs. \"Paper\" is its best cell, \
             which learned features have to reach: a stand-in for CIFAR-100 is easier than the paper's setting.",
            scale.runs
        ),
        match &scale.learned_from {
            Some(public) => format!(
                "With public data: the paper's network for CIFAR-10 was trained without privacy on {}, its last layer was \
                 dropped, and a new one is trained privately on the {} pictures of the other respondents, on features scaled to \
                 norm 1.",
                public.title(),
                people(scale.learned_respondents as f64)
            ),
            None => "With public data: not measured, because no network was trained on public pictures before; --only pretrain \
                     does that, and keeps the network in the directory --out."
                .into(),
        },
        scale.settings_from(),
    ];
    let named = |rows: &mut Vec<Row>, name: &str, job: &Job, paper: Option<f64>, least: f64| -> Result<()> {
        let Some(runs) = results.of(job) else { return Ok(()) };
        let ours = Mean::accuracy(runs, job.settings.steps);
        let row = Row::order(
            TABLE,
            format!("{name}: accuracy in %"),
            scale.quick || ours.mean >= least,
            format!("at least {least}"),
        );
        rows.push(Row { paper, ..row }.throng(ours.mean).note(format!("{ours} over {} runs", runs.len())));
        if let Some(cost) = Cost::of(job)? {
            let cell = format!("{name}: certified epsilon_central");
            rows.push(cost.row(TABLE, cell, cost.sampled.is_finite(), "a guarantee"));
        }
        Ok(())
    };
    for (name, job) in edges(scale)? {
        let least = if name.contains("PrivUnit") { 49.0 } else { 44.0 };
        named(&mut section.rows, &format!("no public data, {name}"), &job, Some(BEST), least)?;
    }
    let plain = recipes::plain_linear(scale, PictureSet::Cifar10, Features::Edges)?;
    named(&mut section.rows, "no public data, edges and colours without privacy", &plain, None, 55.0)?;
    let public = scale.learned_from.map_or("public pictures", PublicPictures::title);
    for (name, job) in learned(scale)? {
        named(&mut section.rows, &format!("trained before on {public}, {name}"), &job, Some(BEST), BEST)?;
    }
    Ok(section)
}

/// The trainings on edges and colours.
pub(super) fn edges(scale: &Scale) -> Result<[(&'static str, Job); 2]> {
    let features = (PictureSet::Cifar10, Features::Edges);
    let job = |mechanism, reports, steps, average| {
        recipes::linear(scale, features, (mechanism, EPSILON_LOCAL), reports, steps, average)
    };
    Ok([
        ("edges through PrivUnit", job(MechanismName::PrivUnit, 50_000, 500, Average::SecondHalf)?),
        ("edges through sign", job(MechanismName::Sign, 25_000, 300, Average::SecondHalf)?),
    ])
}

/// The trainings on learned features, for as long as their curves.
pub(super) fn learned(scale: &Scale) -> Result<[(&'static str, Job); 2]> {
    let features = (PictureSet::Cifar10, Features::Learned);
    let job = |mechanism, reports, steps| {
        recipes::linear(scale, features, (mechanism, EPSILON_LOCAL), reports, steps, Average::SecondHalf)
    };
    Ok([
        ("last layer through sign, 25,000 reports", job(MechanismName::Sign, 25_000, LEARNED_LONG)?),
        (
            "last layer through PrivUnit, everybody",
            job(MechanismName::PrivUnit, scale.learned_respondents, LEARNED_LONG)?,
        ),
    ])
}

const TABLE: &str = "cifar-10";
/// The paper's best cell.
const BEST: f64 = 66.6;
