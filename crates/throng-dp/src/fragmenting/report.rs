//! Report fragments: several noisy reports, all drawn from one memoized report, the backstop.

use rand_core::CryptoRng;
use std::fmt;
use zeroize::Zeroize;

use crate::estimate::{Coins, Estimates, Tally};
use crate::randomizer::repetition::{add_parts, check_parts};
use crate::randomizer::{BitRandomizer, Estimator, Randomizer, check_tally};
use crate::sampling::{Bernoulli, Flips};
use crate::{Epsilon, Error, LocalGuarantee};

/// A mechanism whose report is `tau` fragments, each a fresh randomization of the same backstop.
///
/// # Privacy
/// One exposed fragment says less than ε_fragment, all of one epoch never more than ε_backstop: see
/// [`ReportFragments::exposed`]. Over several epochs [`crate::PermanentCoins`] make the backstops: ε_backstop holds for all
/// of them while the answer stays the same, and [`crate::AnswerSeries`] is the guarantee of answers that change.
/// # Utility
/// Unbiased, with variance n[p_b q_b + p_f q_f/(tau (1 − 2p_f)²)]/(1 − 2p_b)² for a one-hot backstop.
/// # Paper
/// Section IV, Algorithm 2 (Report fragmenting).
#[derive(Clone, Debug)]
pub struct ReportFragments<R> {
    backstop: R,
    flips: Flips,
    tau: u32,
}

/// The randomized report that the fragments of an epoch are drawn from, with the hash function or attribute that was
/// sampled for it. It is erased when dropped (buffers that grew while it was drawn are not).
///
/// It remembers which coin it was drawn with, so that it cannot be passed off as a more private one.
pub struct Backstop<T: Zeroize> {
    report: T,
    coin: Bernoulli,
}

impl<R: BitRandomizer> ReportFragments<R>
where
    R::Report: Zeroize,
{
    /// `tau` fragments of ε_fragment each, behind `backstop`.
    pub fn new(backstop: R, epsilon_fragment: Epsilon, tau: u32) -> Result<Self, Error> {
        if tau == 0 {
            return Err(Error::ZeroCount("the number of report fragments"));
        }
        check_parts("the number of report fragments", tau)?;
        let flips = Flips::new(backstop.width(), epsilon_fragment)?;
        Ok(Self { backstop, flips, tau })
    }

    /// The mechanism that draws backstops.
    pub fn backstop(&self) -> &R {
        &self.backstop
    }

    /// The number of fragments.
    pub fn tau(&self) -> u32 {
        self.tau
    }

    /// The coins between a bit and the analyzer's sums.
    pub fn coins(&self) -> Coins {
        Coins::Fragments { backstop: self.backstop.coin(), fragment: self.flips.coin(), tau: self.tau }
    }

    /// The coin of each fragment.
    pub(super) fn fragment_coin(&self) -> Bernoulli {
        self.flips.coin()
    }

    /// Line 1 of Algorithm 2: x' <- R_b(x; ε_b). This is for a single epoch, or for epochs that all draw from this backstop.
    /// Where answers may change, each has the backstop that [`ReportFragments::backstop_of`] makes of the same coins, never
    /// another draw.
    pub fn draw_backstop(
        &self,
        value: Option<&R::Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Backstop<R::Report>, Error> {
        Ok(Backstop { report: self.backstop.randomize(value, rng)?, coin: self.backstop.coin() })
    }

    /// Lines 2 to 4: y_i = R_f(x'; ε_f), for i = 1..tau.
    pub fn fragment(
        &self,
        backstop: &Backstop<R::Report>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<R::Report>, Error> {
        if backstop.coin != self.backstop.coin() || !self.backstop.fits(&backstop.report) {
            return Err(Error::ForeignBackstop);
        }
        Ok((0..self.tau).map(|_| self.backstop.flip_again(&backstop.report, &self.flips, rng)).collect())
    }

    /// What is left when `t` of a respondent's fragments are exposed (Theorem record_frag).
    ///
    /// The theorem is applied to each bit in which a value and its absence differ; the bits are independent.
    pub fn exposed(&self, t: u32) -> Result<LocalGuarantee<R::Neighbors>, Error> {
        if t > self.tau {
            let (got, limit) = (u64::from(t), u64::from(self.tau));
            return Err(Error::TooLarge { what: "the number of exposed fragments", got, limit });
        }
        Ok(self.guarantee_of(t))
    }

    fn guarantee_of(&self, fragments: u32) -> LocalGuarantee<R::Neighbors> {
        let (per_bit, fragment) = (self.backstop.coin().epsilon(), self.flips.coin().epsilon());
        let epsilon = exposed_epsilon(per_bit, fragment, fragments).times(self.backstop.differing_bits());
        LocalGuarantee::pure(epsilon)
    }
}

impl<R: BitRandomizer> Randomizer for ReportFragments<R>
where
    R::Report: Zeroize,
{
    type Value = R::Value;
    type Report = Vec<R::Report>;
    type Neighbors = R::Neighbors;

    /// What all fragments of one epoch say together. Over any number of epochs with one answer it is the backstop's guarantee.
    fn guarantee(&self) -> LocalGuarantee<R::Neighbors> {
        self.guarantee_of(self.tau)
    }

    /// Backstop and fragments at once, for a survey of a single epoch: the backstop is forgotten.
    fn randomize(
        &self,
        value: Option<&R::Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<R::Report>, Error> {
        self.fragment(&self.draw_backstop(value, rng)?, rng)
    }
}

impl<R: BitRandomizer> Estimator for ReportFragments<R>
where
    R::Report: Zeroize,
{
    type Tally = Tally;
    type Estimate = Estimates;

    fn tally(&self) -> Result<Tally, Error> {
        self.backstop.tally()
    }

    fn add(&self, tally: &mut Tally, report: &Vec<R::Report>) -> Result<(), Error> {
        add_parts(&self.backstop, tally, report, self.tau)
    }

    fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        check_tally(&self.backstop, tally)?;
        self.backstop.estimate_through(tally, &self.coins().noise())
    }
}

/// The guarantee of `t` exposed fragments of ε_fragment behind ε_backstop:
/// ln((e^(x + y) + 1)/(e^x + e^y)) with x = ε_backstop, y = t·ε_fragment, in a form that neither overflows nor
/// cancels, rounded up.
pub fn exposed_epsilon(epsilon_backstop: Epsilon, epsilon_fragment: Epsilon, t: u32) -> Epsilon {
    let (whole, exposed) = (epsilon_backstop, epsilon_fragment.times(t));
    let bound = whole.min(exposed);
    let (x, y) = (whole.value(), exposed.value());
    if bound == Epsilon::ZERO || x.max(y) == f64::INFINITY {
        return bound;
    }
    let value = if x.min(y) < 0.5 {
        // 2 artanh(tanh(x/2) tanh(y/2)): no digits are lost where both terms below nearly cancel.
        2.0 * ((x / 2.0).tanh() * (y / 2.0).tanh()).atanh()
    } else {
        x.min(y) - (-(x - y).abs()).exp().ln_1p() + (-(x + y)).exp().ln_1p()
    };
    // A few roundings, each below one part in 10^15 of the largest term.
    Epsilon::rounded_up(value, 1e-15 * value.max(x.min(y))).min(bound)
}

/// The ε_fragment at which `tau` fragments add as much variance as the backstop has itself:
/// sinh(ε_f/2) = sinh(ε_b/2)/sqrt(tau). (The paper's own rule lacks a square and is ruinous below ε_f = 4.)
pub fn fragment_epsilon(epsilon_backstop: Epsilon, tau: u32) -> Result<Epsilon, Error> {
    if tau == 0 {
        return Err(Error::ZeroCount("the number of report fragments"));
    }
    let half = epsilon_backstop.value() / 2.0;
    let root = f64::from(tau).sqrt();
    // sinh overflows beyond 700; asinh(e^h/(2 root)) is then h - ln(root) to the last digit.
    let fragment = if half > 300.0 { half - root.ln() } else { (half.sinh() / root).asinh() };
    Epsilon::new(2.0 * fragment)
}

/// The paper's own rule for it, sinh(ε_f) = sinh(ε_b)/tau, which makes its tables come out: the square on (1 − 2p)
/// is missing from its "equal variance".
pub fn fragment_epsilon_as_paper(epsilon_backstop: Epsilon, tau: u32) -> Result<Epsilon, Error> {
    if tau == 0 {
        return Err(Error::ZeroCount("the number of report fragments"));
    }
    let b = epsilon_backstop.value();
    let fragment = if b > 300.0 { b - f64::from(tau).ln() } else { (b.sinh() / f64::from(tau)).asinh() };
    Epsilon::new(fragment)
}

impl<T: Zeroize> Backstop<T> {
    pub(super) fn new(report: T, coin: Bernoulli) -> Self {
        Self { report, coin }
    }

    /// A backstop that the caller had stored: its report, and the threshold of its coin.
    pub fn from_stored(report: T, threshold: u128) -> Self {
        Self { report, coin: Bernoulli::from_threshold(threshold) }
    }

    /// What to store. It says as much about the value as ε_backstop allows: keep it like the value itself.
    pub fn report(&self) -> &T {
        &self.report
    }

    /// What to store with it: the threshold of the coin it was drawn with.
    pub fn threshold(&self) -> u128 {
        self.coin.threshold()
    }
}

impl<T: Zeroize> fmt::Debug for Backstop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Backstop(..)")
    }
}

impl<T: Zeroize> Drop for Backstop<T> {
    fn drop(&mut self) {
        self.report.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::randomizer::binary::Binary;
    use crate::randomizer::count_sketch::{CountSketch, SketchShape};
    use crate::randomizer::one_hot::OneHot;
    use crate::randomizer::set_valued::{SetValued, Spend};
    use crate::randomizer::{ExactDistribution, Probability, difference, pattern_probability};
    use crate::testing::{assert_share, epsilon, rng};
    use proptest::prelude::*;

    /// The theorem's guarantee is exactly that of t binary fragments: the slow reference sums over the backstop's
    /// two values in plain arithmetic.
    #[test]
    fn exposed_fragments_of_one_bit_reach_the_theorem() {
        for (b, f, t) in [(1.0, 0.5, 1), (2.94, 0.257, 7), (8.55, 3.005, 2), (5.0, 1.0, 16), (0.3, 0.2, 3)] {
            let (pb, pf) = (1.0 / (1.0 + f64::exp(b)), 1.0 / (1.0 + f64::exp(f)));
            // The likeliest outcome in favour of a one: all t fragments are ones.
            let all_ones = |bit_is_one: bool| {
                let backstop_one = if bit_is_one { 1.0 - pb } else { pb };
                backstop_one * (1.0 - pf).powi(t) + (1.0 - backstop_one) * pf.powi(t)
            };
            let exact = (all_ones(true) / all_ones(false)).ln();
            let stated = exposed_epsilon(epsilon(b), epsilon(f), t as u32).value();
            assert!((stated / exact - 1.0).abs() < 1e-11, "{b} {f} {t}: {stated} for {exact}");
        }
    }

    #[test]
    fn the_papers_columns_come_out() {
        // Horse, epsilon_central 1: epsilon_infinity and epsilon_1 for tau 4, 16, 256 (Table horse-1-crowd uses
        // the paper's own rule for epsilon_fragment, whose values these are).
        for (tau, f, all, one) in [(4, 7.165, 8.55, 6.94), (16, 5.775, 8.55, 5.72), (256, 3.005, 8.55, 3.00)]
        {
            assert!((exposed_epsilon(epsilon(8.55), epsilon(f), tau).value() - all).abs() < 0.01);
            assert!((exposed_epsilon(epsilon(8.55), epsilon(f), 1).value() - one).abs() < 0.01);
        }
    }

    #[test]
    fn the_papers_rule_gives_the_papers_fragments() {
        // From the file names of the paper's pictures: epsilon_fragment for tau 4, 16, 256, to the nearest 0.005.
        for (b, expected) in [(8.55, [7.165, 5.775, 3.005]), (2.94, [1.595, 0.56, 0.035])] {
            for (tau, expected) in [4, 16, 256].into_iter().zip(expected) {
                let ours = fragment_epsilon_as_paper(epsilon(b), tau).unwrap().value();
                assert!((ours - expected).abs() < 0.0051, "{b} {tau}: {ours}");
            }
        }
        assert!(fragment_epsilon_as_paper(epsilon(1.0), 0).is_err());
        assert!(fragment_epsilon_as_paper(epsilon(1e4), 2).unwrap().value() < 1e4);
    }

    #[test]
    fn equal_variance_means_equal_variance() {
        for (b, tau) in [(2.94, 256), (8.55, 16), (12.99, 4), (1.0, 1)] {
            let f = fragment_epsilon(epsilon(b), tau).unwrap();
            let variance = |e: f64| (2.0 * (e / 2.0).sinh()).powi(-2);
            assert!((variance(f.value()) / f64::from(tau) / variance(b) - 1.0).abs() < 1e-9);
        }
        // accounting: .257 where the paper's rule gives .035.
        assert!((fragment_epsilon(epsilon(2.94), 256).unwrap().value() - 0.257).abs() < 1e-3);
        assert!(fragment_epsilon(epsilon(1e4), 256).unwrap().value() < 1e4);
        assert!(fragment_epsilon(epsilon(1.0), 0).is_err());
    }

    /// Summed over what the backstop may be.
    impl ExactDistribution for ReportFragments<Binary> {
        fn probability(&self, value: Option<&bool>, report: &Vec<bool>) -> Result<Probability, Error> {
            let bits = |bit: &bool| if *bit { vec![0] } else { vec![] };
            let fragments: Vec<_> = report.iter().map(bits).collect();
            exact(self, &[false, true], |b| self.backstop.probability(value, b), bits, &fragments)
        }
    }

    impl<R: BitRandomizer<Report = Vec<u32>> + ExactDistribution> ExactDistribution for ReportFragments<R> {
        fn probability(
            &self,
            value: Option<&R::Value>,
            report: &Vec<Vec<u32>>,
        ) -> Result<Probability, Error> {
            let backstops = subsets(self.backstop.width() as u32);
            exact(self, &backstops, |b| self.backstop.probability(value, b), Clone::clone, report)
        }
    }

    fn exact<R: BitRandomizer<Report: Zeroize>>(
        mechanism: &ReportFragments<R>,
        backstops: &[R::Report],
        law: impl Fn(&R::Report) -> Result<Probability, Error>,
        bits: impl Fn(&R::Report) -> Vec<u32>,
        fragments: &[Vec<u32>],
    ) -> Result<Probability, Error> {
        let mut sum = Probability::from_integer(0u32.into());
        for backstop in backstops {
            let mut path = law(backstop)?;
            for fragment in fragments {
                let flipped = difference(&bits(backstop), fragment);
                path *= pattern_probability(
                    mechanism.flips.coin(),
                    flipped,
                    mechanism.backstop.width() - flipped,
                );
            }
            sum += path;
        }
        Ok(sum)
    }

    #[test]
    fn keeps_the_contract() {
        for (b, f, tau) in [(1.0, 0.5, 1), (2.0, 1.0, 3), (8.55, 3.005, 2)] {
            let mechanism = fragmented(b, f, tau);
            let outcomes: Vec<Vec<bool>> =
                (0..1 << tau).map(|bits| (0..tau).map(|i| bits >> i & 1 == 1).collect()).collect();
            check_randomizer(&mechanism, &[&false, &true], &outcomes);
        }
        // Two fragments of a one-hot vector, and of a set whose two bits share the budget.
        let pairs: Vec<Vec<Vec<u32>>> = subsets(3)
            .into_iter()
            .flat_map(|first| subsets(3).into_iter().map(move |second| vec![first.clone(), second]))
            .collect();
        let one_hot = ReportFragments::new(OneHot::new(3, epsilon(2.0)).unwrap(), epsilon(1.0), 2).unwrap();
        check_randomizer(&one_hot, &[&0, &2], &pairs);
        let split = SetValued::new(3, 2, Spend::Split, epsilon(3.0)).unwrap();
        let split = ReportFragments::new(split, epsilon(1.0), 2).unwrap();
        check_randomizer(&split, &[[0, 1].as_slice(), &[2]], &pairs);
        assert_eq!(split.exposed(2).unwrap(), split.guarantee());
    }

    fn fragmented(b: f64, f: f64, tau: u32) -> ReportFragments<Binary> {
        ReportFragments::new(Binary::new(epsilon(b)).unwrap(), epsilon(f), tau).unwrap()
    }

    /// Two fragments of one backstop agree as often as a shared backstop makes them, and a backstop that is given
    /// back gives the same distribution in every epoch: the sampler does not draw a new one in secret.
    #[test]
    fn fragments_share_one_backstop() {
        let mechanism = fragmented(1.0, 2.0, 2);
        let mut rng = rng(21);
        let draws = 200_000;
        let mut both = 0;
        for _ in 0..draws {
            let fragments = mechanism.randomize(Some(&true), &mut rng).unwrap();
            both += u64::from(fragments == [true, true]);
        }
        let (qb, qf) = (1f64.exp() / (1.0 + 1f64.exp()), 2f64.exp() / (1.0 + 2f64.exp()));
        assert_share(both, draws, qb * qf * qf + (1.0 - qb) * (1.0 - qf).powi(2), 2);

        let stored = Backstop::from_stored(false, mechanism.backstop().coin().threshold());
        let ones = (0..draws)
            .flat_map(|_| mechanism.fragment(&stored, &mut rng).unwrap())
            .filter(|fragment| *fragment)
            .count();
        assert_share(ones as u64, 2 * draws, 1.0 - qf, 2);
    }

    #[test]
    fn a_sketch_keeps_its_sampled_hash_function() {
        let sketch =
            CountSketch::new(SketchShape { domain: 9, rows: 64, cells: 4, seed: 1 }, epsilon(3.0)).unwrap();
        let mechanism = ReportFragments::new(sketch, epsilon(1.0), 8).unwrap();
        let mut rng = rng(22);
        let backstop = mechanism.draw_backstop(Some(&4), &mut rng).unwrap();
        let fragments = mechanism.fragment(&backstop, &mut rng).unwrap();
        assert_eq!(fragments.len(), 8);
        for fragment in &fragments {
            assert_eq!(fragment.rows, backstop.report().rows);
            assert!(mechanism.backstop().fits(fragment));
        }
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        let fragments =
            |_| ReportFragments::new(OneHot::new(2, epsilon(2.0)).unwrap(), epsilon(1.0), 4).unwrap();
        check_estimator(fragments, 150, |i| if i < 50 { Some(&0) } else { None }, &[50.0, 0.0]);

        let sampled = |_| {
            let backstop = SetValued::new(3, 2, Spend::Sample, epsilon(4.0)).unwrap();
            ReportFragments::new(backstop, epsilon(2.0), 3).unwrap()
        };
        check_estimator(sampled, 150, |_| Some([0, 1].as_slice()), &[150.0, 150.0, 0.0]);

        let sketched = |seed| {
            let shape = SketchShape { domain: 6, rows: 8, cells: 8, seed };
            ReportFragments::new(CountSketch::new(shape, epsilon(4.0)).unwrap(), epsilon(2.0), 3).unwrap()
        };
        let values = [0, 0, 0, 1, 1, 2, 2, 3, 4, 5];
        let value = |i: u64| values.get(i as usize / 12);
        check_estimator(sketched, 150, value, &[36.0, 24.0, 24.0, 12.0, 12.0, 12.0]);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let one_hot = OneHot::new(10, epsilon(2.0)).unwrap();
        assert!(matches!(ReportFragments::new(one_hot.clone(), epsilon(1.0), 0), Err(Error::ZeroCount(_))));
        assert!(matches!(ReportFragments::new(one_hot.clone(), Epsilon::ZERO, 1), Err(Error::NoSignal(_))));
        let mechanism = ReportFragments::new(one_hot, epsilon(1.0), 2).unwrap();
        let threshold = mechanism.backstop().coin().threshold();
        let foreign = Backstop::from_stored(vec![3, 10], threshold);
        assert_eq!(mechanism.fragment(&foreign, &mut rng(1)), Err(Error::ForeignBackstop));
        let less_private = Backstop::from_stored(vec![3], threshold / 2);
        assert_eq!(mechanism.fragment(&less_private, &mut rng(1)), Err(Error::ForeignBackstop));
        let drawn = mechanism.draw_backstop(Some(&3), &mut rng(1)).unwrap();
        let stored = Backstop::from_stored(drawn.report().clone(), drawn.threshold());
        assert_eq!(mechanism.fragment(&stored, &mut rng(2)), mechanism.fragment(&drawn, &mut rng(2)));
        assert!(ReportFragments::new(mechanism.backstop().clone(), epsilon(1.0), u32::MAX).is_err());
        assert!(matches!(mechanism.exposed(3), Err(Error::TooLarge { .. })));
        assert_eq!(mechanism.exposed(0).unwrap().epsilon(), Epsilon::ZERO);
        assert_eq!(format!("{foreign:?}"), "Backstop(..)", "a backstop is never printed");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Never above either bound, rising in each argument, and no NaN anywhere.
        #[test]
        fn exposure_is_bounded_and_monotone(
            b in 0.001..25.0f64,
            f in 0.001..25.0f64,
            tau in 1u32..=256,
        ) {
            let whole = exposed_epsilon(epsilon(b), epsilon(f), tau);
            prop_assert!(whole <= epsilon(b) && whole <= epsilon(f).times(tau));
            prop_assert!(exposed_epsilon(epsilon(b), epsilon(f), tau - 1) <= whole);
            prop_assert!(whole.value() <= exposed_epsilon(epsilon(b * 1.01), epsilon(f), tau).value() * (1.0 + 1e-14));
            prop_assert!(whole.value() > 0.0);
        }

        /// Up to 256 fragments over 2^32 values, at epsilons that leave them sparse.
        #[test]
        fn fragments_of_the_largest_domain_are_sparse(
            b in prop::sample::select(vec![20.0, 25.0]),
            f in prop::sample::select(vec![20.0, 25.0]),
            tau in prop::sample::select(vec![1u32, 4, 256]),
            seed: u64,
        ) {
            let backstop = OneHot::new(1 << 32, epsilon(b)).unwrap();
            let mechanism = ReportFragments::new(backstop, epsilon(f), tau).unwrap();
            let report = mechanism.randomize(Some(&u32::MAX), &mut rng(seed)).unwrap();
            prop_assert_eq!(report.len(), tau as usize);
            prop_assert!(report.iter().all(|fragment| mechanism.backstop().fits(fragment)));
            // About nine flips at epsilon 20 in the backstop, and as many in each fragment.
            prop_assert!(report.iter().all(|fragment| fragment.len() < 80));
        }

        /// Any tau and epsilon make a mechanism whose reports it accepts itself.
        #[test]
        fn extremes_hold(
            size in prop::sample::select(vec![1u64, 2, 1000]),
            b in prop::sample::select(vec![0.001, 1.0, 8.55, 25.0]),
            f in prop::sample::select(vec![0.001, 1.0, 8.55, 25.0]),
            tau in prop::sample::select(vec![1u32, 4, 256]),
            seed: u64,
        ) {
            let mechanism =
                ReportFragments::new(OneHot::new(size, epsilon(b)).unwrap(), epsilon(f), tau).unwrap();
            let report = mechanism.randomize(Some(&0), &mut rng(seed)).unwrap();
            prop_assert_eq!(report.len(), tau as usize);
            let mut tally = mechanism.tally().unwrap();
            mechanism.add(&mut tally, &report).unwrap();
            prop_assert!(mechanism.estimate(&tally).unwrap().counts().iter().all(|c| c.is_finite()));
            prop_assert!(mechanism.guarantee().epsilon() <= mechanism.backstop().guarantee().epsilon());
        }
    }
}
