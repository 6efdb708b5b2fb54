//! The contracts that every randomizer and every estimator passes.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{One, ToPrimitive, Zero};

use crate::estimate::{Estimates, Tally};
use crate::sampling::bracket;
use crate::testing::{assert_mean, assert_share, assert_variance, epsilon, rng};
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
    assert!(
        !exp_reaches(Epsilon::new(below).unwrap(), &largest),
        "no outcome reaches e^ε: the guarantee is loose"
    );

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

/// Samplers that are subtly wrong: the contracts must catch each of them.
mod wrong {
    use super::*;
    use crate::randomizer::{Probability, pattern_probability};
    use crate::sampling::{Bernoulli, below};
    use crate::{
        Binary, BitRandomizer, Error, LocalGuarantee, OneHot, Randomizer, Replacement, ReportFragments,
    };
    use rand_core::{CryptoRng, Rng};

    /// A one-hot mechanism of four values whose bits are drawn by some other sampler than its law says.
    struct WrongSampler<F> {
        claimed: OneHot,
        sampler: F,
    }

    impl<F: Fn(&OneHot, Option<&u32>, &mut dyn Rng) -> Vec<u32>> Randomizer for WrongSampler<F> {
        type Value = u32;
        type Report = Vec<u32>;
        type Neighbors = Removal;
        fn guarantee(&self) -> LocalGuarantee<Removal> {
            self.claimed.guarantee()
        }
        fn randomize(
            &self,
            value: Option<&u32>,
            mut rng: &mut (impl CryptoRng + ?Sized),
        ) -> Result<Vec<u32>, Error> {
            Ok((self.sampler)(&self.claimed, value, &mut rng))
        }
    }

    impl<F: Fn(&OneHot, Option<&u32>, &mut dyn Rng) -> Vec<u32>> ExactDistribution for WrongSampler<F> {
        fn probability(&self, value: Option<&u32>, report: &Vec<u32>) -> Result<Probability, Error> {
            self.claimed.probability(value, report)
        }
    }

    fn check_drawn(sampler: impl Fn(&OneHot, Option<&u32>, &mut dyn Rng) -> Vec<u32>) {
        let claimed = OneHot::new(4, epsilon(1.0)).unwrap();
        check_randomizer(&WrongSampler { claimed, sampler }, &[&0, &1, &2, &3], &subsets(4));
    }

    /// A sampler of skips, written independently of the library's: how many bits are passed over before the next
    /// flip is geometric. `first` is where the counting begins: 0 is right.
    fn skip_sampler(first: u32) -> impl Fn(&OneHot, Option<&u32>, &mut dyn Rng) -> Vec<u32> {
        move |claimed, value, rng| {
            let p = claimed.coin().probability();
            let mut bits: Vec<u32> = value.copied().into_iter().collect();
            let mut at = 0u32;
            loop {
                let uniform = (rng.next_u64() >> 11) as f64 / 2f64.powi(53);
                at = at.saturating_add(first + ((1.0 - uniform).ln() / (1.0 - p).ln()) as u32);
                if at >= 4 {
                    bits.sort_unstable();
                    return bits;
                }
                match bits.iter().position(|&bit| bit == at) {
                    Some(place) => drop(bits.remove(place)),
                    None => bits.push(at),
                }
                at += 1;
            }
        }
    }

    #[test]
    fn an_independent_sampler_of_the_same_law_passes() {
        check_drawn(skip_sampler(0));
    }

    #[test]
    #[should_panic(expected = "hits, expected")]
    fn a_skip_that_is_off_by_one_is_caught() {
        check_drawn(skip_sampler(1));
    }

    #[test]
    #[should_panic(expected = "hits, expected")]
    fn a_threshold_that_is_two_percent_too_low_is_caught() {
        check_drawn(|claimed, value, rng| {
            let threshold = claimed.coin().threshold() / 100 * 98;
            let low = Bernoulli::from_threshold(threshold);
            (0..4)
                .filter(|bit| (value == Some(bit)) ^ (rng.next_u64() < (low.threshold() >> 64) as u64))
                .collect()
        });
    }

    #[test]
    #[should_panic(expected = "hits, expected")]
    fn an_index_with_modulo_bias_is_caught() {
        // A byte modulo 100, instead of rejection: small numbers come up 3 times in 256, others twice.
        let mut rng = rng(5);
        let draws = 300_000;
        let (mut biased, mut fair) = (0, 0);
        for _ in 0..draws {
            biased += u64::from((rng.next_u64() as u8) % 100 == 42);
            fair += u64::from(below(100, &mut rng) == 42);
        }
        assert_share(fair, draws, 0.01, 2);
        assert_share(biased, draws, 0.01, 2);
    }

    /// Report fragments that are all drawn from the same seed: each has the right law, together they do not.
    struct ReusedSeed(ReportFragments<Binary>);

    impl Randomizer for ReusedSeed {
        type Value = bool;
        type Report = Vec<bool>;
        type Neighbors = Replacement;
        fn guarantee(&self) -> LocalGuarantee<Replacement> {
            self.0.guarantee()
        }
        fn randomize(
            &self,
            value: Option<&bool>,
            rng: &mut (impl CryptoRng + ?Sized),
        ) -> Result<Vec<bool>, Error> {
            let fragments = self.0.randomize(value, rng)?;
            Ok(vec![fragments[0]; fragments.len()])
        }
    }

    impl ExactDistribution for ReusedSeed {
        fn probability(&self, value: Option<&bool>, report: &Vec<bool>) -> Result<Probability, Error> {
            self.0.probability(value, report)
        }
    }

    #[test]
    #[should_panic(expected = "hits, expected")]
    fn a_reused_seed_is_caught() {
        let honest = ReportFragments::new(Binary::new(epsilon(1.0)).unwrap(), epsilon(1.0), 2).unwrap();
        let outcomes = [[false, false], [false, true], [true, false], [true, true]].map(|o| o.to_vec());
        check_randomizer(&ReusedSeed(honest), &[&false, &true], &outcomes);
    }

    /// A mechanism that claims less than it spends fails the exact part, without any sampling.
    struct UnderstatedMechanism(Binary);

    impl Randomizer for UnderstatedMechanism {
        type Value = bool;
        type Report = bool;
        type Neighbors = Replacement;
        fn guarantee(&self) -> LocalGuarantee<Replacement> {
            LocalGuarantee::pure(epsilon(self.0.guarantee().epsilon().value().next_down()))
        }
        fn randomize(
            &self,
            value: Option<&bool>,
            rng: &mut (impl CryptoRng + ?Sized),
        ) -> Result<bool, Error> {
            self.0.randomize(value, rng)
        }
    }

    impl ExactDistribution for UnderstatedMechanism {
        fn probability(&self, value: Option<&bool>, report: &bool) -> Result<Probability, Error> {
            let flipped = u64::from(value.copied().unwrap_or(false) != *report);
            Ok(pattern_probability(self.0.coin(), flipped, 1 - flipped))
        }
    }

    #[test]
    #[should_panic(expected = "a likelihood ratio exceeds")]
    fn a_guarantee_that_is_one_double_too_small_is_caught() {
        check_randomizer(
            &UnderstatedMechanism(Binary::new(epsilon(1.0)).unwrap()),
            &[&false, &true],
            &[false, true],
        );
    }
}
