//! Assertions with a stated chance of failing a right sampler.

use std::collections::HashMap;
use std::hash::Hash;

/// Fails if the mean of independent samples is off by more than 6 of its (measured) standard errors: for means that are
/// normal a chance of 2e-9 each, so of less than 1e-6 for the few hundred of a test together.
#[track_caller]
pub(crate) fn assert_mean(samples: impl Iterator<Item = f64> + Clone, expected: f64, what: &str) {
    let (n, mean, variance) = mean_and_variance(samples);
    let allowed = 6.0 * (variance / n).sqrt();
    assert!((mean - expected).abs() <= allowed, "{what}: {mean}, expected {expected} within {allowed}");
}

/// The same for the variance of samples whose mean is known: it is the mean of their squares.
#[track_caller]
pub(crate) fn assert_variance(errors: impl Iterator<Item = f64> + Clone, expected: f64, what: &str) {
    assert_mean(errors.map(|error| error * error), expected, what);
}

/// Fails if two independent sets of samples have means that differ by more than 6 of the difference's standard errors.
#[track_caller]
pub(crate) fn assert_same_mean(
    one: impl Iterator<Item = f64> + Clone,
    other: impl Iterator<Item = f64> + Clone,
    what: &str,
) {
    let (n, mean, variance) = mean_and_variance(one);
    let (m, other, other_variance) = mean_and_variance(other);
    let allowed = 6.0 * (variance / n + other_variance / m).sqrt();
    assert!((mean - other).abs() <= allowed, "{what}: {mean} and {other} differ by more than {allowed}");
}

fn mean_and_variance(samples: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let n = samples.clone().count() as f64;
    let mean = samples.clone().sum::<f64>() / n;
    (n, mean, samples.map(|sample| (sample - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Pearson's chi-square of draws against a law. Outcomes that are expected less than 10 times are one bin together.
/// The limit is Wilson and Hilferty's quantile at 5 deviations: a chance of 3e-7 (and a few times that where many
/// bins expect few draws). An outcome that the law does not know fails at once.
#[track_caller]
pub(crate) fn assert_law<K: Hash + Eq + std::fmt::Debug>(
    seen: &HashMap<K, u64>,
    law: &HashMap<K, f64>,
    what: &str,
) {
    let draws = seen.values().sum::<u64>() as f64;
    assert!((law.values().sum::<f64>() - 1.0).abs() < 1e-9, "{what}: not a law");
    let unknown = seen.keys().find(|key| !law.contains_key(key));
    assert!(unknown.is_none(), "{what}: {unknown:?} cannot be");
    let (mut statistic, mut bins, mut rare_expected, mut rare) = (0.0, 0.0, 0.0, 0.0);
    let mut add = |expected: f64, got: f64| {
        statistic += (got - expected).powi(2) / expected;
        bins += 1.0;
    };
    for (key, probability) in law {
        let (expected, got) = (draws * probability, seen.get(key).copied().unwrap_or(0) as f64);
        if expected >= 10.0 {
            add(expected, got);
        } else {
            rare_expected += expected;
            rare += got;
        }
    }
    if rare_expected >= 10.0 {
        add(rare_expected, rare);
    } else {
        // Too few for a bin: with fewer than 10 expected, 60 are seen with a chance below 1e-15.
        assert!(rare < 60.0, "{what}: {rare} rare outcomes where {rare_expected} are expected");
    }
    assert!(bins > 1.5, "{what}: only one bin, so nothing is tested");
    let freedom: f64 = bins - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - spread + 5.0 * spread.sqrt()).powi(3);
    assert!(statistic < limit, "{what}: chi-square {statistic} where {limit} is the limit, {bins} bins");
}

/// Whether two samples of the same size come from one law: chi-square over outcomes seen at least 20 times, with the
/// limit of [`assert_law`].
#[track_caller]
pub(crate) fn assert_same_law<K: Hash + Eq>(one: &HashMap<K, u64>, other: &HashMap<K, u64>, what: &str) {
    assert_eq!(one.values().sum::<u64>(), other.values().sum::<u64>(), "{what}: as many draws of both");
    let (mut statistic, mut bins, mut rare) = (0.0, 0.0, (0.0, 0.0));
    let mut add = |a: f64, b: f64| {
        statistic += (a - b).powi(2) / (a + b);
        bins += 1.0;
    };
    let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(key)));
    for key in keys {
        let count = |of: &HashMap<K, u64>| of.get(key).copied().unwrap_or(0) as f64;
        let (a, b) = (count(one), count(other));
        if a + b >= 20.0 {
            add(a, b);
        } else {
            rare = (rare.0 + a, rare.1 + b);
        }
    }
    if rare.0 + rare.1 >= 20.0 {
        add(rare.0, rare.1);
    }
    assert!(bins > 1.5, "{what}: only one bin, so nothing is tested");
    let freedom: f64 = bins - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - spread + 5.0 * spread.sqrt()).powi(3);
    assert!(statistic < limit, "{what}: chi-square {statistic} where {limit} is the limit, {bins} bins");
}
