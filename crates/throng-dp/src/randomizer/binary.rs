//! Binary randomized response.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{BitRandomizer, ExactDistribution, Probability, Randomizer, pattern_probability};
use crate::sampling::{Bernoulli, Flips};
use crate::{Epsilon, Error, LocalGuarantee, Replacement};

/// Randomized response to one yes-or-no question: the answer is flipped with probability 1/(1 + e^ε).
///
/// # Privacy
/// ε-replacement LDP: the two answers' likelihoods differ by (1 − p)/p at most, and by that exactly. Who has
/// nothing to say answers as "no" would.
/// # Utility
/// The count of "yes" is unbiased, with variance n·p(1 − p)/(1 − 2p)².
/// # Paper
/// Section III, the randomizer R_j of Algorithm 1 on one attribute.
#[derive(Clone, Debug)]
pub struct Binary {
    coin: Bernoulli,
}

impl Binary {
    /// Randomized response with ε > 0.
    pub fn new(epsilon: Epsilon) -> Result<Self, Error> {
        Ok(Self { coin: Bernoulli::flip(epsilon)? })
    }
}

impl Randomizer for Binary {
    type Value = bool;
    type Report = bool;
    type Neighbors = Replacement;

    fn guarantee(&self) -> LocalGuarantee<Replacement> {
        LocalGuarantee::pure(self.coin.epsilon())
    }

    fn randomize(&self, value: Option<&bool>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<bool, Error> {
        Ok(value.copied().unwrap_or(false) ^ self.coin.draw(rng))
    }
}

impl BitRandomizer for Binary {
    fn attributes(&self) -> u64 {
        1
    }

    fn width(&self) -> u64 {
        1
    }

    fn coin(&self) -> Bernoulli {
        self.coin
    }

    fn differing_bits(&self) -> u32 {
        1
    }

    fn fragments<'a>(&self, report: &'a bool) -> &'a [u32] {
        if *report { &[0] } else { &[] }
    }

    fn fits(&self, _: &bool) -> bool {
        true
    }

    fn flip_again(&self, report: &bool, flips: &Flips, rng: &mut (impl CryptoRng + ?Sized)) -> bool {
        *report ^ flips.coin().draw(rng)
    }

    fn held(
        &self,
        value: Option<&bool>,
        _: &bool,
        _: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        Ok(Zeroizing::new(if value.copied().unwrap_or(false) { vec![0] } else { Vec::new() }))
    }

    fn with(&self, report: &bool, attributes: &[u32]) -> bool {
        *report || !attributes.is_empty()
    }
}

impl ExactDistribution for Binary {
    fn probability(&self, value: Option<&bool>, report: &bool) -> Result<Probability, Error> {
        let flipped = u64::from(value.copied().unwrap_or(false) != *report);
        Ok(pattern_probability(self.coin, flipped, 1 - flipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{check_estimator, check_randomizer};

    fn binary(epsilon: f64) -> Binary {
        Binary::new(Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn keeps_the_contract() {
        for epsilon in [0.001, 0.5, 1.0, 4.0, 12.0, 25.0] {
            check_randomizer(&binary(epsilon), &[&false, &true], &[false, true]);
        }
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        check_estimator(|_| binary(1.0), 400, |i| if i < 120 { Some(&true) } else { None }, &[120.0]);
    }

    #[test]
    fn the_papers_probabilities_are_corrected() {
        // Section IV says that epsilon 1 keeps a bit with 63.21 %; it is e/(1 + e) = 73.1 %.
        assert!((1.0 - binary(1.0).coin.probability() - 0.731_058_578_630_004_9).abs() < 1e-15);
    }
}
