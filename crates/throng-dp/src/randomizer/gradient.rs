//! LDP-SGD's client: a gradient becomes the seed of a random direction, and one sign unless the seed says it.
//!
//! [`Gradient`] is the paper's mechanism. [`PrivUnit`] has less noise at the same ε, and its privacy leans on more.
//! What is trained with either is generic over [`GradientRandomizer`].

#[cfg(test)]
mod caps;
mod direction;
mod magnitude;
mod near_normal;
mod priv_unit;
mod sums;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::One;
use rand_core::CryptoRng;

use super::{Estimator, ExactDistribution, Probability, Randomizer};
use crate::sampling::Bernoulli;
use crate::{Epsilon, Error, LocalGuarantee, Replacement, normal};
pub use direction::{Direction, Seed, UNIT};
use magnitude::Agreement;
pub use priv_unit::PrivUnit;
pub use sums::{GradientEstimate, GradientTally};

/// A mechanism for clipped gradients, with what a simulation needs of it.
///
/// A report on a gradient of direction u decodes to a vector whose component along u is one number, drawn by
/// [`GradientRandomizer::along`], and whose part orthogonal to u is Gaussian noise that does not depend on the
/// gradient: independent, of mean 0 and the deviation [`GradientRandomizer::across`] in every orthogonal direction. A
/// simulated training can draw these instead of whole directions. They are doubles, and for simulation only: what a
/// respondent sends comes from [`Randomizer::randomize`].
pub trait GradientRandomizer:
    Randomizer<Value = [f32], Neighbors = Replacement>
    + Estimator<Tally = GradientTally, Estimate = GradientEstimate>
{
    /// The number of parameters.
    fn dimension(&self) -> usize;

    /// The norm to which gradients are clipped: L.
    fn clip(&self) -> f64;

    /// The local guarantee of one report.
    fn epsilon(&self) -> Epsilon {
        self.guarantee().epsilon()
    }

    /// Draws the component of a decoded report along a gradient of this norm. Its mean is the norm, clipped.
    fn along(&self, norm: f64, rng: &mut (impl CryptoRng + ?Sized)) -> f64;

    /// The standard deviation of a decoded report in every direction orthogonal to the gradient: the noise per
    /// coordinate, whatever the dimension.
    fn across(&self) -> f64;
}

/// Clipped gradients of a model with `dimension` parameters, each reported in 129 bits.
///
/// # Privacy
/// ε-replacement LDP: the direction does not depend on the gradient, and the sign goes through randomized response.
/// Only utility rests on the generator that expands the seed.
/// # Utility
/// With g the Gaussian direction of a report and s its sign, L·sqrt(π/2)·coth(ε/2)·s·g is an unbiased estimate of
/// the clipped gradient, in every dimension; its standard deviation per coordinate is below that factor. The paper
/// normalises g to the unit sphere: see [`Gradient::decode_on_sphere`].
/// # Paper
/// Section VI, Algorithm localG (client) and line 5 of Algorithm servrG (server), whose constant lacks a factor d.
#[derive(Clone, Debug)]
pub struct Gradient {
    dimension: usize,
    clip: f64,
    coin: Bernoulli,
}

/// What a respondent sends about a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GradientReport {
    /// The seed of the direction.
    pub seed: Seed,
    /// Whether the gradient was (said to be) on the direction's side.
    pub positive: bool,
}

impl GradientReport {
    /// As it travels: the seed, then one byte, 1 for a positive sign and 0 for a negative one.
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(&self.seed);
        bytes[16] = u8::from(self.positive);
        bytes
    }

    /// A report from its bytes; a last byte other than 0 and 1 is refused.
    pub fn from_bytes(bytes: [u8; 17]) -> Result<Self, Error> {
        let [seed @ .., sign] = bytes;
        match sign {
            0 | 1 => Ok(Self { seed, positive: sign == 1 }),
            _ => Err(Error::ForeignReport),
        }
    }
}

impl Gradient {
    /// The largest number of parameters.
    pub const DIMENSION_MAX: u64 = 10_000_000;

    /// A mechanism for gradients of `dimension` coordinates, clipped to the norm `clip`, with ε > 0.
    pub fn new(dimension: usize, clip: f64, epsilon: Epsilon) -> Result<Self, Error> {
        magnitude::check(dimension, clip)?;
        Ok(Self { dimension, clip, coin: Bernoulli::flip(epsilon)? })
    }

    /// What a signed Gaussian direction is multiplied by: L·sqrt(π/2)·coth(ε/2).
    pub fn gaussian_scale(&self) -> f64 {
        // E[sgn<u,g> g] = sqrt(2/π) u for a unit vector u, and the two coins leave (1 − 2p)·|x|/L of it.
        self.clip * std::f64::consts::FRAC_PI_2.sqrt() / self.coin.gain()
    }

    /// What a signed direction on the unit sphere is multiplied by: L·sqrt(π)·Γ((d+1)/2)/Γ(d/2)·coth(ε/2).
    pub fn sphere_scale(&self) -> f64 {
        self.clip * std::f64::consts::PI.sqrt() * gamma_ratio(self.dimension) / self.coin.gain()
    }

    /// One report decoded literally as in the paper, with the corrected constant.
    pub fn decode_on_sphere(&self, report: &GradientReport) -> Vec<f64> {
        let mut direction = vec![0i16; self.dimension];
        Direction::new(report.seed).fill(&mut direction);
        let norm = direction.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        // In one or two dimensions a direction can round to zero; it then says nothing.
        let factor = if report.positive { self.sphere_scale() } else { -self.sphere_scale() } / norm.max(1.0);
        direction.iter().map(|&v| factor * f64::from(v)).collect()
    }

    /// The probability that the magnitude coin agrees with the gradient, and on which side of the direction it is.
    /// A gradient of zero agrees half of the time, so the side does not matter then.
    fn side(&self, gradient: Option<&[f32]>, seed: Seed) -> Result<(Agreement, bool), Error> {
        let Some(gradient) = gradient else {
            return Ok((Agreement::Half, true));
        };
        let norm = magnitude::norm(gradient, self.dimension)?;
        Ok((Agreement::new(norm, self.clip), Direction::new(seed).dot(gradient) >= 0.0))
    }
}

impl Randomizer for Gradient {
    type Value = [f32];
    type Report = GradientReport;
    type Neighbors = Replacement;

    fn guarantee(&self) -> LocalGuarantee<Replacement> {
        LocalGuarantee::pure(self.coin.epsilon())
    }

    /// Without a gradient the sign is fair, as it is for a gradient of zero.
    fn randomize(
        &self,
        gradient: Option<&[f32]>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<GradientReport, Error> {
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let (agreement, side) = self.side(gradient, seed)?;
        let truth = side == agreement.draw(rng);
        Ok(GradientReport { seed, positive: truth ^ self.coin.draw(rng) })
    }
}

impl ExactDistribution for Gradient {
    fn probability(&self, gradient: Option<&[f32]>, report: &GradientReport) -> Result<Probability, Error> {
        let (agreement, side) = self.side(gradient, report.seed)?;
        let one = Ratio::from_integer(BigUint::one());
        let flip = Ratio::new(BigUint::from(self.coin.threshold()), BigUint::one() << 128u32);
        let agrees = agreement.probability();
        let on_side = &agrees * (&one - &flip) + (&one - &agrees) * &flip;
        let sign = if report.positive == side { on_side } else { one - on_side };
        Ok(sign / Ratio::from_integer(BigUint::one() << 128u32))
    }
}

impl Estimator for Gradient {
    type Tally = GradientTally;
    type Estimate = GradientEstimate;

    fn tally(&self) -> Result<GradientTally, Error> {
        Ok(GradientTally::new(self.dimension))
    }

    fn add(&self, tally: &mut GradientTally, report: &GradientReport) -> Result<(), Error> {
        tally.add(self.dimension, report.seed, report.positive)
    }

    fn estimate(&self, tally: &GradientTally) -> Result<GradientEstimate, Error> {
        tally.estimate(self.gaussian_scale(), self.gaussian_scale())
    }
}

impl GradientRandomizer for Gradient {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn clip(&self) -> f64 {
        self.clip
    }

    /// s·<u,g> = B·|y| for y ~ N(0, 1) and B the product of both coins.
    fn along(&self, norm: f64, rng: &mut (impl CryptoRng + ?Sized)) -> f64 {
        let kept = Agreement::new(norm, self.clip).draw(rng) ^ self.coin.draw(rng);
        let size = self.gaussian_scale() * normal::draw(rng).abs();
        if kept { size } else { -size }
    }

    fn across(&self) -> f64 {
        self.gaussian_scale()
    }
}

/// Γ((d+1)/2)/Γ(d/2), without ever forming a gamma function that overflows.
fn gamma_ratio(dimension: usize) -> f64 {
    let d = dimension as f64;
    if d < 1000.0 {
        (libm::lgamma((d + 1.0) / 2.0) - libm::lgamma(d / 2.0)).exp()
    } else {
        // The asymptotic series; the next term is below 1e-13 here, where lgamma would lose digits.
        (d / 2.0).sqrt() * (1.0 - 1.0 / (4.0 * d) + 1.0 / (32.0 * d * d) + 5.0 / (128.0 * d * d * d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_mean, assert_share, rng};
    use num_traits::{ToPrimitive, Zero};

    fn gradient(dimension: usize, clip: f64, epsilon: f64) -> Gradient {
        Gradient::new(dimension, clip, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// Over the two signs of a seed the law sums to 2^-128, no two gradients are further apart than e^ε, and two
    /// opposite gradients of full length are that far apart.
    #[test]
    fn likelihood_ratios_reach_the_guarantee() {
        let mechanism = gradient(3, 1.0, 1.9);
        let values: [Option<&[f32]>; 5] = [
            None,
            Some(&[3.0, 4.0, 0.0]),
            Some(&[-3.0, -4.0, 0.0]),
            Some(&[0.1, 0.0, -0.2]),
            Some(&[0.0; 3]),
        ];
        let odds = BigUint::one() << 128u32;
        let reached = Ratio::new(
            &odds - BigUint::from(mechanism.coin.threshold()),
            BigUint::from(mechanism.coin.threshold()),
        );
        let mut largest = Ratio::<BigUint>::zero();
        for number in 0..50u8 {
            let reports = [true, false].map(|positive| GradientReport { seed: [number; 16], positive });
            let laws = values.map(|v| reports.map(|report| mechanism.probability(v, &report).unwrap()));
            for law in &laws {
                assert!((law.iter().sum::<Probability>() * Ratio::from_integer(odds.clone())).is_one());
                for other in &laws {
                    for (l, r) in law.iter().zip(other) {
                        largest = largest.max(l / r);
                    }
                }
            }
        }
        assert_eq!(largest, reached);
        assert_eq!(mechanism.guarantee().epsilon(), mechanism.coin.epsilon());
    }

    /// The sampler's signs, given the seed it drew, have the probabilities of the exact law.
    #[test]
    fn signs_follow_the_exact_law() {
        let mechanism = gradient(4, 1.0, 1.0);
        for (i, value) in
            [None, Some([0.3, -0.1, 0.2, 0.0].as_slice()), Some(&[2.0, 0.0, 0.0, 1.0])].iter().enumerate()
        {
            let mut rng = rng(80 + i as u64);
            let (mut expected, mut likelier, mut positive) = (0.0, 0, 0);
            let draws = 10_000;
            for _ in 0..draws {
                let report = mechanism.randomize(*value, &mut rng).unwrap();
                let law = mechanism.probability(*value, &report).unwrap();
                let p = (law * Ratio::from_integer(BigUint::one() << 178u32)).to_integer().to_f64().unwrap()
                    * 2f64.powi(-50);
                expected += p.max(1.0 - p) / f64::from(draws);
                likelier += u64::from(p >= 0.5);
                positive += u64::from(report.positive);
            }
            // For no gradient both signs are as likely, and each counts as the likelier one.
            if i > 0 {
                assert_share(likelier, u64::from(draws as u32), expected, 5);
            } else {
                assert_eq!(likelier, u64::from(draws as u32));
            }
            // Directions are symmetric, so that signs are fair whatever they are about.
            assert_share(positive, u64::from(draws as u32), 0.5, 5);
        }
    }

    /// Both decoders give back the clipped gradient; with the paper's printed constant they would be d times
    /// too small.
    #[test]
    fn decoded_gradients_are_unbiased() {
        let value: [f32; 10] = [0.6, -0.3, 0.0, 0.1, 0.0, 0.0, -0.2, 0.0, 0.0, 0.05];
        let mechanism = gradient(10, 1.0, 1.9);
        let draws = 100_000;
        let mut rng = rng(90);
        let mut tally = mechanism.tally().unwrap();
        let mut on_sphere = vec![Vec::new(); 10];
        for _ in 0..draws {
            let report = mechanism.randomize(Some(&value), &mut rng).unwrap();
            mechanism.add(&mut tally, &report).unwrap();
            for (sum, x) in on_sphere.iter_mut().zip(mechanism.decode_on_sphere(&report)) {
                sum.push(x);
            }
        }
        let estimate = mechanism.estimate(&tally).unwrap();
        for (i, &x) in value.iter().enumerate() {
            assert!(
                (estimate.mean[i] - f64::from(x)).abs() < 4.0 * estimate.standard_error,
                "{:?}",
                estimate.mean
            );
            // One coordinate of a decoded report has variance scale²/d at most.
            assert_mean(&on_sphere[i], f64::from(x), mechanism.sphere_scale() / 10f64.sqrt(), 10);
        }
        // The paper's printed constant is the right one over d = 10: this test tells them apart.
        let printed = estimate.mean[0] / 10.0;
        assert!((printed - 0.6).abs() > 100.0 * estimate.standard_error);
    }

    #[test]
    fn long_gradients_are_clipped_and_short_ones_kept() {
        let mechanism = gradient(2, 0.5, 3.0);
        for (value, expected) in [([3.0f32, 4.0], [0.3, 0.4]), ([0.1, 0.2], [0.1, 0.2])] {
            let mut rng = rng(91);
            let mut tally = mechanism.tally().unwrap();
            for _ in 0..200_000 {
                mechanism.add(&mut tally, &mechanism.randomize(Some(&value), &mut rng).unwrap()).unwrap();
            }
            let estimate = mechanism.estimate(&tally).unwrap();
            for (got, want) in estimate.mean.iter().zip(expected) {
                assert!((got - want).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
            }
        }
    }

    #[test]
    fn huge_and_tiny_gradients_keep_their_direction() {
        for size in [1e35f32, 1e-40] {
            let value: Vec<f32> = (0..40).map(|i| if i < 20 { size } else { -size }).collect();
            let mechanism = gradient(40, f64::from(size), 3.0);
            let mut rng = rng(93);
            let mut tally = mechanism.tally().unwrap();
            for _ in 0..20_000 {
                mechanism.add(&mut tally, &mechanism.randomize(Some(&value), &mut rng).unwrap()).unwrap();
            }
            let estimate = mechanism.estimate(&tally).unwrap();
            for (i, got) in estimate.mean.iter().enumerate() {
                let want = f64::from(size) / 40f64.sqrt() * if i < 20 { 1.0 } else { -1.0 };
                assert!((got - want).abs() < 6.0 * estimate.standard_error, "{i}: {got} for {want}");
            }
        }
    }

    #[test]
    fn every_byte_of_a_seed_is_random() {
        let mechanism = gradient(2, 1.0, 1.0);
        let mut rng = rng(94);
        let seeds: Vec<Seed> = (0..40).map(|_| mechanism.randomize(None, &mut rng).unwrap().seed).collect();
        for byte in 0..16 {
            assert!(seeds.iter().any(|seed| seed[byte] != seeds[0][byte]), "byte {byte} never changes");
        }
    }

    #[test]
    fn reports_are_read_back_from_their_bytes() {
        for positive in [false, true] {
            let report = GradientReport { seed: std::array::from_fn(|i| i as u8 ^ 0xa5), positive };
            assert_eq!(GradientReport::from_bytes(report.to_bytes()), Ok(report));
        }
        for sign in 2..=255 {
            let mut bytes = [7; 17];
            bytes[16] = sign;
            assert_eq!(GradientReport::from_bytes(bytes), Err(Error::ForeignReport));
        }
    }

    #[test]
    fn tallies_add_up_in_any_order() {
        let mechanism = gradient(5000, 1.0, 2.0);
        let mut rng = rng(92);
        let reports: Vec<_> = (0..20).map(|_| mechanism.randomize(None, &mut rng).unwrap()).collect();
        let sum = |reports: &[GradientReport]| {
            let mut tally = mechanism.tally().unwrap();
            reports.iter().for_each(|report| mechanism.add(&mut tally, report).unwrap());
            tally
        };
        let mut parts = sum(&reports[12..]);
        parts.merge(&sum(&reports[..12])).unwrap();
        assert_eq!(parts, sum(&reports));
        assert!(parts.merge(&gradient(4, 1.0, 2.0).tally().unwrap()).is_err());
    }

    #[test]
    fn scales_match_their_limits() {
        // d = 2: L sqrt(π) Γ(3/2)/Γ(1) = π/2. Large d: the sphere's scale is sqrt(d) times the Gaussian's.
        let coth = |e: f64| 1.0 / (e / 2.0).tanh();
        assert!(
            (gradient(2, 1.0, 1.9).sphere_scale() / (std::f64::consts::FRAC_PI_2 * coth(1.9)) - 1.0).abs()
                < 1e-12
        );
        for d in [999, 1000, 26_010, 10_000_000] {
            let mechanism = gradient(d, 0.05, 1.9);
            let ratio = mechanism.sphere_scale() / (mechanism.gaussian_scale() * (d as f64).sqrt());
            let expected = 1.0 - 0.25 / d as f64;
            assert!(
                (ratio - expected).abs() < 1e-6 / d as f64 + 4e-8 * (1000.0 / d as f64).powi(2),
                "{d}: {ratio}"
            );
        }
        // The two branches of the gamma ratio meet: Γ(d/2 + 1/2)² / Γ(d/2)² grows by the same step.
        let step = gamma_ratio(1000) / gamma_ratio(999);
        assert!((step - (1000.0f64 / 999.0).sqrt() * (1.0 + 0.25 / (999.0 * 1000.0))).abs() < 1e-9);
        // Two neighbours make Γ(d/2 + 1)/Γ(d/2) = d/2.
        for d in [1000, 1001, 26_010] {
            let product = gamma_ratio(d) * gamma_ratio(d + 1);
            assert!((product / (0.5 * d as f64) - 1.0).abs() < 1e-12, "{d}: {product}");
        }
    }

    #[test]
    fn bad_gradients_and_parameters_are_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        assert!(matches!(Gradient::new(0, 1.0, epsilon), Err(Error::ZeroCount(_))));
        assert!(matches!(Gradient::new(10_000_001, 1.0, epsilon), Err(Error::TooLarge { .. })));
        for clip in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Gradient::new(2, clip, epsilon), Err(Error::ClippingNorm(_))));
        }
        assert!(matches!(Gradient::new(2, 1.0, Epsilon::ZERO), Err(Error::NoSignal(_))));
        let mechanism = gradient(2, 1.0, 1.0);
        let refused = |value: &[f32]| mechanism.randomize(Some(value), &mut rng(1)).unwrap_err();
        assert_eq!(refused(&[1.0]), Error::GradientLength { got: 1, expected: 2 });
        assert_eq!(refused(&[1.0, f32::NAN]), Error::GradientNotFinite);
        assert_eq!(refused(&[f32::INFINITY, 0.0]), Error::GradientNotFinite);
        assert!(mechanism.estimate(&mechanism.tally().unwrap()).is_err());
    }
}
