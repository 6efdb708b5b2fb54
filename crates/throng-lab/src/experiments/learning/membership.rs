//! Table membership_inference: what the losses of a model tell about who it was trained on.

use anyhow::Result;
use throng_learn::{Average, MechanismName};

use super::Scale;
use super::bench::Results;
use super::cost::Cost;
use super::job::{FinishedRun, Job, Mean};
use super::paper::{MEMBERSHIP, MembershipColumn};
use super::recipes::{self, EPSILON_LOCAL_CIFAR, LEARNED_LONG, LONG};
use super::source::{Features, Question};
use crate::experiments::{Figure, Image, Row, Section};
use crate::learning::attack::Attack;
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_simulate::dataset::PictureSet;

pub(super) fn jobs(scale: &Scale) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for (set, _, trusted_printed) in &MEMBERSHIP {
        jobs.extend([local(scale, *set)?, trusted(scale, *set, trusted_printed.upper)?]);
    }
    Ok(jobs)
}

pub(super) fn section(scale: &Scale, results: &Results) -> Result<Section> {
    let mut section = Section::new("learning-membership", "Membership inference");
    section.text = text(scale);
    for (set, local_printed, trusted_printed) in &MEMBERSHIP {
        let (ours, trusted) = (local(scale, *set)?, trusted(scale, *set, trusted_printed.upper)?);
        let mut curves = Vec::new();
        for (name, job, printed) in [("LDP-SGD", &ours, local_printed), ("DP-SGD", &trusted, trusted_printed)]
        {
            let Some(runs) = results.of(job) else { continue };
            let Some(cost) = Cost::of(job)? else { continue };
            section.rows.extend(rows(scale, &format!("{name}, {}", scale.title(*set)), runs, printed, &cost));
            curves.extend(curve(name, runs));
        }
        if !curves.is_empty() {
            section.figures.push(figure(scale, *set, curves));
        }
    }
    Ok(section)
}

/// LDP-SGD on half of the training set.
fn local(scale: &Scale, set: PictureSet) -> Result<Job> {
    let job = match set {
        PictureSet::Cifar10 => recipes::linear(
            scale,
            LEARNED,
            (MechanismName::Sign, EPSILON_LOCAL_CIFAR),
            10_000,
            LEARNED_LONG,
            Average::Exponential(0.97),
        )?,
        set => recipes::cnn(scale, set, 10_000, LONG)?,
    };
    Ok(Job { question: Question::Membership, respondents: job.respondents / 2, ..job })
}

/// DP-SGD on the same half, with the guarantee that the paper states.
fn trusted(scale: &Scale, set: PictureSet, epsilon: f64) -> Result<Job> {
    let respondents = local(scale, set)?.respondents;
    let job = match set {
        PictureSet::Cifar10 => {
            recipes::trusted_linear(scale, LEARNED, respondents, (500, LEARNED_LONG), epsilon)?
        }
        set => recipes::trusted_cnn(scale, set, respondents, (500, LONG), epsilon)?,
    };
    Ok(Job { question: Question::Membership, ..job })
}

fn rows(
    scale: &Scale,
    name: &str,
    runs: &[FinishedRun],
    printed: &MembershipColumn,
    cost: &Cost,
) -> Vec<Row> {
    let upper = cost.certified();
    let same = |of: &dyn Fn(&Attack) -> f64| {
        Mean::of(runs.iter().filter_map(|run| Some(of(&run.attacks.as_ref()?.0))))
    };
    let official = |of: &dyn Fn(&Attack) -> f64| {
        Mean::of(runs.iter().filter_map(|run| Some(of(&run.attacks.as_ref()?.1))))
    };
    let row = |what: &str, holds: bool, statement: &str| {
        Row::order(TABLE, format!("{name}: {what}"), scale.quick || holds, statement)
    };
    let (advantage, null) = (same(&|attack| attack.advantage), same(&|attack| attack.null_mean));
    let beaten = same(&|attack| f64::from(u8::from(attack.p_value <= 0.05)));
    let limit = same(&|attack| attack.epsilon_limit);
    let accuracy = Mean::of(runs.iter().filter_map(|run| Some(run.points.last()?.accuracy)));
    vec![
        row("accuracy in %", true, "for the reader").throng(accuracy.mean),
        Row {
            paper: Some(printed.advantage.0),
            ..row("TPR - FPR", advantage.mean < 0.1, "below 0.1: little leaks, as the paper finds")
        }
        .rule(official(&|attack| attack.advantage).mean)
        .throng(advantage.mean),
        Row { paper: Some(printed.advantage.1), ..row("deviation of TPR - FPR", true, "for the reader") }
            .rule(official(&|attack| attack.advantage).deviation)
            .throng(advantage.deviation),
        row("TPR - FPR if nothing leaked, on average", true, "for the reader").throng(null.mean),
        row("share of runs with p at most 0.05", true, "0.05 on average if nothing leaks")
            .throng(beaten.mean),
        Row {
            paper: Some(printed.lower),
            ..row("lower bound of epsilon, -ln(1 - a)", true, "for the reader")
        }
        .rule(official(&|attack| attack.epsilon_as_paper).mean)
        .throng(same(&|attack| attack.epsilon_as_paper).mean),
        row("lower bound of epsilon, ln((1 + a)/(1 - a)), at delta", true, "for the reader")
            .rule(official(&|attack| attack.epsilon_tight).mean)
            .throng(same(&|attack| attack.epsilon_tight).mean),
        row("limit of epsilon at 95 % confidence", limit.mean <= upper, "below the certified upper bound")
            .rule(official(&|attack| attack.epsilon_limit).mean)
            .throng(limit.mean),
        Row {
            paper: Some(printed.upper),
            ..cost.row(
                TABLE,
                format!("{name}: upper bound: certified epsilon_central"),
                upper.is_finite(),
                "a guarantee",
            )
        },
    ]
}

/// The curve of the first run, and only one: an average of curves is none.
fn curve(name: &str, runs: &[FinishedRun]) -> Option<Series> {
    let (same, _) = runs.first()?.attacks.as_ref()?;
    Some(Series { name: name.into(), points: same.roc.clone(), style: Style::Line })
}

fn figure(scale: &Scale, set: PictureSet, mut series: Vec<Series>) -> Figure {
    series.push(Series {
        name: "guessing".into(),
        points: vec![(0.0, 0.0), (1.0, 1.0)],
        style: Style::Dashed,
    });
    Figure {
        name: format!("learning-membership-{}", set.name()),
        caption:
            "The attack on one model of each kind at every threshold; others are of the same pool as members."
                .into(),
        image: Image::Plot(Plot {
            title: format!("{}: who was trained on?", scale.title(set)),
            x: Axis::linear("others taken for members (FPR)"),
            y: Axis::linear("members found (TPR)"),
            series,
        }),
    }
}

fn text(scale: &Scale) -> Vec<String> {
    vec![
        format!(
            "An attacker with a model and a picture says \"was trained on\" if the model's loss on the picture is small (Yeom et \
             al.). The paper's advantages are about as large as chance makes them, and it does not say which pictures were the \
             others; if they were the official test set, then what is measured is how different the two sets are. Here a model is \
             trained on a random half of the training pictures, and the other half are the others: the column Throng. \
             \"Paper's own rule\" has the test set instead. Means over {} runs.",
            scale.runs
        ),
        format!(
            "LDP-SGD has 10,000 reports of epsilon_local {} in each of {LONG} steps; DP-SGD is a trusted party's, with 500 pictures \
             in each step and the noise that guarantees the epsilon_central of 9.5 (replacement, delta 1e-5) that the paper has \
             under removal. For CIFAR-10 both train the last layer on learned features for {LEARNED_LONG} steps, at epsilon_local \
             {EPSILON_LOCAL_CIFAR} and epsilon_central 9. No lower bound here is certified: the losses of one model are not independent trials. A \
             p-value says how often chance alone does as well, from 999 relabellings.",
            recipes::EPSILON_LOCAL
        ),
        scale.settings_from(),
    ]
}

const TABLE: &str = "membership_inference";
/// What CIFAR-10 is learned from.
const LEARNED: (PictureSet, Features) = (PictureSet::Cifar10, Features::Learned);
