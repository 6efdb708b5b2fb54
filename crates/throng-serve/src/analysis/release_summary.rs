//! A release as it is published, for a program (JSON, CSV), for a person (text) and to look at.

use std::fmt;
use std::path::Path;

use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use throng_analyze::plausible::Mark;
use throng_analyze::{Rejected, Release, ranking_among};
use throng_dp::{CentralGuarantee, Removal};
use throng_survey::{CheckedClaim, Promise};
use throng_wire::survey::{Cover, Enrolment, Survey};

use super::lies::{Lies, interval_with_liars, liars, mark_of};
use super::published::{PICTURE, PLOTS, TABLE};
use crate::error::{Error, Result};
use crate::studio::{RankPlot, Studio};
use throng_account::rounding::at_most;
use throng_analyze::Picture;

/// The summary of a release: what `release.json` holds, written and read by this one type. The names are stable. Counts and errors
/// are in respondents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSummary {
    /// The survey's hash.
    pub survey: String,
    /// Its name.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// The label of the crowd, in a survey that has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which epoch.
    pub epoch: u64,
    /// How many values there are.
    pub domain: u64,
    /// The crowd that the guarantee counts on: the smallest of the instances that are present.
    pub respondents: u64,
    /// How many the estimates are about: as many as the instances counted on average.
    pub respondents_estimated: u64,
    /// To how many instances fragments go: all of the survey's, or those of the label's trust profile.
    pub instances: u32,
    /// Those of them whose batches are in this release.
    pub instances_present: Vec<u32>,
    /// How many respondents each of these counted.
    pub instances_respondents: Vec<u64>,
    /// Those outside the label's trust profile that released the same crowd, and have no fragments; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances_outside: Vec<u32>,
    /// Those that destroyed the epoch.
    pub instances_destroyed: Vec<u32>,
    /// Those whose batches came late and stay sealed, as the budget does not allow what they would cost; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances_sealed: Vec<u32>,
    /// What this release guarantees.
    #[serde(flatten)]
    pub promise: Promise,
    /// What the guarantee rests on, in sentences.
    pub assumptions: Vec<String>,
    /// Whose budget it is from.
    pub population: String,
    /// What the population has spent with it, over all releases, at the budget's delta.
    pub epsilon_spent: f64,
    /// What it may spend.
    pub epsilon_budget: f64,
    /// The delta of both.
    pub delta_budget: f64,
    /// Envelopes that were not counted, by reason.
    pub rejected: RejectedCounts,
    /// The standard error of a value that nobody holds.
    pub noise_floor: f64,
    /// A value that nobody holds exceeds this, anywhere in the domain, with probability `beta` at most.
    pub noise_threshold: f64,
    /// How many values exceed it whose estimates are given.
    pub significant: u64,
    /// How many values are missing: of which no instance that has come holds a fragment. Nothing is said of them.
    pub missing: u64,
    /// The probability that statements about the whole domain are wrong.
    pub beta: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// What cannot come from the crowd, and what liars can do.
    #[serde(flatten)]
    pub lies: Lies,
    /// The values with the largest estimates, of those that are given.
    pub top: Vec<ReleasedValue>,
    /// The names of the files that were written. Where they are on somebody's machine is not part of a release.
    pub files: Vec<String>,
    /// Where they are, for whoever made it on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// A value with a large estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleasedValue {
    /// Its number.
    pub value: usize,
    /// What it is called: its number, or in a survey of records the attribute and the value of that.
    pub name: String,
    /// How many are estimated to hold it.
    pub estimate: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether it stands out of the noise.
    pub significant: bool,
    /// The lower end of the interval if as many respondents lie as are allowed for.
    pub low_with_liars: f64,
    /// The upper end then.
    pub high_with_liars: f64,
    /// Whether it stands out of the noise and what these can do.
    pub significant_with_liars: bool,
    /// `liars` where it stands out of the noise, and one liar, or as many as are allowed for, could have made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// How a release is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct DisplayOptions {
    /// How many of the largest estimates.
    pub top: usize,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// How many liars are allowed for.
    pub liars: u64,
}

impl Default for DisplayOptions {
    fn default() -> Self {
        Self { top: 20, confidence: 0.95, liars: 0 }
    }
}

/// Envelopes that were not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedCounts {
    /// Of another length.
    pub length: u64,
    /// Sealed to a key that is not there.
    pub key: u64,
    /// The seal does not open.
    pub seal: u64,
    /// What is inside is not what a respondent writes.
    pub content: u64,
    /// There before.
    pub duplicates: u64,
    /// For values that are counted elsewhere.
    pub foreign: u64,
    /// Chaff, which is no fault.
    pub chaff: u64,
}

impl From<Rejected> for RejectedCounts {
    fn from(rejected: Rejected) -> Self {
        let Rejected { length, key, seal, content, duplicates, foreign, chaff } = rejected;
        Self { length, key, seal, content, duplicates, foreign, chaff }
    }
}

impl ReleaseSummary {
    /// A release as it is shown. The names of its files are left to the caller.
    pub fn of(
        survey: &Survey,
        release: &Release,
        (population, budget): (&str, CentralGuarantee<Removal>),
        DisplayOptions { top, confidence, liars }: DisplayOptions,
    ) -> Result<Self> {
        let (crowd, estimates) = (release.crowd(), release.estimates());
        let hitters = estimates.heavy_hitters(BETA)?;
        let claim = CheckedClaim::under(survey, crowd.route.label)?;
        let promise = claim.promise.of_crowd(release.central(), release.honest());
        let lies = Lies::of(survey, release, hitters.threshold, liars);
        let largest =
            ranking_among(estimates, |value| release.given(value).is_some(), top, confidence, BETA)?;
        let top = largest.into_iter().map(|line| {
            let (low_with_liars, high_with_liars) =
                interval_with_liars(release, liars, line.value, confidence)?;
            Ok(ReleasedValue {
                value: line.value,
                name: survey.value_name(line.value as u64),
                estimate: line.count,
                standard_error: line.standard_error,
                low: line.low,
                high: line.high,
                significant: line.significant,
                low_with_liars,
                high_with_liars,
                significant_with_liars: line.count > lies.noise_threshold_with_liars,
                mark: lies.mark(line.count, hitters.threshold),
            })
        });
        let top = top.collect::<Result<Vec<ReleasedValue>>>()?;
        let label = survey.labels.as_ref().and_then(|labels| labels.name(crowd.route.label));
        Ok(Self {
            survey: release.survey().to_string(),
            name: survey.name.clone(),
            question: survey.question.clone(),
            label: label.map(str::to_owned),
            epoch: crowd.route.epoch,
            domain: estimates.counts().len() as u64,
            respondents: crowd.respondents,
            respondents_estimated: estimates.respondents(),
            instances: claim.exposure.instances,
            instances_present: crowd.present.clone(),
            instances_respondents: crowd.counted.clone(),
            instances_outside: crowd.outside.clone(),
            instances_destroyed: crowd.destroyed.clone(),
            instances_sealed: Vec::new(),
            promise,
            assumptions: assumptions(survey, release, &claim),
            population: population.to_owned(),
            epsilon_spent: release.spent().epsilon().value(),
            epsilon_budget: budget.epsilon().value(),
            delta_budget: budget.delta().value(),
            rejected: crowd.rejected.into(),
            noise_floor: estimates.noise_floor(),
            noise_threshold: hitters.threshold,
            significant: hitters.values.iter().filter(|&&value| release.given(value).is_some()).count()
                as u64,
            missing: estimates.missing() as u64,
            beta: BETA,
            confidence,
            lies,
            top,
            files: Vec::new(),
            directory: None,
        })
    }

    /// The files beside the JSON: a table of all values, and a picture or a plot where somebody draws.
    pub fn files(
        &self,
        survey: &Survey,
        release: &Release,
        picture: Option<&Picture>,
        studio: Option<&dyn Studio>,
    ) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let estimates = release.estimates();
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record(["value", "name", "estimate", "standard_error", "significant", "mark"])?;
        for value in 0..estimates.counts().len() {
            let count = release.given(value);
            let significant = count.is_some_and(|count| count > self.noise_threshold).to_string();
            // What is missing or withheld has no number.
            let (count, error) = count.map_or_else(Default::default, |count| {
                (format!("{count:.3}"), format!("{:.3}", estimates.standard_error(value)))
            });
            let name = survey.value_name(value as u64);
            let mark = mark_of(release, &self.lies, value, self.noise_threshold);
            table.write_record([&value.to_string(), &name, &count, &error, &significant, mark])?;
        }
        let mut files = vec![(TABLE, table.into_inner().map_err(|error| error.into_error())?)];
        let drawing = |error| Error::invalid(format!("cannot be drawn: {error}"));
        match (studio, picture) {
            (None, _) => {}
            (Some(studio), Some(picture)) => files.push((PICTURE, studio.png(picture).map_err(drawing)?)),
            (Some(studio), None) => {
                let counts = estimates.counts();
                let mut by_rank: Vec<usize> =
                    (0..counts.len()).filter(|&value| release.given(value).is_some()).collect();
                by_rank.sort_by(|&a, &b| counts[b].total_cmp(&counts[a]).then(a.cmp(&b)));
                let title = plot_title(
                    (&self.name, self.label.as_deref()),
                    self.epoch,
                    self.promise.central.epsilon_central,
                    self.promise.local.epsilon_local,
                );
                let (title, by_rank) = (&*title, &*by_rank);
                let plot = RankPlot { title, by_rank, estimates, threshold: self.noise_threshold };
                files.extend(PLOTS.into_iter().zip(studio.ranks(&plot).map_err(drawing)?));
            }
        }
        Ok(files)
    }
}

/// What stands above a plot of a release: what it is of, what it guarantees, and beside that the floor.
pub fn plot_title(
    (survey, label): (&str, Option<&str>),
    epoch: u64,
    epsilon_central: f64,
    epsilon_local: f64,
) -> String {
    let (central, floor) = (at_most(epsilon_central), at_most(epsilon_local));
    let label = label.map_or(String::new(), |label| format!(", {label}"));
    format!(
        "{survey}{label}, epoch {epoch}: epsilon_central {central}, whatever fails epsilon {floor} (removal)"
    )
}

/// What the guarantee rests on.
fn assumptions(survey: &Survey, release: &Release, claim: &CheckedClaim) -> Vec<String> {
    let (respondents, counted_on) = (release.crowd().respondents, release.honest());
    let honest = (respondents as f64 * survey.honest_fraction()).floor() as u64;
    let deleted = match survey.labels {
        Some(_) if counted_on < honest => {
            format!(
                " Every instance deletes some at random: each leaves at least {counted_on} of the honest ones, but for a \
                 hundredth of delta, and the guarantee counts on those."
            )
        }
        _ => String::new(),
    };
    let mut all = vec![format!(
        "At least {} of the {respondents} respondents are honest, and one hop among the {} of each instance is.{deleted}",
        honest.max(counted_on),
        survey.delivery.hops
    )];
    all.push(
        "The hops of each instance signed that they agree on the crowd and on every envelope, and the analyzer checked \
         it. That the first of them counted people, each of them once, rests on those hops."
            .into(),
    );
    let (least, most) = (release.crowd().respondents, release.crowd().counted.iter().copied().max());
    if most.is_some_and(|most| most - least > least / CROWDS_DIFFER) {
        all.push(
            "Instances counted crowds that differ by more than a tenth: one of them lost answers, or counts wrongly; each \
             estimate is about the crowds of the instances that hold its value's fragments."
                .into(),
        );
    }
    let label = release.crowd().route.label;
    if let Some(sentence) = missing(survey, release) {
        all.push(sentence);
    }
    if let Some(profile) = survey.labels.as_ref().and_then(|labels| labels.profile(label)) {
        let profile: Vec<String> = profile.iter().map(u32::to_string).collect();
        all.push(format!(
            "Under this label fragments go to these instances alone: {}. The estimates are from them; all others got chaff, \
             and counted who took part.",
            profile.join(", ")
        ));
    }
    if survey.delivery.cover == Cover::None {
        all.push(
            "There was no cover: the first hop of each instance saw how many fragments each respondent sent it, which stays \
             within the local floor."
                .into(),
        );
    }
    if survey.crowd.enrolment == Enrolment::Open {
        all.push("Enrolment was open: nobody checked that the crowd is one of distinct people.".into());
    }
    all.push(claim.absence_in_words());
    all
}

/// Which values nothing is known of, and for whom to wait.
fn missing(survey: &Survey, release: &Release) -> Option<String> {
    let (crowd, missing) = (release.crowd(), release.estimates().missing());
    let absent = survey.receiving(crowd.route.label).into_iter().filter(|at| !crowd.present.contains(at));
    let absent: Vec<String> = absent.map(|at| at.to_string()).collect();
    (missing > 0).then(|| {
        format!(
            "Nothing is known of {} of {} values: all their fragments went to what is not here, instance {}. They are left \
             out of every ranking, threshold and count of signal.",
            HumanCount(missing as u64),
            HumanCount(release.estimates().counts().len() as u64),
            absent.join(" and ")
        )
    })
}

/// The text for a person.
impl fmt::Display for ReleaseSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.top.iter().map(|line| line.name.chars().count()).max().unwrap_or(0).clamp(10, 40);
        if !self.top.is_empty() {
            let percent = 100.0 * self.confidence;
            let allowed = match self.lies.liars {
                0 => String::new(),
                count => format!(", {} allowed for", liars(count)),
            };
            writeln!(f, "{:>names$}  {:>14}  {percent} % interval{allowed}", "value", "estimate")?;
        }
        for line in &self.top {
            let mark = match line.mark {
                Some(_) => format!("  {}", self.lies.could_be_made()),
                None if line.significant => String::new(),
                None => "  (noise)".into(),
            };
            writeln!(
                f,
                "{:>names$}  {:>14.1}  {:.1} to {:.1}{mark}",
                line.name, line.estimate, line.low_with_liars, line.high_with_liars
            )?;
        }
        writeln!(f)?;
        let mut line = |label: &str, text: String| writeln!(f, "{label:<16}{text}");
        let label = self.label.as_ref().map_or(String::new(), |label| format!(", label {label}"));
        line("survey", format!("{}: {}", self.name, self.question))?;
        line("epoch", format!("{}{label}", self.epoch))?;
        let destroyed = match self.instances_destroyed.len() {
            0 => String::new(),
            count => format!("; {count} destroyed the epoch"),
        };
        line(
            "respondents",
            format!(
                "{}; batches of {} of {} instances{destroyed}",
                HumanCount(self.respondents),
                self.instances_present.len(),
                self.instances
            ),
        )?;
        if !self.instances_sealed.is_empty() {
            let numbers: Vec<String> = self.instances_sealed.iter().map(u32::to_string).collect();
            line(
                "left sealed",
                format!(
                    "what instance {} gave came late, from a smaller crowd, and would cost more than the budget has",
                    numbers.join(", ")
                ),
            )?;
        }
        line(
            "this release",
            format!(
                "epsilon_central {:.4}, delta {:e} ({}, bound {}, {} honest respondents)",
                at_most(self.promise.central.epsilon_central),
                self.promise.central.delta,
                self.promise.central.neighbors,
                self.promise.central.bound,
                HumanCount(self.promise.honest_respondents)
            ),
        )?;
        let floor = if self.promise.local.backstop { "epsilon_backstop" } else { "epsilon_local" };
        let over = if self.promise.local.backstop { ", one epoch or a constant answer" } else { "" };
        let local = at_most(self.promise.local.epsilon_local);
        line("whatever fails", format!("{floor} {local:.4} ({}{over})", self.promise.central.neighbors))?;
        line(
            "all releases",
            format!(
                "epsilon {:.4} of {} at delta {:e}, spent on {}",
                at_most(self.epsilon_spent),
                self.epsilon_budget,
                self.delta_budget,
                self.population
            ),
        )?;
        line(
            "noise floor",
            format!("{:.1}, the standard error of a value that nobody holds", self.noise_floor),
        )?;
        line(
            "signal",
            format!(
                "{} of {} values above {:.1}, where noise ends; one of them false with probability {}",
                HumanCount(self.significant),
                HumanCount(self.domain),
                self.noise_threshold,
                self.beta
            ),
        )?;
        if self.missing > 0 {
            let all = HumanCount(self.domain);
            line(
                "missing",
                format!("{} of {all} values, of which nothing has come", HumanCount(self.missing)),
            )?;
        }
        for (label, text) in self.lies.lines() {
            line(label, text)?;
        }
        let RejectedCounts { length, key, seal, content, duplicates, foreign, chaff: _ } = self.rejected;
        if length + key + seal + content + duplicates + foreign > 0 {
            line(
                "not counted",
                format!(
                    "{seal} envelopes with a seal that does not open, {key} for another key, {content} with no \
                     answer inside, {duplicates} that were there before, {foreign} for values that other instances count, \
                     {length} of another length"
                ),
            )?;
        }
        for (at, file) in self.files.iter().enumerate() {
            let dir = Path::new(self.directory.as_deref().unwrap_or_default());
            line(if at == 0 { "files" } else { "" }, dir.join(file).display().to_string())?;
        }
        writeln!(f)?;
        self.assumptions.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

/// Crowds of instances that differ by more than one in so many are spoken of.
const CROWDS_DIFFER: u64 = 10;

/// For statements about the whole domain: the probability that they are wrong.
const BETA: f64 = 0.001;

#[cfg(test)]
pub(crate) mod tests;
