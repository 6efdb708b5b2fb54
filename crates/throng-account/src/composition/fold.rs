//! The composition of privacy loss distributions: releases put together, and asked in both directions.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors};

use super::chernoff::{Sum, further, tilt_to};
use super::convolve::{Crossing, LossSum};
use super::loss::{LossDistribution, LossPair};
use crate::Error;

/// Independent or adaptively chosen releases about the same respondents, each by the pair that bounds it, and all under one
/// neighbor relation.
///
/// # Privacy
/// Answers are upper bounds: pairs are rounded to the grid towards easier ones, what a window leaves out and what a
/// transform may have rounded away are added to δ. The reduction is proved; its evaluation is in floating point with
/// bounds on the error, not in interval arithmetic.
#[derive(Clone, Debug)]
pub struct Composition<N> {
    parts: Vec<(LossPair<N>, u64)>,
}

impl<N> Default for Composition<N> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<N: Neighbors> Composition<N> {
    /// Nothing released yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With `times` more releases that `pair` bounds.
    pub fn with(mut self, pair: LossPair<N>, times: u64) -> Self {
        if times > 0 {
            self.parts.push((pair, times));
        }
        self
    }

    /// The δ of everything at ε.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Delta, Error> {
        let mut worst: f64 = 0.0;
        for sum in self.directions() {
            worst = worst.max(delta_of(&sum, epsilon.value()));
        }
        Ok(Delta::new(worst)?)
    }

    /// The ε of everything at δ.
    pub fn epsilon(&self, delta: Delta) -> Result<Epsilon, Error> {
        let mut worst: f64 = 0.0;
        for sum in self.directions() {
            let Some(epsilon) = epsilon_of(&sum, delta.value()) else {
                return Err(Error::NotApplicable(format!(
                    "with probability above {delta} some outcome tells the two worlds apart for sure; \
                     give a larger delta"
                )));
            };
            worst = worst.max(epsilon);
        }
        Ok(Epsilon::new(worst)?)
    }

    /// What everything guarantees at δ.
    pub fn guarantee(&self, delta: Delta) -> Result<CentralGuarantee<N>, Error> {
        Ok(CentralGuarantee::new(self.epsilon(delta)?, delta))
    }

    /// The sum of losses in each direction, or the one that is both.
    fn directions(&self) -> Vec<Vec<(&LossDistribution, u64)>> {
        let forward = self.parts.iter().map(|(pair, times)| (&pair.forward, *times)).collect();
        if self.parts.iter().all(|(pair, _)| pair.reverse.is_none()) {
            return vec![forward];
        }
        let reverse = self.parts.iter().map(|(pair, times)| (pair.reverse(), *times)).collect();
        vec![forward, reverse]
    }
}

fn delta_of(sum: &Sum<'_>, epsilon: f64) -> f64 {
    if epsilon >= pure_epsilon(sum) {
        return separating(sum).min(1.0);
    }
    LossSum::new(sum, tilt_to(sum, epsilon)).delta(epsilon)
}

fn epsilon_of(sum: &Sum<'_>, delta: f64) -> Option<f64> {
    if delta >= 1.0 {
        return Some(0.0);
    }
    let pure = if separating(sum) <= delta { pure_epsilon(sum) } else { f64::INFINITY };
    if delta == 0.0 || pure <= 0.0 {
        return Some(pure.max(0.0)).filter(|epsilon| epsilon.is_finite());
    }
    let releases: f64 = sum.iter().map(|&(_, times)| times as f64).sum();
    let trimmed: Vec<_> =
        sum.iter().map(|&(loss, times)| (loss.trimmed(TRIM * delta / releases), times)).collect();
    let sum: Vec<_> = trimmed.iter().map(|(loss, times)| (loss, *times)).collect();
    let mut tilt = further(&sum, 0.0, 1.0, -delta.ln());
    let mut best = pure;
    for _ in 0..RETRIES {
        match LossSum::new(&sum, tilt).epsilon(delta) {
            Crossing::At(epsilon) => return Some(best.min(epsilon)),
            Crossing::Never => break,
            // Where few large losses make up all of δ, Chernoff's tilt goes too far.
            Crossing::Below(epsilon) => best = best.min(epsilon),
        }
        tilt *= 0.25;
    }
    Some(best).filter(|epsilon| epsilon.is_finite())
}

/// The largest loss that is possible without a separating outcome.
fn pure_epsilon(sum: &Sum<'_>) -> f64 {
    sum.iter().map(|&(loss, times)| (times as f64 * loss.largest()).next_up()).sum::<f64>() * (1.0 + 1e-15)
}

/// The probability of some separating outcome, at most; not rounded where that is exact, as for one release.
fn separating(sum: &Sum<'_>) -> f64 {
    let masses = sum.iter().map(|&(loss, times)| {
        let (times, product) = (times as f64, times as f64 * loss.infinity);
        if times.mul_add(loss.infinity, -product) > 0.0 { product.next_up() } else { product }
    });
    masses.reduce(|total, mass| (total + mass).next_up()).unwrap_or(0.0)
}

/// The share of δ that may be spent on leaving out rare outcomes of a large loss.
const TRIM: f64 = 1e-6;
/// How often a tilt is divided by four; after that it is as good as none.
const RETRIES: u32 = 12;
