//! Hiding among the clones: Feldman, McMillan and Talwar 2021, and the stronger form of 2023.
//!
//! Each other respondent is, with some probability, a clone of the victim: their report is drawn as if they held
//! one of the victim's two possible values, each with probability 1/2. The number C of clones is revealed, and
//! the victim hides among them. Given C = c, the pair to tell apart is Bin(c, 1/2) plus the victim's own bit.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};

use super::exact::Tilt;
use super::randomized_bit::{RandomizedBit, Weights};
use super::{check_crowd, check_local, check_positive, guarantee, search};
use crate::Error;
use crate::binomial::Binomial;

/// How likely another respondent is a clone, and for whom that is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clones {
    /// e^-ε_local: proved for every ε_local-LDP randomizer (2021, Theorem 3.1 and its proof).
    Standard,
    /// 2/(1 + e^ε_local): proved here for a randomized bit, which is a fair coin with probability 2p and the
    /// value itself otherwise. The 2023 paper claimed it for every randomizer; its erratum withdraws that and
    /// keeps a class of randomizers, so do not use it for others.
    Stronger,
}

impl Clones {
    /// δ at a given ε, computed from the pair.
    ///
    /// # Privacy
    /// Replacement of the randomizer's value, thus removal of one bit too. An upper bound: the numbers of clones
    /// are binned and each bin counted as its least (fewer clones hide less, by post-processing), and the
    /// probability of all that is left out is added.
    pub fn delta(self, n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
        check_crowd(n)?;
        check_local(epsilon_local)?;
        let delta = Pair::new(self, n, epsilon_local.value()).delta(epsilon.value());
        Ok(Delta::new(delta)?)
    }

    /// ε_central, computed from the pair. See [`Clones::delta`].
    pub fn epsilon(
        self,
        n: u64,
        epsilon_local: Epsilon,
        delta: Delta,
    ) -> Result<CentralGuarantee<Replacement>, Error> {
        check_crowd(n)?;
        check_local(epsilon_local)?;
        let pair = Pair::new(self, n, epsilon_local.value());
        let holds = |epsilon: f64| pair.delta(epsilon) <= delta.value();
        guarantee(search::smallest(0.0, epsilon_local.value(), holds), epsilon_local, delta)
    }

    /// The largest ε_local whose ε_central, computed from the pair, is at most the given one.
    pub fn epsilon_local(self, n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
        check_crowd(n)?;
        check_local(epsilon_central)?;
        let central = epsilon_central.value();
        let holds = |local: f64| Pair::new(self, n, local).delta(central) <= delta.value();
        // Beyond this less than one clone is expected in a million crowds of this size.
        let hopeless = central + (n as f64).ln() + 15.0;
        Ok(Epsilon::new(search::largest(central, hopeless, holds))?)
    }

    /// ε_central in closed form.
    ///
    /// # Privacy
    /// Standard: replacement, ε = ln(1 + (e^ε₀ − 1)/(e^ε₀ + 1)·(8 sqrt(e^ε₀ ln(4/δ)/n) + 8e^ε₀/n)) for
    /// ε₀ = ε_local ≤ ln(n/(16 ln(2/δ))). Stronger: the same with e^ε₀ replaced by (e^ε₀ + 1)/2 in the last
    /// factor and in the condition, which is how the probability of a clone enters the proof.
    pub fn closed_form(
        self,
        n: u64,
        epsilon_local: Epsilon,
        delta: Delta,
    ) -> Result<CentralGuarantee<Replacement>, Error> {
        check_crowd(n)?;
        check_local(epsilon_local)?;
        check_positive(delta)?;
        let (size, local, delta_value) = (n as f64, epsilon_local.value(), delta.value());
        let clones = size * self.probability(local).0;
        let needed = 16.0 * (2.0 / delta_value).ln();
        if clones < needed {
            return Err(Error::NotApplicable(format!(
                "the closed form needs {needed:.4} = 16 ln(2/delta) clones to be expected, and there are \
                 {clones:.4}; lower epsilon_local to {:.4} or raise n to {:.0}",
                search::largest(0.0, local, |x| size * self.probability(x).0 >= needed),
                (needed / self.probability(local).0).ceil(),
            )));
        }
        let factor = 8.0 * ((4.0 / delta_value).ln() / clones).sqrt() + 8.0 / clones;
        guarantee(((local / 2.0).tanh() * factor).ln_1p(), epsilon_local, delta)
    }

    /// The probability of being a clone, and of not being one.
    fn probability(self, epsilon_local: f64) -> (f64, f64) {
        match self {
            Self::Standard => ((-epsilon_local).exp(), -(-epsilon_local).exp_m1()),
            Self::Stronger => (2.0 * RandomizedBit::new(epsilon_local).p, (epsilon_local / 2.0).tanh()),
        }
    }
}

/// The two laws to be told apart: numbers of clones in bins (the least of each, and its probability), and the
/// victim's own bit.
pub(super) struct Pair {
    bit: RandomizedBit,
    bins: Vec<(u64, f64)>,
    missing: f64,
}

impl Pair {
    fn new(clones: Clones, n: u64, epsilon_local: f64) -> Self {
        let bit = RandomizedBit::new(epsilon_local);
        if bit.is_noiseless() {
            return Self { bit, bins: Vec::new(), missing: 1.0 };
        }
        Self::among(n, bit, clones.probability(epsilon_local))
    }

    /// Others of whom each is there with probability `share`, and then is a fair coin with probability 2p.
    pub(super) fn coins(n: u64, share: f64, epsilon_local: f64) -> Self {
        let (p, q) = Clones::Stronger.probability(epsilon_local);
        Self::among(n, RandomizedBit::new(epsilon_local), (share * p, (1.0 - share) + share * q))
    }

    /// n − 1 others, each a clone with probability p = 1 − q.
    fn among(n: u64, bit: RandomizedBit, (p, q): (f64, f64)) -> Self {
        let window = Binomial::new(n - 1, p, q).window(MISSING);
        let deviation = ((n - 1) as f64 * p * q).sqrt();
        let bins = window.bins(|c| (c as f64 * BIN_WIDTH).max(deviation * BIN_DEVIATIONS) as u64);
        Self { bit, bins, missing: window.missing }
    }

    /// δ at ε.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let Some(w) = self.bit.weights(epsilon) else { return 0.0 };
        let mut many = Tilt::new(w, (0.5, 0.5));
        let binned: f64 =
            self.bins.iter().map(|&(c, probability)| probability * given(c, w, &mut many)).sum();
        // The probabilities of the bins are right to ten digits.
        (binned * (1.0 + 1e-10) + w.alpha * self.missing).min(1.0)
    }
}

/// δ given c clones: Σ_j (αf(j) − βf(j − 1))₊ over f = Bin(c, 1/2).
///
/// With f(j − 1)/f(j) = j/(c + 1 − j) and f(j)/(c + 1 − j) = 2h(j)/(c + 1) for h = Bin(c + 1, 1/2), this is
/// 2(α + β)/(c + 1) times the expected shortfall of h below α(c + 1)/(α + β). Many clones are faster by transform:
/// `many` is the tilt of a fair coin at these weights.
fn given(c: u64, w: Weights, many: &mut Tilt) -> f64 {
    if c > WALK_MAX {
        return many.divergence(c, 0);
    }
    let (trials, scale) = ((c + 1) as f64, w.alpha + w.beta);
    let shortfall = Binomial::new(c + 1, 0.5, 0.5).ln_shortfall(trials * (w.alpha / scale));
    ((2.0 * scale / trials).ln() + shortfall).exp()
}

/// From here on a walk takes longer than a transform.
const WALK_MAX: u64 = 30_000;

/// The probability of all numbers of clones that are left out. It is added, and far below any δ of interest.
const MISSING: f64 = 1e-25;

/// Bins are this wide relative to the number of clones, or to the deviation of that: it moves ε by about one part
/// in ten thousand.
const BIN_WIDTH: f64 = 1e-4;
const BIN_DEVIATIONS: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_and_transform_agree_where_one_takes_over() {
        let bit = RandomizedBit::new(3.0);
        for epsilon in [0.0, 1e-4, 0.01, 0.05, 0.2] {
            let w = bit.weights(epsilon).expect("ε is below ε_local");
            let mut tilt = Tilt::new(w, (0.5, 0.5));
            let (few, many) = (given(WALK_MAX, w, &mut tilt), given(WALK_MAX + 1, w, &mut tilt));
            let change = many / few - 1.0;
            assert!(change < 1e-8 && change > -0.03, "{epsilon}: {few:e} {many:e}");
        }
    }
}
