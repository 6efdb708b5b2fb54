//! The privacy loss distribution of one count of randomized bits, which plans, ledgers and consent texts compose again and
//! again, and which is therefore cached.

use std::sync::Arc;

use throng_dp::{Epsilon, Neighbors};

use super::connect::{self, Dot};
use super::loss::LossPair;
use crate::amplification::exact::Curve;
use crate::memo::Memo;
use crate::{Error, TO_THE_END};

impl<N: Neighbors> LossPair<N> {
    /// The pair of the count of ones among n randomized bits, whatever the others hold ([`Curve`]). For one respondent's bit
    /// the relation is removal; any other change that moves one count has the same pair. At most `tail` of its mass is moved
    /// to "no guarantee at all".
    pub(crate) fn count(n: u64, epsilon_local: Epsilon, tail: f64) -> Result<Self, Error> {
        let curve = Curve::new(n, epsilon_local)?;
        let tail = coarse(tail);
        let asked = (n, epsilon_local.value().to_bits(), tail.to_bits());
        let dots = COUNTS
            .once(asked, TO_THE_END, || Ok(connect::sample(&|epsilon| curve.delta(epsilon), tail)?.into()))?;
        Ok(Self::from_dots(&dots))
    }
}

/// A tail of at most `tail`, from a coarse grid: nearly all who ask get the same points, so that these are made once.
fn coarse(tail: f64) -> f64 {
    let mut coarse = WIDEST;
    while coarse > tail && coarse > f64::MIN_POSITIVE {
        coarse = (coarse * STEP).max(f64::MIN_POSITIVE);
    }
    coarse
}

/// Less than a billionth of a billionth: a millionth of any δ that is in use.
const WIDEST: f64 = 1e-22;
const STEP: f64 = 1e-20;

/// Each is some 500 points, and took half a second.
static COUNTS: Memo<(u64, u64, u64), Arc<[Dot]>> = Memo::new(64);

#[cfg(test)]
mod tests {
    use throng_dp::{Delta, Removal};

    use super::*;

    #[test]
    fn less_is_cut_off_than_was_allowed() {
        for tail in [1.0, 0.5, 3e-7, 2e-16, 1e-300, f64::MIN_POSITIVE, 0.0] {
            let coarse = coarse(tail);
            assert!(coarse > 0.0 && coarse <= tail.max(f64::MIN_POSITIVE), "{tail:e}: {coarse:e}");
            assert!(coarse >= tail.min(WIDEST) * STEP, "{tail:e}: {coarse:e}");
        }
    }

    /// Two that differ in one number alone are two; and what is remembered is the curve's, at its points and between them.
    #[test]
    fn what_is_remembered_is_the_curve_that_was_asked_for() {
        let epsilon = |value: f64| Epsilon::new(value).unwrap();
        for (n, local) in [(900, 3.0), (990, 3.0), (900, 3.0), (900, 3.1)] {
            let curve = Curve::new(n, epsilon(local)).unwrap();
            let pair = LossPair::<Removal>::count(n, epsilon(local), 1e-12).unwrap();
            for at in [0.0, 0.1, 0.3, 0.9] {
                let exact = curve.delta(epsilon(at)).unwrap().value();
                let ours: Delta = pair.delta(epsilon(at)).unwrap();
                assert!(
                    ours.value() >= exact * (1.0 - 1e-9) && ours.value() <= exact * 1.02,
                    "{n} {local} {at}: {ours} {exact:e}"
                );
            }
        }
    }
}
