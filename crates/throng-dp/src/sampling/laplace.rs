//! Discrete Laplace (two-sided geometric) noise, exactly (Canonne, Kamath and Steinke 2020, Algorithms 1 and 2).

use rand_core::CryptoRng;

use num_bigint::BigUint;

use super::bracket::dyadic_parts;
use super::uniform::below_u128;
use crate::{Epsilon, Error};

/// Integer noise L with Pr[L = x] proportional to e^(-ε|x|), where ε is a fraction of integers.
///
/// # Privacy
/// Added to a count of sensitivity 1 it gives ε-DP. An ε given as a double is rounded *down* to a multiple of
/// 2^-52, and [`DiscreteLaplace::epsilon`] is that of the rounded value; nothing else is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteLaplace {
    numerator: u64,
    denominator: u64,
}

impl DiscreteLaplace {
    /// Noise for a loss of ε per unit.
    pub fn new(epsilon: Epsilon) -> Result<Self, Error> {
        // Multiplying by a power of two is exact; the conversion cuts off the rest.
        let numerator = epsilon.value() * GRID as f64;
        if !(1.0..1000.0 * GRID as f64).contains(&numerator) {
            return Err(Error::NoiseEpsilon(epsilon.value()));
        }
        Ok(Self { numerator: numerator as u64, denominator: GRID })
    }

    /// Noise for ε = `numerator / denominator`, exactly.
    pub fn from_ratio(numerator: u64, denominator: u64) -> Result<Self, Error> {
        if numerator == 0 || denominator == 0 {
            return Err(Error::ZeroCount("the numerator or denominator of epsilon"));
        }
        Ok(Self { numerator, denominator })
    }

    /// The loss per unit, rounded up to a double (and exact when it was a multiple of 2^-52).
    pub fn epsilon(self) -> Epsilon {
        let quotient = self.numerator as f64 / self.denominator as f64;
        // quotient >= numerator/denominator, as integers: a double is a fraction with a power of two below.
        let (mantissa, shift) = dyadic_parts(quotient);
        let short = mantissa * self.denominator < BigUint::from(self.numerator) << shift;
        Epsilon::new(if short { quotient.next_up() } else { quotient }).unwrap_or(Epsilon::INFINITE)
    }

    /// One draw.
    pub fn draw(self, rng: &mut (impl CryptoRng + ?Sized)) -> i128 {
        let (s, t) = (u128::from(self.numerator), u128::from(self.denominator));
        loop {
            // X = U + tV is geometric with ratio e^(-1/t): U below t survives with e^(-U/t), V counts e^-1 coins.
            let u = below_u128(t, rng);
            if !bernoulli_exp(u, t, rng) {
                continue;
            }
            let mut v = 0u128;
            while bernoulli_exp(1, 1, rng) {
                v += 1;
            }
            let magnitude = ((u + t * v) / s) as i128;
            let negative = rng.next_u64() & 1 == 1;
            // Zero has one sign only, or it would be drawn twice as often.
            if !(negative && magnitude == 0) {
                return if negative { -magnitude } else { magnitude };
            }
        }
    }
}

/// True with probability e^(-numerator/denominator), for a fraction of at most 1.
fn bernoulli_exp(numerator: u128, denominator: u128, rng: &mut (impl CryptoRng + ?Sized)) -> bool {
    // The first k at which a coin of bias γ/k shows tails is odd with probability e^-γ.
    let mut k = 1;
    while below_u128(denominator * k, rng) < numerator {
        k += 1;
    }
    k % 2 == 1
}

const GRID: u64 = 1 << 52;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_share, rng};

    #[test]
    fn draws_follow_the_two_sided_geometric() {
        let cases = [
            DiscreteLaplace::from_ratio(1, 2),
            DiscreteLaplace::from_ratio(3, 1),
            DiscreteLaplace::from_ratio(1, 10),
            DiscreteLaplace::new(Epsilon::new(0.5).unwrap()),
            DiscreteLaplace::new(Epsilon::new(0.7).unwrap()),
        ];
        for (i, noise) in cases.into_iter().enumerate() {
            let noise = noise.unwrap();
            let mut rng = rng(50 + i as u64);
            let draws = 200_000;
            let mut seen = [0u64; 41];
            let mut beyond = 0;
            for _ in 0..draws {
                match noise.draw(&mut rng) {
                    x @ -20..=20 => seen[(x + 20) as usize] += 1,
                    _ => beyond += 1,
                }
            }
            let a = (-noise.epsilon().value()).exp();
            let mut rest = 1.0;
            for (x, &count) in (-20i32..=20).zip(&seen) {
                let mass = (1.0 - a) / (1.0 + a) * a.powi(x.abs());
                rest -= mass;
                assert_share(count, draws, mass, 5 * 42);
            }
            assert_share(beyond, draws, rest.max(1e-15), 5 * 42);
        }
    }

    #[test]
    fn a_double_is_rounded_towards_more_noise() {
        assert_eq!(DiscreteLaplace::new(Epsilon::new(0.5).unwrap()).unwrap().epsilon().value(), 0.5);
        for value in [0.1, 1.0 / 3.0, 1e-9, 7.3] {
            let noise = DiscreteLaplace::new(Epsilon::new(value).unwrap()).unwrap();
            let rounded = noise.epsilon().value();
            assert!(rounded <= value && value - rounded < 3e-16);
        }
        assert!(DiscreteLaplace::new(Epsilon::ZERO).is_err());
        assert!(DiscreteLaplace::new(Epsilon::INFINITE).is_err());
        assert!(DiscreteLaplace::new(Epsilon::new(1e9).unwrap()).is_err());
        assert!(DiscreteLaplace::from_ratio(0, 1).is_err());
        assert!(DiscreteLaplace::from_ratio(1, 0).is_err());
        // One third is not a double: rounded up.
        let third = DiscreteLaplace::from_ratio(1, 3).unwrap().epsilon().value();
        assert!(third.mul_add(3.0, -1.0) >= 0.0 && third.next_down().mul_add(3.0, -1.0) < 0.0);
    }
}
