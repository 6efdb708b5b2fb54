//! Randomized report deletion: hiding how many reports carried a crowd's label, by dropping some.
//!
//! Paper: Section V, Algorithm CrowdThresh, corrected. The paper adds real-valued Laplace noise (records are not
//! real-valued, and floating-point noise leaks), aborts when the noise is too large, and its Theorem privCrowds fails
//! above ε = 3.22 (Theorem utilCrowdThresh fails for more than four crowds). Here the noise is an integer, drawn
//! exactly (`throng_dp::sampling::DiscreteLaplace`), and nothing ever aborts.

use throng_dp::sampling::{DeletionNoise, DiscreteLaplace};
use throng_dp::{Absence, CentralGuarantee, Delta, Epsilon, Neighbors, Relabelling};

use crate::Error;
use crate::composition::{Composition, LossPair};

/// From a crowd of n, min(n, max(0, shift − L)) uniformly random reports are dropped, L two-sided geometric with
/// ratio a = e^(−ε/2).
///
/// # Privacy
/// Which reports are dropped does not depend on what is in them: it says nothing about any value, and where the same
/// respondents upload in both worlds (removal by R_0, replacement) a deletion costs nothing. It hides who is there. For what
/// is left of each crowd as a number, and nothing else published about it: (ε, δ) when a respondent moves
/// from one crowd to another ([`Relabelling`]), and half of that when one was there or not ([`Absence`]). Only the outcome "nothing dropped" tells n from n − 1 for sure; it has
/// probability a^shift/(1 + a). Back from n − 1 to n the same outcome can exceed e^(ε/2) when ε < 2 ln((1 + √5)/2),
/// so δ is halved there. The subset must come from a cryptographic generator.
/// # Utility
/// See [`Deletion::loss_max`].
/// # Paper
/// Section V, Algorithm CrowdThresh, Theorems privCrowds and utilCrowdThresh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deletion {
    epsilon: Epsilon,
    delta: Delta,
    shift: u64,
}

impl Deletion {
    /// The smallest shift for (ε, δ): ceil((2/ε) ln(1/((1 + a)·d))), where d is δ, or half of it for a small ε.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, Error> {
        let (e, d) = (epsilon.value(), delta.value());
        // Smaller ones would need shifts that no crowd has, larger ones hide nothing.
        if !(EPSILON_MIN..=EPSILON_MAX).contains(&e) {
            return Err(Error::NotApplicable(
                "randomized deletion needs an epsilon from 10^-6 to 500".into(),
            ));
        }
        if !(d > 0.0 && d < 1.0) {
            return Err(Error::NotApplicable(
                "randomized deletion needs a delta strictly between 0 and 1".into(),
            ));
        }
        let one_sided = if e < golden() { 0.5 * d } else { d };
        let shift = (2.0 / e * -((-0.5 * e).exp().ln_1p() + one_sided.ln())).ceil().max(1.0) as u64;
        let mut deletion = Self { epsilon, delta, shift };
        // The ceiling of a rounded number may be one too small.
        while deletion.actual_delta().value() > d {
            deletion.shift += 1;
        }
        Ok(deletion)
    }

    /// How many reports are dropped when the noise is zero.
    pub fn shift(&self) -> u64 {
        self.shift
    }

    /// The noise that a shuffler draws, once per crowd.
    pub fn noise(&self) -> Result<DeletionNoise, Error> {
        let half = Epsilon::new(0.5 * self.epsilon.value())?;
        Ok(DeletionNoise::new(self.shift, DiscreteLaplace::new(half)?))
    }

    /// What the numbers promise when a respondent may have been in any other crowd.
    pub fn guarantee(&self) -> CentralGuarantee<Relabelling> {
        CentralGuarantee::new(self.epsilon, self.delta)
    }

    /// What the number promises when a respondent may not have been there: one crowd changes, not two.
    pub fn absence_guarantee(&self) -> Result<CentralGuarantee<Absence>, Error> {
        let half = Epsilon::new((0.5 * self.epsilon.value()).next_up())?;
        Ok(CentralGuarantee::new(half, Delta::new((self.tail() * self.rounding()).min(1.0))?))
    }

    /// How many are left of a crowd with the respondent, against the same without: the exact laws.
    pub fn absence_pair(&self) -> Result<LossPair<Absence>, Error> {
        self.pair()
    }

    /// The exact δ at ε when a respondent moves to another crowd, by summation over the outcomes of the two crowds that change.
    ///
    /// For crowds larger than the shift; what is left of smaller ones is a post-processing of that.
    pub fn actual_delta(&self) -> Delta {
        let outcomes = self.outcomes();
        let mut delta = 0.0;
        for lost in &outcomes {
            for gained in &outcomes {
                // One crowd goes from n to n − 1, the other from n' − 1 to n'. In halves of ε the terms that cancel
                // do so exactly; differences of probabilities would leave noise above the smallest δ.
                let halves = f64::from(lost.halves - gained.halves - 2);
                let excess = halves * 0.5 * self.epsilon.value() + lost.extra - gained.extra;
                let mass = lost.with * gained.without;
                if mass > 0.0 && excess > 0.0 {
                    delta += mass * -(-excess).exp_m1();
                }
            }
        }
        // A sum of products of probabilities, so at least 0 and, but for rounding, at most 1.
        Delta::new((delta * self.rounding()).min(1.0)).unwrap_or(Delta::ZERO)
    }

    /// What the same deletion on each of `instances` guarantees together, at `delta`.
    ///
    /// A respondent whose fragments go through K instances is counted in each of them, with fresh noise.
    pub fn composed(&self, instances: u64, delta: Delta) -> Result<CentralGuarantee<Relabelling>, Error> {
        let crowd = self.pair::<Relabelling>()?;
        let all = Composition::new().with(crowd.clone(), instances).with(crowd.swapped(), instances);
        let tight = all.epsilon(delta);
        // For a few instances the plain sum may be smaller by what the convolution rounds.
        let sum =
            u32::try_from(instances).ok().filter(|_| self.delta.value() * instances as f64 <= delta.value());
        let epsilon = match (tight, sum.map(|instances| self.epsilon.times(instances))) {
            (Ok(tight), Some(sum)) => tight.min(sum),
            (Err(_), Some(sum)) => sum,
            (tight, None) => tight?,
        };
        Ok(CentralGuarantee::new(epsilon, delta))
    }

    /// The most reports that any of `crowds` crowds loses, but for a probability of `failure`:
    /// shift + (2/ε) ln(crowds/failure).
    pub fn loss_max(&self, crowds: u64, failure: f64) -> Result<u64, Error> {
        if !(failure > 0.0 && failure <= 1.0) {
            return Err(Error::Parameter {
                what: "the failure probability",
                got: failure,
                expected: "give one in (0, 1]",
            });
        }
        // Pr[L < −y] <= a^y for each crowd; a whole number of reports is lost, so the bound may be cut off.
        let beyond = 2.0 / self.epsilon.value() * (crowds.max(1) as f64 / failure).ln();
        Ok(self.shift.saturating_add((beyond * (1.0 + 1e-12)) as u64))
    }

    /// One crowd that changes.
    fn pair<N: Neighbors>(&self) -> Result<LossPair<N>, Error> {
        let outcomes = self.outcomes();
        LossPair::from_masses(&outcomes.map(|one| one.with), &outcomes.map(|one| one.without))
    }

    /// What is left of a large crowd, by its probability when the respondent is in it and when not. Outcomes with
    /// one ratio are one, in the order: nothing dropped, one fewer, the noise not negative, the noise negative.
    fn outcomes(&self) -> [Outcome; 4] {
        let a = self.power(1);
        let scale = 1.0 / (1.0 + a);
        let (last, tail) = (self.power(self.shift - 1) * scale, self.tail());
        // Pr[L = x] is (1 − a)/(1 + a)·a^|x|: with the respondent L = x leaves what L = x + 1 leaves without.
        let between = (a * scale - tail).max(0.0);
        [
            Outcome { with: tail, without: 0.0, halves: 0, extra: f64::INFINITY },
            Outcome { with: (1.0 - a) * last, without: tail, halves: 1, extra: (-a).ln_1p() },
            Outcome { with: (scale - last).max(0.0), without: between, halves: 1, extra: 0.0 },
            Outcome { with: a * scale, without: scale, halves: -1, extra: 0.0 },
        ]
    }

    /// The exponentials' rounding, and that of the sampled ε/2 to a multiple of 2^-52, which a^shift multiplies.
    fn rounding(&self) -> f64 {
        1.0 + 2.0 * (self.shift as f64 + 1000.0) * f64::EPSILON
    }

    /// Pr[L >= shift].
    fn tail(&self) -> f64 {
        self.power(self.shift) * (1.0 / (1.0 + self.power(1)))
    }

    /// a^n.
    fn power(&self, n: u64) -> f64 {
        (-0.5 * self.epsilon.value() * n as f64).exp()
    }
}

/// A set of outcomes, by its probability in two worlds, and the logarithm of their ratio.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    with: f64,
    without: f64,
    /// The ratio, in multiples of ε/2 ...
    halves: i32,
    /// ... and what is not one.
    extra: f64,
}

/// The ε below which the last outcome needs its own half of δ: there a/(1 − a) > 1/a.
fn golden() -> f64 {
    2.0 * (0.5 * (1.0 + 5f64.sqrt())).ln()
}

const EPSILON_MIN: f64 = 1e-6;
const EPSILON_MAX: f64 = 500.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn deletion(epsilon: f64, delta: f64) -> Deletion {
        Deletion::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()).unwrap()
    }

    /// What is left of n reports: the whole law, from the noise's by its definition.
    fn left(deletion: &Deletion, n: u64) -> Vec<f64> {
        let a = (-0.5 * deletion.epsilon.value()).exp();
        let mut law = vec![0.0; n as usize + 2];
        for noise in -4000i32..=4000 {
            let mass = (1.0 - a) / (1.0 + a) * a.powi(noise.abs());
            law[(n - deletion.noise().unwrap().drops(n, i128::from(noise))) as usize] += mass;
        }
        law
    }

    fn hockey_stick(p: impl Iterator<Item = (f64, f64)>, epsilon: f64) -> f64 {
        p.map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    /// Both crowds, both directions, all outcomes: never above the promised δ, and the computed one is reached.
    #[test]
    fn no_crowd_is_told_apart_by_more_than_the_exact_delta() {
        for (e, d) in [
            (0.5, 1e-3),
            (0.5, 0.1),
            (0.9, 1e-2),
            (1.0, 1e-3),
            (2.0, 1e-4),
            (3.5, 1e-3),
            (5.0, 1e-2),
            (2.0, 0.7),
        ] {
            let deletion = deletion(e, d);
            let exact = deletion.actual_delta().value();
            assert!(exact <= d);
            let half = deletion.absence_guarantee().unwrap();
            let sizes: Vec<u64> =
                (1..8).chain([deletion.shift, deletion.shift + 1, deletion.shift + 30]).collect();
            let laws: Vec<_> = sizes.iter().map(|&n| (left(&deletion, n), left(&deletion, n - 1))).collect();
            let mut reached: f64 = 0.0;
            for (with, without) in &laws {
                for (first, second) in [(with, without), (without, with)] {
                    let pairs = first.iter().zip(second.iter().chain([&0.0])).map(|(&p, &q)| (p, q));
                    let one = hockey_stick(pairs, half.epsilon().value());
                    assert!(one <= half.delta().value() * (1.0 + 1e-9), "{e} {d}: {one}");
                }
                for (other_with, other_without) in &laws {
                    let (with, without) = (with.iter(), without.iter().chain([&0.0]));
                    let pairs = with.zip(without).flat_map(|(p, q)| {
                        other_without.iter().chain([&0.0]).zip(other_with).map(move |(r, s)| (p * r, q * s))
                    });
                    let two = hockey_stick(pairs, e);
                    assert!(two <= exact * (1.0 + 1e-9), "{e} {d}: {two} {exact}");
                    reached = reached.max(two);
                }
            }
            assert!(reached >= exact * (1.0 - 1e-6), "{e} {d}: {reached} {exact}");
        }
    }

    /// With the whole δ on one side, ε = 0.5 and δ = 1e-3 would really be 1.29e-3.
    #[test]
    fn small_epsilons_need_half_of_delta_on_each_side() {
        let halved = deletion(0.5, 1e-3);
        let a: f64 = (-0.25f64).exp();
        assert_eq!(halved.shift(), (4.0 * (1.0 / ((1.0 + a) * 0.5e-3)).ln()).ceil() as u64);
        let whole = Deletion { shift: 26, ..halved };
        assert!((whole.actual_delta().value() - 1.29e-3).abs() < 5e-6, "{}", whole.actual_delta());
        assert!(halved.actual_delta().value() <= 1e-3);
        // Above the golden epsilon it is the one tail, a^t/(1 + a).
        let large = deletion(2.0, 1e-4);
        assert!((large.actual_delta().value() / large.tail() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn drops_are_what_the_algorithm_says() {
        let deletion = deletion(1.0, 1e-6);
        let shift = deletion.shift();
        let noise = deletion.noise().unwrap();
        assert_eq!(noise.drops(1000, 0), shift);
        assert_eq!(noise.drops(1000, i128::from(shift)), 0);
        assert_eq!(noise.drops(1000, i128::MAX), 0);
        assert_eq!(noise.drops(1000, -5), shift + 5);
        assert_eq!(noise.drops(3, -5), 3);
        assert_eq!(noise.drops(u64::MAX, i128::MIN), u64::MAX);
        let laplace = DiscreteLaplace::new(Epsilon::new(0.5).unwrap()).unwrap();
        assert_eq!(noise, DeletionNoise::new(shift, laplace));
    }

    /// The union bound over crowds, against the noise's own tail.
    #[test]
    fn losses_stay_below_their_bound() {
        let deletion = deletion(0.8, 1e-6);
        for (crowds, failure) in [(1, 0.5), (1, 1.0), (100, 1e-3), (1_000_000, 1e-9)] {
            let beyond = deletion.loss_max(crowds, failure).unwrap() - deletion.shift();
            let a = (-0.4f64).exp();
            let tail = a.powf(beyond as f64 + 1.0) / (1.0 + a);
            assert!(tail * crowds as f64 <= failure, "{crowds} {failure}");
        }
        assert!(deletion.loss_max(1, 0.0).is_err());
    }

    #[test]
    fn instances_compose_below_the_sum() {
        let one = deletion(0.3, 1e-8);
        let mut last = 0.0;
        for instances in [1u32, 2, 4, 16, 64] {
            let all =
                one.composed(u64::from(instances), Delta::new(1e-6).unwrap()).unwrap().epsilon().value();
            assert!(all > last && all <= 0.3 * f64::from(instances) * (1.0 + 1e-9), "{instances}: {all}");
            last = all;
        }
        assert!(last < 0.5 * 64.0 * 0.3, "sixty-four instances cost far less than their sum: {last}");
        assert!(matches!(one.composed(1000, Delta::new(1e-8).unwrap()), Err(Error::NotApplicable(_))));
    }

    #[test]
    fn extremes_answer_and_nonsense_is_refused() {
        for e in [1e-6, 0.0005, 0.962, 0.963, 25.0, 500.0] {
            for d in [0.999, 1e-3, 1e-15, 1e-300] {
                let deletion = deletion(e, d);
                assert!(deletion.actual_delta().value() <= d && deletion.shift() >= 1, "{e} {d}");
            }
        }
        for (e, d) in [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0), (1e6, 0.1)] {
            let refused = Deletion::new(Epsilon::new(e).unwrap(), Delta::new(d).unwrap());
            assert!(matches!(refused, Err(Error::NotApplicable(_))), "{e} {d}");
        }
    }
}
