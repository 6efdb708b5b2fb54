//! Slow, independent references: brute force over all data for small crowds, high precision for large ones.

use throng_account::amplification::clones::Clones;
use throng_account::amplification::{blanket, exact};
use throng_dp::{Delta, Epsilon};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("tests use valid epsilons")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("tests use valid deltas")
}

/// The law of a sum of independent bits, one at a time. All terms are positive, so every entry has all its digits.
fn sum_of_bits(probabilities: impl IntoIterator<Item = f64>) -> Vec<f64> {
    sum_of_pairs(probabilities.into_iter().map(|p| (p, 1.0 - p)))
}

/// The same from the probabilities of both outcomes, where 1 − p would round.
fn sum_of_pairs(probabilities: impl IntoIterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut law = vec![1.0];
    for (p, q) in probabilities {
        law.push(0.0);
        for k in (0..law.len()).rev() {
            law[k] = law[k] * q + if k > 0 { law[k - 1] * p } else { 0.0 };
        }
    }
    law
}

fn divergence(p: &[f64], q: &[f64], e: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - e.exp() * q).max(0.0)).sum()
}

/// The view of n respondents, a of the others with a 1, and the victim's bit: straight from the definition.
fn view(n: u64, a: u64, victim: bool, local: f64) -> Vec<f64> {
    let (flip, keep) = (1.0 / (1.0 + local.exp()), 1.0 / (1.0 + (-local).exp()));
    let report = |bit: bool| if bit { (keep, flip) } else { (flip, keep) };
    sum_of_pairs((0..n - 1).map(|i| report(i < a)).chain([report(victim)]))
}

#[test]
fn brute_force_over_all_data_in_small_crowds() {
    for n in [1, 2, 3, 5, 10, 23, 60] {
        for local in [0.0005, 0.1, 1.0, 2.5, 5.0, 12.0, 25.0] {
            for share in [0.0, 0.01, 0.1, 0.3, 0.6, 0.95, 1.0, 1.2] {
                let e = share * local;
                let mut worst: f64 = 0.0;
                for a in 0..n {
                    let (zero, one) = (view(n, a, false, local), view(n, a, true, local));
                    let direct = divergence(&zero, &one, e);
                    let got = exact::delta_a(n, a, epsilon(local), epsilon(e)).unwrap().value();
                    let context = format!("n {n}, a {a}, ε_local {local}, ε {e}: {got:e} for {direct:e}");
                    if share >= 1.0 {
                        assert_eq!(got, 0.0, "{context}");
                    } else {
                        // The reference cancels where the two laws are close: 1e-15 absolute.
                        let slack = 1e-9 * direct + 1e-14;
                        assert!(
                            (direct * (1.0 - 1e-13) - 2e-15..=direct + slack).contains(&got),
                            "{context}"
                        );
                    }
                    // The other direction is the mirror image.
                    let mirrored = divergence(&one, &zero, e);
                    let left = exact::delta_a(n, n - 1 - a, epsilon(local), epsilon(e)).unwrap().value();
                    assert!((left - mirrored).abs() <= 1e-9 * mirrored + 2e-15 || share >= 1.0, "{context}");
                    worst = worst.max(direct).max(mirrored);
                }
                let most = exact::delta_max_over_a(n, epsilon(local), epsilon(e)).unwrap().value();
                assert!((most - worst).abs() <= 1e-9 * worst + 2e-15 || share >= 1.0);
                let curve = exact::Curve::new(n, epsilon(local)).unwrap();
                let certified = curve.delta(epsilon(e)).unwrap().value();
                assert!(
                    certified >= worst * (1.0 - 1e-13) - 2e-15 && certified <= most * 1.01,
                    "{n} {local} {e}: {certified:e} {most:e} {worst:e}"
                );
            }
        }
    }
}

/// ε that is certified for all data is never below the truth, and close to it.
#[test]
fn certified_epsilons_bracket_brute_force() {
    for n in [2, 10, 60] {
        for local in [0.5, 2.0, 5.0] {
            for d in [1e-2, 1e-4, 1e-8] {
                let got = exact::epsilon_certified(n, epsilon(local), delta(d)).unwrap().epsilon().value();
                let worst = |e: f64| {
                    (0..n)
                        .map(|a| divergence(&view(n, a, false, local), &view(n, a, true, local), e))
                        .fold(0.0, f64::max)
                };
                assert!(worst(got) <= d * (1.0 + 1e-12), "{n} {local} {d}");
                assert!(got < 1e-6 || got >= local || worst(got * 0.998) > d, "{n} {local} {d}: {got}");
                let back = exact::epsilon_local_certified(n, epsilon(got), delta(d)).unwrap().value();
                assert!((back - local).abs() < 4e-3 * local || got >= local * 0.9999, "{back} {local}");
            }
        }
    }
}

/// From mpmath at 40 digits: Σ_j≤k* (αf(j) − βf(j−1)) over f = Bin(n−1, p), term by term from
/// f(k*) = exp(loggamma(...)) with f(j−1) = f(j)·jq/((n−j)p), p = 1/(1 + exp(ε_local)).
#[test]
fn the_walk_in_high_precision() {
    for (n, local, e, expected) in [
        (203_950_512, 12.99, 0.27, 5.045154086074495e-10),
        (203_950_512, 12.99, 1.0, 6.670944487265186e-58),
        (203_950_512, 2.0, 0.00069, 4.951018753309809e-10),
        (1_914_589, 8.55, 0.2527, 5.007231081075679e-8),
        (1_914_589, 2.94, 0.0114, 4.804806095298868e-8),
        (50_409_435, 11.7, 0.2624, 4.983968009982756e-9),
        (10_000_000_000, 20.0, 0.9, 0.00015216128255376632),
        (10_000_000_000, 25.0, 20.0, 0.864468693356939),
        (10_000_000_000, 5.0, 0.0002, 2.4812995183788874e-6),
        (1_000_000, 1.0, 0.009, 4.348049327496298e-22),
        (100, 3.0, 0.5, 0.054319674491461),
        (2, 0.0005, 0.0001, 0.00010002999891544167),
        (2, 25.0, 10.0, 0.9999996940699036),
    ] {
        let got = exact::delta_a0(n, epsilon(local), epsilon(e)).unwrap().value();
        let ratio = got / expected;
        assert!((1.0..1.0 + 1e-9).contains(&ratio) || got == 1.0, "{n} {local} {e}: {ratio}");
    }
}

/// From mpmath at 40 digits: Σ_k (αf(k) − βf(k−1))₊ with f by direct convolution of exp(loggamma(...)) terms.
#[test]
fn the_transform_in_high_precision() {
    for (n, a, local, e, expected) in [
        (2000, 43, 5.5, 0.7, 0.014046315496956492),
        (1000, 4, 4.0, 0.5, 0.004395819803519751),
        (5000, 2500, 6.0, 0.4, 0.01187454485966639),
        (100_000, 70_000, 9.0, 1.0, 4.683021584386011e-7),
    ] {
        let ratio = exact::delta_a(n, a, epsilon(local), epsilon(e)).unwrap().value() / expected;
        assert!((1.0..1.0 + 1e-9).contains(&ratio), "{n} {a} {local} {e}: {ratio}");
    }
}

/// C clones, A of them like the one value, plus the victim's own bit, straight from the definition.
#[test]
fn clones_in_small_crowds() {
    for n in [1, 2, 10, 40] {
        for local in [0.01, 0.7, 2.0, 5.0] {
            let p = 1.0 / (1.0 + f64::exp(local));
            for (clones, share) in [(Clones::Standard, f64::exp(-local)), (Clones::Stronger, 2.0 * p)] {
                let number = sum_of_bits((1..n).map(|_| share));
                for part in [0.0, 0.1, 0.5, 0.9] {
                    let e = part * local;
                    let given = |c: usize| {
                        let own = |bit: f64| sum_of_bits((0..c).map(|_| 0.5).chain([bit]));
                        divergence(&own(p), &own(1.0 - p), e)
                    };
                    let direct: f64 = number.iter().enumerate().map(|(c, weight)| weight * given(c)).sum();
                    let got = clones.delta(n, epsilon(local), epsilon(e)).unwrap().value();
                    let close = (direct - 2e-15..=direct * (1.0 + 1e-8) + 2e-15).contains(&got);
                    assert!(close, "{clones:?} {n} {local} {e}: {got:e} for {direct:e}");
                }
            }
        }
    }
}

/// Bennett's generating function against the sum over M that it replaces.
#[test]
fn bennett_against_its_expectation() {
    for (n, local, e) in [(50u64, 0.5f64, 0.2f64), (200, 1.0, 0.5), (1000, 2.0, 0.3)] {
        let gamma = (-local).exp();
        let a = e.exp() - 1.0;
        let b = local.exp() * (1.0 - (e - 2.0 * local).exp());
        let c = local.exp() * ((2.0 * e).exp() + 1.0) - 2.0 * gamma * (e - 2.0 * local).exp();
        let u = a * b / c;
        let rate = c / (b * b) * ((1.0 + u) * (1.0 + u).ln() - u);
        let blanket_size = sum_of_bits((0..n).map(|_| gamma));
        let expectation: f64 =
            blanket_size.iter().enumerate().map(|(m, weight)| weight * (-(m as f64) * rate).exp()).sum();
        let direct = b / ((1.0 + u).ln() * gamma * n as f64) * expectation;
        let got = blanket::bennett_delta(n, epsilon(local), epsilon(e)).unwrap().value();
        assert!((got - direct.min(1.0)).abs() < 1e-9, "{got} {direct}");
    }
}

/// Replacement in small crowds, straight from the definition over both counts.
#[test]
fn replacement_in_small_crowds() {
    for (n, local, d) in [(5, 1.0, 1e-3), (40, 2.0, 1e-4), (60, 4.0, 1e-2)] {
        let got = exact::replacement_epsilon_a0(n, epsilon(local), delta(d)).unwrap().value();
        let (zero, one) = (view(n, 0, false, local), view(n, 0, true, local));
        let direct = |e: f64| -> f64 {
            let pair = |s: usize, t: usize| (one[s] * zero[t] - e.exp() * zero[s] * one[t]).max(0.0);
            (0..zero.len()).map(|s| (0..zero.len()).map(|t| pair(s, t)).sum::<f64>()).sum()
        };
        assert!(direct(got) <= d && direct(got * (1.0 - 1e-6)) > d, "{n} {local} {d}: {got}");
    }
}

/// The total of all fragments in a small crowd, one respondent at a time.
#[test]
fn merged_fragments_in_small_crowds() {
    for (n, backstop, fragment, tau, d) in [(20u32, 3.0f64, 1.5f64, 3usize, 1e-4f64), (50, 5.0, 0.8, 5, 1e-6)]
    {
        let (pb, pf) = (1.0 / (1.0 + backstop.exp()), 1.0 / (1.0 + fragment.exp()));
        let fragments = |bit: f64| {
            let (low, high) = (sum_of_bits(vec![pf; tau]), sum_of_bits(vec![1.0 - pf; tau]));
            low.iter().zip(high).map(|(low, high)| (1.0 - bit) * low + bit * high).collect::<Vec<f64>>()
        };
        let convolve = |x: &[f64], y: &[f64]| {
            let mut sum = vec![0.0; x.len() + y.len() - 1];
            for (i, x) in x.iter().enumerate() {
                for (j, y) in y.iter().enumerate() {
                    sum[i + j] += x * y;
                }
            }
            sum
        };
        let others = (1..n).fold(vec![1.0], |sum, _| convolve(&sum, &fragments(pb)));
        let (zero, one) = (convolve(&others, &fragments(pb)), convolve(&others, &fragments(1.0 - pb)));
        let worst = |e: f64| divergence(&zero, &one, e).max(divergence(&one, &zero, e));
        let tau = u32::try_from(tau).unwrap();
        let got = exact::fragments_merged_epsilon_a0(
            u64::from(n),
            epsilon(backstop),
            epsilon(fragment),
            tau,
            delta(d),
        );
        let got = got.unwrap().value();
        assert!(worst(got) <= d && worst(got * 0.9999) > d * (1.0 - 1e-3), "{got}: {:e}", worst(got));
    }
}
