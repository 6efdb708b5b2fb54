//! What every bound has to satisfy: monotone, ordered, never above ε_local, defined at the extremes, refusing
//! outside its conditions.

use proptest::prelude::*;
use throng_account::Error;
use throng_account::amplification::clones::Clones;
use throng_account::amplification::{blanket, exact, lemma, theorem};
use throng_dp::{Delta, Epsilon};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("tests use valid epsilons")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("tests use valid deltas")
}

/// A bound by name: ε_central from n, ε_local and δ, or None where it does not apply.
type Bound = (&'static str, fn(u64, Epsilon, Delta) -> Option<f64>);

/// From the tightest to the loosest where all apply.
const BOUNDS: [Bound; 9] = [
    ("exact at a = 0", |n, l, d| exact::epsilon_a0(n, l, d).ok().map(Epsilon::value)),
    ("exact", |n, l, d| exact::epsilon_certified(n, l, d).ok().map(|g| g.epsilon().value())),
    ("clones 2023", |n, l, d| Clones::Stronger.epsilon(n, l, d).ok().map(|g| g.epsilon().value())),
    ("clones 2021", |n, l, d| Clones::Standard.epsilon(n, l, d).ok().map(|g| g.epsilon().value())),
    ("clones 2023, closed", |n, l, d| {
        Clones::Stronger.closed_form(n, l, d).ok().map(|g| g.epsilon().value())
    }),
    ("clones 2021, closed", |n, l, d| {
        Clones::Standard.closed_form(n, l, d).ok().map(|g| g.epsilon().value())
    }),
    ("lemma", |n, l, d| lemma::epsilon(n, l, d).ok().map(|g| g.epsilon().value())),
    ("theorem", |n, l, d| theorem::epsilon(n, l, d).ok().map(|g| g.epsilon().value())),
    ("hoeffding", |n, l, d| blanket::hoeffding_epsilon(n, l, d).ok().map(|g| g.epsilon().value())),
];

/// The exact value is certified with 0.1% of the crowd given away, so it is below the others at 0.999n: at n
/// itself it can be above them, where ε falls steeply in n and they lose nothing.
fn exact_is_below_others(n: u64, local: Epsilon, d: Delta) -> Result<(), TestCaseError> {
    let Some(exact) = BOUNDS[1].1(n, local, d) else { return Ok(()) };
    for (name, bound) in [BOUNDS[2], BOUNDS[6]] {
        if let Some(other) = bound(n - n / 1000, local, d) {
            let context = format!("n {n}, ε_local {local}, δ {d}: exact {exact}, {name} {other}");
            prop_assert!(exact <= other * 1.001 + 1e-12, "{context}");
        }
    }
    Ok(())
}

/// Twenty-eight zeros to hide among, where one of a thousand counts: ε is 13.209 by the clones of 2023 and
/// 13.253 as certified.
#[test]
fn exact_gives_a_thousandth_of_the_crowd_away() {
    let (n, local, d) = (40_770_791, epsilon(14.172187152941142), delta(2.492951191392692e-13));
    exact_is_below_others(n, local, d).unwrap();
    assert!(BOUNDS[1].1(n, local, d) > BOUNDS[2].1(n, local, d));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn bounds_are_ordered_and_at_most_local(ln_n in 1.0..18.0f64, local in 0.05..16.0f64, ln_d in -30.0..-4.0f64) {
        let (n, l, d) = (ln_n.exp() as u64, epsilon(local), delta(ln_d.exp()));
        let values: Vec<_> = BOUNDS.iter().map(|(name, bound)| (*name, bound(n, l, d))).collect();
        for (name, value) in &values {
            prop_assert!(value.is_none_or(|v| (0.0..=local).contains(&v)), "{name}: {value:?}");
        }
        for (tight, loose) in [(0, 1), (0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (6, 7), (3, 8)] {
            if let ((a, Some(x)), (b, Some(y))) = (values[tight], values[loose]) {
                prop_assert!(x <= y * 1.001 + 1e-12, "n {n}, ε_local {local}, δ {d}: {a} {x}, {b} {y}");
            }
        }
        exact_is_below_others(n, l, d)?;
    }

    #[test]
    fn bounds_are_monotone(ln_n in 1.0..18.0f64, local in 0.05..16.0f64, ln_d in -30.0..-4.0f64, more in 1.01..3.0f64) {
        let (n, l, d) = (ln_n.exp() as u64, epsilon(local), delta(ln_d.exp()));
        let n_more = (n as f64 * more).ceil() as u64;
        let (l_less, d_more) = (epsilon(local / more), delta((d.value() * more).min(1.0)));
        for (name, bound) in BOUNDS {
            let Some(base) = bound(n, l, d) else { continue };
            // Coverings and bins move in steps.
            let most = base * 1.002 + 1e-12;
            for (what, other) in [
                ("n", bound(n_more, l, d)),
                ("δ", bound(n, l, d_more)),
                ("ε_local", bound(n, l_less, d)),
            ] {
                prop_assert!(other.is_none_or(|v| v <= most), "{name} in {what}: {base} then {other:?}");
            }
        }
    }

    #[test]
    fn deltas_fall_in_epsilon(ln_n in 1.0..18.0f64, local in 0.05..16.0f64, share in 0.0..1.0f64, part in 0.0..1.0f64) {
        let (n, l) = (ln_n.exp() as u64, epsilon(local));
        let (low, high) = (epsilon(local * share), epsilon(local * (share + (1.0 - share) * part)));
        let a = (n as f64 * part) as u64;
        let fall = |f: &dyn Fn(Epsilon) -> Result<Delta, Error>, slack: f64| {
            let (at_low, at_high) = (f(low).unwrap().value(), f(high).unwrap().value());
            at_high <= at_low * (1.0 + slack)
        };
        prop_assert!(fall(&|e| exact::delta_a0(n, l, e), 1e-9));
        prop_assert!(fall(&|e| exact::delta_a(n, a.min(n - 1), l, e), 1e-6));
        prop_assert!(fall(&|e| Clones::Standard.delta(n, l, e), 1e-9));
        prop_assert!(fall(&|e| Clones::Stronger.delta(n, l, e), 1e-9));
        prop_assert!(fall(&|e| exact::Curve::new(n, l)?.delta(e), 0.02));
    }

    /// Certified for all a means for each a.
    #[test]
    fn certified_curves_are_above_every_a(n in 2u64..3000, local in 0.2..9.0f64, share in 0.01..0.9f64) {
        let (l, e) = (epsilon(local), epsilon(local * share));
        let certified = exact::Curve::new(n, l).unwrap().delta(e).unwrap().value();
        let most = exact::delta_max_over_a(n, l, e).unwrap().value();
        // Each is rounded up by itself.
        prop_assert!(certified >= most * (1.0 - 1e-8), "{certified} {most}");
    }
}

/// The best one-sided event at a = 0 by plain summation from 0, without any of the library's arithmetic: whatever
/// (ε, δ) holds, ε ≥ ln((Q(S) − δ)/P(S)) for every event S. Threshold events are the best ones, so at a = 0 this
/// is not only below ε but equal to it.
fn best_event(n: u64, local: f64, d: f64) -> f64 {
    let p = 1.0 / (1.0 + local.exp());
    let (q, n) = (1.0 - p, n as f64);
    // f(k) and F(k) in units of e^shift, rescaled before they overflow.
    let mut shift = (n - 1.0) * (-p).ln_1p();
    let (mut f, mut sum) = (1.0f64, 0.0f64);
    let mut best: f64 = 0.0;
    for k in 0..=(n * p) as u64 {
        let below = sum;
        sum += f;
        let (zero, one) = (p * below + q * sum, q * below + p * sum);
        best = best.max(((zero - d * (-shift).exp()) / one).ln());
        f *= (n - 1.0 - k as f64) * p / ((k as f64 + 1.0) * q);
        if sum > 1e250 {
            (f, sum) = (f * 1e-250, sum * 1e-250);
            shift += 250.0 * std::f64::consts::LN_10;
        }
    }
    best
}

/// n = 2 to 10^10, ε_local 0.0005 to 25, δ 1e-3 to 1e-15: a number, between the best event and ε_local.
#[test]
fn extremes_are_sandwiched() {
    for n in [2, 3, 10, 1000, 1_000_000, 200_000_000, 10_000_000_000] {
        for local in [0.0005, 0.1, 1.0, 4.0, 10.0, 16.0, 25.0] {
            for d in [1e-3, 1e-7, 1e-11, 1e-15] {
                let (l, d) = (epsilon(local), delta(d));
                let a0 = exact::epsilon_a0(n, l, d).unwrap().value();
                let certified = exact::epsilon_certified(n, l, d).unwrap().epsilon().value();
                let context = format!("n {n}, ε_local {local}, δ {d}: {a0} {certified}");
                assert!(a0 <= certified && certified <= local, "{context}");
                if n as f64 / (1.0 + local.exp()) < 1e6 {
                    let event = best_event(n, local, d.value());
                    assert!((event - a0).abs() <= 1e-8 * a0 + 1e-13, "{context} {event}");
                }
                let back = exact::epsilon_local_a0(n, epsilon(a0), d).unwrap().value();
                assert!(
                    a0 == 0.0 || (back - local).abs() <= 1e-5 * local || a0 > 0.999 * local,
                    "{context} {back}"
                );
                let back = exact::epsilon_local_certified(n, epsilon(certified), d).unwrap().value();
                assert!(back.is_finite() && back >= certified, "{context} {back}");
            }
        }
    }
}

#[test]
fn other_bounds_at_the_extremes() {
    for (n, deltas) in [(2, [1e-3, 1e-15].as_slice()), (1000, &[1e-3, 1e-15]), (10_000_000_000, &[1e-15])] {
        for local in [0.0005, 2.0, 25.0] {
            for &d in deltas {
                let (l, d) = (epsilon(local), delta(d));
                for (name, bound) in BOUNDS {
                    let value = bound(n, l, d);
                    assert!(
                        value.is_none_or(|v| (0.0..=local).contains(&v)),
                        "{name} {n} {local} {d}: {value:?}"
                    );
                }
                for value in [
                    exact::rappor_whole_epsilon(n, l, d).unwrap().epsilon(),
                    exact::cms_revealed_epsilon(n, l, d, 1024).unwrap().epsilon(),
                    exact::research_hidden_hash_epsilon(n, l, d, 1024, 65_536).unwrap(),
                ] {
                    assert!((0.0..=local).contains(&value.value()), "{n} {local} {d}: {value}");
                }
                let replacement = exact::replacement_epsilon_a0(n, l, d).unwrap().value();
                assert!((0.0..=2.0 * local).contains(&replacement));
            }
        }
    }
}

#[test]
fn no_delta_no_amplification_and_no_epsilon_no_loss() {
    let zero = Delta::ZERO;
    assert_eq!(exact::epsilon_certified(1000, epsilon(3.0), zero).unwrap().epsilon().value(), 3.0);
    assert_eq!(exact::epsilon_local_certified(1000, epsilon(0.3), zero).unwrap().value(), 0.3);
    assert_eq!(exact::epsilon_certified(1000, epsilon(0.0), zero).unwrap().epsilon().value(), 0.0);
    assert_eq!(exact::epsilon_certified(1000, epsilon(3.0), delta(1.0)).unwrap().epsilon().value(), 0.0);
    assert_eq!(exact::delta_a0(1000, epsilon(3.0), epsilon(3.0)).unwrap(), zero);
    assert_eq!(exact::delta_a(1000, 300, epsilon(3.0), epsilon(4.0)).unwrap(), zero);
    // Reports that are never flipped are not amplified, beyond what δ allows one report, and do not break the
    // arithmetic.
    let (l, d) = (epsilon(5000.0), delta(1e-6));
    for value in [
        exact::epsilon_certified(1000, l, d).unwrap().epsilon().value(),
        exact::rappor_whole_epsilon(1000, l, d).unwrap().epsilon().value(),
        exact::replacement_epsilon_a0(1000, l, d).unwrap().value() / 2.0,
        Clones::Standard.epsilon(1000, l, d).unwrap().epsilon().value(),
    ] {
        assert!((4999.99..=5000.0).contains(&value), "{value}");
    }
}

#[test]
fn bounds_refuse_outside_their_conditions() {
    let refused = |result: Result<f64, Error>, words: &str| match result {
        Err(Error::NotApplicable(reason)) => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other:?} where a refusal naming {words:?} is expected"),
    };
    let (n, d) = (1_914_589, delta(5e-8));
    let by_lemma = |n, l, d| lemma::epsilon(n, epsilon(l), d).map(|g| g.epsilon().value());
    refused(by_lemma(n, 9.7, d), "14 ln(4/delta)");
    refused(by_lemma(100, 0.1, d), "raise n");
    refused(by_lemma(n, 1.0, Delta::ZERO), "delta above 0");
    refused(lemma::epsilon_local(n, epsilon(1e-5), d).map(Epsilon::value), "even for epsilon_local = 0");
    let by_theorem = |n, l, d| theorem::epsilon(n, epsilon(l), d).map(|g| g.epsilon().value());
    refused(by_theorem(n, 0.9, d), "between 1 and");
    refused(by_theorem(n, 9.0, d), "between 1 and");
    refused(by_theorem(10, 1.0, delta(1e-9)), "n^(-ln n)");
    refused(by_theorem(300, 1.0, d), "raise n");
    refused(theorem::epsilon_local(n, epsilon(0.001), d).map(Epsilon::value), "at least 1");
    let fragments = theorem::report_fragments_epsilon(n, epsilon(2.0), delta(0.5));
    refused(fragments.map(|g| g.epsilon().value()), "below 1/2");
    for clones in [Clones::Standard, Clones::Stronger] {
        let closed = |n, l, d| clones.closed_form(n, epsilon(l), d).map(|g| g.epsilon().value());
        refused(closed(n, 10.0, d), "clones to be expected");
        refused(closed(n, 1.0, Delta::ZERO), "delta above 0");
    }
    refused(exact::delta_max_over_a(n, epsilon(3.0), epsilon(0.1)).map(Delta::value), "certified");
    let merged = exact::fragments_merged_epsilon_a0(n, epsilon(8.0), epsilon(5.0), 4, delta(1e-12));
    refused(merged.map(Epsilon::value), "1e-10");
    assert!(matches!(exact::epsilon_a0(0, epsilon(1.0), d), Err(Error::Parameter { .. })));
    assert!(matches!(exact::epsilon_a0(n, Epsilon::INFINITE, d), Err(Error::Parameter { .. })));
    assert!(matches!(exact::delta_a(5, 5, epsilon(1.0), epsilon(0.1)), Err(Error::Parameter { .. })));
    assert!(matches!(exact::cms_revealed_epsilon(n, epsilon(1.0), d, 0), Err(Error::Parameter { .. })));
}
