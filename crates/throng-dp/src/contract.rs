//! The contracts that every randomizer and every estimator passes.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{One, ToPrimitive, Zero};

use crate::estimate::{Estimates, Tally};
use crate::sampling::bracket;
use crate::testing::{assert_mean, assert_share, assert_variance, rng};
use crate::{Epsilon, Estimator, ExactDistribution, Neighbors, Removal};

/// Exact: the law of each value sums to one over `outcomes`, all likelihood ratios between neighbors are at most
/// e^ε, and one reaches it to within 1e-12. Statistical: the sampler has that law, cell by cell.
pub(crate) fn check_randomizer<M>(mechanism: &M, values: &[&M::Value], outcomes: &[M::Report])
where
    M: ExactDistribution,
    M::Report: Clone + Debug + Eq + Hash,
{
    let law = |value| -> Vec<Ratio<BigUint>> {
        outcomes.iter().map(|outcome| mechanism.probability(value, outcome).unwrap()).collect()
    };
    let laws: Vec<_> = std::iter::once(law(None)).chain(values.iter().map(|v| law(Some(v)))).collect();
    for law in &laws {
        assert!(law.iter().sum::<Ratio<BigUint>>().is_one(), "probabilities sum to one, exactly");
    }

    let guarantee = mechanism.guarantee();
    assert!(guarantee.delta().value() == 0.0, "the exact contract is for pure guarantees");
    let removal = M::Neighbors::NAME == Removal::NAME;
    let mut largest = Ratio::<BigUint>::one();
    for (i, left) in laws.iter().enumerate() {
        for (j, right) in laws.iter().enumerate() {
            // Under removal only pairs with the reference are neighbors.
            if i != j && (!removal || i == 0 || j == 0) {
                for (l, r) in left.iter().zip(right) {
                    assert_eq!(l.is_zero(), r.is_zero(), "an outcome that only one of two values can give");
                    if !r.is_zero() {
                        largest = largest.max(l / r);
                    }
                }
            }
        }
    }
    assert!(exp_reaches(guarantee.epsilon(), &largest), "a likelihood ratio exceeds e^ε");
    let below = guarantee.epsilon().value() * (1.0 - 1e-12);
    assert!(!exp_reaches(Epsilon::new(below).unwrap(), &largest), "no outcome reaches e^ε: the guarantee is loose");

    let draws = 100_000;
    for (i, law) in laws.iter().enumerate() {
        let value = if i == 0 { None } else { Some(values[i - 1]) };
        let mut rng = rng(1000 + i as u64);
        let mut seen = HashMap::<M::Report, u64>::new();
        for _ in 0..draws {
            *seen.entry(mechanism.randomize(value, &mut rng).unwrap()).or_default() += 1;
        }
        for (outcome, probability) in outcomes.iter().zip(law) {
            let count = seen.remove(outcome).unwrap_or(0);
            assert_share(count, draws, to_f64(probability), (laws.len() * outcomes.len()) as u32);
        }
        assert!(seen.is_empty(), "outcomes that should not exist: {seen:?}");
    }
}

/// Over many crowds of `respondents`, of whom the i-th holds `value(i)`, the mean of each estimate is the true
/// count and its variance is what the estimate says. Each crowd has a mechanism of its own, so that public
/// randomness (hash functions) is averaged over as well.
pub(crate) fn check_estimator<'a, M>(
    mechanism: impl Fn(u64) -> M,
    respondents: u64,
    value: impl Fn(u64) -> Option<&'a M::Value>,
    truth: &[f64],
) where
    M: Estimator<Tally = Tally, Estimate = Estimates>,
    M::Value: 'a,
{
    let crowds = 3000;
    let mut rng = rng(77);
    let mut errors = vec![Vec::new(); truth.len()];
    let mut variances = vec![0.0; truth.len()];
    for crowd in 0..crowds {
        let mechanism = mechanism(crowd);
        let mut tally = mechanism.tally().unwrap();
        for i in 0..respondents {
            let report = mechanism.randomize(value(i), &mut rng).unwrap();
            mechanism.add(&mut tally, &report).unwrap();
        }
        assert_eq!(tally.respondents(), respondents);
        let estimates = mechanism.estimate(&tally).unwrap();
        assert_eq!(estimates.counts().len(), truth.len());
        for (v, truth) in truth.iter().enumerate() {
            errors[v].push(estimates.counts()[v] - truth);
            variances[v] += estimates.spread().variance(*truth) / crowds as f64;
        }
    }
    for (errors, variance) in errors.iter().zip(variances) {
        assert_mean(errors, 0.0, variance.sqrt(), 2 * truth.len() as u32);
        assert_variance(errors, variance, 2 * truth.len() as u32);
    }
}

/// All sets of numbers below `size`, as rising lists.
pub(crate) fn subsets(size: u32) -> Vec<Vec<u32>> {
    (0..1u32 << size).map(|mask| (0..size).filter(|bit| mask >> bit & 1 == 1).collect()).collect()
}

/// Whether e^ε is certainly at least `ratio`.
fn exp_reaches(epsilon: Epsilon, ratio: &Ratio<BigUint>) -> bool {
    let power = bracket::exp(epsilon.value(), 400);
    power.low * ratio.denom() >= ratio.numer() << 400u32
}

fn to_f64(ratio: &Ratio<BigUint>) -> f64 {
    ((ratio.numer() << 256u32) / ratio.denom()).to_f64().unwrap() * 2f64.powi(-256)
}
