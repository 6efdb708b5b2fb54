//! Report fragments: several noisy copies of every bit of one backstop.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::certify::epsilon_certified;
use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, search};

/// ε_central when each of a report's fragments goes through a channel of its own.
///
/// # Privacy
/// Removal, proved, for any number of fragments and any ε_fragment: given how many backstops are 1, the counts of
/// an attribute are independent of everything else, so they are a post-processing of the backstop's sum. This is
/// tight once the noise of the fragments is small against that of the backstop.
/// # Paper
/// Section IV. Never compose over the fragments.
pub fn fragments_separate_epsilon(
    n: u64,
    epsilon_backstop: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    epsilon_certified(n, epsilon_backstop, delta)
}

/// ε when the fragments of an attribute share one channel, so that only their total is seen, and all others hold 0.
///
/// # Privacy
/// Exact for that data up to about 1e-11 in δ, and therefore not a guarantee; also a lower bound on what separate
/// channels have. δ below 1e-10 is refused: the transform's rounding would show.
pub fn fragments_merged_epsilon_a0(
    n: u64,
    epsilon_backstop: Epsilon,
    epsilon_fragment: Epsilon,
    tau: u32,
    delta: Delta,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_backstop)?;
    check_local(epsilon_fragment)?;
    if tau == 0 {
        let expected = "give at least 1";
        return Err(Error::Parameter { what: "the number of report fragments", got: 0.0, expected });
    }
    if delta.value() < DELTA_MIN {
        let reason = format!("the merged channel is computed for delta of at least {DELTA_MIN:e} only");
        return Err(Error::NotApplicable(reason));
    }
    let total = Total {
        others: (n - 1) as f64,
        backstop: RandomizedBit::new(epsilon_backstop.value()),
        fragment: RandomizedBit::new(epsilon_fragment.value()),
        tau: f64::from(tau),
    };
    let (one, zero) = total.laws()?;
    let holds = |epsilon: f64| {
        let worst = divergence(&zero, &one, epsilon).max(divergence(&one, &zero, epsilon));
        worst + ROUNDING <= delta.value()
    };
    let local = epsilon_backstop.value().min(f64::from(tau) * epsilon_fragment.value());
    Ok(Epsilon::new(search::smallest(0.0, local, holds))?)
}

/// The total of all fragments of one attribute.
struct Total {
    others: f64,
    backstop: RandomizedBit,
    fragment: RandomizedBit,
    tau: f64,
}

impl Total {
    /// The laws of the total when the victim holds a 1 and a 0, around the mean, by inverting their transforms.
    fn laws(&self) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (b, f) = (self.backstop, self.fragment);
        let spread = 1.0 - 2.0 * f.p;
        let variance = self.tau * f.p * f.q + (self.tau * spread).powi(2) * b.p * b.q;
        let reach = 2.0 * (12.0 * (self.others * variance).sqrt() + 40.0 * self.tau + 40.0);
        if reach > TOTAL_MAX {
            let reason = "the merged channel's total spreads too far to be computed; lower n or tau";
            return Err(Error::NotApplicable(reason.into()));
        }
        let length = (reach as usize).next_power_of_two();
        let mean = (self.others * self.tau * (b.q * f.p + b.p * f.q)).round();
        let mut values: Vec<Complex64> = (0..length)
            .map(|s| {
                let signed = if s > length / 2 { s as f64 - length as f64 } else { s as f64 };
                self.transform(std::f64::consts::TAU * signed / length as f64, mean)
            })
            .collect();
        // The forward transform has e^{-iωk}, which is the inverse here.
        FftPlanner::new().plan_fft_forward(length).process(&mut values);
        // Two real laws in one complex array; entries wrap around at the mean.
        let scale = 1.0 / length as f64;
        Ok(values.iter().map(|v| ((v.re * scale).max(0.0), (v.im * scale).max(0.0))).unzip())
    }

    /// E[e^{iω(T − mean)}] if the victim holds a 1, plus i times the same if they hold a 0.
    fn transform(&self, omega: f64, mean: f64) -> Complex64 {
        let turn = Complex64::new(-2.0 * (omega / 2.0).sin().powi(2), omega.sin());
        let (b, f) = (self.backstop, self.fragment);
        // τ fragments of a backstop of 0 and of 1, minus 1: small where it matters, so kept to its last digits.
        let zero = exp_m1(ln_1p(turn * f.p) * self.tau);
        let one = exp_m1(ln_1p(turn * f.q) * self.tau);
        let holds_zero = zero * b.q + one * b.p;
        let holds_one = zero * b.p + one * b.q;
        let others = (ln_1p(holds_zero) * self.others - Complex64::new(0.0, omega * mean)).exp();
        let both = (holds_one + 1.0) + Complex64::i() * (holds_zero + 1.0);
        if others.is_nan() { Complex64::ZERO } else { others * both }
    }
}

fn ln_1p(z: Complex64) -> Complex64 {
    let square = 2.0 * z.re + z.norm_sqr();
    Complex64::new(0.5 * square.max(-1.0).ln_1p(), z.im.atan2(1.0 + z.re))
}

fn exp_m1(z: Complex64) -> Complex64 {
    let turn = Complex64::new(-2.0 * (z.im / 2.0).sin().powi(2), z.im.sin());
    turn * z.re.exp() + z.re.exp_m1()
}

fn divergence(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    let factor = epsilon.exp();
    p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum()
}

/// The smallest δ that the transform resolves.
const DELTA_MIN: f64 = 1e-10;

/// What rounding can add up to over all entries; taken off δ.
const ROUNDING: f64 = 1e-12;

/// 2^24 entries take about three seconds and half a gigabyte.
const TOTAL_MAX: f64 = 16_777_216.0;
