//! Datasets by a formula, the same on every machine: nothing here is drawn at random.

use anyhow::{Result, ensure};
use super::{Dataset, RESPONDENTS_MAX, VALUES_MAX};

/// A formula for how many respondents hold each value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generator {
    /// The crowd of the paper's heavy-hitter experiment (Section VII): a hundred heavy hitters, p(r) ~ r^-0.5, and
    /// below them a power law, p(r) ~ r^-1.35. The paper gives neither the share of the hundred nor their shape;
    /// those are our choice.
    HeavyHitters {
        /// The share of the respondents who hold one of the heavy hitters.
        share: f64,
        /// How many respondents.
        respondents: u64,
        /// How many values.
        domain: u64,
    },
    /// A power law, p(r) ~ r^-exponent.
    Zipf {
        /// How steep it is; 0 is flat.
        exponent: f64,
        /// How many respondents.
        respondents: u64,
        /// How many values.
        domain: u64,
    },
    /// All values alike; counts differ by at most 1.
    Uniform {
        /// How many respondents.
        respondents: u64,
        /// How many values.
        domain: u64,
    },
}

impl Generator {
    /// The share of the heavy hitters unless another is asked for.
    pub const SHARE: f64 = 0.5;
    /// The number of respondents in the paper's heavy-hitter experiment.
    pub const RESPONDENTS: u64 = 203_950_512;
    /// The number of values in the paper's heavy-hitter experiment.
    pub const DOMAIN: u64 = 1_778_120;
    /// The exponent of the power law in the paper's heavy-hitter experiment.
    pub const EXPONENT: f64 = 1.35;

    fn name(&self) -> &'static str {
        match self {
            Self::HeavyHitters { .. } => "heavy-hitters",
            Self::Zipf { .. } => "zipf",
            Self::Uniform { .. } => "uniform",
        }
    }

    fn size(&self) -> (u64, u64) {
        match *self {
            Self::HeavyHitters { respondents, domain, .. }
            | Self::Zipf { respondents, domain, .. }
            | Self::Uniform { respondents, domain } => (respondents, domain),
        }
    }
}

/// The crowd of the paper's heavy-hitter experiment.
impl Default for Generator {
    fn default() -> Self {
        Self::HeavyHitters { share: Self::SHARE, respondents: Self::RESPONDENTS, domain: Self::DOMAIN }
    }
}

impl Dataset {
    /// A dataset by a formula. Value 0 has rank r = 1.
    ///
    /// Counts are differences of rounded cumulative counts, so they add up to the number of respondents, and each is
    /// within 1 of respondents * p(r) (but for the rounding of doubles).
    pub fn generate(generator: &Generator) -> Result<Self> {
        let (respondents, domain) = generator.size();
        ensure!(domain > 0, "there is no value; give a domain of at least 1");
        ensure!(domain <= VALUES_MAX, "a domain of {domain} values is too large; give at most 2^26");
        ensure!(respondents > 0, "nobody would answer; give at least 1 respondent");
        ensure!(respondents <= RESPONDENTS_MAX, "{respondents} respondents are too many; give at most 2^63");
        let counts = match *generator {
            Generator::HeavyHitters { share, .. } => {
                ensure!(
                    (0.0..=1.0).contains(&share),
                    "the heavy hitters cannot have a share of {share}; give one from 0 to 1"
                );
                ensure!(
                    domain > HEAVY_HITTERS,
                    "a domain of {domain} values has no room for {HEAVY_HITTERS} heavy hitters and a tail; give more"
                );
                apportioned(heavy_hitters(share, domain), respondents)
            }
            Generator::Zipf { exponent, .. } => {
                ensure!(
                    exponent >= 0.0 && exponent.is_finite(),
                    "a power law cannot have the exponent {exponent}; give a number from 0"
                );
                apportioned(powers(1, domain, exponent), respondents)
            }
            Generator::Uniform { .. } => {
                let (each, rest) = (respondents / domain, respondents % domain);
                (0..domain).map(|value| each + u64::from(value < rest)).collect()
            }
        };
        Self::of_counts(generator.name(), counts)
    }
}

/// p(1), ..., p(domain).
fn heavy_hitters(share: f64, domain: u64) -> Vec<f64> {
    let mut heavy = powers(1, HEAVY_HITTERS, HEAVY_EXPONENT);
    let tail = powers(HEAVY_HITTERS + 1, domain, Generator::EXPONENT);
    let (heavy_sum, tail_sum) = (sum(&heavy), sum(&tail));
    for p in &mut heavy {
        *p = share * *p / heavy_sum;
    }
    heavy.extend(tail.into_iter().map(|p| (1.0 - share) * p / tail_sum));
    heavy
}

/// r^-exponent for the ranks first..=last. By libm, since the operating systems' own powers differ in the last bit.
fn powers(first: u64, last: u64, exponent: f64) -> Vec<f64> {
    (first..=last).map(|rank| libm::pow(rank as f64, -exponent)).collect()
}

/// In this order, since the rounding of a sum depends on it.
fn sum(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |sum, number| sum + number)
}

/// Whole numbers that add up to `respondents`, in proportion to the weights.
//
// C(r) = N * (p(1) + ... + p(r)) / (p(1) + ... + p(D));  count(r) = floor(C(r) + 0.5) - floor(C(r-1) + 0.5);  C(D) = N.
fn apportioned(weights: Vec<f64>, respondents: u64) -> Vec<u64> {
    let total = sum(&weights);
    let last = weights.len() - 1;
    let (mut weight_so_far, mut so_far) = (0.0, 0);
    let count = |(at, weight)| {
        weight_so_far += weight;
        let cumulative = respondents as f64 * weight_so_far / total;
        // Sums never fall, so neither does this; beyond 2^53 respondents it could rise above them by rounding.
        let rounded = ((cumulative + 0.5).floor() as u64).min(respondents);
        let before = so_far;
        so_far = if at == last { respondents } else { rounded };
        so_far - before
    };
    weights.into_iter().enumerate().map(count).collect()
}

const HEAVY_HITTERS: u64 = 100;
const HEAVY_EXPONENT: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(generator: &Generator) -> String {
        Dataset::generate(generator).unwrap_err().to_string()
    }

    /// Values from the recipe by other software, which may differ by 1 in the last bit of a power.
    #[test]
    fn the_papers_heavy_hitters_have_the_published_counts() {
        let data = Dataset::generate(&Generator::default()).unwrap();
        assert_eq!((data.respondents(), data.domain()), (203_950_512, 1_778_120));
        let checks = [
            (1, 5_485_607),
            (2, 3_878_909),
            (10, 1_734_701),
            (100, 548_561),
            (101, 364_656),
            (1_000, 16_509),
            (10_000, 737),
            (100_000, 33),
        ];
        for (rank, expected) in checks {
            assert!(data.counts()[rank - 1].abs_diff(expected) <= 1, "rank {rank}");
        }
        let first = |ranks: usize| data.counts()[..ranks].iter().sum::<u64>();
        assert!(first(100).abs_diff(101_975_256) <= 1);
        assert!(first(10_000).abs_diff(186_318_478) <= 1);
        let held = data.counts().iter().filter(|&&count| count > 0).count();
        assert!(held.abs_diff(1_697_663) <= 5, "{held}");
    }

    #[test]
    fn the_share_of_the_heavy_hitters_is_as_asked() {
        for share in [0.0, 0.2, 0.8, 1.0] {
            let generator = Generator::HeavyHitters { share, respondents: 1_000_000, domain: 5_000 };
            let data = Dataset::generate(&generator).unwrap();
            let heavy: u64 = data.counts()[..100].iter().sum();
            assert!(heavy.abs_diff((1e6 * share) as u64) <= 1, "{share}: {heavy}");
            assert_eq!(data.respondents(), 1_000_000);
        }
    }

    #[test]
    fn a_power_law_adds_up_and_follows_its_exponent() {
        let zipf = |exponent, respondents, domain| {
            let data = Dataset::generate(&Generator::Zipf { exponent, respondents, domain }).unwrap();
            assert_eq!((data.respondents(), data.domain()), (respondents, domain));
            data.counts
        };
        // Shares of 1, 1/2 and 1/3.
        assert_eq!(zipf(1.0, 11, 3), [6, 3, 2]);
        assert_eq!(zipf(0.0, 10, 5), [2; 5]);
        assert_eq!(zipf(1e9, 10, 3), [10, 0, 0]);
        assert_eq!(zipf(1.0, 1, 1), [1]);
        let long = zipf(1.5, 1_000_000_000, 10_000);
        let total: f64 = (1..=10_000).map(|rank| f64::from(rank).powf(-1.5)).sum();
        for rank in [1, 7, 100, 9_999] {
            let expected = 1e9 * f64::from(rank).powf(-1.5) / total;
            assert!((long[rank as usize - 1] as f64 - expected).abs() <= 1.001, "rank {rank}");
        }
        zipf(1.1, 1 << 63, 1_000);
    }

    #[test]
    fn uniform_counts_differ_by_at_most_one() {
        let uniform = |respondents, domain| {
            Dataset::generate(&Generator::Uniform { respondents, domain }).unwrap().counts
        };
        assert_eq!(uniform(11, 4), [3, 3, 3, 2]);
        assert_eq!(uniform(1, 3), [1, 0, 0]);
        assert_eq!(uniform(1 << 63, 2), [1 << 62; 2]);
    }

    #[test]
    fn what_makes_no_crowd_is_refused_with_a_reason() {
        assert!(
            complaint(&Generator::Uniform { respondents: 0, domain: 1 }).contains("at least 1 respondent")
        );
        assert!(complaint(&Generator::Uniform { respondents: 1, domain: 0 }).contains("at least 1"));
        assert!(
            complaint(&Generator::Uniform { respondents: 1, domain: (1 << 26) + 1 }).contains("at most 2^26")
        );
        assert!(complaint(&Generator::Uniform { respondents: u64::MAX, domain: 1 }).contains("at most 2^63"));
        for exponent in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(complaint(&Generator::Zipf { exponent, respondents: 1, domain: 1 }).contains("exponent"));
        }
        for share in [-0.1, 1.1, f64::NAN] {
            let generator = Generator::HeavyHitters { share, respondents: 1, domain: 200 };
            assert!(complaint(&generator).contains("from 0 to 1"));
        }
        let small = Generator::HeavyHitters { share: 0.5, respondents: 1, domain: 100 };
        assert!(complaint(&small).contains("give more"));
    }
}
