//! The noise of the others, tilted so that the threshold of the best event is its mode.

use super::probability;
use crate::amplification::randomized_bit::Weights;

/// D(a, b) = Σ_k (αf(k) − βf(k − 1))₊ for the law f of Bin(b, p) − Bin(a, p), from above, for any a and b.
///
/// Tilt f by θ = ln(β/α): f(k) = M e^{θk} g(k), where M = E[e^{-θN}] and g is again the law of a difference of two
/// binomials. Since αe^θ = β, the sum is αM Σ_k e^{θk}(g(k) − g(k − 1))₊: the threshold is the mode of g. As a sum
/// of independent bits (shifted), g has its mode at the integer below or above its mean (Darroch 1964), so the sum
/// is αM max_m e^{θm}G(m) over these two, with G(m) = Σ_{j≥0} e^{-θj}(g(m − j) − g(m − j − 1)).
/// G is computed from the transform of g, which is known in closed form. Neither θ nor what one respondent
/// contributes to the transform depends on a and b, so all of that is worked out once.
pub(in crate::amplification) struct Tilt {
    alpha: f64,
    theta: f64,
    /// One of the others who holds a 0, and one who holds a 1.
    zero: Flip,
    one: Flip,
    /// Roots of unity for noise of a variance from 4^i to 4^(i + 1), as far as they were needed.
    roots: Vec<Option<Roots>>,
}

/// What one respondent adds to the tilted noise.
#[derive(Clone, Copy)]
struct Flip {
    p: f64,
    q: f64,
    ln_mgf: f64,
}

impl Tilt {
    pub(in crate::amplification) fn new(w: Weights, (p, q): (f64, f64)) -> Self {
        let theta = (w.beta / w.alpha).ln().max(0.0);
        let flip = |theta: f64| {
            let odds = p * theta.exp();
            Flip { p: odds / (q + odds), q: q / (q + odds), ln_mgf: (p * theta.exp_m1()).ln_1p() }
        };
        Self { alpha: w.alpha, theta, zero: flip(-theta), one: flip(theta), roots: Vec::new() }
    }

    /// D(a, b).
    pub(in crate::amplification) fn divergence(&mut self, b: u64, a: u64) -> f64 {
        let noise = Noise { b: b as f64, a: a as f64 };
        let m = noise.mean(self).floor();
        let (at, after) = self.threshold_sums(noise, m);
        let sum = at.max(after * self.theta.exp());
        let (zero, one) = (noise.b * self.zero.ln_mgf, noise.a * self.one.ln_mgf);
        // The logarithms are large and of opposite sign; what their last digits can do is added.
        let rounding = 4e-15 * (zero.abs() + one.abs() + (self.theta * m).abs()) + 1e-13;
        probability(self.alpha.ln() + zero + one + self.theta * m + sum.ln() + rounding)
    }

    /// G(m) and G(m + 1), from above.
    ///
    /// G has the transform φ(ω)(1 − e^{iω})/(1 − e^{-θ+iω}), φ that of g. Averaged against e^{-iωm} over the L-th
    /// roots of unity, it gives Σ_l G(m + lL). The copies l ≠ 0 vanish if L is longer than both g and the decay
    /// of e^{-θj}; where the decay is slow, they are known instead: beyond g, G(m') = (1 − e^θ)e^{-θm'}/M.
    /// And φ is so concentrated that about a hundred of the L roots matter.
    fn threshold_sums(&mut self, noise: Noise, m: f64) -> (f64, f64) {
        let variance = noise.variance(self);
        let deviation = variance.sqrt();
        let reach = reach(deviation);
        let theta = self.theta;
        let (ln_mgf, means) = (noise.ln_mgf(self), noise.b * self.zero.p + noise.a * self.one.p);
        let roots = self.roots(variance);
        let period = roots.period;

        let (mut at, mut after, mut error) = (0.0, 0.0, 0.0);
        // The root ω = 0: (1 − 1)/(1 − e^{-θ}), or 1 in the limit of θ = 0, where G is g.
        if theta == 0.0 {
            (at, after) = (1.0, 1.0);
        }
        for root in &roots.list {
            // |φ| ≤ exp(−variance·(1 − cos ω)), and the other factor is at most 2.
            if variance * root.turn > NEGLIGIBLE {
                break;
            }
            let ln_size = noise.b * root.zero.re + noise.a * root.one.re;
            let phase = noise.b * root.zero.im + noise.a * root.one.im - root.omega * m;
            let term = Complex::polar(ln_size, phase).times(root.factor);
            at += root.weight * term.re;
            after += root.weight * (term.re * root.back.re - term.im * root.back.im);
            let size = term.re.abs() + term.im.abs();
            error += root.weight * size * (1e-14 + 1e-15 * means * root.omega);
        }

        // Everything left out: roots, copies, and g beyond its reach (Bernstein).
        // The known copies are off by what g has beyond them, times e^{θk}: with θ < 1 and θ < 1/deviation that
        // still falls geometrically there, by at least 1/deviation a step.
        let slow = is_slow(theta, deviation);
        let far = reach - 2.0;
        let beyond = (-far * far / (2.0 * (variance + far / 3.0))).exp() * (8.0 + deviation);
        let decayed = if slow { 0.0 } else { 4.0 * (-theta * (period - reach)).exp() };
        let left_out = error / period + 2.0 * (-NEGLIGIBLE).exp() + beyond + decayed;
        let copies = if slow && theta > 0.0 {
            -theta.exp_m1() * (-theta * m - ln_mgf).exp() / (theta * period).exp_m1()
        } else {
            0.0
        };
        // Below the threshold a sum is negative, and what was left out does not change that.
        let sum = |average: f64, copies: f64| (average / period - copies + left_out).max(0.0);
        (sum(at, copies), sum(after, copies * (-theta).exp()))
    }

    /// The roots for noise of this variance.
    fn roots(&mut self, variance: f64) -> &Roots {
        let octave = if variance < 1.0 { 0 } else { (0.5 * variance.log2()) as usize };
        if self.roots.len() <= octave {
            self.roots.resize_with(octave + 1, || None);
        }
        let (theta, zero, one) = (self.theta, self.zero, self.one);
        self.roots[octave].get_or_insert_with(|| Roots::new(theta, zero, one, octave))
    }
}

/// How many of the others hold a 0 and a 1.
#[derive(Clone, Copy)]
struct Noise {
    b: f64,
    a: f64,
}

impl Noise {
    fn mean(self, tilt: &Tilt) -> f64 {
        self.b * tilt.zero.p - self.a * tilt.one.p
    }

    fn variance(self, tilt: &Tilt) -> f64 {
        self.b * tilt.zero.p * tilt.zero.q + self.a * tilt.one.p * tilt.one.q
    }

    fn ln_mgf(self, tilt: &Tilt) -> f64 {
        self.b * tilt.zero.ln_mgf + self.a * tilt.one.ln_mgf
    }
}

/// The roots of unity that matter, for all noise whose variance is within a factor of four.
struct Roots {
    period: f64,
    list: Vec<Root>,
}

/// One root e^{iω}, and what does not depend on how many others there are.
struct Root {
    omega: f64,
    /// 1 − cos ω.
    turn: f64,
    /// The logarithm of one respondent's transform.
    zero: Complex,
    one: Complex,
    /// (1 − e^{iω})/(1 − e^{-θ+iω}), 1 for θ = 0.
    factor: Complex,
    /// e^{-iω}.
    back: Complex,
    /// Roots come in conjugate pairs, but for −1 if L is even.
    weight: f64,
}

impl Roots {
    /// For a deviation of less than twice 2^octave: a period that is long enough for any of those is for each.
    fn new(theta: f64, zero: Flip, one: Flip, octave: usize) -> Self {
        let (least, most) = (2f64.powi(octave as i32), 2f64.powi(octave as i32 + 1));
        let variance = if octave == 0 { 0.0 } else { least * least * (1.0 - 1e-12) };
        let reach = reach(most);
        let decay = if is_slow(theta, most) { reach } else { reach.max(NEGLIGIBLE / theta) };
        let period = (reach + decay).ceil();
        let half = (period / 2.0).floor();
        let mut list = Vec::new();
        let mut s = 1.0;
        while s <= half {
            let omega = std::f64::consts::TAU / period * s;
            let turn = 2.0 * (omega / 2.0).sin().powi(2);
            if variance * turn > NEGLIGIBLE {
                break;
            }
            let factor = if theta == 0.0 {
                Complex { re: 1.0, im: 0.0 }
            } else {
                Complex::turn_minus_one(omega).over(Complex::exp_minus_one(-theta, omega))
            };
            let weight = if 2.0 * s == period { 1.0 } else { 2.0 };
            let (zero, one) = (zero.ln_transform(omega), one.ln_transform(-omega));
            list.push(Root { omega, turn, zero, one, factor, back: Complex::polar(0.0, -omega), weight });
            s += 1.0;
        }
        Self { period, list }
    }
}

impl Flip {
    /// ln E[e^{iωX}] for one bit X.
    fn ln_transform(&self, omega: f64) -> Complex {
        // 1 + p(e^{iω} − 1) = (q + p cos ω) + ip sin ω, whose squared magnitude is 1 − 4pq sin²(ω/2).
        let square = -4.0 * self.p * self.q * (omega / 2.0).sin().powi(2);
        let argument = (self.p * omega.sin()).atan2(self.q + self.p * omega.cos());
        Complex { re: 0.5 * square.max(-1.0).ln_1p(), im: argument }
    }
}

/// How far from its mean the noise is looked at.
fn reach(deviation: f64) -> f64 {
    12.0 * deviation + 40.0
}

/// Whether e^{-θj} falls more slowly than the noise itself.
fn is_slow(theta: f64, deviation: f64) -> bool {
    theta * deviation.max(1.0) < 1.0
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
