//! The privacy cost of a training: epsilon_central, certified under replacement, read in every way that there is.

use std::fmt;

use anyhow::Result;
use throng_dp::Delta;
use throng_learn::{Protocol, Settings};

use super::job::Job;
use super::paper::DELTA;
use crate::experiments::Row;
use crate::experiments::lab::people;
use crate::experiments::report::number::shown;
use crate::learning::{Accountant, Mode};
use throng_account::rounding::at_most_to;

/// epsilon_central after some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// With credit for sampling: for an observer who cannot tell who was asked in which step. Every report is taken to be
    /// another respondent's, as the paper does. Where one example has several reports, this belongs to another training, of
    /// as many distinct examples.
    pub(super) sampled: f64,
    /// What else can be said where respondents report themselves.
    local: Option<LocalCost>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct LocalCost {
    /// Without that credit: for someone who is known to be asked in every step.
    unsampled: f64,
    /// All reports of one example as one respondent's; none where there is one of each anyway.
    grouped: Option<GroupedCost>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct GroupedCost {
    respondents: u64,
    reports_each: u32,
    sampled: f64,
    unsampled: f64,
}

impl Cost {
    /// Of a whole training; none if nothing is promised.
    pub(super) fn of(job: &Job) -> Result<Option<Self>> {
        Ok(Self::after(job, &[job.settings.steps])?.pop())
    }

    /// After each of these numbers of steps; nothing if nothing is promised.
    pub(super) fn after(job: &Job, steps: &[u64]) -> Result<Vec<Self>> {
        let claimed = epsilons(job, &job.settings, Mode::SimulateBatch, false, steps)?;
        let Protocol::Local { mechanism, epsilon, clip, reports_each, simulation } = job.settings.protocol
        else {
            return Ok(claimed.into_iter().map(|sampled| Self { sampled, local: None }).collect());
        };
        let deployed = |settings: &Settings, cover| epsilons(job, settings, Mode::Deploy, cover, steps);
        // Someone who is known to be asked is accounted for in a deployment without cover, one report from each.
        let single = Settings {
            protocol: Protocol::Local { mechanism, epsilon, clip, reports_each: 1, simulation },
            examples_each_step: job.settings.reports() as usize,
            ..job.settings
        };
        let unsampled = deployed(&single, false)?;
        let grouped = if reports_each == 1 {
            vec![None; steps.len()]
        } else {
            let both = deployed(&job.settings, true)?.into_iter().zip(deployed(&job.settings, false)?);
            let respondents = job.settings.examples_each_step as u64;
            both.map(|(sampled, unsampled)| {
                Some(GroupedCost { respondents, reports_each, sampled, unsampled })
            })
            .collect()
        };
        let locals = unsampled.into_iter().zip(grouped);
        let locals = locals.map(|(unsampled, grouped)| Some(LocalCost { unsampled, grouped }));
        Ok(claimed.into_iter().zip(locals).map(|(sampled, local)| Self { sampled, local }).collect())
    }

    /// What the training itself guarantees, all reports of one example being one respondent's.
    pub(super) fn certified(&self) -> f64 {
        self.grouped().map_or(self.sampled, |grouped| grouped.sampled)
    }

    /// The same with the readings beside it.
    pub(super) fn in_words(&self) -> String {
        format!("{}: {self}", weaker(self.certified()))
    }

    fn grouped(&self) -> Option<GroupedCost> {
        self.local.and_then(|local| local.grouped)
    }

    /// A cell with what the training guarantees, and the other readings in its note. The statement is about a training of
    /// distinct examples; of a simulated batch the cell says that it is one.
    pub(super) fn row(
        &self,
        table: &'static str,
        cell: String,
        holds: bool,
        statement: impl Into<String>,
    ) -> Row {
        let row = match self.grouped() {
            None => Row::order(table, cell, holds, statement),
            Some(_) => Row::order(table, format!("{cell}, batch simulated"), true, SIMULATED),
        };
        let certified = Some(self.certified()).filter(|epsilon| epsilon.is_finite());
        let row = Row { throng: certified.map(rounded_up), ..row };
        if self.local.is_some() { row.note(self.to_string()) } else { row }
    }
}

/// The readings that are not the one in the cell.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(LocalCost { unsampled, grouped }) = self.local else { return Ok(()) };
        let Some(GroupedCost { respondents, reports_each, unsampled: all_at_once, .. }) = grouped else {
            return write!(f, "with credit for sampling; without {}", weaker(unsampled));
        };
        write!(
            f,
            "{} respondents who send {reports_each} reports each, with credit for sampling; without {}. A training with {} \
             distinct respondents would have {} and {}, and an accuracy of its own",
            people(respondents as f64),
            weaker(all_at_once),
            people(respondents as f64 * f64::from(reports_each)),
            weaker(self.sampled),
            weaker(unsampled)
        )
    }
}

fn epsilons(job: &Job, settings: &Settings, mode: Mode, cover: bool, steps: &[u64]) -> Result<Vec<f64>> {
    let (width, classes) = job.source.shape();
    let dimension = job.model.network(width, classes).dimension();
    let accountant = Accountant::new(settings, dimension, job.respondents, mode, cover, Delta::new(DELTA)?)?;
    Ok(accountant.epsilons(steps)?.into_iter().flatten().collect())
}

/// What is said of a cell whose batch is several reports of each example.
const SIMULATED: &str = "for the reader: all reports of one example as one respondent's";

/// A promise in few digits, never stronger than it is.
fn weaker(epsilon: f64) -> String {
    if epsilon.is_finite() { shown(rounded_up(epsilon)) } else { "no guarantee".into() }
}

/// The same as a number.
fn rounded_up(epsilon: f64) -> f64 {
    at_most_to((3 - epsilon.max(1e-9).log10().floor() as i32).max(0), epsilon)
}

#[cfg(test)]
mod tests {
    use super::super::recipes;
    use super::super::{Scale, source::Features};
    use super::*;
    use throng_simulate::dataset::PictureSet;

    #[test]
    fn every_reading_is_weaker_than_the_one_before() {
        let scale = Scale::for_tests();
        let job = recipes::cnn(&scale, PictureSet::Mnist, 10_000, 200).unwrap();
        let costs = Cost::after(&job, &[50, 200]).unwrap();
        assert!(costs[0].sampled < costs[1].sampled);
        let LocalCost { unsampled, grouped } = costs[1].local.unwrap();
        let grouped = grouped.unwrap();
        assert!(costs[1].sampled < unsampled && unsampled < grouped.unsampled, "{costs:?}");
        assert!(costs[1].sampled < grouped.sampled && grouped.sampled < grouped.unsampled, "{costs:?}");
        assert_eq!((grouped.respondents, grouped.reports_each), (500, 20));
        let text = costs[1].to_string();
        assert!(text.starts_with("500 respondents who send 20 reports each, "), "{text}");
        assert!(text.contains("A training with 10,000 distinct respondents would have 0."), "{text}");
        // The cell has the guarantee of what was run, not that of a training with distinct examples.
        let row = costs[1].row("table", "cell".into(), true, "below 1");
        assert_eq!(row.throng, Some(rounded_up(grouped.sampled)));
        assert!(
            row.throng.unwrap() > 1.0 && row.cell == "cell, batch simulated" && row.tolerance == SIMULATED
        );

        // One report of each example: there is nothing to group.
        let single = recipes::simulated_cnn(&scale, PictureSet::Mnist, 10_000, 200, 1).unwrap();
        let cost = Cost::of(&single).unwrap().unwrap();
        assert_eq!((cost.sampled, cost.local.unwrap().unsampled), (costs[1].sampled, unsampled));
        assert!(cost.local.unwrap().grouped.is_none());
        let row = cost.row("table", "cell".into(), true, "below 1");
        assert_eq!((row.throng, row.tolerance.as_str()), (Some(rounded_up(cost.sampled)), "below 1"));

        for (epsilon, printed) in
            [(5.93403, "5.935"), (0.850_71, "0.8508"), (1_226.75, "1,227"), (76_000.0, "76,000")]
        {
            assert_eq!(weaker(epsilon), printed);
        }

        let awkward = Cost { sampled: 0.184_502, local: None };
        assert_eq!(awkward.row("table", String::new(), true, "").throng, Some(0.1846));

        let plain = recipes::plain_linear(&scale, PictureSet::Mnist, Features::Edges).unwrap();
        assert_eq!(Cost::of(&plain).unwrap(), None);
        let trusted = recipes::trusted_cnn(&scale, PictureSet::Mnist, 60_000, (500, 200), 1.0).unwrap();
        assert!(Cost::of(&trusted).unwrap().unwrap().sampled <= 1.0);
        assert_eq!(Cost::of(&trusted).unwrap().unwrap().to_string(), "");
    }
}
