//! One-hot histograms: k-RAPPOR with attribute fragmenting.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{
    BitRandomizer, ExactDistribution, Probability, Randomizer, check_exact, difference, is_bit_list,
    pattern_probability, with_bits,
};
use crate::sampling::{Bernoulli, FlippedBits, Flips};
use crate::{Epsilon, Error, LocalGuarantee, Removal};

/// A histogram over `size` values: the value's one-hot bit vector, every bit flipped independently.
///
/// A report is the list of its set bits, and each of them is an attribute fragment that can travel alone. Time and
/// memory are proportional to that list, never to the domain.
///
/// # Privacy
/// ε-removal LDP, ε = ln((1 − p)/p) for flip probability p: one bit differs from the all-zero reference R_0.
/// # Utility
/// Counts are unbiased; over n reports each has variance n·p(1 − p)/(1 − 2p)².
/// # Paper
/// Section III, Algorithm 1 (Attribute fragmented k-RAPPOR).
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_dp::{Epsilon, Estimator, OneHot, Randomizer};
///
/// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a respondent uses the operating system's
/// let mechanism = OneHot::new(1000, Epsilon::new(8.0)?)?;
/// let mut tally = mechanism.tally()?;
/// for _ in 0..5000 {
///     let report = mechanism.randomize(Some(&42), &mut rng)?; // on the respondent's device
///     mechanism.add(&mut tally, &report)?; // at the analyzer
/// }
/// let estimates = mechanism.estimate(&tally)?;
/// assert!((estimates.counts()[42] - 5000.0).abs() < 6.0 * estimates.standard_error(42));
/// # Ok::<(), throng_dp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OneHot {
    flips: Flips,
}

impl OneHot {
    /// A mechanism over 1 to 2^32 values, with ε > 0.
    pub fn new(size: u64, epsilon: Epsilon) -> Result<Self, Error> {
        Ok(Self { flips: Flips::new(size, epsilon)? })
    }

    /// The number of values.
    pub fn size(&self) -> u64 {
        self.flips.size()
    }

    /// [`Randomizer::randomize`] into a buffer that is cleared first and can be used again.
    pub fn randomize_into(
        &self,
        value: Option<&u32>,
        report: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        self.flips.flip_into(self.bits(value)?, report, rng);
        Ok(())
    }

    /// The same report bit by bit: for a small ε on a huge domain, where it is too long to hold.
    pub fn randomize_iter<'a, R: CryptoRng + ?Sized>(
        &'a self,
        value: Option<&'a u32>,
        rng: &'a mut R,
    ) -> Result<FlippedBits<'a, R>, Error> {
        Ok(self.flips.flip_iter(self.bits(value)?, rng))
    }

    /// The set bits of the one-hot vector: one, or none for a respondent with nothing to say.
    fn bits<'a>(&self, value: Option<&'a u32>) -> Result<&'a [u32], Error> {
        match value {
            Some(&v) if u64::from(v) >= self.size() => Err(Error::OutsideDomain { size: self.size() }),
            Some(value) => Ok(std::slice::from_ref(value)),
            None => Ok(&[]),
        }
    }
}

impl Randomizer for OneHot {
    type Value = u32;
    type Report = Vec<u32>;
    type Neighbors = Removal;

    fn guarantee(&self) -> LocalGuarantee<Removal> {
        LocalGuarantee::pure(self.flips.coin().epsilon())
    }

    fn randomize(&self, value: Option<&u32>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Vec<u32>, Error> {
        Ok(self.flips.flip(self.bits(value)?, rng))
    }
}

impl BitRandomizer for OneHot {
    fn attributes(&self) -> u64 {
        self.size()
    }

    fn width(&self) -> u64 {
        self.size()
    }

    fn coin(&self) -> Bernoulli {
        self.flips.coin()
    }

    fn differing_bits(&self) -> u32 {
        1
    }

    fn fragments<'a>(&self, report: &'a Vec<u32>) -> &'a [u32] {
        report
    }

    fn fits(&self, report: &Vec<u32>) -> bool {
        is_bit_list(report, self.size())
    }

    fn flip_again(&self, report: &Vec<u32>, flips: &Flips, rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        flips.flip(report, rng)
    }

    fn held(
        &self,
        value: Option<&u32>,
        _: &Vec<u32>,
        _: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        Ok(Zeroizing::new(self.bits(value)?.to_vec()))
    }

    fn with(&self, report: &Vec<u32>, attributes: &[u32]) -> Vec<u32> {
        with_bits(report, attributes)
    }
}

impl ExactDistribution for OneHot {
    fn probability(&self, value: Option<&u32>, report: &Vec<u32>) -> Result<Probability, Error> {
        check_exact(self)?;
        let flipped = difference(self.bits(value)?, report);
        if !self.fits(report) {
            return Ok(Probability::from_integer(0u32.into()));
        }
        Ok(pattern_probability(self.coin(), flipped, self.size() - flipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimator;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::testing::rng;
    use proptest::prelude::*;

    fn one_hot(size: u64, epsilon: f64) -> OneHot {
        OneHot::new(size, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn keeps_the_contract() {
        for (size, epsilon) in [(1, 1.0), (2, 0.001), (3, 2.5), (4, 8.55), (4, 25.0)] {
            let values: Vec<u32> = (0..size as u32).collect();
            let values: Vec<&u32> = values.iter().collect();
            check_randomizer(&one_hot(size, epsilon), &values, &subsets(size as u32));
        }
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        // Dense (epsilon 1) and sparse (epsilon 4); 100, 50 and no respondents on three values, 50 with nothing.
        for epsilon in [1.0, 4.0] {
            let value = |i| match i {
                0..100 => Some(&0),
                100..150 => Some(&1),
                _ => None,
            };
            check_estimator(|_| one_hot(3, epsilon), 200, value, &[100.0, 50.0, 0.0]);
        }
    }

    #[test]
    fn a_report_costs_what_it_holds() {
        // Horse at the paper's epsilon: about 18 of 87,680 bits (the paper's #bits).
        let mechanism = one_hot(87_680, 8.55);
        let mut rng = rng(3);
        let bits: usize = (0..2000).map(|_| mechanism.randomize(Some(&5), &mut rng).unwrap().len()).sum();
        assert!((bits as f64 / 2000.0 - 17.97).abs() < 0.6, "{bits}");
    }

    #[test]
    fn values_outside_the_domain_are_refused() {
        let mechanism = one_hot(10, 1.0);
        let refused = Err(Error::OutsideDomain { size: 10 });
        assert_eq!(mechanism.randomize(Some(&10), &mut rng(1)), refused);
        assert_eq!(mechanism.randomize(Some(&u32::MAX), &mut rng(1)), refused);
        assert!(mechanism.randomize(Some(&9), &mut rng(1)).is_ok());
    }

    #[test]
    fn a_report_from_elsewhere_is_not_counted() {
        let mechanism = one_hot(10, 1.0);
        let mut tally = mechanism.tally().unwrap();
        for foreign in [vec![3, 10], vec![3; 1000], vec![4, 3]] {
            assert_eq!(mechanism.add(&mut tally, &foreign), Err(Error::ForeignReport));
        }
        assert_eq!(tally, mechanism.tally().unwrap());
        let mut other = one_hot(5, 1.0).tally().unwrap();
        assert!(matches!(mechanism.add(&mut other, &vec![3]), Err(Error::TallyMismatch { .. })));
        assert!(matches!(mechanism.estimate(&other), Err(Error::TallyMismatch { .. })));
        assert_eq!(
            mechanism.probability(None, &vec![3, 10]).unwrap(),
            Probability::from_integer(0u32.into())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Extreme sizes and epsilons: reports are rising, in range, and of the expected length (through the
        /// iterator where that is large); the guarantee never exceeds what was asked for.
        #[test]
        fn extremes_hold(
            size in prop::sample::select(vec![1u64, 2, 3, 1 << 10, 1 << 20, (1 << 32) - 1, 1 << 32]),
            epsilon in prop::sample::select(vec![0.001, 0.1, 1.0, 5.0, 12.99, 20.0, 25.0]),
            at in 0.0..1.0f64,
            seed: u64,
        ) {
            let mechanism = one_hot(size, epsilon);
            prop_assert!(mechanism.guarantee().epsilon().value() <= epsilon);
            let value = ((size - 1) as f64 * at) as u32;
            let mut rng = rng(seed);
            let expected = size as f64 * mechanism.coin().probability();
            // Take at most 10^5 bits from the iterator.
            let bits: Vec<u32> =
                mechanism.randomize_iter(Some(&value), &mut rng).unwrap().take(100_000).collect();
            prop_assert!(is_bit_list(&bits, size));
            let low = expected - 12.0 * expected.sqrt() - 12.0;
            prop_assert!(bits.len() as f64 >= low.min(100_000.0));
            prop_assert!(bits.len() as f64 <= expected + 12.0 * expected.sqrt() + 12.0);
        }
    }
}
