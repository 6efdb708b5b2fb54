//! How much a record that answers every question may say, for a central guarantee.

use anyhow::Result;
use throng_account::amplification::exact;
use throng_account::composition::curves_epsilon;
use throng_dp::{Delta, Epsilon, Removal};

use crate::experiments::lab::exact_local;

/// The largest epsilon of each of `counts` answers, given that a record moves that many counts.
///
/// The search is over a bound that is fast and nearly always right (all others hold other values, in a crowd that is
/// smaller by 1 %); what it finds is then certified.
pub(super) fn epsilon_each(n: u64, counts: u32, central: f64, delta: Delta) -> Result<Epsilon> {
    let likely = |each: f64| {
        let each = Epsilon::new(each)?;
        composed(n, each, counts, delta, |epsilon| Ok(exact::delta_a0(n - n / 100, each, epsilon)?))
    };
    // The sum of all always holds, and what is too much for one is too much for all.
    let (mut low, mut high) = (central / f64::from(counts), exact_local(n, central, delta)?.value());
    while high - low > 1e-3 * low {
        let middle = 0.5 * (low + high);
        if likely(middle)? <= central { low = middle } else { high = middle }
    }
    loop {
        let each = Epsilon::new(low)?;
        if certified(n, each, counts, delta)? <= central || low * f64::from(counts) <= central {
            return Ok(each);
        }
        low *= 0.995;
    }
}

/// What `counts` counts guarantee together, whatever the others hold.
fn certified(n: u64, each: Epsilon, counts: u32, delta: Delta) -> Result<f64> {
    let curve = exact::Curve::new(n, each)?;
    composed(n, each, counts, delta, |epsilon| Ok(curve.delta(epsilon)?))
}

/// The composition of one count's trade-off with itself, from a few points of it.
///
/// A point of the curve takes milliseconds, and composition asks for thousands. As a function of e^ε the true curve is
/// convex, so chords between some points of a bound are above it, and nearly as good.
fn composed(
    n: u64,
    each: Epsilon,
    counts: u32,
    delta: Delta,
    curve: impl Fn(Epsilon) -> Result<Delta>,
) -> Result<f64> {
    let end = exact::epsilon_a0(n, each, Delta::new(1e-8 * delta.value())?)?.value();
    let mut points = Vec::new();
    for i in 0..=POINTS {
        let epsilon = end * f64::from(i) / f64::from(POINTS);
        points.push((epsilon.exp(), curve(Epsilon::new(epsilon)?)?.value()));
    }
    let chord = |epsilon: Epsilon| {
        let x = epsilon.value().exp();
        let next = points.partition_point(|&(at, _)| at <= x);
        let value = match (points.get(next.saturating_sub(1)), points.get(next)) {
            (Some(&(left, high)), Some(&(right, low))) => high + (low - high) * (x - left) / (right - left),
            // Beyond the last point the curve only falls.
            (Some(&(_, last)), None) => last,
            _ => 1.0,
        };
        Ok(Delta::new(value.clamp(0.0, 1.0))?)
    };
    Ok(curves_epsilon::<Removal>(&[(&chord, u64::from(counts))], delta)?.epsilon().value())
}

const POINTS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_account::composition::counts_epsilon;

    #[test]
    fn chords_are_above_the_curve_and_close_to_it() {
        let (each, delta) = (Epsilon::new(3.0).unwrap(), Delta::new(1e-6).unwrap());
        let exact = counts_epsilon(400, each, 4, delta).unwrap().epsilon().value();
        let chords = certified(400, each, 4, delta).unwrap();
        assert!(chords >= exact * (1.0 - 1e-6) && chords < exact * 1.01, "{chords} for {exact}");
    }

    #[test]
    fn what_is_found_is_certified_and_nearly_the_most() {
        let delta = Delta::new(1e-6).unwrap();
        let each = epsilon_each(2000, 8, 1.0, delta).unwrap();
        assert!(certified(2000, each, 8, delta).unwrap() <= 1.0);
        let more = Epsilon::new(1.03 * each.value()).unwrap();
        assert!(certified(2000, more, 8, delta).unwrap() > 1.0);
    }
}
