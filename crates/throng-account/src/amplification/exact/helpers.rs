//! The part of a crowd that hides the victim: a random number of helpers.
//!
//! Whole reports and sketches have bounds of one form. With the number M of helpful others revealed, the victim hides
//! among them as in a crowd of M + 1: δ ≤ E[Dmax(M + 1)], M ~ Bin(n − 1, s). Dmax falls in M, so M is binned, each
//! bin counted as its least, and the probability of what is left out added.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::certify::{EPSILON_STEP, certified_delta, first_certified};
use super::hopeless;
use super::noise::Noise;
use crate::Error;
use crate::amplification::clones::Pair;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{guarantee, search};
use crate::binomial::Binomial;

/// What the helpers of the victim hold.
#[derive(Clone, Copy)]
pub(super) enum Data {
    /// All of them 0.
    Zero,
    /// Anything.
    Any,
}

/// How many of the others hide the victim, in bins: the least number of each, and its probability.
pub(super) struct Helpers {
    bit: RandomizedBit,
    data: Data,
    bins: Vec<(u64, f64)>,
    missing: f64,
    /// The same without any regard to the data, where that is nearly as good and much faster.
    coins: Option<Pair>,
}

impl Helpers {
    /// The others whose whole report is as if their value were absent.
    pub(super) fn unrandomized(n: u64, epsilon_local: f64) -> Self {
        Self::new(n, epsilon_local, Data::Zero, ((-epsilon_local).exp(), -(-epsilon_local).exp_m1()))
    }

    /// The others who report on the same row of a sketch, each with probability `share`.
    ///
    /// Those who hold anything at all can also be taken as coins: a report is a fair coin with probability 2p, and
    /// is revealed otherwise. Coins hide alike whatever the data are, so nothing needs to be covered; what is lost is
    /// ε_local/2 of the crowd.
    pub(super) fn same_row(n: u64, epsilon_local: f64, share: f64) -> Self {
        Self::new(n, epsilon_local, Data::Any, (share, 1.0 - share)).with_coins(n, share)
    }

    /// The same members of a row, who randomize with another ε_local.
    pub(super) fn with_local(&self, n: u64, epsilon_local: f64, share: f64) -> Self {
        let bit = RandomizedBit::new(epsilon_local);
        let same = Self { bit, data: self.data, bins: self.bins.clone(), missing: self.missing, coins: None };
        same.with_coins(n, share)
    }

    fn with_coins(self, n: u64, share: f64) -> Self {
        let local = self.bit.epsilon;
        Self { coins: (local < COINS_MAX).then(|| Pair::coins(n, share, local)), ..self }
    }

    /// Each of the others helps with probability `share` = 1 − `rest`.
    fn new(n: u64, epsilon_local: f64, data: Data, (share, rest): (f64, f64)) -> Self {
        let window = Binomial::new(n - 1, share, rest).window(MISSING);
        let deviation = ((n - 1) as f64 * share * rest).sqrt();
        let bins = window.bins(|m| (m as f64 * BIN_WIDTH).max(deviation * BIN_DEVIATIONS) as u64);
        Self { bit: RandomizedBit::new(epsilon_local), data, bins, missing: window.missing, coins: None }
    }

    pub(super) fn epsilon(
        &self,
        epsilon_local: Epsilon,
        delta: Delta,
    ) -> Result<CentralGuarantee<Removal>, Error> {
        let smallest = |holds: &dyn Fn(f64) -> bool| search::smallest(0.0, self.bit.epsilon, holds);
        // The search is over what is nearly certain to be certified; certifying is too slow to search with.
        let start = smallest(&|epsilon| self.is_likely(epsilon, delta.value()));
        if self.coins.is_some() {
            let among_coins = smallest(&|epsilon| self.hides_among_coins(epsilon, delta.value()));
            if among_coins <= start * COINS_COST {
                return guarantee(among_coins, epsilon_local, delta);
            }
        }
        let certified = |epsilon: f64| self.is_certified(epsilon, delta.value());
        let epsilon = first_certified(start, self.bit.epsilon, EPSILON_STEP, certified);
        guarantee(epsilon, epsilon_local, delta)
    }

    /// What is nearly always so, and fast to ask.
    fn is_likely(&self, epsilon: f64, delta: f64) -> bool {
        // What a covering gives away, and one more for the lattice: to try again is slow.
        let given_away = |n: u64| match self.data {
            Data::Zero => 0,
            Data::Any => n / COVERING + u64::from(n >= COVERING / 2),
        };
        let mut noise = Noise::new(&self.bit, epsilon);
        self.expected(epsilon, delta, |n| noise.left(n - given_away(n), 0)) <= delta
    }

    fn is_certified(&self, epsilon: f64, delta: f64) -> bool {
        let mut noise = Noise::new(&self.bit, epsilon);
        let worst = |n: u64| match self.data {
            Data::Zero => noise.left(n, 0).max(noise.left(n, n - 1)),
            Data::Any => certified_delta(n, n / COVERING, &mut noise),
        };
        self.hides_among_coins(epsilon, delta) || self.expected(epsilon, delta, worst) <= delta
    }

    fn hides_among_coins(&self, epsilon: f64, delta: f64) -> bool {
        self.coins.as_ref().is_some_and(|coins| coins.delta(epsilon) <= delta)
    }

    /// E[D(M + 1)] for a D that falls in the crowd. Stops as soon as it exceeds `enough`.
    fn expected(&self, epsilon: f64, enough: f64, mut d: impl FnMut(u64) -> f64) -> f64 {
        let Some(w) = self.bit.weights(epsilon) else { return 0.0 };
        let (mut sum, mut last) = (w.alpha * self.missing, w.alpha);
        for &(m, probability) in &self.bins {
            // The probabilities of the bins are right to ten digits.
            let probability = probability * (1.0 + 1e-10);
            // A bin that hardly matters is counted with what held for fewer helpers.
            if probability * last > NEGLIGIBLE * enough {
                last = last.min(d(m + 1));
            }
            sum += probability * last;
            if sum > enough {
                break;
            }
        }
        sum
    }
}

/// The largest ε_local whose helpers are certified to have ε_central.
pub(super) fn largest_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    helpers: impl Fn(f64) -> Helpers,
) -> Result<Epsilon, Error> {
    let (central, delta) = (epsilon_central.value(), delta.value());
    let holds = |local: f64| helpers(local).is_likely(central, delta);
    let start = search::largest(central, hopeless(n, central, delta), holds);
    if start < COINS_MAX {
        let among_coins =
            search::largest(central, start, |local| helpers(local).hides_among_coins(central, delta));
        if among_coins * COINS_COST >= start {
            return Ok(Epsilon::new(among_coins)?);
        }
    }
    let certified = |local: f64| helpers(local).is_certified(central, delta);
    Ok(Epsilon::new(first_certified(start, central, EPSILON_STEP, certified))?)
}

/// The probability of all numbers that are left out. It is added, and far below any δ of interest.
const MISSING: f64 = 1e-20;

/// Bins are this wide relative to the numbers they hold, or to the deviation of those: it costs about 0.1%.
const BIN_WIDTH: f64 = 1e-3;
const BIN_DEVIATIONS: f64 = 0.1;

/// Bins that add less than this share of δ are not worth an evaluation.
const NEGLIGIBLE: f64 = 1e-4;

/// Up to this ε_local, coins are tried. They are taken where they cost little: trying all data is a hundred times slower.
const COINS_MAX: f64 = 0.1;
const COINS_COST: f64 = 1.005;

/// The least blocks of a covering have this share of the crowd: finer costs more than it gains here.
const COVERING: u64 = 500;
