//! Clopper-Pearson confidence intervals: what a frequency says about a probability, for any sample size.
//!
//! C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
//! 1934: the limits are the probabilities under which what was seen would just be too rare. Audits measure with them.

use crate::Error;
use crate::binomial::Binomial;

/// A confidence interval: the probabilities that a frequency does not rule out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// At most the smallest of them.
    pub lower: f64,
    /// At least the largest of them.
    pub upper: f64,
}

/// The two-sided interval of `successes` out of `trials` independent trials: it misses the true probability with
/// probability at most 1 − `confidence`, half of that on either side, whatever the true probability is.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Result<Interval, Error> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::Parameter {
            what: "the confidence",
            got: confidence,
            expected: "give a number between 0 and 1",
        });
    }
    let one_sided = 0.5 * (1.0 + confidence);
    Ok(Interval {
        lower: lower_limit(successes, trials, one_sided)?,
        upper: upper_limit(successes, trials, one_sided)?,
    })
}

/// The one-sided lower limit: above the true probability with probability at most 1 − `confidence`, which has to be at
/// least 1/2.
///
/// It is the p at which Pr[Bin(trials, p) ≥ successes] = 1 − `confidence`, to eleven digits, from below.
pub fn lower_limit(successes: u64, trials: u64, confidence: f64) -> Result<f64, Error> {
    check(successes, trials, confidence)?;
    if successes == 0 {
        return Ok(0.0);
    }
    let target = (-confidence).ln_1p();
    let too_rare = |p: f64| Binomial::new(trials, p, 1.0 - p).ln_upper_tail(successes) + ROUNDING <= target;
    // At the frequency itself the tail is at least 1/2: the median of a binomial whose mean is an integer is the mean.
    let (mut low, mut high) = (0.0, successes as f64 / trials as f64);
    while high - low > TOLERANCE * high {
        let middle = 0.5 * (low + high);
        if too_rare(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high < f64::MIN_POSITIVE {
            return Ok(0.0);
        }
    }
    Ok(low)
}

/// The one-sided upper limit: below the true probability with probability at most 1 − `confidence`, which has to be at
/// least 1/2.
pub fn upper_limit(successes: u64, trials: u64, confidence: f64) -> Result<f64, Error> {
    check(successes, trials, confidence)?;
    // Failures are as good to count.
    Ok((1.0 - lower_limit(trials - successes, trials, confidence)?).next_up().min(1.0))
}

fn check(successes: u64, trials: u64, confidence: f64) -> Result<(), Error> {
    if trials == 0 || trials > TRIALS_MAX {
        return Err(Error::Parameter {
            what: "the number of trials",
            got: trials as f64,
            expected: "give at least 1 and at most 10^12",
        });
    }
    if successes > trials {
        return Err(Error::Parameter {
            what: "the number of successes",
            got: successes as f64,
            expected: "give at most the number of trials",
        });
    }
    if !(0.5..1.0).contains(&confidence) {
        return Err(Error::Parameter {
            what: "the confidence of a limit",
            got: confidence,
            expected: "give at least 1/2 and less than 1",
        });
    }
    Ok(())
}

const TRIALS_MAX: u64 = 1_000_000_000_000;
const TOLERANCE: f64 = 1e-11;
/// Above the rounding of 1 − confidence and its logarithm.
const ROUNDING: f64 = 1e-14;

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^(bits·n)·Pr[Bin(n, numerator/2^bits) ≥ k], an integer.
    fn exact_tail(n: u32, k: u32, numerator: u128, bits: u32) -> u128 {
        let choose = |i: u32| (1..=u128::from(i)).fold(1, |c, j| c * (u128::from(n - i) + j) / j);
        let rest = (1u128 << bits) - numerator;
        (k..=n).map(|i| choose(i) * numerator.pow(i) * rest.pow(n - i)).sum()
    }

    /// In exact integers: the limit as a multiple of 2^-bits makes what was seen too rare, and a little more does not.
    #[test]
    fn limits_are_those_of_exact_rationals() {
        for n in 1..=8u32 {
            let bits = 120 / n;
            for k in 1..=n {
                for one_in in [2u128, 10, 20, 40] {
                    let confidence = 1.0 - 1.0 / one_in as f64;
                    let limit = lower_limit(k.into(), n.into(), confidence).unwrap();
                    let below = (limit * (1u128 << bits) as f64) as u128;
                    let slack = 2 + (below as f64 * 1e-9) as u128;
                    let at = |numerator| one_in * exact_tail(n, k, numerator, bits);
                    let whole = 1u128 << (bits * n);
                    assert!(at(below) <= whole, "{k} of {n}, 1/{one_in}: {limit} is too high");
                    assert!(at(below + slack) > whole, "{k} of {n}, 1/{one_in}: {limit} is too low");
                    let upper = upper_limit((n - k).into(), n.into(), confidence).unwrap();
                    assert!((upper + limit - 1.0).abs() < 1e-15);
                }
            }
        }
    }

    /// Printed by R's `binom.test` (9 of 24; 1 of 1497 at 90 %) and in SciPy's manual page of `binomtest` (3 of 15,
    /// one-sided); Mendel's peas from mpmath at 30 digits, as roots of the regularized incomplete beta function.
    #[test]
    fn limits_are_the_published_ones() {
        for (successes, trials, confidence, lower, upper, digits) in [
            (9, 24, 0.95, 0.1879929, 0.5940636, 5e-8),
            (1, 1497, 0.9, 3.426347e-5, 3.164954e-3, 5e-10),
            (682, 925, 0.95, 0.707_668_264_079_039, 0.765_406_558_241_525_2, 1e-10),
        ] {
            let ours = clopper_pearson(successes, trials, confidence).unwrap();
            assert!((ours.lower - lower).abs() < digits && (ours.upper - upper).abs() < digits, "{ours:?}");
        }
        let low = lower_limit(3, 15, 0.95).unwrap();
        assert!((low - 0.056_846_867_590_246_81).abs() < 1e-10, "{low}");
        // No success at all has a closed form.
        let none = clopper_pearson(0, 10, 0.95).unwrap();
        assert!(none.lower == 0.0 && (none.upper - (1.0 - 0.025f64.powf(0.1))).abs() < 1e-10, "{none:?}");
    }

    /// The promise itself, by summation over everything that can be seen: 1 − confidence is not exceeded on either side.
    #[test]
    fn limits_miss_as_rarely_as_they_promise() {
        for n in [1u64, 5, 40, 300] {
            for confidence in [0.5, 0.9, 0.99] {
                let limits: Vec<f64> = (0..=n).map(|k| lower_limit(k, n, confidence).unwrap()).collect();
                assert!(limits.windows(2).all(|pair| pair[0] < pair[1]));
                // The worst probabilities are just below the limits.
                let just_below = limits[1..].iter().map(|limit| limit * (1.0 - 1e-12));
                for p in just_below.chain([0.01, 0.3, 0.5, 0.99]) {
                    let law = Binomial::new(n, p, 1.0 - p);
                    let missed: f64 =
                        (0..=n).filter(|&k| limits[k as usize] > p).map(|k| law.ln_pmf(k).exp()).sum();
                    assert!(missed <= (1.0 - confidence) * (1.0 + 1e-9), "{n} {confidence} {p}: {missed}");
                }
            }
        }
    }

    #[test]
    fn many_trials_and_extreme_confidence_are_answered_and_nonsense_is_refused() {
        let many = clopper_pearson(300_000_000, 1_000_000_000, 0.95).unwrap();
        let half_width = 1.959_964 * (0.21f64 / 1e9).sqrt();
        assert!(
            (many.lower - (0.3 - half_width)).abs() < 1e-8 && (many.upper - (0.3 + half_width)).abs() < 1e-8
        );
        let sure = clopper_pearson(1, 1_000_000_000_000, 1.0 - 1e-15).unwrap();
        assert!(sure.lower > 0.0 && sure.lower < 1e-26 && sure.upper < 1e-10, "{sure:?}");
        for bad in [0.0, 1.0, f64::NAN, -0.5] {
            assert!(matches!(clopper_pearson(1, 2, bad), Err(Error::Parameter { .. })));
        }
        assert!(matches!(lower_limit(1, 2, 0.4), Err(Error::Parameter { .. })));
        assert!(matches!(clopper_pearson(3, 2, 0.9), Err(Error::Parameter { .. })));
        assert!(matches!(clopper_pearson(0, 0, 0.9), Err(Error::Parameter { .. })));
    }
}
