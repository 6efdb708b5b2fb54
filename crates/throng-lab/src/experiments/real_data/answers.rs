//! What one crowd said under one promise.

use anyhow::Result;
use throng_account::planner::{self, Choice, Distribution, Question};
use throng_dp::{Delta, Epsilon, Estimates};
use throng_wire::envelope::{INDEX_LEN, body_len};

use crate::experiments::lab::{Lab, gaussian_sigma, one_hot};
use throng_analyze::ranks;
use throng_simulate::dataset::Dataset;

/// The estimates of one survey, with what they cost.
pub(super) struct Answers {
    pub central: f64,
    pub estimates: Estimates,
    pub rmse: f64,
    pub expected: f64,
    pub largest_error: f64,
    /// What no error of the whole domain exceeds, with probability 95 %.
    pub error_bound: f64,
    /// The noise of a trusted party that keeps the same promise, and the error with it.
    pub sigma: f64,
    pub gaussian: f64,
    /// The count above which a value stands out.
    pub threshold: f64,
    /// The values that do, the most frequent first.
    hitters: Vec<usize>,
    pub fragments: f64,
    pub bytes: u64,
}

impl Answers {
    /// Plans the survey as `throng plan` does, and runs it.
    pub(super) fn collect(lab: &Lab, data: &Dataset, central: f64, delta: f64) -> Result<Self> {
        let delta = Delta::new(delta)?;
        let question = Question {
            epsilon_central: Epsilon::new(central)?,
            delta,
            respondents: data.respondents(),
            honest_fraction: 1.0,
            domain: data.domain(),
            report_fragments: 1,
            instances: INSTANCES,
            encoding: Choice::OneHot,
            distribution: Distribution::Uniform,
            labels: None,
        };
        let plan = planner::plan(&question)?;
        let local = plan.exposure.epsilon_floor;
        let measured = lab.measure(data, &one_hot(data.domain(), local, local, 1)?)?;
        let sigma = gaussian_sigma(central, delta)?;
        let trusted = lab.measure_gaussian(data, sigma);
        let hitters = measured.estimates.heavy_hitters(FALSE_POSITIVES)?;
        Ok(Self {
            central,
            rmse: measured.accuracy.rmse,
            expected: measured.accuracy.rmse_expected,
            largest_error: measured.accuracy.largest_error,
            error_bound: measured.estimates.simultaneous_error(FALSE_POSITIVES)?,
            sigma,
            gaussian: trusted.accuracy.rmse,
            threshold: hitters.threshold,
            hitters: hitters.values,
            fragments: plan.fragments,
            bytes: u64::from(INSTANCES) * body_len(INDEX_LEN, HOPS, plan.envelopes),
            estimates: measured.estimates,
        })
    }

    /// How many values stand out of the noise.
    pub(super) fn standing_out(&self) -> usize {
        self.hitters.len()
    }

    /// How many of these nobody holds.
    pub(super) fn wrong(&self, data: &Dataset) -> usize {
        self.hitters.iter().filter(|&&value| data.counts()[value] == 0).count()
    }

    /// The share of all respondents who hold one of them.
    pub(super) fn covered(&self, data: &Dataset) -> f64 {
        let covered: u64 = self.hitters.iter().map(|&value| data.counts()[value]).sum();
        covered as f64 / data.respondents() as f64
    }

    /// The values with the largest estimates.
    pub(super) fn top(&self, top: usize) -> Vec<usize> {
        let counts = self.estimates.counts();
        let mut values: Vec<usize> = (0..counts.len()).collect();
        values.sort_by(|&a, &b| counts[b].total_cmp(&counts[a]));
        values.truncate(top);
        values
    }

    /// How many of the most frequent values are among them.
    pub(super) fn top_found(&self, data: &Dataset, top: usize) -> usize {
        let truth = ranks(data.counts());
        let truth = &truth[..top.min(truth.len())];
        self.top(top).iter().filter(|value| truth.contains(value)).count()
    }
}

/// As `throng plan` has them when nothing else is said.
const INSTANCES: u32 = 3;
const HOPS: u32 = 2;
/// The chance that any value that nobody holds stands out.
const FALSE_POSITIVES: f64 = 0.05;
