//! Records that set several bits: several attributes, or a set of values.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::Zero;
use rand_core::CryptoRng;

use super::{
    BitRandomizer, ExactDistribution, Probability, Randomizer, check_exact, difference, is_bit_list,
    pattern_probability, with_bits,
};
use zeroize::Zeroizing;

use crate::estimate::{BitNoise, Estimates, Tally};
use crate::sampling::{Bernoulli, Flips, below};
use crate::{Epsilon, Error, LocalGuarantee, Removal};

/// A record that sets at most `slots` of `size` bits, reported under one budget.
///
/// Records with natural attributes, of which one is sampled, are [`crate::Record`]s: such sets over domains that lie
/// side by side, so that every respondent's noise covers all of them and nobody sees which attribute was sampled.
///
/// # Privacy
/// ε-removal LDP. [`Spend::Sample`]: the report is that of one bit, or of none. [`Spend::Split`]: up to `slots`
/// bits differ from the reference, each with its share of ε.
/// # Utility
/// Counts are unbiased. Over n reports a value held by c respondents has, with v the variance of one bit,
/// variance s²·n·v(ε) + c(s − 1) when one of s slots is sampled, and n·v(ε/s) when the budget is split. v falls
/// exponentially in the share, so sampling has the lower noise floor at every ε, by far at a large one. (The paper
/// finds sampling "always better". It is not for values that a large part of the crowd holds: there the error of
/// the sample, c(s − 1), can outweigh the noise of a split budget.)
/// # Paper
/// Section II.B ("Attribute fragments"): either send each x_i with a split budget, or sample one.
#[derive(Clone, Debug)]
pub struct SetValued {
    flips: Flips,
    slots: u32,
    spend: Spend,
}

/// How a budget is spent on a record of several bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// One slot is sampled and gets the whole budget; an empty slot is reported as nothing.
    Sample,
    /// Every bit gets an equal share.
    Split,
}

impl SetValued {
    /// A mechanism over 1 to 2^32 bits of which a record sets at most `slots`.
    pub fn new(size: u64, slots: u32, spend: Spend, epsilon: Epsilon) -> Result<Self, Error> {
        if slots == 0 {
            return Err(Error::ZeroCount("the number of bits that a record may set"));
        }
        if u64::from(slots) > size {
            return Err(Error::TooLarge {
                what: "the number of bits that a record may set",
                got: u64::from(slots),
                limit: size,
            });
        }
        let per_bit = match spend {
            Spend::Sample => epsilon,
            Spend::Split => epsilon.share(slots)?,
        };
        Ok(Self { flips: Flips::new(size, per_bit)?, slots, spend })
    }

    /// The record as a rising list, checked.
    fn bits(&self, record: Option<&[u32]>) -> Result<Zeroizing<Vec<u32>>, Error> {
        let mut bits = Zeroizing::new(record.unwrap_or_default().to_vec());
        bits.sort_unstable();
        if bits.last().is_some_and(|&last| u64::from(last) >= self.flips.size()) {
            return Err(Error::OutsideDomain { size: self.flips.size() });
        }
        if bits.len() > self.slots as usize || !is_bit_list(&bits, self.flips.size()) {
            return Err(Error::RecordBits { limit: self.slots });
        }
        Ok(bits)
    }
}

impl Randomizer for SetValued {
    type Value = [u32];
    type Report = Vec<u32>;
    type Neighbors = Removal;

    fn guarantee(&self) -> LocalGuarantee<Removal> {
        LocalGuarantee::pure(self.flips.coin().epsilon()).times(self.differing_bits())
    }

    fn randomize(
        &self,
        record: Option<&[u32]>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u32>, Error> {
        let bits = self.bits(record)?;
        Ok(match self.spend {
            Spend::Split => self.flips.flip(&bits, rng),
            Spend::Sample => {
                let slot = below(u64::from(self.slots), rng) as usize;
                self.flips.flip(bits.get(slot..=slot).unwrap_or_default(), rng)
            }
        })
    }
}

impl BitRandomizer for SetValued {
    fn attributes(&self) -> u64 {
        self.flips.size()
    }

    fn width(&self) -> u64 {
        self.flips.size()
    }

    fn coin(&self) -> Bernoulli {
        self.flips.coin()
    }

    fn differing_bits(&self) -> u32 {
        match self.spend {
            Spend::Sample => 1,
            Spend::Split => self.slots,
        }
    }

    fn fragments<'a>(&self, report: &'a Vec<u32>) -> &'a [u32] {
        report
    }

    fn fits(&self, report: &Vec<u32>) -> bool {
        is_bit_list(report, self.flips.size())
    }

    fn flip_again(&self, report: &Vec<u32>, flips: &Flips, rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        flips.flip(report, rng)
    }

    fn held(
        &self,
        record: Option<&[u32]>,
        _: &Vec<u32>,
        pick: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        let bits = self.bits(record)?;
        Ok(match self.spend {
            Spend::Split => bits,
            Spend::Sample => {
                let slot = pick(u64::from(self.slots)) as usize;
                Zeroizing::new(bits.get(slot..=slot).unwrap_or_default().to_vec())
            }
        })
    }

    fn with(&self, report: &Vec<u32>, attributes: &[u32]) -> Vec<u32> {
        with_bits(report, attributes)
    }

    fn estimate_through(&self, tally: &Tally, noise: &BitNoise) -> Result<Estimates, Error> {
        let sampled = noise.estimates(tally)?;
        if self.spend == Spend::Split {
            return Ok(sampled);
        }
        // Each holder's bit was sampled once in s times: scale up by s.
        let s = f64::from(self.slots);
        let counts = sampled.counts().iter().map(|count| s * count).collect();
        let spread = noise.spread(tally.respondents() as f64, self.slots);
        Ok(Estimates::new(tally.respondents(), counts, spread))
    }

    fn estimate_sums(&self, sums: &[f64], respondents: u64, noise: &BitNoise) -> Result<Estimates, Error> {
        let slots = if self.spend == Spend::Split { 1 } else { self.slots };
        noise.estimates_of(sums, respondents, slots)
    }
}

impl ExactDistribution for SetValued {
    fn probability(&self, record: Option<&[u32]>, report: &Vec<u32>) -> Result<Probability, Error> {
        check_exact(self)?;
        let bits = self.bits(record)?;
        if !self.fits(report) {
            return Ok(Probability::from_integer(0u32.into()));
        }
        let given = |bits: &[u32]| {
            let flipped = difference(bits, report);
            pattern_probability(self.coin(), flipped, self.width() - flipped)
        };
        Ok(match self.spend {
            Spend::Split => given(&bits),
            Spend::Sample => {
                let slots = 0..self.slots as usize;
                let sum = slots.fold(Ratio::from_integer(BigUint::zero()), |sum, slot| {
                    sum + given(bits.get(slot..=slot).unwrap_or_default())
                });
                sum / Ratio::from_integer(BigUint::from(self.slots))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimator;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::testing::rng;

    fn set_valued(size: u64, slots: u32, spend: Spend, epsilon: f64) -> SetValued {
        SetValued::new(size, slots, spend, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn keeps_the_contract() {
        let records: Vec<Vec<u32>> = subsets(4).into_iter().filter(|set| set.len() <= 2).collect();
        let records: Vec<&[u32]> = records.iter().map(Vec::as_slice).collect();
        for epsilon in [0.5, 4.0] {
            check_randomizer(&set_valued(4, 2, Spend::Split, epsilon), &records, &subsets(4));
        }
        // A record that fills all slots is reported on surely, so here too the guarantee is reached.
        for (slots, epsilon) in [(1, 2.0), (2, 0.5), (2, 4.0)] {
            let records: Vec<&[u32]> = records.iter().copied().filter(|r| r.len() <= slots).collect();
            check_randomizer(&set_valued(4, slots as u32, Spend::Sample, epsilon), &records, &subsets(4));
        }
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        let records: [&[u32]; 4] = [&[0, 1, 2], &[0], &[3, 1], &[]];
        let value = |i: u64| if i < 160 { Some(records[(i % 4) as usize]) } else { None };
        let truth = [80.0, 80.0, 40.0, 40.0];
        for spend in [Spend::Sample, Spend::Split] {
            check_estimator(|_| set_valued(4, 3, spend, 6.0), 200, value, &truth);
        }
    }

    #[test]
    fn sampling_has_the_lower_floor_and_splitting_can_win_on_top() {
        // Four attributes, ten thousand respondents: variances of a value that nobody and that everybody holds.
        let variances = |spend, epsilon| {
            let mechanism = set_valued(40, 4, spend, epsilon);
            let mut tally = Tally::new(40).unwrap();
            tally.add_respondents(10_000);
            let spread = mechanism.estimate(&tally).unwrap().spread();
            (spread.variance(0.0), spread.variance(10_000.0))
        };
        let sampled = set_valued(40, 4, Spend::Sample, 8.0);
        let range = sampled.estimate(&Tally::new(40).unwrap()).unwrap().spread().range;
        assert!((range * sampled.coin().gain() / 4.0 - 1.0).abs() < 1e-12, "a sampled bit counts four times");
        for epsilon in [0.1, 1.0, 4.0, 8.0, 16.0] {
            assert!(variances(Spend::Sample, epsilon).0 < variances(Spend::Split, epsilon).0);
        }
        let (sample, split) = (variances(Spend::Sample, 8.0), variances(Spend::Split, 8.0));
        assert!((split.0 / sample.0 - 33.7).abs() < 0.1, "{split:?} {sample:?}");
        assert!(sample.1 > 16.0 * split.1);
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        let mechanism = set_valued(4, 2, Spend::Sample, 1.0);
        let refused = |record: &[u32]| mechanism.randomize(Some(record), &mut rng(1)).unwrap_err();
        assert_eq!(refused(&[0, 1, 2]), Error::RecordBits { limit: 2 });
        assert_eq!(refused(&[1, 1]), Error::RecordBits { limit: 2 });
        assert_eq!(refused(&[4]), Error::OutsideDomain { size: 4 });
        let epsilon = Epsilon::new(1.0).unwrap();
        assert!(matches!(SetValued::new(4, 0, Spend::Split, epsilon), Err(Error::ZeroCount(_))));
        assert!(matches!(SetValued::new(4, 5, Spend::Split, epsilon), Err(Error::TooLarge { .. })));
    }
}
