//! Records of several attributes: each respondent samples one of them and reports on it alone.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::attributes::Attributes;
use super::set_valued::{SetValued, Spend};
use super::{BitRandomizer, ExactDistribution, Probability, Randomizer, with_bits};
use crate::estimate::{BitNoise, Estimates, Tally};
use crate::sampling::{Bernoulli, Flips};
use crate::{Epsilon, Error, LocalGuarantee, Removal};

/// A record with one value of each of s attributes, some of which may be missing, under one budget.
///
/// The domains lie side by side. A respondent samples one attribute, sets the bit of its value (or none where it is
/// missing), and flips every bit of the whole vector: nobody sees which attribute was sampled.
///
/// # Privacy
/// ε-removal LDP for the whole record: given the sample, one bit or none differs from the all-zero reference R_0, and a
/// mixture of reports within e^ε of R_0 is within e^ε of it. Permanent coins keep one sample for all backstops.
/// # Utility
/// Counts of all values are unbiased. Over n reports a value held by c respondents has variance s²·n·v + c(s − 1), with
/// v the variance of one bit: noise is scaled up with the counts, and who is sampled is random.
/// # Paper
/// Section II.B ("Attribute fragments"): sample one x_i and spend all of ε on it.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_dp::{Attributes, Epsilon, Estimator, Randomizer, Record};
///
/// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a respondent uses the operating system's
/// let mechanism = Record::new(Attributes::new(&[9, 2])?, Epsilon::new(8.0)?)?;
/// let mut tally = mechanism.tally()?;
/// for _ in 0..5000 {
///     let report = mechanism.randomize(Some(&[Some(4), Some(1)]), &mut rng)?; // on the respondent's device
///     mechanism.add(&mut tally, &report)?; // at the analyzer
/// }
/// let estimates = mechanism.estimate(&tally)?;
/// let sex = mechanism.layout().range(1); // the part of the counts that is about the second attribute
/// assert!((estimates.counts()[sex.start as usize + 1] - 5000.0).abs() < 6.0 * estimates.standard_error(10));
/// # Ok::<(), throng_dp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    layout: Attributes,
    bits: SetValued,
}

impl Record {
    /// A mechanism over the values of all attributes, with ε > 0.
    pub fn new(layout: Attributes, epsilon: Epsilon) -> Result<Self, Error> {
        let bits = SetValued::new(layout.size(), layout.count(), Spend::Sample, epsilon)?;
        Ok(Self { layout, bits })
    }

    /// Which counts belong to which attribute.
    pub fn layout(&self) -> &Attributes {
        &self.layout
    }

    /// The bits of a record, which is refused whole where one of its values is outside its domain.
    fn bits(&self, record: Option<&[Option<u32>]>) -> Result<Option<Zeroizing<Vec<u32>>>, Error> {
        record.map(|record| self.layout.bits(record).map(Zeroizing::new)).transpose()
    }
}

impl Randomizer for Record {
    type Value = [Option<u32>];
    type Report = Vec<u32>;
    type Neighbors = Removal;

    fn guarantee(&self) -> LocalGuarantee<Removal> {
        self.bits.guarantee()
    }

    fn randomize(
        &self,
        record: Option<&[Option<u32>]>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u32>, Error> {
        self.bits.randomize(self.bits(record)?.as_deref().map(Vec::as_slice), rng)
    }
}

impl BitRandomizer for Record {
    fn attributes(&self) -> u64 {
        self.layout.size()
    }

    fn width(&self) -> u64 {
        self.layout.size()
    }

    fn coin(&self) -> Bernoulli {
        self.bits.coin()
    }

    fn differing_bits(&self) -> u32 {
        self.bits.differing_bits()
    }

    fn fragments<'a>(&self, report: &'a Vec<u32>) -> &'a [u32] {
        report
    }

    fn fits(&self, report: &Vec<u32>) -> bool {
        self.bits.fits(report)
    }

    fn flip_again(&self, report: &Vec<u32>, flips: &Flips, rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        self.bits.flip_again(report, flips, rng)
    }

    /// The value of one attribute, the same in all reports, also where it is missing.
    fn held(
        &self,
        record: Option<&[Option<u32>]>,
        _: &Vec<u32>,
        pick: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        let bits = self.bits(record)?.unwrap_or_default();
        let sampled = self.layout.range(pick(u64::from(self.layout.count())) as usize);
        let of_sampled = bits.iter().copied().filter(|&bit| sampled.contains(&u64::from(bit)));
        Ok(Zeroizing::new(of_sampled.collect()))
    }

    fn with(&self, report: &Vec<u32>, attributes: &[u32]) -> Vec<u32> {
        with_bits(report, attributes)
    }

    fn estimate_through(&self, tally: &Tally, noise: &BitNoise) -> Result<Estimates, Error> {
        self.bits.estimate_through(tally, noise)
    }

    fn estimate_sums(&self, sums: &[f64], respondents: u64, noise: &BitNoise) -> Result<Estimates, Error> {
        self.bits.estimate_sums(sums, respondents, noise)
    }
}

impl ExactDistribution for Record {
    fn probability(&self, record: Option<&[Option<u32>]>, report: &Vec<u32>) -> Result<Probability, Error> {
        self.bits.probability(self.bits(record)?.as_deref().map(Vec::as_slice), report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::randomizer::{difference, pattern_probability};
    use crate::testing::rng;
    use crate::{Backstop, ReportFragments};

    fn mechanism(sizes: &[u64], epsilon: f64) -> Record {
        Record::new(Attributes::new(sizes).unwrap(), Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// Every record of two attributes, with and without missing values: all likelihood ratios to R_0 are within e^ε, and
    /// that of a full record reaches it.
    #[test]
    fn keeps_the_contract() {
        let first = [None, Some(0), Some(1)];
        let second = [None, Some(0), Some(1), Some(2)];
        let records: Vec<Vec<Option<u32>>> =
            first.iter().flat_map(|&a| second.iter().map(move |&b| vec![a, b])).collect();
        let records: Vec<&[Option<u32>]> = records.iter().map(Vec::as_slice).collect();
        for epsilon in [0.5, 4.0] {
            check_randomizer(&mechanism(&[2, 3], epsilon), &records, &subsets(5));
        }
    }

    /// The law, written out by hand: with probability 1/3 the bit of each attribute, where there is one, and coins.
    #[test]
    fn one_attribute_is_sampled_whichever_are_missing() {
        let mechanism = mechanism(&[2, 2, 1], 1.5);
        let third = Probability::new(1u32.into(), 3u32.into());
        for (record, sampled) in [
            ([Some(1), Some(0), Some(0)], [vec![1], vec![2], vec![4]]),
            ([None, Some(1), Some(0)], [vec![], vec![3], vec![4]]),
            ([Some(0), None, None], [vec![0], vec![], vec![]]),
        ] {
            for report in subsets(5) {
                let expected: Probability = sampled
                    .iter()
                    .map(|bits| {
                        let flipped = difference(bits, &report);
                        &third * pattern_probability(mechanism.coin(), flipped, 5 - flipped)
                    })
                    .sum();
                assert_eq!(mechanism.probability(Some(&record), &report).unwrap(), expected);
            }
        }
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        let records = [[Some(0), Some(2)], [Some(1), None], [None, None], [Some(0), Some(1)]];
        let value = |i: u64| if i < 160 { Some(&records[(i % 4) as usize][..]) } else { None };
        let truth = [80.0, 40.0, 0.0, 40.0, 40.0];
        check_estimator(|_| mechanism(&[2, 3], 5.0), 200, value, &truth);
        let fragmented =
            |_| ReportFragments::new(mechanism(&[2, 3], 5.0), Epsilon::new(3.0).unwrap(), 3).unwrap();
        check_estimator(fragmented, 200, value, &truth);
    }

    /// Over many epochs all fragments are about one attribute: which one was sampled is settled with the backstop. (At
    /// these epsilons a bit is flipped with probability below 1e-8, and there are about a thousand.)
    #[test]
    fn a_backstop_keeps_its_sampled_attribute() {
        let epsilon = Epsilon::new(20.0).unwrap();
        let fragments = ReportFragments::new(mechanism(&[4, 4, 4], 20.0), epsilon, 2).unwrap();
        let mut rng = rng(11);
        let mut sampled = [0; 3];
        for _ in 0..10 {
            let drawn = fragments.draw_backstop(Some(&[Some(1), Some(2), Some(3)]), &mut rng).unwrap();
            let stored = Backstop::from_stored(drawn.report().clone(), drawn.threshold());
            for _epoch in 0..5 {
                for report in fragments.fragment(&stored, &mut rng).unwrap() {
                    assert_eq!(report, *drawn.report());
                }
            }
            sampled[[1, 6, 11].iter().position(|bit| *drawn.report() == [*bit]).unwrap()] += 1;
        }
        assert!(sampled.iter().filter(|&&times| times > 0).count() > 1, "{sampled:?}");
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        let mechanism = mechanism(&[2, 3], 1.0);
        let refused = |record: &[Option<u32>]| mechanism.randomize(Some(record), &mut rng(1)).unwrap_err();
        assert_eq!(refused(&[Some(1)]), Error::RecordLength { got: 1, expected: 2 });
        assert_eq!(refused(&[]), Error::RecordLength { got: 0, expected: 2 });
        assert_eq!(refused(&[Some(2), None]), Error::OutsideDomain { size: 2 });
        assert_eq!(refused(&[Some(0), Some(3)]), Error::OutsideDomain { size: 3 });
        assert!(mechanism.randomize(None, &mut rng(1)).is_ok());
        assert_eq!(mechanism.layout().range(1), 2..5);
    }
}
