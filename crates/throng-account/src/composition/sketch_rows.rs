//! Sketch reports on several hash functions: the rows of one respondent, composed.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::counts_epsilon;
use crate::Error;
use crate::amplification::exact::{cms_revealed_epsilon, row_epsilon};
use crate::amplification::{check_crowd, check_local};
use crate::binomial::Binomial;

/// ε_central of reports on `per_report` different hash functions, each bit with `epsilon_each`, the rows visible.
///
/// # Privacy
/// Removal, proved. Who else reports on the victim's rows does not depend on the victim's value, so it may be
/// revealed; given that, the rows are independent releases, each the exact pair of its crowd. Every row has
/// Bin(n − 1, r/H) others. But for a probability of δ/50, which is counted, none of the r rows has fewer than a number
/// m (the union over the rows), and fewer others only help an attacker: so r exact pairs of crowds of m + 1 are
/// composed, at what is left of δ. Where rows have so few members that m says little, the sum over the rows, each
/// at δ/r, can be smaller, and it holds too: of those whose first k rows are known, each draws a given other row with
/// probability (r − k)/(H − k) at least.
/// # Paper
/// Table horse_1_sketch_report (two and five hash functions).
pub fn cms_split_revealed_epsilon(
    n: u64,
    epsilon_each: Epsilon,
    delta: Delta,
    hashes: u32,
    per_report: u32,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_each)?;
    if per_report == 0 || per_report >= hashes {
        return Err(Error::Parameter {
            what: "the number of hash functions in a report",
            got: f64::from(per_report),
            expected: "give at least 1 and fewer than there are",
        });
    }
    if per_report == 1 {
        return cms_revealed_epsilon(n, epsilon_each, delta, hashes);
    }
    let sum = sum_over_rows(n, epsilon_each, delta, hashes, per_report)?;
    let composed = composed_rows(n, epsilon_each, delta, hashes, per_report)?;
    Ok(CentralGuarantee::new(sum.min(composed).min(epsilon_each.times(per_report)), delta))
}

/// The rows composed, all with the least crowd that any of them has but for a small part of δ.
fn composed_rows(
    n: u64,
    epsilon_each: Epsilon,
    delta: Delta,
    hashes: u32,
    per_report: u32,
) -> Result<Epsilon, Error> {
    if delta == Delta::ZERO {
        return Ok(epsilon_each.times(per_report));
    }
    let small = delta.value() * SMALL_ROWS;
    let others = others_in_every_row(n, small, hashes, per_report);
    let rest = Delta::new((delta.value() - small) * (1.0 - 1e-15))?;
    Ok(counts_epsilon(others + 1, epsilon_each, u64::from(per_report), rest)?.epsilon())
}

/// A number of others that each of the victim's rows has, but for the probability `failure`.
fn others_in_every_row(n: u64, failure: f64, hashes: u32, per_report: u32) -> u64 {
    let rows = f64::from(per_report);
    let share = rows / f64::from(hashes);
    // For one row, from the safe side of the rounding of the probabilities.
    let allowed = failure / rows * (1.0 - 1e-9);
    let window = Binomial::new(n - 1, share, 1.0 - share).window(1e-3 * allowed);
    let mut below = window.missing;
    let fewer = window.pmf.iter().take_while(|&&probability| {
        below += probability;
        below <= allowed
    });
    let rare = fewer.count() as u64;
    window.start + rare
}

/// The plain sum of the rows' losses, each in a crowd thinned by what is known of the rows before it.
fn sum_over_rows(
    n: u64,
    epsilon_each: Epsilon,
    delta: Delta,
    hashes: u32,
    per_report: u32,
) -> Result<Epsilon, Error> {
    let each = Delta::new(delta.value() / f64::from(per_report))?;
    let mut sum = Epsilon::ZERO;
    for known in 0..per_report {
        let share = f64::from(per_report - known) / f64::from(hashes - known);
        sum = sum + row_epsilon(n, epsilon_each, each, share)?;
    }
    Ok(sum)
}

/// The share of δ that is spent on rows that have fewer members than is counted on.
const SMALL_ROWS: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{delta, epsilon};

    #[test]
    fn one_hash_function_is_the_plain_sketch() {
        let (each, at) = (epsilon(2.0), delta(1e-6));
        let one = cms_split_revealed_epsilon(100_000, each, at, 64, 1).unwrap();
        assert_eq!(one, cms_revealed_epsilon(100_000, each, at, 64).unwrap());
        for bad in [0, 64, 65] {
            assert!(cms_split_revealed_epsilon(100_000, each, at, 64, bad).is_err());
        }
    }

    /// Above what r rows of their mean crowd would have, which no bound that knows the crowds only can beat by much,
    /// and well below the sum.
    #[test]
    fn several_hash_functions_compose_below_their_sum() {
        for (n, each, hashes, rows, gain) in
            [(100_000, 2.0, 64, 2, 0.65), (1_000_000, 1.0, 128, 5, 0.4), (1_914_589, 3.0, 1024, 2, 0.75)]
        {
            let (each, at) = (epsilon(each), delta(1e-6));
            let ours = cms_split_revealed_epsilon(n, each, at, hashes, rows).unwrap().epsilon().value();
            let sum = sum_over_rows(n, each, at, hashes, rows).unwrap().value();
            assert!(ours < gain * sum, "{n} {hashes} {rows}: {ours} {sum}");
            let mean = n * u64::from(rows) / u64::from(hashes);
            let least = counts_epsilon(mean, each, u64::from(rows), at).unwrap().epsilon().value();
            assert!(ours > least && ours < 1.15 * least, "{n} {hashes} {rows}: {ours} {least}");
        }
    }

    /// The sum over two rows is the crowds thinned to 2/64 and 1/63, each at half of δ.
    #[test]
    fn the_sum_is_over_crowds_that_are_thinned_row_by_row() {
        let (each, half) = (epsilon(2.0), delta(0.5e-6));
        let sum = sum_over_rows(100_000, each, delta(1e-6), 64, 2).unwrap().value();
        let parts = [32, 63].map(|h| cms_revealed_epsilon(100_000, each, half, h).unwrap().epsilon().value());
        assert!((sum - parts[0] - parts[1]).abs() < 1e-9, "{sum} {parts:?}");
    }

    /// Where rows are all but empty, no more than the local guarantees is claimed, and no more than the sum.
    #[test]
    fn small_rows_fall_back_on_the_sum_and_the_local_guarantee() {
        for (n, each) in [(2, 0.0005), (2, 25.0), (300, 1.0), (3000, 0.5)] {
            for d in [0.0, 1e-15, 1e-3] {
                let (each, at) = (epsilon(each), delta(d));
                let ours = cms_split_revealed_epsilon(n, each, at, 64, 3).unwrap().epsilon();
                assert!(ours <= each.times(3) && ours <= sum_over_rows(n, each, at, 64, 3).unwrap());
                assert!(d > 0.0 || ours == each.times(3), "{n} {each}: {ours}");
            }
        }
    }

    /// Against the binomial's own tail, summed from zero with products only.
    #[test]
    fn every_row_has_the_others_that_are_counted_on() {
        for (n, hashes, rows) in [(40u64, 4, 2), (500, 16, 3), (3000, 64, 5), (100_000, 64, 2)] {
            for failure in [1e-3, 1e-8, 1e-14] {
                let others = others_in_every_row(n, failure, hashes, rows);
                let share = f64::from(rows) / f64::from(hashes);
                let fewer = |count: u64| {
                    let mut ln = (n - 1) as f64 * (-share).ln_1p();
                    let mut sum = 0.0;
                    for k in 0..count {
                        sum += ln.exp();
                        ln += ((n - 1 - k) as f64 * share / ((k + 1) as f64 * (1.0 - share))).ln();
                    }
                    f64::from(rows) * sum
                };
                assert!(fewer(others) <= failure, "{n} {hashes} {failure}: {others} {}", fewer(others));
                assert!(fewer(others + 1) > failure * 0.99, "{n} {hashes} {failure}: {others}");
            }
        }
    }

    /// Brute force at a = 0: who else is in the two rows, by dynamic programming over the respondents, and given that
    /// the two counts, outcome by outcome. No guarantee may be below it.
    #[test]
    fn two_rows_are_not_easier_to_tell_apart_than_promised() {
        let (n, hashes, each, d) = (150u64, 5u32, 0.8f64, 1e-3);
        let ours =
            cms_split_revealed_epsilon(n, epsilon(each), delta(d), hashes, 2).unwrap().epsilon().value();
        let h = f64::from(hashes);
        let both = 2.0 / (h * (h - 1.0));
        let one = 2.0 / h - both;
        let size = n as usize;
        let mut sizes = vec![vec![0.0; size]; size];
        sizes[0][0] = 1.0;
        for _ in 1..n {
            for i in (0..size).rev() {
                for j in (0..size).rev() {
                    let left = if i > 0 { sizes[i - 1][j] * one } else { 0.0 };
                    let down = if j > 0 { sizes[i][j - 1] * one } else { 0.0 };
                    let corner = if i > 0 && j > 0 { sizes[i - 1][j - 1] * both } else { 0.0 };
                    sizes[i][j] = sizes[i][j] * (1.0 - 2.0 * one - both) + left + down + corner;
                }
            }
        }
        // For each size of a row, the outcomes that matter as (probability if the bit is 0, ratio of 1 to 0).
        let p = 1.0 / (1.0 + each.exp());
        let rows: Vec<Vec<(f64, f64)>> = (0..n)
            .map(|others| {
                let law = Binomial::new(others, p, 1.0 - p);
                let f = |k: i64| if k < 0 { 0.0 } else { law.ln_pmf(k as u64).exp() };
                let outcome = |k: i64| {
                    let (before, here) = (f(k - 1), f(k));
                    let zero = p * before + (1.0 - p) * here;
                    (zero, ((1.0 - p) * before + p * here) / zero)
                };
                (0..=others as i64 + 1).map(outcome).filter(|outcome| outcome.0 > 1e-9).collect()
            })
            .collect();
        let exact = |e: f64| -> f64 {
            let mut sum = 0.0;
            for (i, of_size) in sizes.iter().enumerate() {
                for (j, &weight) in of_size.iter().enumerate().filter(|(_, weight)| **weight > 1e-8) {
                    for &(first, ratio) in &rows[i] {
                        let inner = rows[j].iter().map(|&(p, r)| p * (1.0 - e.exp() * ratio * r).max(0.0));
                        sum += weight * first * inner.sum::<f64>();
                    }
                }
            }
            sum
        };
        assert!(exact(ours) <= d, "{ours}: {}", exact(ours));
        assert!(exact(0.6 * ours) > d, "{ours}: {}", exact(0.6 * ours));
    }
}
