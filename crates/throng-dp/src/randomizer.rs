//! Randomizers and their estimators: the two halves of each mechanism, on one page per mechanism.

pub mod attributes;
pub mod binary;
pub mod count_sketch;
pub mod gradient;
pub mod one_hot;
pub mod record;
pub mod repetition;
pub mod set_valued;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::One;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::estimate::{BitNoise, Estimates, Tally};
use crate::sampling::{Bernoulli, Flips};
use crate::{Error, LocalGuarantee, Neighbors};

/// A local randomizer: the one place where a respondent's value meets noise.
pub trait Randomizer {
    /// What the respondent holds. It never leaves the encoder.
    type Value: ?Sized;
    /// What may be sent.
    type Report;
    /// Removal or Replacement: what [`Randomizer::guarantee`] is stated under.
    type Neighbors: Neighbors;

    /// The guarantee of one report, computed from the thresholds that are sampled.
    fn guarantee(&self) -> LocalGuarantee<Self::Neighbors>;

    /// The report on a value, or, on `None`, the empty report R_0 of a respondent who has nothing to say.
    fn randomize(
        &self,
        value: Option<&Self::Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self::Report, Error>;
}

/// The analyzer's half of the same mechanism: unbiased estimates from shuffled reports.
pub trait Estimator: Randomizer {
    /// Running sums over reports.
    type Tally;
    /// What the sums say about the crowd.
    type Estimate;

    /// Sums over no report yet.
    fn tally(&self) -> Result<Self::Tally, Error>;
    /// Counts one respondent's report, whole or not at all.
    fn add(&self, tally: &mut Self::Tally, report: &Self::Report) -> Result<(), Error>;
    /// The estimate with its errors.
    fn estimate(&self, tally: &Self::Tally) -> Result<Self::Estimate, Error>;
}

/// A mechanism that writes a value as a sparse bit vector and flips every bit independently.
///
/// This is all that attribute fragments (each set bit travels alone) and report fragments (the vector is flipped
/// again, several times) need to know of it.
pub trait BitRandomizer: Randomizer {
    /// The number of attributes over which fragments are counted.
    fn attributes(&self) -> u64;
    /// The length of the bit vector that is flipped for one report.
    fn width(&self) -> u64;
    /// The coin that flips each bit.
    fn coin(&self) -> Bernoulli;
    /// In how many bits the vectors of a value and of no value can differ.
    fn differing_bits(&self) -> u32;
    /// The set bits of a report, as attribute indices: its attribute fragments.
    fn fragments<'a>(&self, report: &'a Self::Report) -> &'a [u32];
    /// Whether a stored report could have come from this mechanism.
    fn fits(&self, report: &Self::Report) -> bool;
    /// Flips every bit of a report once more. What the report was drawn on (a hash function) stays the same.
    fn flip_again(
        &self,
        report: &Self::Report,
        flips: &Flips,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Self::Report;
    /// The attributes whose bits a value sets in a report on the same sample as `silent`, which is a report on nothing.
    /// `pick` chooses a number below its argument, the same one for every value.
    fn held(
        &self,
        value: Option<&Self::Value>,
        silent: &Self::Report,
        pick: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error>;
    /// The report with these attributes set as well.
    fn with(&self, report: &Self::Report, attributes: &[u32]) -> Self::Report;
    /// Estimates from attribute sums that went through `noise`.
    fn estimate_through(&self, tally: &Tally, noise: &BitNoise) -> Result<Estimates, Error> {
        noise.estimates(tally)
    }
    /// The same from sums of several instances that were brought to one crowd; a sum that is NaN is missing.
    fn estimate_sums(&self, sums: &[f64], respondents: u64, noise: &BitNoise) -> Result<Estimates, Error> {
        noise.estimates_of(sums, respondents, 1)
    }
}

impl<R: BitRandomizer> Estimator for R {
    type Tally = Tally;
    type Estimate = Estimates;

    fn tally(&self) -> Result<Tally, Error> {
        Tally::new(self.attributes())
    }

    fn add(&self, tally: &mut Tally, report: &Self::Report) -> Result<(), Error> {
        if !self.fits(report) {
            return Err(Error::ForeignReport);
        }
        check_tally(self, tally)?;
        tally.add_fragments(self.fragments(report))?;
        tally.add_respondents(1);
        Ok(())
    }

    fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        check_tally(self, tally)?;
        self.estimate_through(tally, &BitNoise::single(self.coin()))
    }
}

/// An exact fraction between 0 and 1.
pub type Probability = Ratio<BigUint>;

/// A mechanism whose law can be written down in exact fractions; what the tests compare samplers with.
pub trait ExactDistribution: Randomizer {
    /// The probability of a report, given a value or none.
    fn probability(&self, value: Option<&Self::Value>, report: &Self::Report) -> Result<Probability, Error>;
}

/// A tally has to be over a mechanism's own attributes.
pub(crate) fn check_tally<R: BitRandomizer>(mechanism: &R, tally: &Tally) -> Result<(), Error> {
    let (left, right) = (tally.attributes(), mechanism.attributes() as usize);
    if left == right { Ok(()) } else { Err(Error::TallyMismatch { left, right }) }
}

/// Exact laws are written out for short bit vectors only.
pub(crate) fn check_exact<R: BitRandomizer>(mechanism: &R) -> Result<(), Error> {
    let (what, got, limit) = ("the length of a bit vector with an exact law", mechanism.width(), 1 << 16);
    if got > limit { Err(Error::TooLarge { what, got, limit }) } else { Ok(()) }
}

/// The probability that one coin, tossed for many bits, flips exactly these and keeps exactly those.
pub(crate) fn pattern_probability(coin: Bernoulli, flipped: u64, kept: u64) -> Probability {
    let whole = BigUint::one() << 128u32;
    let flip = BigUint::from(coin.threshold());
    let keep = &whole - &flip;
    let power = |base: &BigUint, exponent: u64| base.pow(exponent as u32);
    Ratio::new(power(&flip, flipped) * power(&keep, kept), power(&whole, flipped + kept))
}

/// In how many places two rising lists differ: which bits were flipped.
pub(crate) fn difference(left: &[u32], right: &[u32]) -> u64 {
    let common = left.iter().filter(|bit| right.binary_search(bit).is_ok()).count();
    (left.len() + right.len() - 2 * common) as u64
}

/// A rising list with more bits, rising again.
pub(crate) fn with_bits(bits: &[u32], more: &[u32]) -> Vec<u32> {
    // The size is reserved, so that no half-written copy is left in memory.
    let mut all = Vec::with_capacity(bits.len() + more.len());
    all.extend_from_slice(bits);
    for bit in more {
        if let Err(place) = all.binary_search(bit) {
            all.insert(place, *bit);
        }
    }
    all
}

/// Whether a list of bits is rising and stays below `size`: the form of every report.
pub(crate) fn is_bit_list(bits: &[u32], size: u64) -> bool {
    bits.windows(2).all(|pair| pair[0] < pair[1]) && bits.last().is_none_or(|&last| u64::from(last) < size)
}
