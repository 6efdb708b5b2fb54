//! Heavy hitters: the values of a domain in the order of their estimates, which is what a reader looks at first.

use throng_dp::{Error, Estimates};

/// One line of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedValue {
    /// The value.
    pub value: usize,
    /// Its estimated count.
    pub count: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The lower end of a range that holds the true count with the stated confidence.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether the count stands out of the noise of the whole domain.
    pub significant: bool,
}

/// The `top` values with the largest estimates, with intervals of this confidence. A value is significant if its
/// estimate exceeds what a value that nobody holds exceeds anywhere in the domain with probability `beta` at most.
pub fn ranking(
    estimates: &Estimates,
    top: usize,
    confidence: f64,
    beta: f64,
) -> Result<Vec<RankedValue>, Error> {
    ranking_among(estimates, |_| true, top, confidence, beta)
}

/// The same among some of the values.
pub fn ranking_among(
    estimates: &Estimates,
    given: impl Fn(usize) -> bool,
    top: usize,
    confidence: f64,
    beta: f64,
) -> Result<Vec<RankedValue>, Error> {
    let counts = estimates.counts();
    let threshold = estimates.heavy_hitters(beta)?.threshold;
    // The largest estimates first, and equal ones by value, so that the order is the same everywhere.
    let order = |&a: &usize, &b: &usize| counts[b].total_cmp(&counts[a]).then(a.cmp(&b));
    // What is missing has no rank.
    let mut values: Vec<usize> =
        (0..counts.len()).filter(|&value| given(value) && !counts[value].is_nan()).collect();
    if top < values.len() {
        values.select_nth_unstable_by(top, order);
        values.truncate(top);
    }
    values.sort_unstable_by(order);
    let rank = |value| {
        let interval = estimates.interval(value, confidence)?;
        Ok(RankedValue {
            value,
            count: counts[value],
            standard_error: estimates.standard_error(value),
            low: *interval.start(),
            high: *interval.end(),
            significant: counts[value] > threshold,
        })
    };
    values.into_iter().map(rank).collect()
}

/// The values by falling true count, equal ones by number.
pub fn ranks(truth: &[u64]) -> Vec<usize> {
    let mut values: Vec<usize> = (0..truth.len()).collect();
    values.sort_by_key(|&value| (std::cmp::Reverse(truth[value]), value));
    values
}

/// Ranks that are evenly spread on a log axis, all of them where there are few.
pub fn log_spaced(len: usize) -> impl Iterator<Item = usize> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let rank = next;
        next = (rank + 1).max(rank + rank / 200);
        (rank < len).then_some(rank)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::estimate::Spread;

    #[test]
    fn the_largest_come_first_with_their_errors() {
        let counts = vec![3.0, 900.0, -5.0, 900.0, 2000.0];
        let estimates = Estimates::new(5000, counts, Spread::constant(10_000.0, 1.0));
        let ranked = ranking(&estimates, 3, 0.95, 0.001).unwrap();
        assert_eq!(ranked.iter().map(|line| line.value).collect::<Vec<_>>(), [4, 1, 3]);
        assert!((ranked[0].high - 2000.0 - 196.0).abs() < 0.01 && (ranked[0].low - 1804.0).abs() < 0.01);
        assert!(ranked.iter().all(|line| line.significant && line.standard_error == 100.0));
        let all = ranking(&estimates, 99, 0.95, 0.001).unwrap();
        assert_eq!(all.iter().map(|line| line.value).collect::<Vec<_>>(), [4, 1, 3, 0, 2]);
        assert!(!all[3].significant);
        let missing = Estimates::new(5000, vec![3.0, f64::NAN, 7.0], Spread::constant(10_000.0, 1.0));
        let ranked = super::ranking(&missing, 99, 0.95, 0.001).unwrap();
        assert_eq!(
            ranked.iter().map(|line| line.value).collect::<Vec<_>>(),
            [2, 0],
            "no rank for what is missing"
        );
        let given = ranking_among(&estimates, |value| value != 4, 2, 0.95, 0.001).unwrap();
        assert_eq!(given.iter().map(|line| line.value).collect::<Vec<_>>(), [1, 3]);
        assert!(ranking(&estimates, 3, 1.0, 0.001).is_err());
    }

    #[test]
    fn ranks_fall_and_are_spread_over_the_axis() {
        assert_eq!(ranks(&[3, 9, 3, 0]), [1, 0, 2, 3]);
        assert_eq!(log_spaced(5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let far: Vec<usize> = log_spaced(1_000_000).collect();
        assert!(far.len() < 3000 && far.windows(2).all(|pair| pair[0] < pair[1]) && far[199] == 199);
    }
}
