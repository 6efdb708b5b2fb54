//! Bernoulli sampling: a coin with an exactly known bias.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use rand_core::CryptoRng;

use super::bracket;
use crate::{Epsilon, Error};

/// A coin that shows heads with probability `threshold / 2^128`, exactly.
///
/// # Privacy
/// Built by [`Bernoulli::flip`] it is the coin of randomized response: it flips a bit with the least multiple of
/// 2^-128 that is at least 1/(1 + e^ε). Rounding up costs utility, never privacy, and [`Bernoulli::epsilon`] is
/// computed from the rounded threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bernoulli {
    threshold: u128,
}

impl Bernoulli {
    /// The flip coin of randomized response with ε > 0.
    pub fn flip(epsilon: Epsilon) -> Result<Self, Error> {
        if epsilon == Epsilon::INFINITE {
            return Err(Error::Epsilon(epsilon.value()));
        }
        // Beyond this the least threshold is 1, for every epsilon.
        let bounded = epsilon.value().min(EPSILON_MAX);
        let power = bracket::exp(bounded, BITS);
        // threshold = ceil(2^128 / (1 + e^ε)), from the lower end of the bracket: never too small.
        let numerator = BigUint::one() << (BITS + 128);
        let denominator = (BigUint::one() << BITS) + power.low;
        let threshold: BigUint = (numerator + (&denominator - BigUint::one())) / denominator;
        let threshold = threshold.to_u128().unwrap_or(HALF).min(HALF);
        if threshold == HALF { Err(Error::NoSignal(epsilon.value())) } else { Ok(Self { threshold }) }
    }

    /// A coin with a given threshold over 2^128.
    pub fn from_threshold(threshold: u128) -> Self {
        Self { threshold }
    }

    /// The threshold over 2^128.
    pub fn threshold(self) -> u128 {
        self.threshold
    }

    /// The probability of heads, rounded to a double: for estimates, never for draws.
    pub fn probability(self) -> f64 {
        self.threshold as f64 / TWO_128
    }

    /// 1 - 2p, the share of the signal that survives the flips, rounded to a double.
    pub fn gain(self) -> f64 {
        let half = HALF.abs_diff(self.threshold) as f64 * 2.0 / TWO_128;
        if self.threshold <= HALF { half } else { -half }
    }

    /// The least double that is at least ln((1 - p)/p): what randomized response with this flip coin guarantees.
    pub fn epsilon(self) -> Epsilon {
        if self.threshold == 0 {
            return Epsilon::INFINITE;
        }
        if self.threshold >= HALF {
            return Epsilon::ZERO;
        }
        let keep = (BigUint::one() << 128) - BigUint::from(self.threshold);
        let guess = (self.gain() / self.probability()).ln_1p();
        let value = bracket::ln_rounded_up(&keep, &BigUint::from(self.threshold), guess);
        Epsilon::new(value).unwrap_or(Epsilon::INFINITE)
    }

    /// One toss.
    #[inline]
    pub fn draw(self, rng: &mut (impl CryptoRng + ?Sized)) -> bool {
        let high = (self.threshold >> 64) as u64;
        let word = rng.next_u64();
        // The second word matters once in 2^64 tosses.
        if word == high { rng.next_u64() < self.threshold as u64 } else { word < high }
    }
}

const HALF: u128 = 1 << 127;
const TWO_128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
/// ln(2^128) rounded up.
const EPSILON_MAX: f64 = 89.0;
/// e^89 has 129 bits before the point; the rest is precision.
const BITS: u64 = 320;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, assert_share, rng};

    #[test]
    fn thresholds_round_towards_more_privacy() {
        for value in [0.001, 0.1, 1.0, 1.9, 2.94, 8.55, 12.99, 20.0, 25.0, 40.0, 80.0] {
            let epsilon = Epsilon::new(value).unwrap();
            let coin = Bernoulli::flip(epsilon).unwrap();
            assert!(coin.epsilon() <= epsilon, "{value}");
            // One unit less would break the promise: the threshold is the least that keeps it.
            let tighter = Bernoulli::from_threshold(coin.threshold - 1);
            if value < 80.0 {
                assert!(coin.epsilon().value() > value * (1.0 - 1e-15) - 1e-15, "{value}");
            }
            assert!(tighter.epsilon() >= epsilon || value > 30.0, "{value}");
        }
    }

    #[test]
    fn probabilities_match_the_formula() {
        for value in [0.001f64, 1.0, 8.55, 20.0, 25.0] {
            let coin = Bernoulli::flip(Epsilon::new(value).unwrap()).unwrap();
            let p = 1.0 / (1.0 + value.exp());
            assert!((coin.probability() / p - 1.0).abs() < 4e-15, "{value}");
            assert!((coin.gain() - (value / 2.0).tanh()).abs() < 4e-16, "{value}");
        }
        assert_eq!(Bernoulli::from_threshold(0).gain(), 1.0);
        assert!(Bernoulli::from_threshold(u128::MAX).gain() <= -1.0 + 1e-15);
        // 2^128 / (1 + e^20), rounded up, from Python's decimal module.
        let coin = Bernoulli::flip(Epsilon::new(20.0).unwrap()).unwrap();
        assert_eq!(coin.threshold(), 701_374_231_785_418_758_809_028_607_463);
    }

    #[test]
    fn there_is_no_coin_without_signal() {
        assert_eq!(Bernoulli::flip(Epsilon::ZERO), Err(Error::NoSignal(0.0)));
        assert_eq!(Bernoulli::flip(Epsilon::new(1e-60).unwrap()), Err(Error::NoSignal(1e-60)));
        assert!(Bernoulli::flip(Epsilon::INFINITE).is_err());
        // Larger than 128 bits can say: the coin keeps the least probability it has.
        assert_eq!(Bernoulli::flip(Epsilon::new(1e300).unwrap()).unwrap().threshold(), 1);
    }

    #[test]
    fn the_second_word_decides_when_the_first_is_equal() {
        let coin = Bernoulli::from_threshold((7u128 << 64) | 5);
        assert!(coin.draw(&mut Script::new([6])));
        assert!(!coin.draw(&mut Script::new([8])));
        assert!(coin.draw(&mut Script::new([7, 4])));
        assert!(!coin.draw(&mut Script::new([7, 5])));
    }

    #[test]
    fn tosses_follow_the_threshold() {
        for value in [0.001, 1.0, 4.0, 8.55] {
            let coin = Bernoulli::flip(Epsilon::new(value).unwrap()).unwrap();
            let mut rng = rng(17);
            let tosses = 1_000_000;
            let heads = (0..tosses).filter(|_| coin.draw(&mut rng)).count();
            assert_share(heads as u64, tosses, coin.probability(), 4);
        }
    }
}
