//! What a simulation measured, for a program (JSON) and for a person (text).

use std::fmt;

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use throng_analyze::{Accuracy, ranking, rmse};
use throng_dp::estimate::clip;
use throng_dp::{CentralGuarantee, Coins, Removal};
use throng_survey::CentralPromise;

use super::Study;
use throng_account::rounding::at_most;
use throng_simulate::simulation::{Mode, SimulationOutcome};

/// The result of `throng simulate`. The names are stable. Errors and counts are in respondents.
#[derive(Clone, Debug, Serialize)]
pub struct SimulateResult {
    /// What was simulated.
    pub data: String,
    /// How many took part.
    pub respondents: u64,
    /// How many values there are.
    pub domain: u64,
    /// How it was simulated.
    pub mode: Mode,
    /// What all randomness came from.
    pub seed: u64,
    /// How a value is written as bits.
    pub encoding: &'static str,
    /// What all that a respondent sends in an epoch says together, whatever fails.
    pub epsilon_local: f64,
    /// What each report fragment is randomized with; with one fragment per bit that is the report's own coin.
    pub epsilon_fragment: f64,
    /// What one exposed fragment says.
    pub epsilon_exposed: f64,
    /// How many report fragments each bit is sent in: tau.
    pub report_fragments: u32,
    /// What a release guarantees.
    #[serde(flatten)]
    pub central: CentralPromise,
    /// How many respondents the guarantee relies on.
    pub honest_respondents: u64,
    /// Set bits that a respondent sends, on average, by theory.
    pub fragments_per_respondent: f64,
    /// The same, as counted.
    pub fragments_per_respondent_measured: f64,
    /// What a respondent sends in an epoch; none where that would be too many envelopes.
    pub bytes_per_respondent: Option<u64>,
    /// Root of the mean squared error over all values.
    pub rmse: f64,
    /// What theory says `rmse` is close to.
    pub rmse_expected: f64,
    /// `rmse` of the estimates moved into the range of a picture: smaller, and biased. None without a picture.
    pub rmse_clipped: Option<f64>,
    /// The largest error.
    pub largest_error: f64,
    /// What no error of the whole domain exceeds, but with probability `beta`.
    pub largest_error_bound: f64,
    /// The standard error of a value that nobody holds.
    pub noise_floor: f64,
    /// A value that nobody holds exceeds this, anywhere in the domain, with probability `beta` at most.
    pub noise_threshold: f64,
    /// How many values exceed it.
    pub significant: u64,
    /// How many of those somebody holds.
    pub significant_held: u64,
    /// The probability that statements about the whole domain are wrong.
    pub beta: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The values with the largest estimates.
    pub top: Vec<TopValue>,
    /// What was written.
    pub files: Vec<String>,
    /// Threads that worked on it: not in the JSON, which is the same for any number of them.
    #[serde(skip)]
    pub threads: usize,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that was in use, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// A value with a large estimate.
#[derive(Clone, Debug, Serialize)]
pub struct TopValue {
    /// Its number.
    pub value: usize,
    /// What it is called.
    pub label: String,
    /// How many hold it.
    pub truth: u64,
    /// How many are estimated to.
    pub estimate: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether it stands out of the noise.
    pub significant: bool,
}

impl SimulateResult {
    /// Compares estimates with the truth. Files, threads, time and memory are left to the caller.
    pub fn measure(
        study: &Study,
        simulated: &SimulationOutcome,
        top: usize,
        confidence: f64,
    ) -> Result<Self> {
        let (data, guarantees) = (&study.data, &study.guarantees);
        let mechanism = &guarantees.mechanism;
        let estimates = &simulated.estimates;
        let truth = data.counts();
        let accuracy = Accuracy::of(estimates, truth, &mechanism.spread_of(truth));
        let hitters = estimates.heavy_hitters(BETA)?;
        let held = hitters.values.iter().filter(|&&value| truth[value] > 0).count();
        let epsilon_fragment = match mechanism.coins() {
            Coins::Runs { coin, .. } => coin.epsilon(),
            Coins::Fragments { fragment, .. } => fragment.epsilon(),
        };
        let top = ranking(estimates, top, confidence, BETA)?.into_iter().map(|line| TopValue {
            value: line.value,
            label: data.label(line.value),
            truth: truth[line.value],
            estimate: line.count,
            standard_error: line.standard_error,
            low: line.low,
            high: line.high,
            significant: line.significant,
        });
        let central = CentralGuarantee::<Removal>::new(guarantees.epsilon_central, guarantees.delta);
        Ok(Self {
            data: data.name().to_owned(),
            respondents: data.respondents(),
            domain: data.domain(),
            mode: study.mode,
            seed: study.seed,
            encoding: if mechanism.sketch().is_some() { "sketch" } else { "one-hot" },
            epsilon_local: mechanism.guarantee().epsilon().value(),
            epsilon_fragment: epsilon_fragment.value(),
            epsilon_exposed: mechanism.fragment_guarantee()?.epsilon().value(),
            report_fragments: mechanism.coins().draws(),
            central: CentralPromise::new(central, guarantees.bound),
            honest_respondents: guarantees.honest,
            fragments_per_respondent: mechanism.fragments_expected(),
            fragments_per_respondent_measured: simulated.fragments as f64 / data.respondents() as f64,
            bytes_per_respondent: guarantees.bytes_per_respondent,
            rmse: accuracy.rmse,
            rmse_expected: accuracy.rmse_expected,
            rmse_clipped: data.canvas().map(|canvas| {
                rmse(&clip(estimates.counts(), 0.0, 255.0 * canvas.respondents_per_unit), truth)
            }),
            largest_error: accuracy.largest_error,
            largest_error_bound: estimates.simultaneous_error(BETA)?,
            noise_floor: estimates.noise_floor(),
            noise_threshold: hitters.threshold,
            significant: hitters.values.len() as u64,
            significant_held: held as u64,
            beta: BETA,
            confidence,
            top: top.collect(),
            files: Vec::new(),
            threads: 0,
            seconds: 0.0,
            peak_rss_bytes: None,
        })
    }
}

/// The text for a person.
impl fmt::Display for SimulateResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.top.iter().map(|line| line.label.chars().count()).max().unwrap_or(0).clamp(5, 40);
        if !self.top.is_empty() {
            let percent = 100.0 * self.confidence;
            writeln!(f, "{:<labels$}  {:>12}  {:>14}  {percent} % interval", "value", "truth", "estimate")?;
        }
        for line in &self.top {
            let mark = if line.significant { "" } else { "  (noise)" };
            let label: String = line.label.chars().take(labels).collect();
            writeln!(
                f,
                "{label:<labels$}  {:>12}  {:>14.1}  {:.1} to {:.1}{mark}",
                line.truth, line.estimate, line.low, line.high
            )?;
        }
        writeln!(f)?;
        let mut line = |label: &str, text: String| writeln!(f, "{label:<16}{text}");
        line("data", format!("{}: {} values", self.data, HumanCount(self.domain)))?;
        line("respondents", format!("{}, simulated", HumanCount(self.respondents)))?;
        line(
            "a release",
            format!(
                "epsilon_central {:.4}, delta {:e} ({}, bound {}, {} honest respondents)",
                at_most(self.central.epsilon_central),
                self.central.delta,
                self.central.neighbors,
                self.central.bound,
                HumanCount(self.honest_respondents)
            ),
        )?;
        line(
            "whatever fails",
            format!("epsilon_local {:.4} ({})", at_most(self.epsilon_local), self.central.neighbors),
        )?;
        if self.report_fragments > 1 {
            line(
                "each fragment",
                format!(
                    "epsilon {:.4} if exposed alone, one of {} (epsilon_fragment {:.4})",
                    at_most(self.epsilon_exposed),
                    self.report_fragments,
                    at_most(self.epsilon_fragment)
                ),
            )?;
        }
        let bytes = match self.bytes_per_respondent {
            Some(bytes) => format!("{} with envelopes that hide their number", HumanBytes(bytes)),
            None => "more than 1000 envelopes would be needed to hide their number".into(),
        };
        line(
            "each sends",
            format!(
                "{:.2} fragments ({:.2} expected); {bytes}",
                self.fragments_per_respondent_measured, self.fragments_per_respondent
            ),
        )?;
        line("error", format!("RMSE {:.2}, {:.2} expected", self.rmse, self.rmse_expected))?;
        if let Some(clipped) = self.rmse_clipped {
            line("", format!("RMSE {clipped:.2} after clipping to the range of the picture"))?;
        }
        line(
            "largest error",
            format!(
                "{:.1}; above {:.1} with probability {}",
                self.largest_error, self.largest_error_bound, self.beta
            ),
        )?;
        line(
            "signal",
            format!(
                "{} values above {:.1}, where noise ends; {} of them truly held",
                HumanCount(self.significant),
                self.noise_threshold,
                HumanCount(self.significant_held)
            ),
        )?;
        for (at, file) in self.files.iter().enumerate() {
            line(if at == 0 { "files" } else { "" }, file.clone())?;
        }
        let memory =
            self.peak_rss_bytes.map_or(String::new(), |bytes| format!(", {} of memory", HumanBytes(bytes)));
        let mode = if self.mode == Mode::Aggregate { "aggregate" } else { "respondent" };
        line("mode", format!("{mode}, seed {}", self.seed))?;
        line("time", format!("{:.2} s on {} threads{memory}", self.seconds, self.threads))
    }
}

/// For statements about the whole domain: the probability that they are wrong.
pub(super) const BETA: f64 = 0.001;
