//! Privacy amplification by sampling: what is left of a loss when only a random part of all respondents took part.

use throng_dp::{Delta, Epsilon};

use super::connect::Curve;
use crate::Error;

/// The probability with which a respondent takes part in a step.
///
/// # Privacy
/// With P and Q the worlds of someone who took part, an analyzer sees share·P + (1 − share)·Q against Q. What that does
/// to a curve δ(ε) is a formula, for a fixed number without replacement under replacement and for independent (Poisson)
/// sampling under removal alike (Balle, Barthe and Gaboardi 2018, Theorems 8 and 11; Zhu, Dong and Wang 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(f64);

impl Share {
    /// Everybody.
    pub(super) const ALL: Self = Self(1.0);

    /// A share above 0, at most 1.
    pub(super) fn new(share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Parameter {
                what: "the sampled share",
                got: share,
                expected: "give a number in (0, 1]",
            });
        }
        Ok(Self(share))
    }

    /// `crowd` of all `respondents`, rounded up.
    pub(super) fn of(crowd: u64, respondents: u64) -> Result<Self, Error> {
        if crowd == 0 || crowd > respondents {
            return Err(Error::Parameter {
                what: "the crowd of a step",
                got: crowd as f64,
                expected: "give at least 1 and at most all respondents",
            });
        }
        Self::new((crowd as f64 / respondents as f64).next_up().min(1.0))
    }

    pub(super) fn value(self) -> f64 {
        self.0
    }

    /// What is left of the loss `loss` ≥ 0 of someone who took part: ln(1 + share·(e^loss − 1)), never more than it.
    pub(super) fn sampled(self, loss: f64) -> f64 {
        (self.0 * loss.exp_m1()).ln_1p().min(loss)
    }

    /// The δ of the sampled release at ε, from the `curve` of those who took part: share·δ(ε'), with
    /// e^ε' = 1 + (e^ε − 1)/share.
    pub(super) fn delta(self, curve: Curve<'_>, epsilon: Epsilon) -> Result<Delta, Error> {
        let e = epsilon.value();
        let ratio = if e < 30.0 {
            (e.exp_m1() / self.0).ln_1p()
        } else {
            e - self.0.ln() + (-(1.0 - self.0) * (-e).exp()).ln_1p()
        };
        // δ falls: a smaller ε' is the safe side, and ε' is never below ε.
        let before = Epsilon::new((ratio * (1.0 - ROUNDING)).max(e))?;
        Ok(Delta::new((self.0 * curve(before)?.value()).next_up().min(1.0))?)
    }

    /// The other direction, for a curve that is the same in both: Q against share·P + (1 − share)·Q. It has the δ
    /// (1 − e^ε·(1 − share))·δ(ε'), with e^-ε' = 1 − (1 − e^-ε)/share, and none where that is not positive: someone who
    /// was there can be missed by no more than −ln(1 − share).
    pub(super) fn reverse_delta(self, curve: Curve<'_>, epsilon: Epsilon) -> Result<Delta, Error> {
        if self.0 == 1.0 {
            return curve(epsilon);
        }
        let e = epsilon.value();
        let there = (1.0 - self.0) * e.exp_m1();
        let weight = self.0 - there + ROUNDING * (self.0 + there);
        if there > 2.0 * self.0 || weight <= 0.0 {
            return Ok(Delta::ZERO);
        }
        // δ falls: a smaller ε' is the safe side.
        let missed = (-(-e).exp_m1() / self.0 * (1.0 - ROUNDING)).min(1.0 - ROUNDING);
        let before = Epsilon::new((-(-missed).ln_1p() * (1.0 - ROUNDING)).max(e))?;
        Ok(Delta::new((weight * curve(before)?.value()).next_up().min(1.0))?)
    }
}

/// Above a few units in the last place.
const ROUNDING: f64 = 2e-15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian::Gaussian;

    /// Both directions of a mixture against a normal, by numerical integration of the densities.
    #[test]
    fn both_directions_are_those_of_the_mixture() {
        for (share, sigma) in [(1.0, 1.0), (0.5, 2.0), (0.1, 0.7), (0.003, 1.5)] {
            let (cells, reach) = (400_000, 14.0);
            let width = 2.0 * reach / f64::from(cells);
            let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let integral = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                let at = |i: i32| (f64::from(i) + 0.5) * width - reach;
                (0..cells)
                    .map(|i| {
                        let (there, absent) = (density(at(i) - 1.0 / sigma), density(at(i)));
                        width * f(share * there + (1.0 - share) * absent, absent).max(0.0)
                    })
                    .sum()
            };
            let gaussian = Gaussian::new(sigma, 1.0).unwrap();
            let curve = |epsilon| gaussian.delta(epsilon);
            let sampled = Share::new(share).unwrap();
            let end = if share < 1.0 { -(-share).ln_1p() } else { 3.0 };
            for part in [0.0, 0.01, 0.3, 0.7, 0.99, 1.01, 2.0] {
                let (epsilon, odds) = (Epsilon::new(part * end).unwrap(), (part * end).exp());
                let there = integral(&|mixed, absent| mixed - odds * absent);
                let back = integral(&|mixed, absent| absent - odds * mixed);
                let ours = sampled.delta(&curve, epsilon).unwrap().value();
                assert!((ours - there).abs() <= 1e-7 * there + 1e-12, "{share} {part}: {ours:e} {there:e}");
                let ours = sampled.reverse_delta(&curve, epsilon).unwrap().value();
                assert!((ours - back).abs() <= 1e-7 * back + 1e-12, "{share} {part}: {ours:e} {back:e}");
                if share < 1.0 && part > 1.0 {
                    assert_eq!(ours, 0.0);
                }
            }
        }
    }

    #[test]
    fn extreme_losses_and_shares_neither_overflow_nor_vanish() {
        let gaussian = Gaussian::new(0.01, 1.0).unwrap();
        let curve = |epsilon| gaussian.delta(epsilon);
        for share in [1e-12, 0.5, 1.0 - 1e-16, 1.0] {
            let share = Share::new(share).unwrap();
            let mut last = 1.0;
            for e in [0.0, 1e-9, 1.0, 29.9, 30.1, 700.0, 800.0, 1e6] {
                let epsilon = Epsilon::new(e).unwrap();
                let delta = share.delta(&curve, epsilon).unwrap().value();
                assert!(
                    delta <= last && delta <= curve(epsilon).unwrap().value() + f64::MIN_POSITIVE,
                    "{share:?} {e}"
                );
                assert!(share.reverse_delta(&curve, epsilon).unwrap().value() <= 1.0);
                last = delta;
            }
            assert!(share.sampled(800.0) <= 800.0 && share.sampled(0.0) == 0.0);
        }
        assert!(
            Share::new(0.0).is_err() && Share::new(1.0 + 1e-15).is_err() && Share::new(f64::NAN).is_err()
        );
    }
}
