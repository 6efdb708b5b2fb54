//! The tail of the privacy loss: the probability that the loss of one attribute's count exceeds ε.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::certify::Curve;
use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_local, check_others};
use crate::binomial::{Binomial, Window};
use crate::exceeded::exceeded_at_most;

/// How often a loss exceeds ε, in the two worlds that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exceedance {
    /// The victim holds a 1: the probability that the count is more than e^ε times as likely as if they held a 0.
    pub with: f64,
    /// The victim holds a 0: the probability that it is more than e^ε times as likely as if they held a 1.
    pub without: f64,
}

impl Exceedance {
    /// The larger of the two.
    pub fn worst(self) -> f64 {
        self.with.max(self.without)
    }
}

/// How often the loss exceeds ε when `a` of the n − 1 others truly hold a 1: a sum over the law of the count.
///
/// # Privacy
/// Exact up to 1e-30 and the rounding of a sum; not a guarantee, which is for every a ([`exceeded_certified`]). A loss
/// that equals ε up to rounding is counted.
pub fn exceeded_a(n: u64, a: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Exceedance, Error> {
    check_others(n, a)?;
    check_local(epsilon_local)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    let others = others(n - 1 - a, a, &bit)?;
    let at = |k: usize| others.pmf.get(k).copied().unwrap_or(0.0);
    let factor = epsilon.value().exp() * (1.0 - TIE);
    let (mut with, mut without) = (others.missing, others.missing);
    for k in 0..=others.pmf.len() {
        // The others' sum is k and the victim's report 0, or it is k - 1 and the report 1.
        let (stays, steps) = (at(k), k.checked_sub(1).map_or(0.0, at));
        let one = bit.p * stays + bit.q * steps;
        let zero = bit.q * stays + bit.p * steps;
        if one > factor * zero {
            with += one;
        }
        if zero > factor * one {
            without += zero;
        }
    }
    Ok(Exceedance { with: with.min(1.0), without: without.min(1.0) })
}

/// An upper bound on every [`exceeded_a`]: for every a, in both directions, and in every larger crowd.
///
/// # Privacy
/// Certified: [`exceeded_at_most`] of the curve, at the best of many smaller ε. Mostly 2.5 times the largest
/// [`exceeded_a`], the price of knowing δ alone.
pub fn exceeded_certified(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<f64, Error> {
    let curve = Curve::new(n, epsilon_local)?;
    if epsilon >= epsilon_local {
        return Ok(0.0);
    }
    let mut best = 1.0f64;
    for step in 0..STEPS {
        // From 0 to all but a thousandth of ε.
        let smaller =
            Epsilon::new(epsilon.value() * (1.0 - 1e-3f64.powf(f64::from(step) / f64::from(STEPS))))?;
        let delta: Delta = curve.delta(smaller)?;
        best = best.min(exceeded_at_most(epsilon, CentralGuarantee::<Removal>::new(smaller, delta)));
    }
    Ok(best)
}

/// The law of how many ones the others report: `zeros` of them hold a 0, and `ones` a 1.
fn others(zeros: u64, ones: u64, bit: &RandomizedBit) -> Result<Window, Error> {
    let left = Binomial::new(zeros, bit.p, bit.q).window(MISSING / 2.0);
    let right = Binomial::new(ones, bit.q, bit.p).window(MISSING / 2.0);
    if left.pmf.len() as f64 * right.pmf.len() as f64 > PRODUCTS_MAX {
        return Err(Error::NotApplicable(
            "so much noise is not summed outcome by outcome; ask for a certified bound".into(),
        ));
    }
    let mut pmf = vec![0.0; left.pmf.len() + right.pmf.len() - 1];
    for (i, x) in left.pmf.iter().enumerate() {
        for (sum, y) in pmf[i..].iter_mut().zip(&right.pmf) {
            *sum += x * y;
        }
    }
    Ok(Window { start: left.start + right.start, pmf, missing: MISSING })
}

/// What the laws of the others leave out; it is added.
const MISSING: f64 = 1e-30;

/// Ratios are right to about eleven digits; a loss that is as close to ε as that is counted.
const TIE: f64 = 1e-10;

/// A second's work.
const PRODUCTS_MAX: f64 = 1e9;

/// Smaller ε that are tried.
const STEPS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::epsilon;

    /// Both laws of the count from the definition: every respondent flips a coin, one after the other.
    fn laws(n: u64, a: u64, local: f64) -> [Vec<f64>; 2] {
        let flip = 1.0 / (1.0 + local.exp());
        [1, 0].map(|victim| {
            let bits = std::iter::once(victim).chain((1..n).map(|other| u64::from(other <= a)));
            bits.fold(vec![1.0], |law, bit| {
                let one = if bit == 1 { 1.0 - flip } else { flip };
                let mut next = vec![0.0; law.len() + 1];
                for (sum, mass) in law.iter().enumerate() {
                    next[sum] += mass * (1.0 - one);
                    next[sum + 1] += mass * one;
                }
                next
            })
        })
    }

    /// Pr_P[P > e^ε Q], with and without what is a tie but for rounding.
    fn truth(p: &[f64], q: &[f64], epsilon: f64) -> (f64, f64) {
        let above = |factor: f64| p.iter().zip(q).filter(|(p, q)| **p > factor * **q).map(|(p, _)| p).sum();
        (above(epsilon.exp() * (1.0 + 1e-9)), above(epsilon.exp() * (1.0 - 1e-9)))
    }

    #[test]
    fn the_sum_is_that_of_the_definition_for_every_data_of_small_crowds() {
        for n in [1, 2, 3, 5, 9, 16] {
            for local in [0.5, 1.0, 2.0, 4.0] {
                for share in [0.05, 0.3, 0.6, 0.95, 1.1] {
                    let central = share * local;
                    for a in 0..n {
                        let [one, zero] = laws(n, a, local);
                        let ours = exceeded_a(n, a, epsilon(local), epsilon(central)).unwrap();
                        for (ours, (least, most)) in [
                            (ours.with, truth(&one, &zero, central)),
                            (ours.without, truth(&zero, &one, central)),
                        ] {
                            assert!(
                                ours >= least - 1e-13 && ours <= most + 1e-13,
                                "{n} {a} {local} {central}: {ours:e}, {least:e} to {most:e}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Every data of every crowd of at least n, in both directions, from the definition.
    #[test]
    fn the_certified_bound_is_above_every_data_of_every_crowd_of_at_least_that_size() {
        let mut nearest = f64::INFINITY;
        for n in [1, 2, 4, 8, 13] {
            for local in [0.5, 1.5, 3.0] {
                for share in [0.1, 0.4, 0.7, 0.95] {
                    let central = share * local;
                    let bound = exceeded_certified(n, epsilon(local), epsilon(central)).unwrap();
                    for larger in n..n + 6 {
                        for a in 0..larger {
                            let [one, zero] = laws(larger, a, local);
                            let worst = truth(&one, &zero, central).0.max(truth(&zero, &one, central).0);
                            assert!(bound >= worst, "{n} {larger} {a} {local} {central}: {bound} {worst}");
                            nearest = nearest.min(bound / worst);
                        }
                    }
                }
            }
        }
        // Alone, the loss is ε_local or its negative: the bound is within what ε leaves of that.
        assert!(nearest < 1.1, "{nearest}");
    }

    /// What docs/accounting.md states of ordinary plans, and what the certified bound loses.
    #[test]
    fn the_loss_exceeds_epsilon_ten_to_thirty_times_as_often_as_delta_says() {
        for (n, central, delta, times) in
            [(2000, 1.0, 1e-6, 12.0), (50_000, 1.0, 1e-6, 12.0), (100_000, 0.5, 1e-7, 30.0)]
        {
            let local =
                super::super::epsilon_local_certified(n, epsilon(central), Delta::new(delta).unwrap())
                    .unwrap();
            let at = |a| exceeded_a(n, a, local, epsilon(central)).unwrap().worst();
            let most = (0..n).step_by(n as usize / 40).map(at).fold(at(n - 1), f64::max);
            assert!((0.9..1.1).contains(&(at(0) / delta / times)), "{n}: {}", at(0) / delta);
            let bound = exceeded_certified(n, local, epsilon(central)).unwrap();
            assert!((2.0..3.5).contains(&(bound / most)), "{n}: {bound:e} {most:e}");
        }
    }
}
