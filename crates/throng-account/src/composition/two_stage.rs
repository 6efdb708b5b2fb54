//! Two randomizers in a row: the second randomizes what the first reports.
//!
//! Paper: appendix, Lemma reduce-2-binary, of which Theorem record_frag is the case without δ.

use throng_dp::{Delta, Epsilon};

use super::connect::Curve;
use crate::Error;

/// δ at ε ≥ 0 of a randomizer with the guarantee `second` (replacement) of the report of one whose curve is `first`.
///
/// # Privacy
/// Proved, for any two randomizers, under the neighbor relation of the first (removal: compare with R_0). Let r and r' be the
/// laws of the first report, and s(y) the probability that the second falls into S given y. Then the difference
/// Pr\[S\] − e^ε·Pr'\[S\] = Σ_y (r(y) − e^ε·r'(y))·s(y). The positive terms of r − e^ε·r' add up to at most δ₁(ε), and all
/// of them to 1 − e^ε, so it is at most δ₁(ε)·(c − d) − (e^ε − 1)·d, with c the largest s(y) and d the least. Both are
/// probabilities with c ≤ e^ε₂·d + δ₂ and 1 − d ≤ e^ε₂·(1 − c) + δ₂; a linear function is largest in a corner of that
/// polygon: at (δ₂, 0), at ((e^ε₂ + δ₂), (1 − δ₂))/(1 + e^ε₂), or where it is not positive. Two randomized bits, each of
/// which tells all with probability δ, reach it.
///
/// Without δ this is 0 from ε = ln((e^(ε₁ + ε₂) + 1)/(e^ε₁ + e^ε₂)) on.
pub fn two_stage_delta(first: Curve<'_>, second: (Epsilon, Delta), epsilon: Epsilon) -> Result<Delta, Error> {
    let (inner, tells) = (first(epsilon)?.value(), second.1.value());
    // e^-ε₂, so that no guarantee at all is a number too.
    let odds = (-second.0.value()).exp();
    let (c, d) = ((1.0 + tells * odds) / (1.0 + odds), (1.0 - tells) * odds / (1.0 + odds));
    let gained = inner * (c - d);
    let lost = if d == 0.0 { 0.0 } else { epsilon.value().exp_m1() * d };
    // A few roundings of the two terms, each below 2^-52 of it.
    let worst = (gained - lost + 1e-15 * (gained + lost)).max(inner * tells);
    Ok(Delta::new(if worst <= 4e-15 * (gained + lost) { inner * tells } else { worst.min(1.0) })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::fragmenting::exposed_epsilon;

    type Law = Vec<f64>;

    /// A few numbers that look random.
    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as f64 / (1u64 << 31) as f64).powi(2)
        }
    }

    fn law(size: usize, next: &mut impl FnMut() -> f64) -> Law {
        let masses: Vec<f64> = (0..size).map(|_| next()).collect();
        let sum: f64 = masses.iter().sum();
        masses.iter().map(|mass| mass / sum).collect()
    }

    /// The largest Pr[S] − e^ε·Pr'[S] over all events S, one by one.
    fn over_events(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        let mass = |law: &[f64], event: u32| -> f64 {
            law.iter().enumerate().filter(|(i, _)| event >> i & 1 == 1).map(|(_, m)| m).sum()
        };
        (0..1u32 << p.len()).map(|event| mass(p, event) - epsilon.exp() * mass(q, event)).fold(0.0, f64::max)
    }

    fn both(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        over_events(p, q, epsilon).max(over_events(q, p, epsilon))
    }

    fn through(first: &[f64], second: &[Law]) -> Law {
        (0..second[0].len()).map(|z| first.iter().zip(second).map(|(r, s)| r * s[z]).sum()).collect()
    }

    /// The bound on two randomizers from their definitions: what is true, and what the lemma makes of them.
    fn check(first: [&Law; 2], second: &[Law], e2: f64, epsilon: f64) -> (f64, f64) {
        let pairs = || second.iter().flat_map(|one| second.iter().map(move |other| (one, other)));
        let d2 = pairs().map(|(one, other)| over_events(one, other, e2)).fold(0.0, f64::max);
        let curve = |e: Epsilon| Ok(Delta::new(both(first[0], first[1], e.value()).min(1.0))?);
        let second_guarantee = (Epsilon::new(e2).unwrap(), Delta::new(d2.min(1.0)).unwrap());
        let bound = two_stage_delta(&curve, second_guarantee, Epsilon::new(epsilon).unwrap()).unwrap();
        let laws = first.map(|law| through(law, second));
        (both(&laws[0], &laws[1], epsilon), bound.value())
    }

    /// Random randomizers into three and four reports, every event of them.
    #[test]
    fn no_two_randomizers_exceed_the_bound() {
        let mut next = numbers(7);
        let mut closest = 0.0f64;
        for round in 0..3000 {
            let (middle, last) = (2 + round % 3, 2 + round / 3 % 3);
            let first = [law(middle, &mut next), law(middle, &mut next)];
            let second: Vec<Law> = (0..middle).map(|_| law(last, &mut next)).collect();
            for (e2, epsilon) in [(0.0, 0.0), (0.3, 0.1), (1.0, 0.2), (2.0, 0.5), (1.0, 1.0)] {
                let (truth, bound) = check([&first[0], &first[1]], &second, e2, epsilon);
                assert!(truth <= bound + 1e-12, "{first:?} {second:?} {e2} {epsilon}: {truth} {bound}");
                if bound > 1e-6 {
                    closest = closest.max(truth / bound);
                }
            }
        }
        assert!(closest > 0.95, "{closest}");
    }

    /// Two randomized bits, each of which tells everything with a small probability, have this δ exactly.
    #[test]
    fn two_bits_reach_the_bound() {
        let bit = |epsilon: f64, tells: f64| -> [Law; 2] {
            // Reports: certainly 0, certainly 1, randomized 0, randomized 1.
            let (keep, flip) =
                ((1.0 - tells) / (1.0 + (-epsilon).exp()), (1.0 - tells) / (1.0 + epsilon.exp()));
            [vec![tells, 0.0, keep, flip], vec![0.0, tells, flip, keep]]
        };
        for (e1, d1, e2, d2) in [
            (1.0, 0.0, 2.0, 0.0),
            (1.0, 0.01, 2.0, 0.0),
            (3.0, 0.0, 0.5, 0.02),
            (2.0, 0.1, 2.0, 0.1),
            (4.0, 1e-3, 0.0, 0.3),
        ] {
            let [zero, one] = bit(e1, d1);
            let [second_zero, second_one] = bit(e2, d2);
            // What is said of the first report, taken as 0 or 1.
            let second = [second_zero.clone(), second_one.clone(), second_zero, second_one];
            for epsilon in [0.0, 0.1, 0.4, 0.9, 1.5] {
                let (truth, bound) = check([&zero, &one], &second, e2, epsilon);
                assert!((truth - bound).abs() < 1e-12, "{e1} {d1} {e2} {d2} {epsilon}: {truth} {bound}");
            }
            if d1 == 0.0 && d2 == 0.0 {
                let pure = exposed_epsilon(Epsilon::new(e1).unwrap(), Epsilon::new(e2).unwrap(), 1).value();
                assert!(check([&zero, &one], &second, e2, pure * (1.0 - 1e-6)).1 > 0.0);
                assert_eq!(check([&zero, &one], &second, e2, pure * (1.0 + 1e-9)).1, 0.0);
            }
        }
    }
}
