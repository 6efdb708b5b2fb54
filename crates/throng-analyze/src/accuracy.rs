//! Accuracy: how far estimates are from a truth that is known, as in simulations.

use throng_dp::Estimates;
use throng_dp::estimate::Spread;

/// Errors over a whole domain, in respondents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The root of the mean squared error.
    pub rmse: f64,
    /// What theory expects it to be, given the true counts.
    pub rmse_expected: f64,
    /// The largest error.
    pub largest_error: f64,
}

impl Accuracy {
    /// Compares estimates with the true counts, value by value. `spread` is what theory says of them, given that
    /// truth. Panics unless there is one true count for each estimate.
    pub fn of(estimates: &Estimates, truth: &[u64], spread: &Spread) -> Self {
        assert_eq!(estimates.counts().len(), truth.len(), "one true count per value");
        let size = truth.len().max(1) as f64;
        let variance: f64 = truth.iter().map(|&count| spread.variance(count as f64)).sum();
        let largest = errors(estimates.counts(), truth).fold(0.0, |most: f64, error| most.max(error.abs()));
        Self {
            rmse: rmse(estimates.counts(), truth),
            rmse_expected: (variance / size).sqrt(),
            largest_error: largest,
        }
    }
}

/// The root of the mean squared error of any counts, for example clipped ones.
pub fn rmse(counts: &[f64], truth: &[u64]) -> f64 {
    (errors(counts, truth).map(|error| error * error).sum::<f64>() / counts.len().max(1) as f64).sqrt()
}

fn errors<'a>(counts: &'a [f64], truth: &'a [u64]) -> impl Iterator<Item = f64> + 'a {
    counts.iter().zip(truth).map(|(count, &truth)| count - truth as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_measured_against_the_truth() {
        let spread = Spread { per_holder: 2.0, ..Spread::constant(9.0, 1.0) };
        let estimates = Estimates::new(9, vec![3.0, 1.0, -8.0], spread);
        let accuracy = Accuracy::of(&estimates, &[0, 5, 4], &spread);
        assert_eq!(accuracy.rmse, ((9.0f64 + 16.0 + 144.0) / 3.0).sqrt());
        assert_eq!(accuracy.rmse_expected, ((9.0f64 + 19.0 + 17.0) / 3.0).sqrt());
        assert_eq!(accuracy.largest_error, 12.0);
    }
}
