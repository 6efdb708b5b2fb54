//! Replacement of a one-hot value: two counts move, in opposite directions.

use throng_dp::{Delta, Epsilon};

use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, search};
use crate::binomial::Binomial;

/// ε for replacing one value by another when all others hold neither, rounded up.
///
/// # Privacy
/// Exact for that data only, and therefore not a guarantee. A guarantee for replacement is the composition of
/// two [`super::Curve`]s, one for each count.
pub fn replacement_epsilon_a0(n: u64, epsilon_local: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    let most = epsilon_local.times(2).value();
    if bit.is_noiseless() {
        return Ok(epsilon_local.times(2));
    }
    let counts = Counts::new(n, &bit);
    Ok(Epsilon::new(search::smallest(0.0, most, |epsilon| counts.delta(epsilon) <= delta.value()))?)
}

/// The law of one count, if the victim's bit there is 1 and if it is 0.
struct Counts {
    one: Vec<f64>,
    zero: Vec<f64>,
    /// Pr[count ≥ s], summed from the far end.
    one_above: Vec<f64>,
    zero_above: Vec<f64>,
    missing: f64,
}

impl Counts {
    fn new(n: u64, bit: &RandomizedBit) -> Self {
        let noise = Binomial::new(n - 1, bit.p, bit.q).window(MISSING);
        let (mut one, mut zero) = (Vec::new(), Vec::new());
        for s in 0..=noise.pmf.len() {
            let here = noise.pmf.get(s).copied().unwrap_or(0.0);
            let before = if s > 0 { noise.pmf[s - 1] } else { 0.0 };
            one.push(bit.q * before + bit.p * here);
            zero.push(bit.p * before + bit.q * here);
        }
        let (one_above, zero_above) = (sums_from_above(&one), sums_from_above(&zero));
        Self { one, zero, one_above, zero_above, missing: 2.0 * noise.missing }
    }

    /// Σ (P₁(s)P₀(t) − e^ε P₀(s)P₁(t))₊ over the counts s of the old and t of the new value.
    ///
    /// P₁/P₀ rises with the count, so for each t the sum is over all s from a threshold on, which rises with t.
    fn delta(&self, epsilon: f64) -> f64 {
        let factor = epsilon.exp();
        let (mut s, mut sum) = (0, 0.0);
        for t in 0..self.one.len() {
            while s < self.one.len() && self.one[s] * self.zero[t] <= factor * self.zero[s] * self.one[t] {
                s += 1;
            }
            if s == self.one.len() {
                break;
            }
            sum += (self.zero[t] * self.one_above[s] - factor * self.one[t] * self.zero_above[s]).max(0.0);
        }
        (sum * (1.0 + 1e-9) + self.missing).min(1.0)
    }
}

fn sums_from_above(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums: Vec<f64> = values
        .iter()
        .rev()
        .map(|value| {
            sum += value;
            sum
        })
        .collect();
    sums.reverse();
    sums
}

const MISSING: f64 = 1e-25;
