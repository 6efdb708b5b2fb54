//! Bits that only a part of the crowd hides: whole one-hot reports, and sketches.
//!
//! Both bounds have the same form. With the number M of helpful others revealed, the victim hides among them as
//! in a crowd of M + 1: δ ≤ E[Dmax(M + 1)], M ~ Bin(n − 1, s). Dmax falls in M, so M is binned, each bin counted
//! as its least, and the probability of what is left out added.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::certify::{EPSILON_STEP, certified_delta, first_certified};
use super::noise::left;
use super::{hopeless, others_zero, others_zero_epsilon, others_zero_epsilon_local};
use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, guarantee, search};
use crate::binomial::Binomial;

/// ε_central of whole one-hot reports through one shuffler, all bits of a report linked.
///
/// # Privacy
/// Removal, proved. R(e_m) = e^-ε_local R(0) + (1 − e^-ε_local) R(0 | bit m := 1): each other report is, with
/// probability e^-ε_local, as if its value were absent, and those of the second kind are revealed. Only those of
/// the first kind (and the victim) have a bit at the victim's value that hides it, so s = e^-ε_local. All of those
/// hold 0 there, so both directions at a = 0 are all there is, and nothing is lost to a covering.
/// # Paper
/// What Table central_no_attr asks, and answers up to 60 times too high ([`super::super::blanket::central_no_attr`]).
pub fn rappor_whole_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    Helpers::unrandomized(n, epsilon_local.value()).epsilon(epsilon_local, delta)
}

/// The largest ε_local whose [`rappor_whole_epsilon`] is at most ε_central.
pub fn rappor_whole_epsilon_local(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    largest_local(n, epsilon_central, delta, |local| Helpers::unrandomized(n, local))
}

/// ε_central of a count-mean sketch with `hashes` hash functions when the attacker learns which one the victim
/// used (from traffic, or because each has its own channel).
///
/// # Privacy
/// Removal, proved: only those who drew the same hash function hide the victim, so s = 1/hashes.
/// # Paper
/// Section III, the "second known approach" to sketches.
pub fn cms_revealed_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    hashes: u32,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    check_hashes(hashes)?;
    Helpers::same_hash(n, epsilon_local.value(), hashes).epsilon(epsilon_local, delta)
}

/// The largest ε_local whose [`cms_revealed_epsilon`] is at most ε_central.
pub fn cms_revealed_epsilon_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    hashes: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    check_hashes(hashes)?;
    largest_local(n, epsilon_central, delta, |local| Helpers::same_hash(n, local, hashes))
}

/// ε_central of reports on `per_report` different hash functions, each bit with `epsilon_each`, the rows visible.
///
/// # Privacy
/// Removal, proved. The rows are released one after the other: of those whose first k rows are known, each draws a
/// given other row with probability (r − k)/(H − k) at least, so the k-th row has the bound of a crowd thinned to that
/// share; the losses are added, each at δ/r. A sum, not the tightest composition.
/// # Paper
/// Table horse_1_sketch_report (two and five hash functions).
pub fn cms_split_revealed_epsilon(
    n: u64,
    epsilon_each: Epsilon,
    delta: Delta,
    hashes: u32,
    per_report: u32,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_each)?;
    if per_report == 0 || per_report >= hashes {
        return Err(Error::Parameter {
            what: "the number of hash functions in a report",
            got: f64::from(per_report),
            expected: "give at least 1 and fewer than there are",
        });
    }
    let each = Delta::new(delta.value() / f64::from(per_report))?;
    let mut sum = Epsilon::ZERO;
    for known in 0..per_report {
        let share = f64::from(per_report - known) / f64::from(hashes - known);
        let helpers = Helpers::new(n, epsilon_each.value(), Data::Any, (share, 1.0 - share));
        sum = sum + helpers.epsilon(epsilon_each, each)?.epsilon();
    }
    Ok(CentralGuarantee::new(sum, delta))
}

/// RESEARCH, not a guarantee: ε of a count-mean sketch whose hash index is hidden and whose cells are unlinkable.
///
/// # Privacy
/// None proved. The victim's cell lies in a uniformly random row, so only the total over the H rows tells, and
/// the full crowd comes back but for fluctuations: n(1 − z sqrt(H/n))·exp(−z sqrt(mpH/n) − mpH/n) respondents
/// with z = Φ⁻¹(1 − δ/(100H)), m cells per row. Gaps: the size of a row is off by one here and there, the tail of
/// the row weights is taken to be normal, data in which most others collide with the victim in the same rows,
/// and others are taken to hold 0.
pub fn research_hidden_hash_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    hashes: u32,
    cells: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    check_hashes(hashes)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    let crowd = hidden_hash_crowd(n, bit.p, delta.value(), hashes, cells);
    Ok(Epsilon::new(others_zero_epsilon(crowd, &bit, delta.value()))?)
}

/// RESEARCH, not a guarantee: the inverse of [`research_hidden_hash_epsilon`].
pub fn research_hidden_hash_epsilon_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    hashes: u32,
    cells: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    check_hashes(hashes)?;
    let (central, delta) = (epsilon_central.value(), delta.value());
    let holds = |local: f64| {
        let bit = RandomizedBit::new(local);
        others_zero(hidden_hash_crowd(n, bit.p, delta, hashes, cells), &bit, central) <= delta
    };
    // More noise is not always better here (mp grows), so start where the noise of a full crowd would end.
    let full = others_zero_epsilon_local(n, central, delta);
    Ok(Epsilon::new(search::largest(central, full, holds))?)
}

fn hidden_hash_crowd(n: u64, p: f64, delta: f64, hashes: u32, cells: u32) -> u64 {
    let (size, rows) = (n as f64, f64::from(hashes));
    let z = throng_dp::normal::upper_quantile((delta / (100.0 * rows)).clamp(1e-300, 0.5));
    let load = f64::from(cells) * p * rows / size;
    let rows_kept = (1.0 - z * (rows / size).sqrt()).max(0.0);
    ((size * rows_kept * (-z * load.sqrt() - load).exp()) as u64).max(1)
}

/// What the helpers of the victim hold.
#[derive(Clone, Copy)]
enum Data {
    /// All of them 0.
    Zero,
    /// Anything.
    Any,
}

impl Data {
    /// δ in a crowd of n, the victim included.
    fn delta(self, n: u64, bit: &RandomizedBit, epsilon: f64) -> f64 {
        match self {
            Self::Zero => left(n, 0, bit, epsilon).max(left(n, n - 1, bit, epsilon)),
            Self::Any => certified_delta(n, n / COVERING, bit, epsilon),
        }
    }

    /// What `delta` nearly always is, and fast.
    fn likely_delta(self, n: u64, bit: &RandomizedBit, epsilon: f64) -> f64 {
        match self {
            Self::Zero => others_zero(n, bit, epsilon),
            Self::Any => others_zero(n - n / COVERING, bit, epsilon),
        }
    }
}

/// How many of the others hide the victim, in bins: the least number of each, and its probability.
struct Helpers {
    bit: RandomizedBit,
    data: Data,
    bins: Vec<(u64, f64)>,
    missing: f64,
}

impl Helpers {
    fn unrandomized(n: u64, epsilon_local: f64) -> Self {
        Self::new(n, epsilon_local, Data::Zero, ((-epsilon_local).exp(), -(-epsilon_local).exp_m1()))
    }

    fn same_hash(n: u64, epsilon_local: f64, hashes: u32) -> Self {
        let share = 1.0 / f64::from(hashes);
        Self::new(n, epsilon_local, Data::Any, (share, 1.0 - share))
    }

    /// Each of the others helps with probability `share` = 1 − `rest`.
    fn new(n: u64, epsilon_local: f64, data: Data, (share, rest): (f64, f64)) -> Self {
        let window = Binomial::new(n - 1, share, rest).window(MISSING);
        let deviation = ((n - 1) as f64 * share * rest).sqrt();
        let bins = window.bins(|m| (m as f64 * BIN_WIDTH).max(deviation * BIN_DEVIATIONS) as u64);
        Self { bit: RandomizedBit::new(epsilon_local), data, bins, missing: window.missing }
    }

    fn epsilon(&self, epsilon_local: Epsilon, delta: Delta) -> Result<CentralGuarantee<Removal>, Error> {
        // The search is over what is nearly certain to be certified; certifying is too slow to search with.
        let start = search::smallest(0.0, self.bit.epsilon, |epsilon| self.is_likely(epsilon, delta.value()));
        let certified = |epsilon: f64| self.is_certified(epsilon, delta.value());
        let epsilon = first_certified(start, self.bit.epsilon, EPSILON_STEP, certified);
        guarantee(epsilon, epsilon_local, delta)
    }

    fn is_likely(&self, epsilon: f64, delta: f64) -> bool {
        self.expected(epsilon, delta, |m, bit, epsilon| self.data.likely_delta(m, bit, epsilon)) <= delta
    }

    fn is_certified(&self, epsilon: f64, delta: f64) -> bool {
        self.expected(epsilon, delta, |m, bit, epsilon| self.data.delta(m, bit, epsilon)) <= delta
    }

    /// E[D(M + 1)] for a D that falls in its first argument. Stops as soon as it exceeds `enough`.
    fn expected(&self, epsilon: f64, enough: f64, d: impl Fn(u64, &RandomizedBit, f64) -> f64) -> f64 {
        let Some(w) = self.bit.weights(epsilon) else { return 0.0 };
        let (mut sum, mut last) = (w.alpha * self.missing, w.alpha);
        for &(m, probability) in &self.bins {
            // A bin that hardly matters is counted with what held for fewer helpers.
            if probability * last > NEGLIGIBLE * enough {
                last = last.min(d(m + 1, &self.bit, epsilon));
            }
            sum += probability * last;
            if sum > enough {
                break;
            }
        }
        sum
    }
}

fn largest_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    helpers: impl Fn(f64) -> Helpers,
) -> Result<Epsilon, Error> {
    let (central, delta) = (epsilon_central.value(), delta.value());
    let holds = |local: f64| helpers(local).is_likely(central, delta);
    let start = search::largest(central, hopeless(n, central, delta), holds);
    let certified = |local: f64| helpers(local).is_certified(central, delta);
    Ok(Epsilon::new(first_certified(start, central, EPSILON_STEP, certified))?)
}

fn check_hashes(hashes: u32) -> Result<(), Error> {
    if hashes > 0 {
        return Ok(());
    }
    Err(Error::Parameter { what: "the number of hash functions", got: 0.0, expected: "give at least 1" })
}

/// The probability of all numbers that are left out. It is added, and far below any δ of interest.
const MISSING: f64 = 1e-20;

/// Bins are this wide relative to the numbers they hold, or to the deviation of those: it costs about 0.1%.
const BIN_WIDTH: f64 = 1e-3;
const BIN_DEVIATIONS: f64 = 0.1;

/// Bins that add less than this share of δ are not worth an evaluation.
const NEGLIGIBLE: f64 = 1e-4;

/// The least blocks of a covering have this share of the crowd: finer costs more than it gains here.
const COVERING: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_hash_functions_add_up() {
        let (each, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
        let one = cms_split_revealed_epsilon(100_000, each, delta, 64, 1).unwrap().epsilon().value();
        let plain = cms_revealed_epsilon(100_000, each, delta, 64).unwrap().epsilon().value();
        assert_eq!(one, plain);
        // Two rows: crowds thinned to 2/64 and 1/63, each at half of δ.
        let two = cms_split_revealed_epsilon(100_000, each, delta, 64, 2).unwrap().epsilon().value();
        let half = Delta::new(0.5e-6).unwrap();
        let parts = [32, 63].map(|h| cms_revealed_epsilon(100_000, each, half, h).unwrap().epsilon().value());
        assert!((two - parts[0] - parts[1]).abs() < 1e-9, "{two} {parts:?}");
        for bad in [0, 64, 65] {
            assert!(cms_split_revealed_epsilon(100_000, each, delta, 64, bad).is_err());
        }
    }
}
