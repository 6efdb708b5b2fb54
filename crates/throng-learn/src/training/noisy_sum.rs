//! The sum of clipped gradients with a trusted server's noise, on a grid, so that what is accounted is what is drawn.

use rand_core::CryptoRng;
use throng_dp::sampling::floored_normal::{self, UNIT};

use crate::number::wide;

/// Gradients clipped to a norm, added up, and published with normal noise.
///
/// # Privacy
/// The grid's step is such that the noise has a standard deviation of [`UNIT`] steps. Each gradient is shortened to the
/// clipping norm and rounded towards zero to whole steps *before* it is added, so that a sum is one of whole numbers, in
/// which every gradient is a vector no longer than the clipping norm, exactly ([`MARGIN`] is for the rounding of doubles
/// on the way). A whole sum with [`floored_normal`] noise is a function of what the Gaussian mechanism publishes: the
/// guarantee of `throng_account`'s `DpSgd` holds as it is. A gradient that is not finite counts as zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoisySum {
    clip: f64,
    /// The length of the longest gradient, in steps.
    reach: f64,
    step: f64,
}

impl NoisySum {
    /// The largest quotient of a step's gradients and the noise in clipping norms: sums are below 2^52 then, and doubles
    /// add up whole numbers exactly, in any order.
    pub(super) const GRADIENTS_PER_NOISE_MAX: f64 = 16_777_216.0;

    /// For noise with a standard deviation of `noise` clipping norms.
    pub(super) fn new(clip: f64, noise: f64) -> Self {
        let unit = UNIT as f64;
        Self { clip, reach: unit / noise * (1.0 - MARGIN), step: clip * noise / unit }
    }

    /// Adds a gradient, clipped and rounded.
    pub(super) fn add(&self, gradient: &[f32], sum: &mut [f64]) {
        let norm = norm(gradient);
        if norm > 0.0 && norm.is_finite() {
            let factor = self.reach / norm.max(self.clip);
            wide(
                #[inline(always)]
                || sum.iter_mut().zip(gradient).for_each(|(sum, &x)| *sum += (factor * f64::from(x)).trunc()),
            );
        }
    }

    /// The mean of `count` gradients, with noise on their sum.
    pub(super) fn mean(&self, sum: &[f64], count: usize, rng: &mut impl CryptoRng) -> Vec<f32> {
        let share = self.step / count as f64;
        // A variable that was rounded down is half a step below itself on average.
        let mut noisy = |sum: f64| sum + floored_normal::draw(rng) as f64 + 0.5;
        sum.iter().map(|&sum| (noisy(sum) * share) as f32).collect()
    }
}

/// The norm, off by no more than one part in 2^24 for up to 2^28 numbers: squares of floats are summed in doubles, which
/// cannot overflow.
fn norm(gradient: &[f32]) -> f64 {
    let square = |x: f32| f64::from(x) * f64::from(x);
    wide(
        #[inline(always)]
        || {
            // Independent partial sums, which the compiler can keep in vector registers.
            let mut sums = [0.0; LANES];
            let (whole, rest) = gradient.as_chunks::<LANES>();
            for few in whole {
                for lane in 0..LANES {
                    sums[lane] += square(few[lane]);
                }
            }
            (sums.iter().sum::<f64>() + rest.iter().map(|&x| square(x)).sum::<f64>()).sqrt()
        },
    )
}

const LANES: usize = 16;
/// What gradients are shorter by than they might be: above the error of [`norm`] and of the few roundings after it.
const MARGIN: f64 = 1.0 / (1 << 20) as f64;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use throng_dp::normal::upper_tail;

    use super::*;

    const NOISE: f64 = 0.25;

    /// What one gradient becomes.
    fn rounded(gradient: &[f32], noise: f64) -> Vec<f64> {
        let mut sum = vec![0.0; gradient.len()];
        NoisySum::new(0.5, noise).add(gradient, &mut sum);
        sum
    }

    /// Gradients of every size and of three lengths.
    fn gradients() -> Vec<Vec<f32>> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut all = Vec::new();
        for length in [1, 50, 26_010] {
            for scale in [1e-45, 1e-20, 1e-4, 1e-2, 1.0, 1e10, 3e38] {
                let mut number = || (rng.next_u32() as f32 / 2f32.powi(31) - 1.0) * scale;
                all.push((0..length).map(|_| number()).collect());
            }
        }
        all.push(vec![0.5]);
        all.push(vec![f32::MAX; 1000]);
        all.push(vec![0.5 / 1000f32.sqrt(); 1000]);
        all.push(vec![1.0; 26_010]);
        all
    }

    /// In whole numbers, without any rounding: noise of 2^-2 clipping norms leaves a length of 2^30 steps, and noise of 2^20
    /// one of 256, where rounding to the nearest would make a long vector of 26,010 numbers longer still.
    #[test]
    fn no_gradient_is_longer_than_the_clipping_norm() {
        for (noise, reach) in [(NOISE, 1 << 30), (2f64.powi(20), 1 << 8)] {
            let mut longest = 0;
            for gradient in gradients() {
                let rounded = rounded(&gradient, noise);
                assert!(rounded.iter().all(|x| x.fract() == 0.0));
                let square: i128 = rounded.iter().map(|&x| (x as i128).pow(2)).sum();
                assert!(square <= reach * reach, "{square} with noise {noise}");
                longest = longest.max(square);
            }
            let share = longest as f64 / (reach * reach) as f64;
            assert!(share > 0.98, "clipped gradients lose next to nothing: {share}");
        }
    }

    #[test]
    fn what_is_shorter_comes_through() {
        let gradient = [0.1, -0.2, 0.003, 0.0];
        let step = NOISE * 0.5 / UNIT as f64;
        for (x, sum) in gradient.into_iter().zip(rounded(&gradient, NOISE)) {
            assert!((f64::from(x) - sum * step).abs() < 2e-6 * f64::from(x).abs() + step, "{x} {sum}");
            assert!((sum * step).abs() <= f64::from(x).abs());
        }
    }

    #[test]
    fn what_is_not_finite_counts_as_nothing() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(rounded(&[1.0, bad], NOISE), [0.0, 0.0]);
            assert_eq!(rounded(&[f32::NAN, bad, 1.0], NOISE), [0.0; 3]);
        }
        assert_eq!(rounded(&[0.0; 3], NOISE), [0.0; 3]);
    }

    /// The noise has the tails that are accounted for: with a table of 16 bits, which ends before 4.4 standard deviations,
    /// none of them would be seen.
    ///
    /// 108 of 10^7 are expected beyond 4.4: outside 50 to 185 a Poisson number of that mean is less than once in 10^8.
    #[test]
    fn noise_goes_beyond_any_table() {
        let grid = NoisySum::new(0.5, NOISE);
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let deviation = 0.5 * NOISE;
        let sum = vec![0.0; 100_000];
        let beyond = |mean: Vec<f32>| mean.iter().filter(|x| f64::from(x.abs()) > 4.4 * deviation).count();
        let found: usize = (0..100).map(|_| beyond(grid.mean(&sum, 1, &mut rng))).sum();
        let expected = 1e7 * 2.0 * upper_tail(4.4);
        assert!((50..=185).contains(&found), "{found} where about {expected:.0} are expected");
    }
}
