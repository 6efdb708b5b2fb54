//! How near the inner product with a direction is to a normal variable, whatever the gradient.
//!
//! Let g be a direction made from a uniformly random stream, in units of [`UNIT`](super::UNIT), and u a unit vector in
//! any dimension: a gradient that is spread out, or one that is all in one coordinate. Let ψ and φ be the
//! characteristic functions of one coordinate of g and of N(0, 1), both real, and f = ψ − φ.
//!
//! 1. <u,g> has the characteristic function Π ψ(u_i s), and N(0, 1) has Π φ(u_i s). With W = 2, m(w) = min(w², W²) and
//!    c = c(s) the largest |f(w)|/m(w) for w up to s, the difference of the products is at most the telescoping sum
//!    Σ_i c·m(u_i s)·Π_{j≠i} max(|ψ|, φ)(u_j s).
//! 2. If c ≤ e^-2/4, then max(|ψ|, φ)(w) ≤ e^(−m(w)/W²): e^(−m/4) − e^(−m/2) ≥ e^-2·m/4 for m ≤ 4.
//! 3. With M = Σ m(u_i s), at most s², and x the largest m(u_i s), the sum is at most c·M·e^(−(M − x)/W²). For M ≤ W²
//!    that is at most c·M, as x ≤ M; beyond, x ≤ W² and M·e^(−(M − W²)/W²) falls, so it is at most c·W². Together:
//!    at most c(s)·m(s), for every u.
//! 4. Prawitz's smoothing inequality (1972), for a variable whose characteristic function is within d(s) of that of
//!    N(0, 1) up to s = T: the distribution functions differ by at most
//!    (2/T)·∫_0^T |K(s/T)|·d(s) ds + sqrt(π/2)/T, K(v) = ½(1 − v) + ½i·((1 − v)·cot(πv) + 1/π).
//!
//! A test evaluates this with d(s) = c(s)·m(s) and T = 3000; the ψ of the table comes from a Fourier transform.

/// By how much Pr[<u,g> > t] may differ from Pr[N(0, 1) > t], for every unit vector u and every t. It includes what
/// rounding the inner product and the norm to doubles can move, which is below 1e-8.
pub(super) const SHARE_ERROR: f64 = 1.1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::randomizer::gradient::{UNIT, direction};
    use rustfft::FftPlanner;
    use rustfft::num_complex::Complex;
    use std::f64::consts::PI;

    const W: f64 = 2.0;
    const T: f64 = 3000.0;
    /// Points of the transform: one period of ψ, which is 2π·UNIT long.
    const POINTS: usize = 1 << 20;

    fn sizes() -> impl Iterator<Item = f64> {
        direction::sizes().iter().map(|&size| f64::from(size) / f64::from(UNIT))
    }

    fn moment(power: i32) -> f64 {
        sizes().map(|size| size.powi(power)).sum::<f64>() / direction::sizes().len() as f64
    }

    /// E[g^power · cos(wg)] at w = k·2π·UNIT/POINTS.
    fn transform(power: i32) -> Vec<f64> {
        let mut masses = vec![Complex::new(0.0, 0.0); POINTS];
        let each = 0.5 / direction::sizes().len() as f64;
        for &size in direction::sizes() {
            let mass = each * (f64::from(size) / f64::from(UNIT)).powi(power);
            masses[size as usize].re += mass;
            masses[(POINTS - size as usize) % POINTS].re += mass;
        }
        FftPlanner::new().plan_fft_forward(POINTS).process(&mut masses);
        masses.into_iter().map(|value| value.re).collect()
    }

    /// |K(v)|, which falls in v.
    fn kernel(v: f64) -> f64 {
        0.5 * (1.0 - v).hypot((1.0 - v) / (PI * v).tan() + 1.0 / PI)
    }

    #[test]
    fn every_gradient_sees_nearly_normal_directions() {
        let h = 2.0 * PI * f64::from(UNIT) / POINTS as f64;
        let (psi, bent) = (transform(0), transform(2));
        let normal = |w: f64| (-0.5 * w * w).exp();
        let at = |k: usize| k as f64 * h;
        let off = |k: usize| (psi[k] - normal(at(k))).abs();
        // The second derivative of f, and at most what it can grow to within a cell: its own second derivative is at
        // most E[g^4] + E[N^4] < 6. Between two points f is above the larger one by at most h²/8 of it.
        let bend = |k: usize| (bent[k] + (at(k).powi(2) - 1.0) * normal(at(k))).abs();
        let cell = |k: usize| {
            let bent = bend(k).max(bend(k + 1)) + 6.0 * h * h / 8.0;
            off(k).max(off(k + 1)) + bent * h * h / 8.0
        };
        let cap = |w: f64| (w * w).min(W * W);
        // Close to 0 by moments: |f(w)|/w² ≤ |m2 − 1|/2 + |m4 − 3|·w²/24 + (m6 + 15)·w⁴/720.
        let first = 4;
        let w2 = at(first).powi(2);
        let mut c = (moment(2) - 1.0).abs() / 2.0
            + (moment(4) - 3.0).abs() * w2 / 24.0
            + (moment(6) + 15.0) * w2 * w2 / 720.0;
        // |K(v)| ≤ 1.03/(2πv) in the first cell.
        let mut integral = 1.03 / (2.0 * PI) * T * c * h * h / 2.0;
        let mut k = 1;
        while at(k) < T {
            if k >= first {
                c = c.max(cell(k) / cap(at(k)));
            }
            integral += kernel(at(k) / T) * c * cap(at(k + 1)) * h;
            k += 1;
        }
        assert!(c <= (-2.0f64).exp() / 4.0, "{c}");
        let bound = 2.0 / T * integral + (PI / 2.0).sqrt() / T + 1e-8;
        assert!(bound <= SHARE_ERROR && bound > 0.9 * SHARE_ERROR, "{bound}");
    }

    /// The whole gradient in one coordinate, exactly: far below the bound.
    #[test]
    fn one_coordinate_is_a_rounded_normal_variable() {
        let mut sorted: Vec<f64> = sizes().flat_map(|size| [size, -size]).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let largest = (0..sorted.len())
            .map(|i| {
                let below = 1.0 - normal::upper_tail(sorted[i]);
                (below - i as f64 / n).abs().max((below - (i + 1) as f64 / n).abs())
            })
            .fold(0.0, f64::max);
        assert!(largest < SHARE_ERROR / 10.0, "{largest}");
    }
}
