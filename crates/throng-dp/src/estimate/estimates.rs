//! Unbiased counts with their errors.

use std::ops::RangeInclusive;

use crate::{Error, normal};

/// Estimated counts of the values of a domain (or of a list of values asked for), all unbiased.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    respondents: u64,
    counts: Vec<f64>,
    spread: Spread,
}

/// How far estimated counts are from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The variance that the coins cause, the same for every value.
    pub noise: f64,
    /// What each respondent who holds a value adds to the variance of its estimate (sampled attributes only).
    pub per_holder: f64,
    /// How far one respondent can move one estimate by coins and samples.
    pub range: f64,
    /// What values that share a cell add (sketches only).
    pub collisions: Option<Collisions>,
}

/// The variance that hash collisions add for a value with true count c: `floor + linear·c + quadratic·c²`. It is zero for a
/// value that everybody holds.
///
/// The coefficients are estimated from the sketch itself, so statements that use them are as good as these estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collisions {
    /// The variance for a value that nobody holds.
    pub floor: f64,
    /// The part in proportion to c, at most 0: those who hold the value do not collide with it.
    pub linear: f64,
    /// The part in proportion to c², below 0: only the counts of other values can collide with this one.
    pub quadratic: f64,
    /// How far one row can move an estimate: the largest cell of a row, as a share of a mean over rows.
    pub range: f64,
}

impl Spread {
    /// The same variance for every count.
    pub fn constant(noise: f64, range: f64) -> Self {
        Self { noise, per_holder: 0.0, range, collisions: None }
    }

    /// The variance of the estimate for a value that `count` respondents hold.
    pub fn variance(&self, count: f64) -> f64 {
        self.by_coins(count) + self.collisions.map_or(0.0, |collisions| collisions.variance(count))
    }

    /// A deviation that the estimate for a value with this count exceeds, in one direction, with at most this
    /// probability.
    ///
    /// Bennett's inequality: respondents toss their coins independently of one another, and the rows of a sketch
    /// hash independently of one another. With collisions each of the two gets half of the probability.
    pub fn deviation(&self, count: f64, probability: f64) -> f64 {
        let exponent = -probability.ln();
        match self.collisions {
            None => bennett(self.by_coins(count), self.range, exponent),
            Some(collisions) => {
                let half = exponent + std::f64::consts::LN_2;
                bennett(self.by_coins(count), self.range, half)
                    + bennett(collisions.variance(count), collisions.range, half)
            }
        }
    }

    fn by_coins(&self, count: f64) -> f64 {
        self.noise + self.per_holder * count
    }
}

impl Collisions {
    fn variance(&self, count: f64) -> f64 {
        (self.floor + (self.linear + self.quadratic * count) * count).max(0.0)
    }
}

impl Estimates {
    /// Counts over a crowd, with their spread.
    pub fn new(respondents: u64, counts: Vec<f64>, spread: Spread) -> Self {
        Self { respondents, counts, spread }
    }

    /// How many respondents the estimates are about.
    pub fn respondents(&self) -> u64 {
        self.respondents
    }

    /// The estimated counts. Each is unbiased, so some are negative. A missing count is NaN.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The estimated count of a value; `None` if it is missing, or there is no such value.
    pub fn count(&self, value: usize) -> Option<f64> {
        self.counts.get(value).copied().filter(|count| !count.is_nan())
    }

    /// How many values are missing, because no instance that holds their fragments is in the estimates.
    pub fn missing(&self) -> usize {
        self.counts.iter().filter(|count| count.is_nan()).count()
    }

    /// How far they are from the truth.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// The standard error of one count, at the estimated count; NaN if it is missing. Panics if there is no such value.
    pub fn standard_error(&self, value: usize) -> f64 {
        self.spread.variance(self.counts[value].clamp(0.0, self.respondents as f64)).sqrt()
    }

    /// The standard error of a value that nobody holds: counts of this size are noise.
    pub fn noise_floor(&self) -> f64 {
        self.spread.variance(0.0).sqrt()
    }

    /// A range that holds the true count of one value with probability `confidence`.
    ///
    /// It is the normal interval where that is good: up to a confidence of 99.9 %, without collisions, and with a
    /// variance of at least 100 flips, so that the skew does not show. Elsewhere it is Bennett's, which is wider and
    /// holds for every crowd. Where the variance depends on the count, that of the far end is used.
    pub fn interval(&self, value: usize, confidence: f64) -> Result<RangeInclusive<f64>, Error> {
        let miss = 1.0 - probability("the confidence", confidence)?;
        let size = self.counts.len() as u64;
        let count = *self.counts.get(value).ok_or(Error::OutsideDomain { size })?;
        if count.is_nan() {
            return Err(Error::Missing);
        }
        let spread = &self.spread;
        let normal =
            spread.collisions.is_none() && miss >= 0.999e-3 && spread.noise >= 100.0 * spread.range.powi(2);
        let half_at = |count: f64| {
            let count = count.clamp(0.0, self.respondents as f64);
            if normal {
                normal::upper_quantile(miss / 2.0) * spread.variance(count).sqrt()
            } else {
                spread.deviation(count, miss / 2.0)
            }
        };
        // The far end is where the interval says it is: a fixed point, reached from below.
        let half = (0..50).fold(half_at(count), |half, _| half_at(count + half).max(half));
        Ok(count - half..=count + half)
    }

    /// With probability 1 − `beta`, no count of the whole domain that is not missing is further than this from the truth.
    ///
    /// # Paper
    /// Theorem att-frag-accuracy, with its constant. By Bennett's inequality over k values the error is at most
    /// v/r·h⁻¹(L r²/v), with v = n p(1 − p)/(1 − 2p)², r = 1/(1 − 2p), L = ln(2k/beta) and
    /// h(u) = (1 + u) ln(1 + u) − u; that is below L r/3 + sqrt(L² r²/9 + 2 v L). For large ε and n it is
    /// sqrt(2 n ln(2k/beta)/e^ε): the exponent is ε, not the ε/2 of the theorem's text (its appendix is right).
    pub fn simultaneous_error(&self, beta: f64) -> Result<f64, Error> {
        let share = probability("the failure probability", beta)? / (2.0 * self.counts.len().max(1) as f64);
        let everyone = self.respondents as f64;
        Ok(self.spread.deviation(0.0, share).max(self.spread.deviation(everyone, share)))
    }

    /// The values whose counts stand out of the noise: with probability 1 − `beta` none of them is a value that
    /// nobody holds, over the whole domain.
    pub fn heavy_hitters(&self, beta: f64) -> Result<HeavyHitters, Error> {
        let share = probability("the false-positive probability", beta)? / self.counts.len().max(1) as f64;
        let threshold = self.spread.deviation(0.0, share);
        let mut values: Vec<usize> = (0..self.counts.len()).filter(|&v| self.counts[v] > threshold).collect();
        values.sort_by(|&a, &b| self.counts[b].total_cmp(&self.counts[a]));
        Ok(HeavyHitters { threshold, values })
    }
}

/// Values that stand out of the noise.
#[derive(Clone, Debug, PartialEq)]
pub struct HeavyHitters {
    /// The count above which a value is listed.
    pub threshold: f64,
    /// The values, by falling count.
    pub values: Vec<usize>,
}

/// A sum of independent contributions, none of which exceeds its mean by more than `range`, exceeds its own mean by
/// this with probability at most e^-exponent (Bennett): v/r²·h(tr/v) = exponent, solved for t from above.
fn bennett(variance: f64, range: f64, exponent: f64) -> f64 {
    if variance <= 0.0 || exponent <= 0.0 {
        return 0.0;
    }
    let target = exponent * range * range / variance;
    if target < 1e-9 {
        // h(u) = u²/2 to nine digits: the normal case, with a little to spare.
        return (2.0 * variance * exponent).sqrt() * (1.0 + 1e-4);
    }
    // Bernstein's solution is an upper end; h is convex, so Newton's steps from there stay above the root.
    let mut u = target / 3.0 + (target * target / 9.0 + 2.0 * target).sqrt();
    for _ in 0..100 {
        let step = ((1.0 + u) * u.ln_1p() - u - target) / u.ln_1p();
        if step <= 1e-12 * u {
            break;
        }
        u -= step;
    }
    u * variance / range * (1.0 + 1e-9)
}

fn probability(what: &'static str, got: f64) -> Result<f64, Error> {
    if got > 0.0 && got < 1.0 { Ok(got) } else { Err(Error::Probability { what, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epsilon;
    use crate::estimate::BitNoise;
    use crate::sampling::{Bernoulli, Binomial};
    use crate::testing::{assert_share, rng};

    #[test]
    fn bennett_solves_its_own_inequality() {
        for variance in [1e-4, 0.01, 1.0, 400.0, 1e9] {
            for (range, exponent) in [(1.0, 3.0), (2.0, 14.0), (293.0, 20.0), (1.0, 1e-3), (1e-3, 30.0)] {
                let t: f64 = bennett(variance, range, exponent);
                let u = t * range / variance;
                let solved = variance / range.powi(2) * ((1.0 + u) * u.ln_1p() - u);
                assert!(solved >= exponent * (1.0 - 1e-9), "{variance} {range} {exponent}: {solved}");
                assert!(solved <= exponent * (1.0 + 1e-3), "{variance} {range} {exponent}: {solved}");
                let bernstein = range * exponent / 3.0
                    + ((range * exponent / 3.0).powi(2) + 2.0 * variance * exponent).sqrt();
                assert!(t <= bernstein * (1.0 + 1e-3));
            }
        }
        assert_eq!(bennett(0.0, 1.0, 5.0), 0.0);
    }

    #[test]
    fn probabilities_outside_the_open_unit_interval_are_refused() {
        let e = Estimates::new(10, vec![1.0], Spread::constant(1.0, 1.0));
        for bad in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(e.interval(0, bad).is_err() && e.simultaneous_error(bad).is_err());
            assert!(e.heavy_hitters(bad).is_err());
        }
    }

    #[test]
    fn sampled_attributes_widen_the_error_of_what_is_held() {
        let spread = Spread { per_holder: 3.0, ..Spread::constant(100.0, 1.0) };
        let e = Estimates::new(1000, vec![-5.0, 300.0], spread);
        assert_eq!(e.standard_error(0), 10.0);
        assert_eq!(e.standard_error(1), 1000f64.sqrt());
        assert_eq!(e.noise_floor(), 10.0);
        // The interval is wide enough for the variance at its own far end.
        let end = *e.interval(1, 0.95).unwrap().end();
        assert!((end - 300.0) / spread.variance(end).sqrt() >= 1.9599, "{end}");
        assert!(matches!(e.interval(2, 0.95), Err(Error::OutsideDomain { size: 2 })));
        let missing = Estimates::new(1000, vec![f64::NAN, 300.0], spread);
        assert!(matches!(missing.interval(0, 0.95), Err(Error::Missing)), "what is missing has no range");
        // What holds for all values at once holds for one that everybody has.
        assert!(e.simultaneous_error(0.05).unwrap() >= spread.deviation(1000.0, 0.05 / 4.0));
    }

    /// Coverage of the intervals and of the two bounds over the domain, on noise drawn exactly: each interval
    /// misses at most as often as it says (with the normal one, up to the small skew it allows), the family-wise
    /// bounds at most with their probability.
    #[test]
    fn stated_probabilities_hold() {
        let coin = Bernoulli::flip(Epsilon::new(5.0).unwrap()).unwrap();
        let bit = BitNoise::single(coin);
        for (n, excess) in [(300u64, 0.0), (200_000, 0.004)] {
            let noise = Binomial::new(n.min(20_000), coin);
            let mut rng = rng(60);
            let (domain, trials) = (100, 2000);
            let (mut missed, mut erred, mut false_hits) = (0, 0, 0);
            for _ in 0..trials {
                let counts: Vec<f64> = (0..domain)
                    .map(|_| {
                        let sum: u64 = (0..n.div_ceil(20_000)).map(|_| noise.draw(&mut rng)).sum();
                        bit.count(sum as f64, n as f64)
                    })
                    .collect();
                let spread = Spread::constant(n as f64 * bit.variance(), bit.range());
                let e = Estimates::new(n, counts, spread);
                missed += u64::from(!e.interval(0, 0.9).unwrap().contains(&0.0));
                let error = e.simultaneous_error(0.2).unwrap();
                erred += u64::from(e.counts().iter().any(|c| c.abs() > error));
                false_hits += u64::from(!e.heavy_hitters(0.2).unwrap().values.is_empty());
            }
            // One-sided: at most the stated share, plus what chance allows; and the normal interval not far less.
            assert_share(missed.max(trials / 10), trials, 0.1 + excess, 6);
            assert_share(erred.max(trials / 5), trials, 0.2, 6);
            assert_share(false_hits.max(trials / 5), trials, 0.2, 6);
            if n == 200_000 {
                assert_share(missed, trials, 0.1, 6);
            }
            assert!(false_hits > 0, "the threshold is not absurdly high");
        }
    }
}
