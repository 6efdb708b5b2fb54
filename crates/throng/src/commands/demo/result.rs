//! What the demo measured, for a program (JSON) and for a person (text).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::HumanCount;
use serde::Serialize;
use throng_dp::fragmenting::Assignment;
use throng_survey::Promise;
use throng_wire::{Layout, Outcome, Place};

use super::{Demo, PartyProcess};
use crate::commands::deployment::outcomes;
use throng_account::rounding::at_most;
use throng_analyze::picture::{Picture, light};
use throng_host::bundle::Bundle;
use throng_serve::analysis::published::TABLE;
use throng_serve::analysis::{ReleaseSummary, TallyFiles};

/// The result of `throng demo`. The names are stable. Errors are in respondents per pixel.
#[derive(Clone, Debug, Serialize)]
pub struct DemoResult {
    /// How many took part, as the first hops counted them.
    pub respondents: u64,
    /// How many the survey needs for a release.
    pub respondents_min: u64,
    /// How many values there are: the pixels.
    pub domain: u64,
    /// How many shuffler instances.
    pub instances: u32,
    /// Those whose batches are in the release.
    pub instances_present: Vec<u32>,
    /// Hops of each instance.
    pub hops: u32,
    /// How many envelopes every respondent sends to every instance.
    pub envelopes: u32,
    /// What the release guarantees, for the crowd that took part, and what is left without it.
    #[serde(flatten)]
    pub promise: Promise,
    /// Pixels of which nothing is known, because the instances that hold them have not come.
    pub missing: u64,
    /// Root of the mean squared error over all pixels that are known.
    pub rmse: f64,
    /// What theory says `rmse` is close to.
    pub rmse_expected: f64,
    /// The standard error of a pixel that nobody holds.
    pub noise_floor: f64,
    /// Pixels that stand out of the noise.
    pub significant: u64,
    /// How many of these somebody holds.
    pub significant_held: u64,
    /// How many pixels are held by somebody.
    pub held: u64,
    /// What each party saw.
    pub seen: Vec<PartyView>,
    /// Every party's process.
    pub processes: Vec<PartyProcess>,
    /// What was written.
    pub files: Vec<String>,
    /// From the plan to the release.
    pub seconds: f64,
    /// The estimated counts.
    #[serde(skip)]
    estimates: Vec<f64>,
    /// The largest true count: white in the pictures.
    #[serde(skip)]
    brightest: f64,
}

/// What a party saw of the epoch, as it signed it.
#[derive(Clone, Debug, Serialize)]
pub struct PartyView {
    /// The party.
    pub role: String,
    /// What, in a sentence.
    pub saw: String,
}

impl DemoResult {
    pub(super) fn new(
        demo: &Demo,
        bundle: &Bundle,
        release: &ReleaseSummary,
        taken: &[BTreeSet<u32>],
        (processes, seen): (Vec<PartyProcess>, Vec<PartyView>),
    ) -> Result<Self> {
        let survey = bundle.survey().survey();
        let (promise, present) = (release.promise.clone(), release.instances_present.clone());
        let assignment = Assignment::new(survey.mechanism()?.coins().draws(), survey.delivery.instances)?;
        // Of each pixel the truth is that of those who reached every instance that is there and holds its fragments.
        let holds = |value: u64, instance: u32| assignment.fragments(value as u32, instance - 1) > 0;
        let mut truth = vec![0_u64; demo.truth.pixels().len()];
        for (&value, taken) in demo.values.iter().zip(taken) {
            let mut holding = present.iter().filter(|&&instance| holds(value, instance));
            truth[value as usize] += u64::from(holding.all(|instance| taken.contains(instance)));
        }
        let estimates = estimates(release)?;
        let threshold = release.noise_threshold;
        let known: Vec<usize> = (0..truth.len()).filter(|&pixel| !estimates[pixel].is_nan()).collect();
        let significant = || known.iter().copied().filter(|&pixel| estimates[pixel] > threshold);
        let squares = known.iter().map(|&pixel| (estimates[pixel] - truth[pixel] as f64).powi(2));
        Ok(Self {
            respondents: release.respondents,
            respondents_min: survey.crowd.respondents_min,
            domain: survey.domain(),
            instances: survey.delivery.instances,
            instances_present: present,
            hops: survey.delivery.hops,
            envelopes: survey.delivery.envelopes,
            promise,
            missing: (truth.len() - known.len()) as u64,
            rmse: (squares.sum::<f64>() / known.len().max(1) as f64).sqrt(),
            // One bit a pixel, whose noise does not depend on how many hold it.
            rmse_expected: release.noise_floor,
            noise_floor: release.noise_floor,
            significant: significant().count() as u64,
            significant_held: significant().filter(|&pixel| truth[pixel] > 0).count() as u64,
            held: known.iter().filter(|&&pixel| truth[pixel] > 0).count() as u64,
            seen,
            processes,
            files: Vec::new(),
            seconds: 0.0,
            brightest: truth.iter().copied().max().unwrap_or(1).max(1) as f64,
            estimates,
        })
    }

    /// The estimates as a picture, as bright as the truth is; what is not known is gray.
    pub(super) fn picture(&self, truth: &Picture) -> Result<Picture> {
        let pixels = self.estimates.iter().map(|&count| light(count, self.brightest)).collect();
        Ok(Picture::new(truth.width(), truth.height(), pixels)?)
    }

    /// The truth with its brightest pixel white.
    pub(super) fn bright(&self, truth: &Picture) -> Result<Picture> {
        let counts: Vec<f64> = truth.pixels().iter().map(|&pixel| f64::from(pixel)).collect();
        Picture::of_counts(truth.width(), &counts).context("a picture of the same width")
    }
}

/// The estimates of a release, from its table; what is missing is not a number.
fn estimates(release: &ReleaseSummary) -> Result<Vec<f64>> {
    let dir = release.directory.as_deref().context("a release without files")?;
    let table = Path::new(dir).join(TABLE);
    let mut reader =
        csv::Reader::from_path(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let estimate = |text: &str| if text.is_empty() { Ok(f64::NAN) } else { text.parse() };
    reader.records().map(|line| Ok(estimate(line?.get(2).context("a line without an estimate")?)?)).collect()
}

/// What hops signed about the epoch, in sentences; and what that left for the analyzer, which alone is told how many
/// envelopes of each instance were no chaff.
pub(super) fn seen(bundle: &Bundle, epoch: u64, tallies: &TallyFiles) -> Result<Vec<PartyView>> {
    let survey = bundle.survey().survey();
    let counted: BTreeMap<u32, u64> = tallies
        .of_epoch(survey, 0, epoch)?
        .into_iter()
        .filter_map(|part| Some((part.route.instance, part.counted?.envelopes)))
        .collect();
    let (layout, mut all) = (Layout::of(survey), Vec::new());
    for (place, outcome) in outcomes(bundle, epoch)? {
        let Place::Hop { instance, hop } = place else { continue };
        let saw = match outcome {
            Some(Outcome::Released { respondents, .. }) if hop == 1 => format!(
                "{} people, and from each a body of {} bytes that others can open",
                HumanCount(respondents),
                HumanCount(layout.body_len(layout.envelopes()) as u64)
            ),
            Some(Outcome::Released { received, .. }) => {
                let received = received.unwrap_or(0);
                let all = format!("{} envelopes in random order, nobody's", HumanCount(received));
                match counted.get(&instance) {
                    Some(left) => {
                        format!("{all}; {} of them were chaff", HumanCount(received.saturating_sub(*left)))
                    }
                    None => all,
                }
            }
            Some(Outcome::Destroyed) => "too small a crowd, and destroyed it".into(),
            None => "nothing that it has signed: it is gone".into(),
        };
        all.push(PartyView { role: place.to_string(), saw });
    }
    let saw = format!("{} numbers of pixels, nobody's", HumanCount(counted.values().sum()));
    all.push(PartyView { role: Place::Analyzer.to_string(), saw });
    Ok(all)
}

/// The text for a person.
impl fmt::Display for DemoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |label: &str, text: String| writeln!(f, "{label:<16}{text}");
        line(
            "accuracy",
            format!("RMSE {:.2} respondents per pixel, {:.2} expected", self.rmse, self.rmse_expected),
        )?;
        line(
            "",
            format!(
                "{} of {} lit pixels stand out of the noise, and {} that are dark",
                HumanCount(self.significant_held),
                HumanCount(self.held),
                HumanCount(self.significant - self.significant_held)
            ),
        )?;
        line(
            "this release",
            format!(
                "epsilon_central {:.4}, delta {:e} ({}, bound {}),",
                at_most(self.promise.central.epsilon_central),
                self.promise.central.delta,
                self.promise.central.neighbors,
                self.promise.central.bound
            ),
        )?;
        line(
            "",
            format!(
                "from {} respondents; below {} it would have been destroyed",
                HumanCount(self.respondents),
                HumanCount(self.respondents_min)
            ),
        )?;
        line(
            "whatever fails",
            format!(
                "epsilon_local {:.4} ({})",
                at_most(self.promise.local.epsilon_local),
                self.promise.central.neighbors
            ),
        )?;
        if self.instances_present.len() < self.instances as usize {
            let present: Vec<String> = self.instances_present.iter().map(u32::to_string).collect();
            line(
                "missing",
                match self.missing {
                    0 => format!("only batches of instance {} came: errors are wider", present.join(", ")),
                    missing => format!(
                        "only batches of instance {} came: {} of {} pixels are not known, and gray",
                        present.join(", "),
                        HumanCount(missing),
                        HumanCount(self.domain)
                    ),
                },
            )?;
        }
        let left = &self.promise.collusion.epsilon_with_release_if_instances_compromised;
        let first = at_most(left.first().copied().unwrap_or(self.promise.local.epsilon_local));
        line(
            "collusion",
            "hops of an instance alone learn who took part; with the analyzer, all hops".into(),
        )?;
        line(
            "",
            format!("of one instance would get what passed there: epsilon {first:.4} at most is left."),
        )?;
        line("", "One honest hop in each instance is enough for the release's guarantee.".into())?;
        line("who saw what", String::new())?;
        for PartyView { role, saw } in &self.seen {
            line("", format!("{role:<17} {saw}"))?;
        }
        for (at, file) in self.files.iter().enumerate() {
            line(if at == 0 { "files" } else { "" }, file.clone())?;
        }
        line("time", format!("{:.1} s, {} processes", self.seconds, self.processes.len()))?;
        writeln!(f, "\n{NOTE}")
    }
}

const NOTE: &str = "\
Every party was a process of its own, with its own keys, over TLS; respondents were
threads of this program, each with a credential and connections of their own. All ran
on one machine under one operator: here nothing but honesty keeps the parties apart.
`throng keygen --help` shows how separate operators do the same.";
