//! D_a for any data of the others, in time that does not depend on the size of the crowd.

use throng_dp::{Delta, Epsilon};

use super::{others_zero, probability};
use crate::Error;
use crate::amplification::randomized_bit::{RandomizedBit, Weights};
use crate::amplification::{check_crowd, check_local};

/// δ by which the victim's 0 stands out from a 1 when `a` of the n − 1 others truly hold a 1. The other
/// direction (1 from 0) is the same with n − 1 − a in place of a.
///
/// # Privacy
/// An upper bound on D_a, off by less than one part in 10^8.
pub fn delta_a(n: u64, a: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    if a >= n {
        let expected = "give at most n - 1: the victim is one of the n";
        return Err(Error::Parameter { what: "the number of others with a 1", got: a as f64, expected });
    }
    Ok(Delta::new(left(n, a, &RandomizedBit::new(epsilon_local.value()), epsilon.value()))?)
}

/// The largest [`delta_a`] over every a, one by one.
pub fn delta_max_over_a(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    if n > BRUTE_FORCE_MAX {
        let reason = format!(
            "trying every a is for crowds of at most {BRUTE_FORCE_MAX}, and this is {n}; ask for a certified bound",
        );
        return Err(Error::NotApplicable(reason));
    }
    let bit = RandomizedBit::new(epsilon_local.value());
    let worst = (0..n).map(|a| left(n, a, &bit, epsilon.value())).fold(0.0, f64::max);
    Ok(Delta::new(worst)?)
}

/// D_a, from above.
pub(super) fn left(n: u64, a: u64, bit: &RandomizedBit, epsilon: f64) -> f64 {
    if a == 0 { others_zero(n, bit, epsilon) } else { by_transform(n, a, bit, epsilon) }
}

fn by_transform(n: u64, a: u64, bit: &RandomizedBit, epsilon: f64) -> f64 {
    let Some(w) = bit.weights(epsilon) else { return 0.0 };
    if bit.is_noiseless() {
        return 1.0;
    }
    divergence(w, n - 1 - a, a, (bit.p, bit.q))
}

/// Σ_k (αf(k) − βf(k − 1))₊ for the law f of Bin(b, p) − Bin(a, p), from above.
///
/// Tilt f by θ = ln(β/α): f(k) = M e^{θk} g(k), where M = E[e^{-θN}] and g is again the law of a difference of two
/// binomials. Since αe^θ = β, the sum is αM Σ_k e^{θk}(g(k) − g(k − 1))₊: the threshold is the mode of g. As a sum
/// of independent bits (shifted), g has its mode at the integer below or above its mean (Darroch 1964), so the sum
/// is αM max_m e^{θm}G(m) over these two, with G(m) = Σ_{j≥0} e^{-θj}(g(m − j) − g(m − j − 1)).
/// G is computed from the transform of g, which is known in closed form.
pub(in crate::amplification) fn divergence(w: Weights, b: u64, a: u64, (p, q): (f64, f64)) -> f64 {
    let theta = (w.beta / w.alpha).ln().max(0.0);
    let tilted = Tilted::new(b as f64, a as f64, (p, q), theta);
    let m = tilted.mean.floor();
    let (at, after) = tilted.threshold_sums(m);
    let sum = at.max(after * theta.exp());
    // The logarithms are large and of opposite sign; what their last digits can do is added.
    let rounding = 4e-15 * (tilted.ln_mgf_size + (theta * m).abs()) + 1e-13;
    probability(w.alpha.ln() + tilted.ln_mgf + theta * m + sum.ln() + rounding)
}

/// The tilted noise: Bin(b, p₁) − Bin(a, p₂).
struct Tilted {
    theta: f64,
    others_zero: Flips,
    others_one: Flips,
    mean: f64,
    variance: f64,
    ln_mgf: f64,
    /// The sum of the magnitudes that `ln_mgf` is the sum of.
    ln_mgf_size: f64,
}

/// The flips among those who hold the same bit.
#[derive(Clone, Copy)]
struct Flips {
    count: f64,
    p: f64,
    q: f64,
}

impl Tilted {
    fn new(b: f64, a: f64, (p, q): (f64, f64), theta: f64) -> Self {
        let (down, up) = ((-theta).exp(), theta.exp());
        let others_zero = Flips { count: b, p: p * down / (q + p * down), q: q / (q + p * down) };
        let others_one = Flips { count: a, p: p * up / (q + p * up), q: q / (q + p * up) };
        let ln_mgf_zero = b * (p * (-theta).exp_m1()).ln_1p();
        let ln_mgf_one = a * (p * theta.exp_m1()).ln_1p();
        Self {
            theta,
            others_zero,
            others_one,
            mean: b * others_zero.p - a * others_one.p,
            variance: b * others_zero.p * others_zero.q + a * others_one.p * others_one.q,
            ln_mgf: ln_mgf_zero + ln_mgf_one,
            ln_mgf_size: ln_mgf_zero.abs() + ln_mgf_one.abs(),
        }
    }

    /// G(m) and G(m + 1), from above.
    ///
    /// G has the transform φ(ω)(1 − e^{iω})/(1 − e^{-θ+iω}), φ that of g. Averaged against e^{-iωm} over the L-th
    /// roots of unity, it gives Σ_l G(m + lL). The copies l ≠ 0 vanish if L is longer than both g and the decay
    /// of e^{-θj}; where the decay is slow, they are known instead: beyond g, G(m') = (1 − e^θ)e^{-θm'}/M.
    /// And φ is so concentrated that about a hundred of the L roots matter.
    fn threshold_sums(&self, m: f64) -> (f64, f64) {
        let deviation = self.variance.sqrt();
        let reach = 12.0 * deviation + 40.0;
        let slow = self.theta * deviation.max(1.0) < 1.0;
        let decay = if slow { reach } else { reach.max(NEGLIGIBLE / self.theta) };
        let period = (reach + decay).ceil();

        let step = std::f64::consts::TAU / period;
        let half = (period / 2.0).floor();
        let means = self.others_zero.count * self.others_zero.p + self.others_one.count * self.others_one.p;
        let (mut at, mut after, mut error) = (0.0, 0.0, 0.0);
        // The root ω = 0: (1 − 1)/(1 − e^{-θ}), or 1 in the limit of θ = 0, where G is g.
        if self.theta == 0.0 {
            (at, after) = (1.0, 1.0);
        }
        let mut s = 1.0;
        while s <= half {
            let omega = step * s;
            // |φ| ≤ exp(−variance·(1 − cos ω)), and the other factor is at most 2.
            if self.variance * 2.0 * (omega / 2.0).sin().powi(2) > NEGLIGIBLE {
                break;
            }
            let term = self.term(omega, m);
            let next = term.times(Complex::unit(-omega));
            // Roots come in conjugate pairs, but for −1 if L is even.
            let pair = if 2.0 * s == period { 1.0 } else { 2.0 };
            at += pair * term.re;
            after += pair * next.re;
            error += pair * term.re.hypot(term.im) * (1e-14 + 1e-15 * means * omega);
            s += 1.0;
        }

        // Everything left out: roots, copies, and g beyond its reach (Bernstein).
        // The known copies are off by what g has beyond them, times e^{θk}: with θ < 1 and θ < 1/deviation that
        // still falls geometrically there, by at least 1/deviation a step.
        let far = reach - 2.0;
        let beyond = (-far * far / (2.0 * (self.variance + far / 3.0))).exp() * (8.0 + deviation);
        let decayed = if slow { 0.0 } else { 4.0 * (-self.theta * (period - reach)).exp() };
        let left_out = error / period + 2.0 * (-NEGLIGIBLE).exp() + beyond + decayed;
        let copies = if slow && self.theta > 0.0 {
            -self.theta.exp_m1() * (-self.theta * m - self.ln_mgf).exp() / (self.theta * period).exp_m1()
        } else {
            0.0
        };
        // Below the threshold a sum is negative, and what was left out does not change that.
        let sum = |average: f64, copies: f64| (average / period - copies + left_out).max(0.0);
        (sum(at, copies), sum(after, copies * (-self.theta).exp()))
    }

    /// φ(ω)e^{-iωm}(1 − e^{iω})/(1 − e^{-θ+iω}).
    fn term(&self, omega: f64, m: f64) -> Complex {
        let zero = self.others_zero.ln_transform(omega);
        let one = self.others_one.ln_transform(-omega);
        let phase = zero.im + one.im - omega * m;
        let phi = Complex::polar(zero.re + one.re, phase);
        if self.theta == 0.0 {
            return phi;
        }
        let ratio = Complex::turn_minus_one(omega).over(Complex::exp_minus_one(-self.theta, omega));
        phi.times(ratio)
    }
}

impl Flips {
    /// ln E[e^{iωX}] for X ~ Bin(count, p).
    fn ln_transform(&self, omega: f64) -> Complex {
        // 1 + p(e^{iω} − 1) = (q + p cos ω) + ip sin ω, whose squared magnitude is 1 − 4pq sin²(ω/2).
        let square = -4.0 * self.p * self.q * (omega / 2.0).sin().powi(2);
        let argument = (self.p * omega.sin()).atan2(self.q + self.p * omega.cos());
        Complex { re: self.count * 0.5 * square.max(-1.0).ln_1p(), im: self.count * argument }
    }
}

/// As much of complex arithmetic as is needed here, in forms that do not cancel.
#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    /// e^{ln + iω}.
    fn polar(ln: f64, omega: f64) -> Self {
        let (sin, cos) = omega.sin_cos();
        let size = ln.exp();
        Self { re: size * cos, im: size * sin }
    }

    fn unit(omega: f64) -> Self {
        Self::polar(0.0, omega)
    }

    /// e^{iω} − 1.
    fn turn_minus_one(omega: f64) -> Self {
        Self { re: -2.0 * (omega / 2.0).sin().powi(2), im: omega.sin() }
    }

    /// e^{x+iω} − 1.
    fn exp_minus_one(x: f64, omega: f64) -> Self {
        let turn = Self::turn_minus_one(omega);
        Self { re: x.exp_m1() + x.exp() * turn.re, im: x.exp() * turn.im }
    }

    fn times(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }

    fn over(self, other: Self) -> Self {
        let square = other.re * other.re + other.im * other.im;
        Self {
            re: (self.re * other.re + self.im * other.im) / square,
            im: (self.im * other.re - self.re * other.im) / square,
        }
    }
}

/// e^-50 is 2·10^-22.
const NEGLIGIBLE: f64 = 50.0;

/// Beyond this, trying every a takes longer than anyone waits.
const BRUTE_FORCE_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The walk and the transform share nothing but α and β.
    #[test]
    fn the_transform_agrees_with_the_walk_where_both_apply() {
        for n in [1, 2, 3, 17, 1000, 100_000, 200_000_000, 10_000_000_000] {
            for local in [0.0005, 0.3, 2.0, 5.6, 9.0, 13.0, 25.0] {
                let bit = RandomizedBit::new(local);
                let deviation = (n as f64 * bit.p * bit.q).sqrt();
                // From no privacy loss at all to about twelve deviations, and close to ε_local.
                for x in [0.0, 1e-3, 0.1, 1.0, 3.0, 6.0, 12.0] {
                    let epsilon = x * (local / 2.0).tanh() / deviation;
                    check(n, &bit, epsilon);
                }
                for share in [0.1, 0.5, 0.9, 0.999_999] {
                    check(n, &bit, share * local);
                }
            }
        }
    }

    fn check(n: u64, bit: &RandomizedBit, epsilon: f64) {
        let (walk, transform) = (others_zero(n, bit, epsilon), by_transform(n, 0, bit, epsilon));
        if walk < 1e-290 {
            return;
        }
        let off = transform / walk - 1.0;
        // Both are rounded up; far out in the tail of a large crowd more is added.
        let slack = 1e-8 * (1.0 - walk.ln() / 30.0);
        assert!(
            off.abs() < slack,
            "n {n}, {bit:?}, ε {epsilon}: {walk:e} against {transform:e}, off {off:e}"
        );
    }
}
