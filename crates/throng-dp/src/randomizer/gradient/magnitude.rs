//! The length of a gradient, and the coin that it becomes.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::One;
use rand_core::CryptoRng;

use crate::randomizer::Probability;
use crate::sampling::Bernoulli;
use crate::{Error, Gradient};

/// Both mechanisms take the same models and the same clipping norms.
pub(super) fn check(dimension: usize, clip: f64) -> Result<(), Error> {
    let (what, got, limit) = ("the dimension of a gradient", dimension as u64, Gradient::DIMENSION_MAX);
    if got == 0 {
        return Err(Error::ZeroCount(what));
    }
    if got > limit {
        return Err(Error::TooLarge { what, got, limit });
    }
    if !(clip.is_finite() && clip > 0.0) {
        return Err(Error::ClippingNorm(clip));
    }
    Ok(())
}

/// The Euclidean norm of a gradient of the model, refused if it is none.
pub(super) fn norm(gradient: &[f32], dimension: usize) -> Result<f64, Error> {
    if gradient.len() != dimension {
        return Err(Error::GradientLength { got: gradient.len(), expected: dimension });
    }
    // Independent partial sums let the compiler use vector registers.
    let mut sums = [0.0; 8];
    let (chunks, rest) = gradient.as_chunks::<8>();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    }
    let rest: f64 = rest.iter().map(|&x| f64::from(x).powi(2)).sum();
    let norm = (sums.iter().sum::<f64>() + rest).sqrt();
    if norm.is_finite() { Ok(norm) } else { Err(Error::GradientNotFinite) }
}

/// The coin of Algorithm localG's second line, which turns a short gradient into one of full length: the gradient's
/// own direction with probability 1/2 + |x|/(2L), else the opposite one.
pub(super) enum Agreement {
    Sure,
    Half,
    Coin(Bernoulli),
}

impl Agreement {
    pub(super) fn new(norm: f64, clip: f64) -> Self {
        if norm >= clip {
            Self::Sure
        } else {
            // As a threshold over 2^128: the comparison that decides is one of integers.
            Self::Coin(Bernoulli::from_threshold(((1.0 + norm / clip) * 2f64.powi(127)) as u128))
        }
    }

    pub(super) fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> bool {
        match self {
            Self::Sure => true,
            Self::Half => rng.next_u64() >> 63 == 1,
            Self::Coin(coin) => coin.draw(rng),
        }
    }

    pub(super) fn probability(&self) -> Probability {
        let (numerator, bits) = match self {
            Self::Sure => (BigUint::one(), 0u32),
            Self::Half => (BigUint::one(), 1),
            Self::Coin(coin) => (BigUint::from(coin.threshold()), 128),
        };
        Ratio::new(numerator, BigUint::one() << bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::ToPrimitive;

    /// 1/2 + |x|/(2L) up to the clipping norm, and certainty from there on.
    #[test]
    fn a_length_becomes_the_coin_of_the_algorithm() {
        for clip in [0.05, 1.0, 7.0] {
            for (share, expected) in
                [(0.0, 0.5), (0.25, 0.625), (0.9, 0.95), (0.999, 0.9995), (1.0, 1.0), (30.0, 1.0)]
            {
                let exact = Agreement::new(share * clip, clip).probability();
                let (numerator, denominator) =
                    (exact.numer().to_f64().unwrap(), exact.denom().to_f64().unwrap());
                assert!((numerator / denominator - expected).abs() < 1e-15, "{share} of {clip}");
            }
        }
    }
}
