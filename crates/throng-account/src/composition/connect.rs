//! From a trade-off curve δ(ε) to a distribution of losses, by connecting the dots (Doroshenko et al. 2022).
//!
//! As a function of e^ε the true curve is convex, so the polygon through some of its points is above it; and a
//! polygon is the curve of a discrete distribution whose losses are the points' ε. The points may themselves lie
//! above the true curve, by rounding or because they are bounds: what is used is their lower convex hull, which is
//! still above any convex curve that they are above.

use throng_dp::{Delta, Epsilon};

use super::loss::{Atom, LossDistribution};
use crate::Error;

/// An upper bound of δ at every ε ≥ 0, falling in ε.
pub type Curve<'a> = &'a dyn Fn(Epsilon) -> Result<Delta, Error>;

/// A point of a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    epsilon: f64,
    delta: f64,
}

/// Points of the curve from ε = 0 to where at most `tail` is left to fall, denser where it falls faster.
pub(super) fn sample(curve: Curve<'_>, tail: f64) -> Result<Vec<Dot>, Error> {
    // The factor makes up for the rounding of slopes below, whose relative error is a few units in the last place.
    let value = |epsilon: f64| -> Result<f64, Error> {
        Ok((curve(Epsilon::new(epsilon)?)?.value() * (1.0 + 1e-14)).min(1.0))
    };
    let start = value(0.0)?;
    let mut end = 1.0;
    while value(end)? > tail && end < EPSILON_MAX {
        end *= 2.0;
    }
    while end > EPSILON_MIN && value(0.5 * end)? <= tail {
        end *= 0.5;
    }
    let floor = Some(value(end)?).filter(|&delta| delta > tail).unwrap_or(0.0);
    let mut breaks = vec![0.0];
    for level in LEVELS.into_iter().map(|level| level * (start - floor)).chain([tail]) {
        if level < tail {
            continue;
        }
        // About the first ε at which the curve is down to the level: a curve can be slow to ask, and it does not
        // matter where exactly the dots are.
        let (mut above, mut below) = (breaks[breaks.len() - 1], end);
        for _ in 0..40 {
            if below - above <= PLACEMENT * below {
                break;
            }
            let middle = 0.5 * (above + below);
            if value(middle)? > floor + level { above = middle } else { below = middle }
        }
        breaks.push(below);
    }
    breaks.dedup_by(|next, last| *next <= *last);
    let mut dots = vec![Dot { epsilon: 0.0, delta: start }];
    for piece in breaks.windows(2) {
        for i in 1..=DOTS_PER_LEVEL {
            let epsilon = piece[0] + (piece[1] - piece[0]) * f64::from(i) / f64::from(DOTS_PER_LEVEL);
            let last = dots[dots.len() - 1];
            // A bound at a smaller ε is a bound at a larger one.
            let delta = value(epsilon)?.min(last.delta);
            if epsilon > last.epsilon {
                dots.push(Dot { epsilon, delta });
            }
        }
    }
    Ok(dots)
}

/// The losses of the first world against the second, whose curves are `forward`, and `reverse` the other way round.
///
/// With x = e^ε and h the polygon, the second world has mass h'(x+) − h'(x−) at every corner, the first world x times
/// that; below ε = 0 it is h(1/x) = 1 − 1/x + (1/x)·reverse(x), whose corners are those of `reverse`.
pub(super) fn join(forward: &[Dot], reverse: &[Dot]) -> LossDistribution {
    let start = forward[0].delta.max(reverse[0].delta);
    let lift = |dots: &[Dot]| {
        let mut dots = dots.to_vec();
        dots[0].delta = start;
        hull(&dots)
    };
    let (forward, reverse) = (lift(forward), lift(reverse));
    let above = (1..forward.len()).map(|i| Atom { loss: forward[i].epsilon, mass: corner(&forward, i) });
    let below = (1..reverse.len()).map(|i| {
        let loss = -reverse[i].epsilon;
        Atom { loss, mass: corner(&reverse, i) * loss.exp() }
    });
    // A negative corner where the two polygons meet is left out, which raises the curve.
    let middle =
        Atom { loss: 0.0, mass: (1.0 - start + first_slope(&forward) + first_slope(&reverse)).max(0.0) };
    LossDistribution::new(above.chain([middle]).chain(below), forward[forward.len() - 1].delta)
}

/// The lower convex hull in (e^ε, δ), by Andrew's monotone chain.
fn hull(dots: &[Dot]) -> Vec<Dot> {
    let mut kept: Vec<Dot> = Vec::with_capacity(dots.len());
    for &dot in dots {
        kept.push(dot);
        while kept.len() > 2 && corner(&kept, kept.len() - 2) <= 0.0 {
            kept.remove(kept.len() - 2);
        }
    }
    kept
}

/// The first world's mass at a corner, from differences of ε alone: e^ε may be too large for a double.
fn corner(dots: &[Dot], i: usize) -> f64 {
    let (left, here) = (dots[i - 1], dots[i]);
    let before = (left.delta - here.delta) / -(left.epsilon - here.epsilon).exp_m1();
    let after = dots
        .get(i + 1)
        .map_or(0.0, |right| (here.delta - right.delta) / (right.epsilon - here.epsilon).exp_m1());
    before - after
}

/// The slope of the first edge in e^ε, which starts at e^0.
fn first_slope(dots: &[Dot]) -> f64 {
    match dots {
        [first, second, ..] => (second.delta - first.delta) / second.epsilon.exp_m1(),
        _ => 0.0,
    }
}

/// The curve is divided where it is down to these shares of its height.
const LEVELS: [f64; 8] = [0.9, 0.5, 0.1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12];
const DOTS_PER_LEVEL: u32 = 48;
/// How exactly, relative to itself, the ε of a level is found.
const PLACEMENT: f64 = 0.02;
/// Where a curve that has not reached zero counts as never reaching it.
const EPSILON_MAX: f64 = 1e7;
/// Below this, a curve that is down to its tail is down at once.
const EPSILON_MIN: f64 = 1e-30;
