//! The best size of a sketch for a target, a crowd and a distribution.

use throng_dp::estimate::{Collisions, Spread};

use super::{Encoding, Plan, Question, build, tidy};
use crate::Error;
use crate::amplification::exact;
use crate::patience::{CancelToken, still_wanted};

/// How the values are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// All values alike: the best case for a sketch.
    Uniform,
    /// The r-th most frequent value has a share proportional to r^-exponent.
    Zipf(f64),
    /// A sample: how many respondents hold each value, in any order.
    Sample(Vec<u64>),
}

impl Distribution {
    /// The chance that two respondents hold the same value: all that the error of a sketch depends on.
    pub fn coincidence(&self, domain: u64) -> Result<f64, Error> {
        let wrong = |what, got, expected| Err(Error::Parameter { what, got, expected });
        match self {
            Self::Uniform => Ok(1.0 / domain as f64),
            Self::Zipf(exponent) if exponent.is_finite() && *exponent >= 0.0 => {
                let (sum, squares) = power_sums(domain, *exponent);
                Ok((squares / (sum * sum)).min(1.0))
            }
            Self::Zipf(exponent) => {
                wrong("the exponent of the distribution", *exponent, "give a number from 0 on")
            }
            Self::Sample(counts) => {
                let total: f64 = counts.iter().map(|&count| count as f64).sum();
                if total == 0.0 {
                    return wrong("the sample", 0.0, "give at least one respondent");
                }
                Ok(counts.iter().map(|&count| (count as f64 / total).powi(2)).sum())
            }
        }
    }
}

/// Σ r^-s and Σ r^-2s for r = 1..=k, the far end by an integral.
fn power_sums(k: u64, s: f64) -> (f64, f64) {
    let near = k.min(100_000);
    let sum = |exponent: f64| {
        let head: f64 = (1..=near).map(|r| (r as f64).powf(-exponent)).sum();
        let (from, to) = (near as f64 + 0.5, k as f64 + 0.5);
        let tail = if (exponent - 1.0).abs() < 1e-9 {
            (to / from).ln()
        } else {
            (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
        };
        head + tail
    };
    (sum(s), sum(2.0 * s))
}

/// The plan that can tell the smallest count from zero, among sketches of power-of-two sizes.
///
/// # Privacy
/// The row of a report is taken to be visible (proved): the crowd of a respondent is those with the same row. So more
/// rows cost privacy noise, and fewer cost collisions.
pub(super) fn best(question: &Question, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    let n = question.respondents as f64;
    let squares = n * n * question.distribution.coincidence(question.domain)?;
    let mut best: Option<Plan> = None;
    let mut why_not = None;
    for rows in ROWS {
        still_wanted(go_on)?;
        let floor = match exact::cms_revealed_epsilon_local(
            question.honest(),
            question.epsilon_central,
            question.main_delta(),
            rows,
        ) {
            Ok(floor) => tidy(floor),
            Err(reason) => {
                why_not = Some(reason);
                continue;
            }
        };
        for cells in CELLS {
            let (h, m) = (f64::from(rows), f64::from(cells));
            let encoding = Encoding::Sketch { rows, cells };
            let plan = build((question, go_on), encoding, u64::from(cells), floor, |n, noise| {
                let correction = m / (m - 1.0);
                let collisions = Collisions {
                    floor: (n * (1.0 - 1.0 / h) + squares / h) / (m - 1.0),
                    linear: 0.0,
                    quadratic: 0.0,
                    // No value is held by more than this, or the squares would not fit.
                    range: squares.sqrt() / h * correction,
                };
                let spread = Spread::constant(n * noise.variance() * correction, noise.range() * correction);
                Spread { collisions: Some(collisions), ..spread }
            });
            match plan {
                Ok(plan) => {
                    let better =
                        best.as_ref().is_none_or(|best| plan.accuracy.detectable < best.accuracy.detectable);
                    if better {
                        best = Some(plan);
                    }
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(reason) => why_not = Some(nearest(why_not, reason)),
            }
        }
    }
    let none = || Error::NotApplicable("no sketch fits".into());
    let mut plan = best.ok_or_else(|| why_not.unwrap_or_else(none))?;
    plan.reasons.push(format!(
        "Of an error of {:.1}, privacy is {:.1} and collisions are {:.1}. The row of a report is taken to be visible, \
         so those who report on the same row are the crowd.",
        plan.accuracy.standard_error, plan.accuracy.privacy_error, plan.accuracy.collision_error
    ));
    Ok(plan)
}

/// Of two reasons against an encoding, the one to give: that of the encoding which would send fewer fragments. What to
/// change is what the later one says: it has been tried as well.
pub(super) fn nearest(before: Option<Error>, now: Error) -> Error {
    match (before, now) {
        (
            Some(Error::TooManyFragments { fragments: fewest, envelopes, limit, .. }),
            Error::TooManyFragments { fragments, change, .. },
        ) if fewest <= fragments => Error::TooManyFragments { fragments: fewest, envelopes, limit, change },
        (_, now) => now,
    }
}

/// Sizes that are tried; the paper's is 1,024 x 65,536.
const ROWS: [u32; 6] = [1, 4, 16, 64, 256, 1024];
const CELLS: [u32; 7] = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coincidences_are_sums_of_squared_shares() {
        assert!((Distribution::Uniform.coincidence(50).unwrap() - 0.02).abs() < 1e-15);
        let zipf = Distribution::Zipf(1.35).coincidence(1000).unwrap();
        let sum: f64 = (1..=1000).map(|r| f64::from(r).powf(-1.35)).sum();
        let squares: f64 = (1..=1000).map(|r| f64::from(r).powf(-2.7)).sum();
        assert!((zipf - squares / (sum * sum)).abs() < 1e-12);
        // The integral of the far end against plain summation.
        let far = Distribution::Zipf(0.8).coincidence(400_000).unwrap();
        let sum: f64 = (1..=400_000).map(|r| f64::from(r).powf(-0.8)).sum();
        let squares: f64 = (1..=400_000).map(|r| f64::from(r).powf(-1.6)).sum();
        assert!((far / (squares / (sum * sum)) - 1.0).abs() < 1e-9);
        assert_eq!(Distribution::Sample(vec![3, 1]).coincidence(9).unwrap(), 10.0 / 16.0);
        assert!(Distribution::Sample(vec![0]).coincidence(9).is_err());
        assert!(Distribution::Zipf(f64::NAN).coincidence(9).is_err());
    }
}
