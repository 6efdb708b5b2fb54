//! Chernoff bounds: the cumulants of a sum of losses, and the windows that they give.

use super::loss::LossDistribution;

/// Independent losses that are added up, each with how often.
pub(super) type Sum<'a> = [(&'a LossDistribution, u64)];

/// ln E[e^(tilt·loss)] over the finite losses, with its first two derivatives: mean and variance of the tilted loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cumulants {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// The cumulants of the sum.
pub(super) fn cumulants(sum: &Sum<'_>, tilt: f64) -> Cumulants {
    sum.iter().fold(Cumulants::default(), |total, &(loss, times)| {
        let (one, times) = (cumulants_of_one(loss, tilt), times as f64);
        Cumulants {
            value: total.value + times * one.value,
            mean: total.mean + times * one.mean,
            variance: total.variance + times * one.variance,
        }
    })
}

/// The cumulants of one loss.
pub(super) fn cumulants_of_one(loss: &LossDistribution, tilt: f64) -> Cumulants {
    // Relative to the end that the tilt favours, no exponential overflows and the largest is 1.
    let end = if tilt >= 0.0 { loss.largest() } else { loss.smallest() };
    let (mut mass, mut mean) = (0.0, 0.0);
    for atom in &loss.atoms {
        let weight = atom.mass * (tilt * (atom.loss - end)).exp();
        mass += weight;
        mean += weight * (atom.loss - end);
    }
    if mass == 0.0 {
        return Cumulants::default();
    }
    mean /= mass;
    let squares: f64 = loss
        .atoms
        .iter()
        .map(|atom| atom.mass * (tilt * (atom.loss - end)).exp() * (atom.loss - end - mean).powi(2))
        .sum();
    Cumulants { value: mass.ln() + tilt * end, mean: end + mean, variance: squares / mass }
}

/// How much further to tilt (up or down, by the sign of `direction`) so that Chernoff's bound for the new mean is
/// e^-exponent. Any answer gives a valid bound; near that one it is the best.
pub(super) fn further(sum: &Sum<'_>, base: f64, direction: f64, exponent: f64) -> f64 {
    let start = cumulants(sum, base);
    if start.variance <= 0.0 || exponent <= 0.0 {
        return 0.0;
    }
    let reached = |step: f64| {
        let here = cumulants(sum, base + direction * step);
        (direction * step * here.mean - (here.value - start.value), here.variance * step * step)
    };
    let mut high = (2.0 * exponent / start.variance).sqrt();
    let mut low = 0.0;
    for _ in 0..64 {
        let (found, spread) = reached(high);
        // All mass on one loss: tilting further changes nothing.
        if found >= exponent || spread < 1e-3 {
            break;
        }
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let (found, _) = reached(middle);
        if (found - exponent).abs() <= 0.02 * exponent {
            return middle;
        }
        if found < exponent { low = middle } else { high = middle }
    }
    high
}

/// The tilt that moves the mean of the sum to about `mean`; none if it is there already.
pub(super) fn tilt_to(sum: &Sum<'_>, mean: f64) -> f64 {
    let start = cumulants(sum, 0.0);
    if start.mean >= mean || start.variance <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, (mean - start.mean) / start.variance);
    for _ in 0..64 {
        let here = cumulants(sum, high);
        if here.mean >= mean || here.variance * high * high < 1e-3 {
            break;
        }
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let here = cumulants(sum, middle);
        if (here.mean - mean).abs() <= 0.05 * here.variance.sqrt() {
            return middle;
        }
        if here.mean < mean { low = middle } else { high = middle }
    }
    low
}
