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
///
/// The variance of the estimate for a value with true count c is `floor + linear·c + quadratic·c²`, and at least
/// `least`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The variance for a value that nobody holds: the noise floor, squared.
    pub floor: f64,
    /// Sampled attributes add to the variance for each respondent who holds the value; in a sketch those
    /// respondents do not collide with their own value.
    pub linear: f64,
    /// In a sketch, what the value does not suffer from colliding with itself.
    pub quadratic: f64,
    /// The privacy noise alone: where the other terms are estimates themselves, they cannot undercut it.
    pub least: f64,
    /// How far one respondent can move one estimate, where the respondents' contributions are independent: tails
    /// are then proved by Bernstein's inequality. `None` for sketches, where hash collisions tie respondents
    /// together and tails are only those of a normal distribution with the same variance.
    pub range: Option<f64>,
}

impl Spread {
    /// The same variance for every count.
    pub fn constant(variance: f64, range: f64) -> Self {
        Self { floor: variance, linear: 0.0, quadratic: 0.0, least: variance, range: Some(range) }
    }

    /// The variance of the estimate for a value that `count` respondents hold.
    pub fn variance(&self, count: f64) -> f64 {
        (self.floor + (self.linear + self.quadratic * count) * count).max(self.least)
    }

    /// A deviation that an estimate with this variance exceeds, in one direction, with at most this probability:
    /// Bernstein's where it is proved, the normal quantile where it is not.
    pub fn deviation(&self, variance: f64, probability: f64) -> f64 {
        match self.range {
            Some(range) => bernstein(variance, range, -probability.ln()),
            None => normal::upper_quantile(probability) * variance.sqrt(),
        }
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

    /// The estimated counts. Each is unbiased, so some are negative.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// How far they are from the truth.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// The standard error of one count, at the estimated count. Panics if there is no such value.
    pub fn standard_error(&self, value: usize) -> f64 {
        self.spread.variance(self.counts[value].clamp(0.0, self.respondents as f64)).sqrt()
    }

    /// The standard error of a value that nobody holds: counts of this size are noise.
    pub fn noise_floor(&self) -> f64 {
        self.spread.floor.sqrt()
    }

    /// A range that holds the true count of one value with probability `confidence`.
    ///
    /// It is the normal interval, unless the sum has so small a variance (below 100 flips) that its skew would
    /// show: then it is Bernstein's, which is wider and holds for every crowd.
    pub fn interval(&self, value: usize, confidence: f64) -> Result<RangeInclusive<f64>, Error> {
        let miss = 1.0 - probability("the confidence", confidence)?;
        let variance = self.standard_error(value).powi(2);
        let half = match self.spread.range {
            Some(range) if variance < 100.0 * range * range => bernstein(variance, range, (2.0 / miss).ln()),
            _ => normal::upper_quantile(miss / 2.0) * variance.sqrt(),
        };
        Ok(self.counts[value] - half..=self.counts[value] + half)
    }

    /// With probability 1 − `beta`, no count of the whole domain is further than this from the truth.
    ///
    /// # Paper
    /// Theorem att-frag-accuracy, with its constant: over k values the error is at most
    /// [L/3 + sqrt(L²/9 + 2 n p(1 − p) L)]/(1 − 2p), L = ln(2k/beta). For large ε and n that is
    /// sqrt(2 n ln(2k/beta)/e^ε): the exponent is ε, not the ε/2 of the theorem's text (its appendix is right).
    pub fn simultaneous_error(&self, beta: f64) -> Result<f64, Error> {
        let beta = probability("the failure probability", beta)?;
        let variance = self.spread.floor.max(self.spread.variance(self.respondents as f64));
        Ok(self.spread.deviation(variance, beta / (2.0 * self.counts.len().max(1) as f64)))
    }

    /// The values whose counts stand out of the noise: with probability 1 − `beta` none of them is a value that
    /// nobody holds, over the whole domain.
    pub fn heavy_hitters(&self, beta: f64) -> Result<HeavyHitters, Error> {
        let beta = probability("the false-positive probability", beta)?;
        let threshold = self.spread.deviation(self.spread.floor, beta / self.counts.len().max(1) as f64);
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

/// A sum of independent contributions of which each can change by at most `range` exceeds its mean by this with
/// probability at most e^-exponent (Bernstein).
fn bernstein(variance: f64, range: f64, exponent: f64) -> f64 {
    let linear = range * exponent / 3.0;
    linear + (linear * linear + 2.0 * variance * exponent).sqrt()
}

fn probability(what: &'static str, got: f64) -> Result<f64, Error> {
    if got > 0.0 && got < 1.0 { Ok(got) } else { Err(Error::Probability { what, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epsilon;
    use crate::estimate::BitChannel;
    use crate::sampling::{Bernoulli, Binomial};
    use crate::testing::{assert_share, rng};

    #[test]
    fn bernstein_solves_its_own_inequality() {
        for (variance, range, exponent) in [(1.0, 1.0, 3.0), (400.0, 2.0, 14.0), (0.01, 1.0, 20.0)] {
            let t: f64 = bernstein(variance, range, exponent);
            let solved = t * t / (2.0 * (variance + range * t / 3.0));
            assert!((solved - exponent).abs() < 1e-9 * exponent);
        }
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
        let spread = Spread { linear: 3.0, ..Spread::constant(100.0, 1.0) };
        let e = Estimates::new(1000, vec![-5.0, 300.0], spread);
        assert_eq!(e.standard_error(0), 10.0);
        assert_eq!(e.standard_error(1), 1000f64.sqrt());
        assert_eq!(e.noise_floor(), 10.0);
    }

    /// Coverage of the intervals and of the two bounds over the domain, on noise drawn exactly: each interval
    /// misses at most as often as it says (with the normal one, up to the small skew it allows), the family-wise
    /// bounds at most with their probability.
    #[test]
    fn stated_probabilities_hold() {
        let coin = Bernoulli::flip(Epsilon::new(5.0).unwrap()).unwrap();
        let channel = BitChannel::single(coin);
        for (n, excess) in [(300u64, 0.0), (200_000, 0.004)] {
            let noise = Binomial::new(n.min(20_000), coin);
            let mut rng = rng(60);
            let (domain, trials) = (100, 2000);
            let (mut missed, mut erred, mut false_hits) = (0, 0, 0);
            for _ in 0..trials {
                let counts: Vec<f64> = (0..domain)
                    .map(|_| {
                        let sum: u64 = (0..n.div_ceil(20_000)).map(|_| noise.draw(&mut rng)).sum();
                        channel.count(sum as f64, n as f64)
                    })
                    .collect();
                let spread = Spread::constant(n as f64 * channel.variance(), channel.range());
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
