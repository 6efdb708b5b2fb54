//! The normal distribution: tails and quantiles to about fifteen digits.

use std::f64::consts::{PI, SQRT_2};

use rand_core::CryptoRng;

/// The density at `x`.
pub fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The probability of more than x.
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// The x that is exceeded with probability `tail`, for a tail strictly between 0 and 1.
pub fn upper_quantile(tail: f64) -> f64 {
    if tail > 0.5 {
        return -upper_quantile(1.0 - tail);
    }
    // A start that is right to a few percent (the tail is close to density(x)/x), then Newton on the logarithm
    // of the tail, which is concave: it converges from anywhere, quadratically.
    let mut x = (-2.0 * tail.ln()).sqrt() * 0.8;
    for _ in 0..60 {
        let reached = upper_tail(x);
        let step = (reached / tail).ln() * reached / density(x);
        x += step;
        if step.abs() < 1e-15 * x.abs().max(1e-3) {
            break;
        }
    }
    x
}

/// A draw in doubles (Box and Muller): for simulations. Nothing that protects a respondent is drawn like this.
pub fn draw(rng: &mut (impl CryptoRng + ?Sized)) -> f64 {
    let unit = 2f64.powi(-53);
    let above_zero = ((rng.next_u64() >> 11) + 1) as f64 * unit;
    let angle = (rng.next_u64() >> 11) as f64 * unit;
    (-2.0 * above_zero.ln()).sqrt() * (2.0 * PI * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_mean, assert_share, assert_variance, rng};

    #[test]
    fn draws_are_normal() {
        let mut rng = rng(18);
        let draws: Vec<f64> = (0..200_000).map(|_| draw(&mut rng)).collect();
        assert_mean(&draws, 0.0, 1.0, 5);
        assert_variance(&draws, 1.0, 5);
        for x in [-2.0, 0.5, 3.0] {
            let beyond = draws.iter().filter(|&&value| value > x).count();
            assert_share(beyond as u64, 200_000, upper_tail(x), 5);
        }
    }

    /// Quantiles to sixteen digits, from mpmath at 40 digits.
    #[test]
    fn quantiles_match_the_tables() {
        for (tail, x) in [
            (0.5, 0.0),
            (0.025, 1.959963984540054),
            (0.05, 1.6448536269514727),
            (1e-6, 4.753424308822899),
            (1e-12, 7.034483825301131),
            (1e-100, 21.273453560965324),
        ] {
            assert!((upper_quantile(tail) - x).abs() < 1e-12, "{tail}: {}", upper_quantile(tail));
            assert!((upper_quantile(1.0 - tail) + x).abs() < 1e-9 || tail < 1e-7);
        }
    }

    #[test]
    fn quantiles_invert_tails() {
        for i in 1..400 {
            let tail = 10f64.powf(-0.75 * f64::from(i)) * 0.5;
            let back = upper_tail(upper_quantile(tail));
            assert!((back / tail - 1.0).abs() < 1e-11, "{tail}");
        }
    }
}
