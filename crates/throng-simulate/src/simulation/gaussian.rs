//! The Gaussian mechanism as a baseline: a trusted party that knows the counts adds noise to each.

use std::f64::consts::TAU;

use chacha20::rand_core::Rng;
use throng_dp::Estimates;
use throng_dp::estimate::Spread;

use super::streams::{Purpose, Streams};

/// True counts with independent Gaussian noise of this standard deviation, from a seed.
pub fn gaussian(counts: &[u64], sigma: f64, seed: u64) -> Estimates {
    let mut rng = Streams::new(seed).fast_rng(Purpose::Gaussian, 0);
    let mut normals = std::iter::repeat_with(|| pair(&mut rng)).flatten();
    let noisy = counts.iter().map(|&count| count as f64 + sigma * normals.next().unwrap_or(0.0)).collect();
    // Its tails are normal, so no single contribution moves a count by more than noise does.
    Estimates::new(counts.iter().sum(), noisy, Spread::constant(sigma * sigma, sigma * 1e-6))
}

/// Two independent normal numbers from two uniform ones (Box and Muller), by functions that every machine rounds alike.
fn pair(rng: &mut impl Rng) -> [f64; 2] {
    let uniform = |word: u64| ((word >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let radius = (-2.0 * libm::log(uniform(rng.next_u64()))).sqrt();
    let angle = TAU * uniform(rng.next_u64());
    [radius * libm::cos(angle), radius * libm::sin(angle)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200,000 draws: mean within 6 deviations, variance (relative deviation sqrt(2/n)) and the share beyond 2
    /// deviations (4.55 %) within 6 of theirs: a chance of 2e-9 each.
    #[test]
    fn the_noise_is_normal() {
        let estimates = gaussian(&vec![7; 200_000], 3.0, 1);
        let noise: Vec<f64> = estimates.counts().iter().map(|count| (count - 7.0) / 3.0).collect();
        let n = noise.len() as f64;
        let mean = noise.iter().sum::<f64>() / n;
        let variance = noise.iter().map(|x| x * x).sum::<f64>() / n;
        let beyond = noise.iter().filter(|x| x.abs() > 2.0).count() as f64 / n;
        assert!(mean.abs() < 6.0 / n.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{variance}");
        assert!((beyond - 0.0455).abs() < 6.0 * (0.0455 * 0.9545 / n).sqrt(), "{beyond}");
        assert_eq!(estimates, gaussian(&vec![7; 200_000], 3.0, 1));
    }
}
