//! LDP-SGD: many steps, each on a fresh random part of all respondents.

mod as_paper;
mod local;
mod renyi;

use throng_dp::{CentralGuarantee, Delta, Epsilon, PrivUnit, Replacement};

use super::sampling::Share;
use super::{BoundedPair, Composition, LossPair, ShuffledPair, tail_share};
use crate::Error;
pub use local::LocalSpending;

/// Training in which every step asks a random part of the respondents for randomized gradients.
///
/// # Privacy
/// Replacement. The direction of a report is independent of the data, so a report is randomized response of one
/// sign and the step is bounded by [`ShuffledPair::new`] at the step's crowd, sampled without replacement; the steps
/// are convolved. PrivUnit's reports are bounded by [`BoundedPair`]. A respondent who sends several reports in one step
/// is accounted for as one report of the summed ε_local in a crowd of respondents, not of reports, which the paper
/// leaves out. Such a report is no longer a randomized bit, so its step is bounded by [`ShuffledPair::any_randomizer`],
/// with half of the blanket reports.
/// # Paper
/// Section VI, Theorem learning, whose bound (shuffling, then Theorem advc) is 35 to 120 times larger:
/// [`LdpSgd::as_paper`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LdpSgd {
    respondents: u64,
    crowd: u64,
    /// The part of all respondents that a step asks.
    share: Share,
    /// What each respondent of a step sends, as one report: the pair of a step.
    pair: StepPair,
    steps: u64,
}

/// The pair that bounds a step, by what is known of its reports.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StepPair {
    Shuffled(ShuffledPair),
    Bounded(BoundedPair),
}

impl LdpSgd {
    /// `steps` steps with one report of ε_local from each of `crowd` out of `respondents` respondents.
    pub fn new(respondents: u64, crowd: u64, epsilon_local: Epsilon, steps: u64) -> Result<Self, Error> {
        let share = Share::of(crowd, respondents)?;
        let pair = StepPair::Shuffled(ShuffledPair::new(crowd, epsilon_local)?);
        Ok(Self { respondents, crowd, share, pair, steps })
    }

    /// `steps` steps with one report of this mechanism from each of `crowd` out of `respondents` respondents. The rounded
    /// coin and the margin for the share of a cap are in the ratios that are used.
    pub fn priv_unit(respondents: u64, crowd: u64, mechanism: &PrivUnit, steps: u64) -> Result<Self, Error> {
        let share = Share::of(crowd, respondents)?;
        let (low, high) = mechanism.ratios();
        let pair = StepPair::Bounded(BoundedPair::new(crowd, low, high)?);
        Ok(Self { respondents, crowd, share, pair, steps })
    }

    /// `reports` reports in every step, `reports_each` of them from the same respondent, ε_local each, by any mechanism.
    pub fn grouped(
        respondents: u64,
        reports: u64,
        reports_each: u32,
        epsilon_local: Epsilon,
        steps: u64,
    ) -> Result<Self, Error> {
        let each = u64::from(reports_each);
        if each == 0 || !reports.is_multiple_of(each) {
            return Err(Error::Parameter {
                what: "the number of reports of one respondent",
                got: each as f64,
                expected: "give a divisor of the number of reports in a step",
            });
        }
        if each == 1 {
            return Self::new(respondents, reports, epsilon_local, steps);
        }
        let crowd = reports / each;
        let share = Share::of(crowd, respondents)?;
        let pair = ShuffledPair::any_randomizer(crowd, epsilon_local.times(reports_each))?;
        Ok(Self { respondents, crowd, share, pair: StepPair::Shuffled(pair), steps })
    }

    /// The same training for somebody who is known to be asked in every step: no credit for sampling.
    pub fn without_sampling(self) -> Self {
        Self { respondents: self.crowd, share: Share::ALL, ..self }
    }

    /// The same training with another number of steps.
    pub fn with_steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// What the whole training guarantees.
    pub fn guarantee(&self, delta: Delta) -> Result<CentralGuarantee<Replacement>, Error> {
        let epsilons = self.epsilons(&[self.steps], delta)?;
        Ok(CentralGuarantee::new(epsilons[0], delta))
    }

    /// ε at δ after each of these numbers of steps: the pair of a step is made once.
    pub fn epsilons(&self, steps: &[u64], delta: Delta) -> Result<Vec<Epsilon>, Error> {
        let most = steps.iter().copied().max().unwrap_or(0);
        let step = self.step(delta, most)?;
        steps.iter().map(|&steps| self.composed(step.as_ref(), steps, delta)).collect()
    }

    /// The largest number of steps after which ε at δ is within `epsilon`; at most 10^12.
    pub fn steps_within(&self, epsilon: Epsilon, delta: Delta) -> Result<u64, Error> {
        let step = self.step(delta, STEPS_MAX)?;
        largest(|steps| Ok(self.composed(step.as_ref(), steps, delta)? <= epsilon))
    }

    /// The losses of one of at most `steps` steps; none if there is nothing to convolve.
    fn step(&self, delta: Delta, steps: u64) -> Result<Option<LossPair>, Error> {
        if delta == Delta::ZERO || self.pure_step() == 0.0 || steps == 0 {
            return Ok(None);
        }
        let tail = tail_share(delta, steps as f64);
        let share = self.share.value();
        let pair = match &self.pair {
            StepPair::Shuffled(pair) => pair.sampled(share, tail)?,
            StepPair::Bounded(pair) => pair.sampled(share, tail)?,
        };
        Ok(Some(pair))
    }

    fn composed(&self, step: Option<&LossPair>, steps: u64, delta: Delta) -> Result<Epsilon, Error> {
        // Without any δ: a step's largest loss, as often as there are steps.
        let pure = Epsilon::new(steps as f64 * self.pure_step() * (1.0 + 1e-14))?;
        match step {
            Some(step) => Ok(Composition::new().with(step.clone(), steps).epsilon(delta)?.min(pure)),
            None => Ok(pure),
        }
    }

    /// What one step guarantees without shuffling.
    fn pure_step(&self) -> f64 {
        self.share.sampled(self.epsilon_local())
    }

    /// What all reports of one respondent in one step guarantee by themselves.
    fn epsilon_local(&self) -> f64 {
        match &self.pair {
            StepPair::Shuffled(pair) => pair.epsilon_local(),
            StepPair::Bounded(pair) => pair.epsilon_local(),
        }
    }
}

/// The largest number of steps that was tried and held, up to 10^12, given that fewer steps hold if more do.
fn largest(holds: impl Fn(u64) -> Result<bool, Error>) -> Result<u64, Error> {
    let (mut good, mut bad) = (0, 1);
    while holds(bad)? {
        if bad == STEPS_MAX {
            return Ok(bad);
        }
        (good, bad) = (bad, (2 * bad).min(STEPS_MAX));
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle)? { good = middle } else { bad = middle }
    }
    Ok(good)
}

/// Nobody trains longer.
const STEPS_MAX: u64 = 1_000_000_000_000;
