//! PrivUnitG: a gradient becomes a seed whose direction is, more often than not, near it.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{One, ToPrimitive};
use rand_core::CryptoRng;

use super::magnitude::{self, Agreement};
use super::near_normal::SHARE_ERROR;
use super::{Direction, GradientEstimate, GradientRandomizer, GradientTally, Seed, UNIT};
use crate::sampling::{Bernoulli, bracket};
use crate::{
    Epsilon, Error, Estimator, ExactDistribution, LocalGuarantee, Probability, Randomizer, Replacement,
    normal,
};

/// PrivUnitG: clipped gradients of a model with `dimension` parameters, each reported in 128 bits.
///
/// The *cap* of a gradient are the directions g with <u,g> > t, where u is its unit vector (or, by the coin that stands
/// for its length, −u). With probability p the respondent looks for a seed whose direction is in the cap, else for one
/// whose direction is not: they draw seeds until one fits, 3.4 of them on average at ε = 1.9, and send that seed.
///
/// # Privacy
/// ε-replacement LDP, *if* the cap of every gradient holds nearly the same share of all 2^128 seeds. Let that share be
/// q_u. A seed in the cap is sent with probability p/q_u and another with (1 − p)/(1 − q_u), both times 2^-128, so if
/// q ≤ q_u for all u, no two gradients are further apart than (p/q)/((1 − p)/(1 − q)). The coin p is an integer
/// threshold, rounded so that this is at most e^ε for the q of [`PrivUnit::share`]. Unlike for [`super::Gradient`], the
/// guarantee leans on the direction:
/// - *The table*: were the stream of a seed uniformly random, q_u would be within 0.0011 of Pr[N(0, 1) > t], for every
///   u in every dimension, spread out or not (proved in near_normal.rs, from the table). That much is taken
///   off q; it costs about 0.006 of ε at 1.9.
/// - *The generator*: the 2^128 streams are ChaCha20's. For independent uniformly random streams, q_u would be off
///   by more than 1e-14 for any gradient of 10^7 floats with a probability below e^(−10^10) (Hoeffding, and a union
///   over all gradients), which is why no margin is kept for it. That ChaCha20's streams behave like this
///   is an assumption; a gradient for which they do not would tell ChaCha20 from random.
///
/// After 4096 tries the last seed is sent, whatever it is. Then p becomes p − p(1 − q_u)^4096 + (1 − p)q_u^4096: the
/// ratio falls, and as q ≥ 0.0215 it falls by less than 2^-128. How long a respondent searches depends on the gradient:
/// nobody may see that time.
/// # Utility
/// With g the direction of a report, (L/m)·g is an unbiased estimate of the clipped gradient, where
/// m = density(t)·(p/q − (1 − p)/(1 − q)) for the normal q, up to the rounding of the table. The noise per coordinate is
/// L/m: 1.34 L at ε = 1.9, where [`super::Gradient`] has 1.69 L. t is chosen to make it small.
/// # Paper
/// None of its own: Section VI with another randomizer, PrivUnit of Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018 in
/// the Gaussian form of Asi, Feldman and Talwar 2022. The magnitude coin is that of Algorithm localG.
#[derive(Clone, Debug)]
pub struct PrivUnit {
    dimension: usize,
    clip: f64,
    cap: Cap,
}

/// Which directions count as near, and how often one of them is wanted.
#[derive(Clone, Copy, Debug)]
struct Cap {
    /// t: where the cap begins.
    start: f64,
    /// At most the share of seeds in a cap, over 2^128.
    share: Bernoulli,
    /// Whether the seed is to be in the cap.
    coin: Bernoulli,
}

impl PrivUnit {
    /// The largest number of tries, after which the last seed is sent.
    pub const TRIES_MAX: u32 = 4096;

    /// A mechanism for gradients of `dimension` coordinates, clipped to the norm `clip`, with an ε above about 0.005:
    /// below, nothing is left.
    pub fn new(dimension: usize, clip: f64, epsilon: Epsilon) -> Result<Self, Error> {
        magnitude::check(dimension, clip)?;
        Ok(Self { dimension, clip, cap: Cap::new(epsilon)? })
    }

    /// Where the cap begins: t, in standard deviations.
    pub fn start(&self) -> f64 {
        self.cap.start
    }

    /// The coin p: how likely the seed that is sent is to be in the cap.
    pub fn coin(&self) -> Bernoulli {
        self.cap.coin
    }

    /// q: at most the share of all seeds that are in the cap of a gradient.
    pub fn share(&self) -> f64 {
        self.cap.share.probability()
    }

    /// Bounds on the likelihood ratio of a report to a uniformly random seed, for any gradient: (1 − p)/(1 − q) rounded
    /// down, and p/q rounded up. The privacy of a crowd of such reports depends on nothing else.
    pub fn ratios(&self) -> (f64, f64) {
        let low = complement(self.cap.coin) / complement(self.cap.share);
        let high = self.cap.coin.probability() / self.cap.share.probability();
        (low * (1.0 - 1e-15), high * (1.0 + 1e-15))
    }

    /// How many seeds a respondent draws on average.
    pub fn tries(&self) -> f64 {
        let (p, q) = (self.cap.coin.probability(), normal::upper_tail(self.cap.start));
        p / q + complement(self.cap.coin) / (1.0 - q)
    }

    /// What a direction is multiplied by: L/m.
    fn scale(&self) -> f64 {
        self.clip / self.cap.signal()
    }

    /// The unit vector's component of the seed's direction, in standard deviations; the norm must not be 0.
    fn component(gradient: &[f32], norm: f64, seed: Seed) -> f64 {
        Direction::new(seed).dot(gradient) / (norm * f64::from(UNIT))
    }
}

impl Cap {
    fn new(epsilon: Epsilon) -> Result<Self, Error> {
        if epsilon == Epsilon::INFINITE {
            return Err(Error::Epsilon(epsilon.value()));
        }
        let start = Self::best_start(epsilon.value().min(EPSILON_MAX));
        let share = ((normal::upper_tail(start) - SHARE_ERROR) * 2f64.powi(128)) as u128;
        let cap = Self { start, share: Bernoulli::from_threshold(share), coin: coin(epsilon, share) };
        // The coin has to make the cap likelier than it is for a uniformly random seed, whatever its true share.
        if cap.coin.probability() <= normal::upper_tail(start) + SHARE_ERROR {
            return Err(Error::NoSignal(epsilon.value()));
        }
        Ok(cap)
    }

    /// The t with the largest signal. A grid does: the signal is flat near its maximum.
    fn best_start(epsilon: f64) -> f64 {
        let mut best = (f64::NEG_INFINITY, 0.0);
        for i in 0..4 * GRID {
            let start = f64::from(i) / f64::from(GRID);
            let q = normal::upper_tail(start);
            let share = q - SHARE_ERROR;
            if share < SHARE_MIN {
                break;
            }
            let p = 1.0 / (1.0 + (1.0 - share) / share * (-epsilon).exp());
            let signal = signal(start, p);
            if signal > best.0 {
                best = (signal, start);
            }
        }
        best.1
    }

    /// m: the mean component along u of a report on a gradient of full length.
    fn signal(&self) -> f64 {
        signal(self.start, self.coin.probability())
    }
}

/// density(t)·(p/q − (1 − p)/(1 − q)).
fn signal(start: f64, p: f64) -> f64 {
    let q = normal::upper_tail(start);
    normal::density(start) * (p - q) / (q * (1.0 - q))
}

/// The largest p with (p/q)/((1 − p)/(1 − q)) ≤ e^ε, for q = `share`/2^128.
fn coin(epsilon: Epsilon, share: u128) -> Bernoulli {
    let whole = BigUint::one() << 128u32;
    let share = BigUint::from(share);
    // From the lower end of the bracket, and rounded down: never too large.
    let odds = bracket::exp(epsilon.value().min(EPSILON_MAX), BITS).low * &share;
    let rest = (&whole - share) << BITS;
    let threshold: BigUint = (&whole * &odds) / (rest + odds);
    Bernoulli::from_threshold(threshold.to_u128().unwrap_or(u128::MAX))
}

/// 1 − p without cancellation.
fn complement(coin: Bernoulli) -> f64 {
    (u128::MAX - coin.threshold()) as f64 * 2f64.powi(-128)
}

impl Randomizer for PrivUnit {
    type Value = [f32];
    type Report = Seed;
    type Neighbors = Replacement;

    fn guarantee(&self) -> LocalGuarantee<Replacement> {
        let whole = BigUint::one() << 128u32;
        let (coin, share) =
            (BigUint::from(self.cap.coin.threshold()), BigUint::from(self.cap.share.threshold()));
        let (low, high) = self.ratios();
        let value = bracket::ln_rounded_up(
            &(&coin * (&whole - &share)),
            &((&whole - &coin) * &share),
            (high / low).ln(),
        );
        LocalGuarantee::pure(Epsilon::new(value).unwrap_or(Epsilon::INFINITE))
    }

    /// Without a gradient, and for one of zero, the seed is uniformly random.
    fn randomize(
        &self,
        gradient: Option<&[f32]>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Seed, Error> {
        let norm = gradient.map_or(Ok(0.0), |gradient| magnitude::norm(gradient, self.dimension))?;
        let Some(gradient) = gradient.filter(|_| norm > 0.0) else {
            return Ok(search(1, |_| true, rng));
        };
        let sign = if Agreement::new(norm, self.clip).draw(rng) { 1.0 } else { -1.0 };
        let inside = self.cap.coin.draw(rng);
        let fits = |seed| (sign * Self::component(gradient, norm, seed) > self.cap.start) == inside;
        Ok(search(Self::TRIES_MAX, fits, rng))
    }
}

/// The first of at most `tries` random seeds that fits, or the last one.
fn search(tries: u32, fits: impl Fn(Seed) -> bool, rng: &mut (impl CryptoRng + ?Sized)) -> Seed {
    let mut seed = Seed::default();
    for _ in 0..tries {
        rng.fill_bytes(&mut seed);
        if fits(seed) {
            break;
        }
    }
    seed
}

/// The law for caps that hold exactly the share [`PrivUnit::share`] of all seeds, which is where the ratios are the
/// largest. Nobody can count the seeds of a cap; the true share is at most 0.0022 more.
impl ExactDistribution for PrivUnit {
    fn probability(&self, gradient: Option<&[f32]>, seed: &Seed) -> Result<Probability, Error> {
        let whole = BigUint::one() << 128u32;
        let uniform = Ratio::new(BigUint::one(), whole.clone());
        let norm = gradient.map_or(Ok(0.0), |gradient| magnitude::norm(gradient, self.dimension))?;
        let Some(gradient) = gradient.filter(|_| norm > 0.0) else {
            return Ok(uniform);
        };
        let (coin, share) =
            (BigUint::from(self.cap.coin.threshold()), BigUint::from(self.cap.share.threshold()));
        let component = Self::component(gradient, norm, *seed);
        let toward = |sign: f64| {
            if sign * component > self.cap.start {
                Ratio::new(coin.clone(), share.clone())
            } else {
                Ratio::new(&whole - &coin, &whole - &share)
            }
        };
        let agrees = Agreement::new(norm, self.clip).probability();
        let opposes = Ratio::from_integer(BigUint::one()) - &agrees;
        Ok((agrees * toward(1.0) + opposes * toward(-1.0)) * uniform)
    }
}

impl Estimator for PrivUnit {
    type Tally = GradientTally;
    type Estimate = GradientEstimate;

    fn tally(&self) -> Result<GradientTally, Error> {
        Ok(GradientTally::new(self.dimension))
    }

    fn add(&self, tally: &mut GradientTally, seed: &Seed) -> Result<(), Error> {
        tally.add(self.dimension, *seed, true)
    }

    fn estimate(&self, tally: &GradientTally) -> Result<GradientEstimate, Error> {
        // E[<u,g>²] = 1 + tm at every length of the gradient; in every orthogonal direction it is 1.
        let excess = self.cap.start * self.cap.signal() / self.dimension as f64;
        tally.estimate(self.scale(), self.scale() * (1.0 + excess).sqrt())
    }
}

impl GradientRandomizer for PrivUnit {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn clip(&self) -> f64 {
        self.clip
    }

    /// <u,g> is N(0, 1) given the side of t that both coins want.
    fn along(&self, norm: f64, rng: &mut (impl CryptoRng + ?Sized)) -> f64 {
        if norm == 0.0 {
            return self.scale() * normal::draw(rng);
        }
        let toward = Agreement::new(norm, self.clip).draw(rng);
        let inside = self.cap.coin.draw(rng);
        let mut component = normal::draw(rng);
        while (component > self.cap.start) != inside {
            component = normal::draw(rng);
        }
        if toward { self.scale() * component } else { -self.scale() * component }
    }

    fn across(&self) -> f64 {
        self.scale()
    }
}

/// Candidates for t in one standard deviation.
const GRID: u32 = 1024;
/// A smaller cap could take more than 4096 tries with a probability above 2^-128.
const SHARE_MIN: f64 = 0.0215;
/// e^89 is above 2^128: larger epsilons have the same coin.
const EPSILON_MAX: f64 = 89.0;
const BITS: u64 = 320;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gradient;
    use crate::testing::{assert_mean, assert_share, assert_variance, rng};
    use num_traits::Zero;

    fn mechanism(dimension: usize, clip: f64, epsilon: f64) -> PrivUnit {
        PrivUnit::new(dimension, clip, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// In all seeds of a sample no two gradients are further apart than the guarantee, in exact fractions, and two
    /// opposite gradients of full length are that far apart.
    #[test]
    fn likelihood_ratios_reach_the_guarantee() {
        for epsilon in [0.1, 0.5, 1.9, 6.0, 20.0] {
            let mechanism = mechanism(3, 1.0, epsilon);
            let values: [Option<&[f32]>; 5] = [
                None,
                Some(&[3.0, 4.0, 0.0]),
                Some(&[-3.0, -4.0, 0.0]),
                Some(&[0.1, 0.0, -0.2]),
                Some(&[0.0; 3]),
            ];
            let mut largest = Ratio::<BigUint>::zero();
            for number in 0..=255u8 {
                let laws = values.map(|value| mechanism.probability(value, &[number; 16]).unwrap());
                for law in &laws {
                    for other in &laws {
                        largest = largest.max(law / other);
                    }
                }
            }
            let whole = BigUint::one() << 128u32;
            let (coin, share) = (
                BigUint::from(mechanism.cap.coin.threshold()),
                BigUint::from(mechanism.cap.share.threshold()),
            );
            let reached = Ratio::new(&coin * (&whole - &share), (&whole - &coin) * &share);
            assert_eq!(largest, reached, "{epsilon}");
            // One more unit of p would break the promise.
            let guarantee = mechanism.guarantee().epsilon().value();
            assert!(guarantee <= epsilon && guarantee > epsilon * (1.0 - 1e-14), "{epsilon}: {guarantee}");
            let (low, high) = mechanism.ratios();
            assert!((high / low).ln() >= guarantee && (high / low).ln() < guarantee + 1e-14, "{epsilon}");
            // The share leaves the proved margin, whole, below that of a normal variable.
            let margin = normal::upper_tail(mechanism.start()) - mechanism.share();
            assert!((margin - SHARE_ERROR).abs() < 1e-15, "{epsilon}: {margin}");
            let mean = mechanism.share() * high + (1.0 - mechanism.share()) * low;
            assert!((mean - 1.0).abs() < 1e-13, "{epsilon}: {mean}");
        }
    }

    /// p, t and the noise per coordinate at the best t, by a separate optimisation; the margin costs a little.
    #[test]
    fn the_cap_is_the_best_one() {
        for (epsilon, noise) in [(0.5, 5.02), (1.0, 2.52), (1.9, 1.337), (3.0, 0.862), (4.0, 0.660)] {
            let mechanism = mechanism(7, 1.0, epsilon);
            let across = mechanism.across();
            assert!(across > noise * 0.998 && across < noise * 1.02, "{epsilon}: {across}");
            assert!(across < Gradient::new(7, 1.0, Epsilon::new(epsilon).unwrap()).unwrap().across());
        }
        let mechanism = mechanism(7, 0.05, 1.9);
        assert!((mechanism.start() - 0.75).abs() < 0.03, "{}", mechanism.start());
        assert!((mechanism.coin().probability() - 0.663).abs() < 0.01, "{:?}", mechanism.coin());
        assert!((mechanism.tries() - 3.4).abs() < 0.1, "{}", mechanism.tries());
        assert!((mechanism.across() / 0.05 - 1.34).abs() < 0.01, "{}", mechanism.across());
    }

    /// Over gradients in one coordinate and in many: seeds are in the cap as often as the coin says, and uniformly
    /// random seeds are as often as they may be.
    #[test]
    fn seeds_are_on_the_side_that_the_coin_wants() {
        let draws = 20_000;
        for (i, value) in
            [[1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, -0.4, 0.3, 0.2, -0.1, 0.9]].iter().enumerate()
        {
            let mechanism = mechanism(6, 0.5, 1.9);
            let mut rng = rng(100 + i as u64);
            let norm = magnitude::norm(value, 6).unwrap();
            let inside = |seed: Seed| PrivUnit::component(value, norm, seed) > mechanism.start();
            let reports =
                (0..draws).filter(|_| inside(mechanism.randomize(Some(value), &mut rng).unwrap())).count();
            assert_share(reports as u64, draws, mechanism.coin().probability(), 4);
            let uniform = (0..draws).filter(|_| inside(mechanism.randomize(None, &mut rng).unwrap())).count();
            // The true share is within 0.0011 of this, a third of the deviation of the sample.
            assert_share(uniform as u64, draws, normal::upper_tail(mechanism.start()), 4);
        }
    }

    /// Twenty coordinates within four standard errors each: a fresh seed fails a correct sampler once in 800 times.
    #[test]
    fn decoded_gradients_are_unbiased_with_the_stated_noise() {
        // Longer than the clipping norm, shorter, all in one coordinate, and none.
        let values: [(Option<[f32; 5]>, [f64; 5]); 4] = [
            (Some([0.6, -0.8, 0.0, 2.0, -1.0]), [0.6, -0.8, 0.0, 2.0, -1.0]),
            (Some([0.1, -0.3, 0.0, 0.2, 0.05]), [0.1, -0.3, 0.0, 0.2, 0.05]),
            (Some([0.0, 1.0, 0.0, 0.0, 0.0]), [0.0, 1.0, 0.0, 0.0, 0.0]),
            (None, [0.0; 5]),
        ];
        for (i, (value, target)) in values.into_iter().enumerate() {
            let mechanism = mechanism(5, 1.0, 1.9);
            let length = target.iter().map(|x| x * x).sum::<f64>().sqrt();
            let target = target.map(|x| x / length.max(1.0));
            let mut rng = rng(110 + i as u64);
            let (mut tally, draws) = (mechanism.tally().unwrap(), 100_000);
            let mut squares = [0.0; 5];
            for _ in 0..draws {
                let seed = mechanism.randomize(value.as_ref().map(<[f32; 5]>::as_slice), &mut rng).unwrap();
                mechanism.add(&mut tally, &seed).unwrap();
                let mut direction = [0; 5];
                Direction::new(seed).fill(&mut direction);
                for (square, v) in squares.iter_mut().zip(direction) {
                    *square +=
                        (mechanism.scale() * f64::from(v) / f64::from(UNIT)).powi(2) / f64::from(draws);
                }
            }
            let estimate = mechanism.estimate(&tally).unwrap();
            // A coordinate that holds the whole gradient has 1 + tm times the noise's variance, at most.
            let widest = (1.0 + mechanism.start() * mechanism.cap.signal()).sqrt();
            let bound = 4.0 * widest * mechanism.across() / f64::from(draws).sqrt();
            for (got, want) in estimate.mean.iter().zip(target) {
                assert!((got - want).abs() < bound, "{value:?}: {estimate:?}");
            }
            // The root mean square over coordinates is below what is stated, and close to it.
            let variance = squares.iter().zip(target).map(|(square, x)| square - x * x).sum::<f64>()
                / 5.0
                / f64::from(draws);
            let ratio = variance.sqrt() / estimate.standard_error;
            assert!(ratio < 1.01 && ratio > 0.9, "{value:?}: {ratio}");
        }
    }

    #[test]
    fn the_search_ends_after_its_tries() {
        let mut first = rng(120);
        let mut seeds = Vec::new();
        for _ in 0..PrivUnit::TRIES_MAX {
            let mut seed = Seed::default();
            rand_core::Rng::fill_bytes(&mut first, &mut seed);
            seeds.push(seed);
        }
        let last = search(PrivUnit::TRIES_MAX, |_| false, &mut rng(120));
        assert_eq!(last, *seeds.last().unwrap());
        assert_eq!(search(PrivUnit::TRIES_MAX, |seed| seed == seeds[77], &mut rng(120)), seeds[77]);
        // What that costs: with the smallest cap there is, the end is reached with a probability below 2^-128.
        for epsilon in [0.01, 1.9, 8.0, 89.0, 1000.0] {
            let mechanism = mechanism(2, 1.0, epsilon);
            assert!(mechanism.share() >= SHARE_MIN && mechanism.share() <= 0.5);
            let longest = (1.0 - mechanism.share()).max(0.5 + SHARE_ERROR);
            assert!(longest.powi(PrivUnit::TRIES_MAX as i32) < 2f64.powi(-128), "{epsilon}");
        }
    }

    /// The simulated component along the gradient and the deviation across it, against whole directions, for both
    /// mechanisms.
    #[test]
    fn simulated_components_follow_the_reports() {
        let value = [0.3f32, 0.4, 0.0];
        let (u, across) = ([0.6, 0.8, 0.0], [0.8, -0.6, 0.0]);
        fn check<M: GradientRandomizer>(
            mechanism: &M,
            decoded: impl Fn(&M::Report) -> Vec<f64>,
            at: [&[f64]; 2],
            value: &[f32],
            seed: u64,
        ) {
            let mut rng = rng(seed);
            let draws = 60_000;
            let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (mut literal, mut orthogonal) = (Vec::new(), Vec::new());
            for _ in 0..draws {
                let report = mechanism.randomize(Some(value), &mut rng).unwrap();
                let vector = decoded(&report);
                literal.push(inner(&vector, at[0]));
                orthogonal.push(inner(&vector, at[1]));
            }
            let simulated: Vec<f64> = (0..draws).map(|_| mechanism.along(0.5, &mut rng)).collect();
            // Second moments are those of a normal variable times 1 + tm at most, which is below 1.6 here.
            let deviation = 1.3 * mechanism.across();
            assert_mean(&literal, 0.5, deviation, 9);
            assert_mean(&simulated, 0.5, deviation, 9);
            assert_mean(&orthogonal, 0.0, deviation, 9);
            let squares = |values: &[f64]| values.iter().map(|v| v * v).collect::<Vec<f64>>();
            let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(draws);
            // E[y⁴] is below 8 for a normal variable beyond t: the deviation of y² is below sqrt(8).
            let spread = 8f64.sqrt() * mechanism.across().powi(2);
            assert_variance(&orthogonal, mechanism.across().powi(2), 9);
            assert_mean(&squares(&simulated), mean(&squares(&literal)), 2f64.sqrt() * spread, 9);
            let clipped: Vec<f64> = (0..draws).map(|_| mechanism.along(7.0, &mut rng)).collect();
            assert_mean(&clipped, mechanism.clip(), deviation, 9);
            let silent: Vec<f64> = (0..draws).map(|_| mechanism.along(0.0, &mut rng)).collect();
            assert_mean(&silent, 0.0, deviation, 9);
            // What is said about nothing is noise like that across.
            assert_variance(&silent, mechanism.across().powi(2), 9);
        }
        let whole = |seed: Seed, factor: f64| {
            let mut direction = [0; 3];
            Direction::new(seed).fill(&mut direction);
            direction.map(|v| factor * f64::from(v) / f64::from(UNIT)).to_vec()
        };
        let epsilon = Epsilon::new(1.9).unwrap();
        let sign = Gradient::new(3, 1.0, epsilon).unwrap();
        let scale = sign.gaussian_scale();
        let decoded =
            |report: &crate::GradientReport| whole(report.seed, if report.positive { scale } else { -scale });
        check(&sign, decoded, [&u, &across], &value, 130);
        let cap = PrivUnit::new(3, 1.0, epsilon).unwrap();
        check(&cap, |&seed| whole(seed, cap.scale()), [&u, &across], &value, 131);
        assert_eq!((cap.dimension(), cap.clip(), cap.epsilon()), (3, 1.0, cap.guarantee().epsilon()));
    }

    #[test]
    fn bad_gradients_and_parameters_are_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        assert!(matches!(PrivUnit::new(0, 1.0, epsilon), Err(Error::ZeroCount(_))));
        assert!(matches!(PrivUnit::new(10_000_001, 1.0, epsilon), Err(Error::TooLarge { .. })));
        assert!(matches!(PrivUnit::new(2, 0.0, epsilon), Err(Error::ClippingNorm(_))));
        assert!(matches!(PrivUnit::new(2, 1.0, Epsilon::ZERO), Err(Error::NoSignal(_))));
        assert!(matches!(PrivUnit::new(2, 1.0, Epsilon::new(0.001).unwrap()), Err(Error::NoSignal(_))));
        assert!(matches!(PrivUnit::new(2, 1.0, Epsilon::INFINITE), Err(Error::Epsilon(_))));
        let mechanism = mechanism(2, 1.0, 1.0);
        let refused = |value: &[f32]| mechanism.randomize(Some(value), &mut rng(1)).unwrap_err();
        assert_eq!(refused(&[1.0]), Error::GradientLength { got: 1, expected: 2 });
        assert_eq!(refused(&[1.0, f32::NAN]), Error::GradientNotFinite);
        assert!(mechanism.estimate(&mechanism.tally().unwrap()).is_err());
        let foreign = PrivUnit::new(3, 1.0, epsilon).unwrap().tally().unwrap();
        assert!(mechanism.add(&mut foreign.clone(), &[0; 16]).is_err());
    }
}
