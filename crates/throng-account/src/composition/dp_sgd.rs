//! DP-SGD: the training of a party that is trusted with all data, which LDP-SGD is measured against.

use std::marker::PhantomData;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors, Removal, Replacement};

use super::sampling::Share;
use super::{Composition, LossPair, tail_share};
use crate::Error;
use crate::gaussian::Gaussian;

/// Training in which every step adds up gradients, each clipped to a norm C, of a random part of all respondents, and
/// publishes the sum with normal noise of standard deviation `noise_multiplier`·C on every coordinate.
///
/// # Privacy
/// The exact curve of one step, composed: certified. Which one is part of the type. [`DpSgd::new`] has a fixed number of
/// respondents without replacement, under replacement, where the sum moves by 2C: what can be set beside
/// [`LdpSgd`](super::LdpSgd). [`DpSgd::poisson`] has independent coins, under removal, where it moves by C: what most of
/// the literature quotes. At the same share, noise and δ the first ε is usually two to three times the second. There is no local
/// guarantee: whoever trains sees all data. Noise that is rounded after it was added, or to a grid that all sums are on, has
/// the same guarantee; noise from a table that ends somewhere, or a sum that rounding made longer, has not.
/// # Paper
/// Section VII.C compares with it; its Note on central differential privacy is about the two relations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DpSgd<N> {
    noise_multiplier: f64,
    share: Share,
    steps: u64,
    sampling: Sampling,
    neighbors: PhantomData<N>,
}

/// Who takes part in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampling {
    /// As many each time, under replacement.
    FixedSize,
    /// Everyone by a coin of their own, under removal.
    Poisson,
}

impl DpSgd<Replacement> {
    /// `steps` steps on `crowd` of all `respondents` each, drawn without replacement and anew every time.
    pub fn new(respondents: u64, crowd: u64, noise_multiplier: f64, steps: u64) -> Result<Self, Error> {
        Self::checked(noise_multiplier, Share::of(crowd, respondents)?, steps, Sampling::FixedSize)
    }
}

impl DpSgd<Removal> {
    /// `steps` steps in which every respondent takes part with the probability `rate`, independently.
    pub fn poisson(rate: f64, noise_multiplier: f64, steps: u64) -> Result<Self, Error> {
        Self::checked(noise_multiplier, Share::new(rate)?, steps, Sampling::Poisson)
    }
}

impl<N: Neighbors> DpSgd<N> {
    fn checked(noise_multiplier: f64, share: Share, steps: u64, sampling: Sampling) -> Result<Self, Error> {
        let training = Self { noise_multiplier, share, steps, sampling, neighbors: PhantomData };
        training.step()?;
        Ok(training)
    }

    /// The standard deviation of the noise, in units of the clipping norm.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What the whole training guarantees.
    pub fn guarantee(&self, delta: Delta) -> Result<CentralGuarantee<N>, Error> {
        if self.steps == 0 {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, delta));
        }
        // Sampling never hurts, and without it the answer is known exactly.
        let unsampled = self.step()?.repeated(self.steps)?.epsilon(delta)?;
        if self.share.value() == 1.0 {
            return Ok(CentralGuarantee::new(unsampled, delta));
        }
        let pair = self.pair(tail_share(delta, self.steps as f64))?;
        let epsilon = Composition::new().with(pair, self.steps).epsilon(delta)?;
        Ok(CentralGuarantee::new(epsilon.min(unsampled), delta))
    }

    /// The same training with the least noise, to four digits, that guarantees `target`.
    pub fn calibrated(&self, target: CentralGuarantee<N>) -> Result<Self, Error> {
        let at = |noise_multiplier: f64| Self { noise_multiplier, ..*self };
        let mut safe = 1.0;
        while !at(safe).keeps(target) {
            safe *= 2.0;
            if safe > NOISE_MAX {
                return Err(Error::NotApplicable(format!(
                    "no noise below {NOISE_MAX:e} times the clipping norm guarantees that; give a larger epsilon or delta"
                )));
            }
        }
        let mut unsafe_end = safe / 2.0;
        while unsafe_end > NOISE_MIN && at(unsafe_end).keeps(target) {
            (safe, unsafe_end) = (unsafe_end, unsafe_end / 2.0);
        }
        while safe / unsafe_end > 1.0 + NOISE_DIGITS {
            let middle = (safe * unsafe_end).sqrt();
            if at(middle).keeps(target) { safe = middle } else { unsafe_end = middle }
        }
        Ok(at(safe))
    }

    /// The same training with the most steps, up to a billion, that guarantee `target`.
    pub fn longest(&self, target: CentralGuarantee<N>) -> Result<Self, Error> {
        let at = |steps: u64| Self { steps, ..*self };
        if !at(1).keeps(target) {
            return Err(Error::NotApplicable(
                "one step already exceeds the target; give more noise, a smaller crowd or a larger epsilon"
                    .into(),
            ));
        }
        let (mut safe, mut unsafe_end) = (1, 2);
        while at(unsafe_end).keeps(target) {
            if unsafe_end >= STEPS_MAX {
                return Ok(at(STEPS_MAX));
            }
            (safe, unsafe_end) = (unsafe_end, (unsafe_end * 2).min(STEPS_MAX));
        }
        while unsafe_end - safe > 1 {
            let middle = safe + (unsafe_end - safe) / 2;
            if at(middle).keeps(target) { safe = middle } else { unsafe_end = middle }
        }
        Ok(at(safe))
    }

    /// One step for those who take part.
    fn step(&self) -> Result<Gaussian, Error> {
        let sensitivity = match self.sampling {
            Sampling::FixedSize => 2.0,
            Sampling::Poisson => 1.0,
        };
        Gaussian::new(self.noise_multiplier, sensitivity)
    }

    /// The losses of one step, at most `tail` left out.
    fn pair(&self, tail: f64) -> Result<LossPair<N>, Error> {
        let step = self.step()?;
        let full = |epsilon| step.delta(epsilon);
        let sampled = |epsilon| self.share.delta(&full, epsilon);
        match self.sampling {
            // Either world can be the one that is mixed with the other.
            Sampling::FixedSize => LossPair::from_curve(&sampled, tail),
            // Only the world with the respondent is: (1 − q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), and back.
            Sampling::Poisson => {
                let back = |epsilon| self.share.reverse_delta(&full, epsilon);
                LossPair::from_curves(&sampled, &back, tail)
            }
        }
    }

    /// Whether the target is met; where there is no answer at all, it is not.
    fn keeps(&self, target: CentralGuarantee<N>) -> bool {
        self.guarantee(target.delta()).is_ok_and(|ours| ours.epsilon() <= target.epsilon())
    }
}

const NOISE_MAX: f64 = 1e9;
const NOISE_MIN: f64 = 1e-3;
const NOISE_DIGITS: f64 = 1e-4;
const STEPS_MAX: u64 = 1_000_000_000;
