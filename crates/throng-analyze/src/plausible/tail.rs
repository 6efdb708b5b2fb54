//! Tail bounds: how large and how small a sum can be, but for a stated probability.
//!
//! Chernoff: Pr[X ≥ k] ≤ E[e^(sX)]·e^(−sk) for every s > 0, and Pr[X ≤ k] ≤ E[e^(−sX)]·e^(sk). Every s gives a bound that
//! holds, so the search for a good one need not be exact. The moments may be upper bounds themselves.

/// The least number that X exceeds with at most this probability, from ln E[e^(sX)] for s > 0; X is never above `limit`.
pub(super) fn most(ln_moment: impl Fn(f64) -> f64, limit: u64, probability: f64) -> u64 {
    let rare = |above: u64| ln_bound(|s| (ln_moment(s), -s * above as f64)) <= probability.ln();
    // X > limit never happens. The bound falls with the number.
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = low + (high - low) / 2;
        if rare(middle + 1) { high = middle } else { low = middle + 1 }
    }
    high
}

/// The largest number that X is below with at most this probability, from ln E[e^(−sX)] for s > 0; it is at most `limit`.
pub(super) fn least(ln_moment: impl Fn(f64) -> f64, limit: u64, probability: f64) -> u64 {
    let rare = |below: u64| ln_bound(|s| (ln_moment(s), s * (below - 1) as f64)) <= probability.ln();
    // X < 0 never happens. The bound rises with the number.
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if rare(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// An upper bound on the probability that X is above `above`.
pub(super) fn ln_above(ln_moment: impl Fn(f64) -> f64, above: u64) -> f64 {
    ln_bound(|s| (ln_moment(s), -s * (above as f64 + 1.0))).min(0.0)
}

/// The least sum of the two parts over s, which is convex in s; with room for the rounding of both.
fn ln_bound(parts: impl Fn(f64) -> (f64, f64)) -> f64 {
    let sum = |s: f64| {
        let (one, other) = parts(s);
        one + other + ROUNDING * (one.abs() + other.abs() + 1.0)
    };
    let (mut low, mut high) = (0.0, STEEPEST);
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        if sum(low + third) < sum(high - third) { high -= third } else { low += third }
    }
    sum(f64::midpoint(low, high))
}

/// Some roundings, each below one part in 2^52.
const ROUNDING: f64 = 1e-13;
/// Steeper moments say nothing more about probabilities that anyone asks for.
const STEEPEST: f64 = 60.0;
/// Each leaves two thirds of the range.
const STEPS: usize = 90;
