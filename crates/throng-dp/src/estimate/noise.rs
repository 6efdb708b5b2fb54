//! What all coins between a value's bit and the analyzer's sum amount to.

use super::{Estimates, Spread, Tally};
use crate::Error;
use crate::sampling::Bernoulli;

/// The way of one bit to the analyzer: flipped with some probability, one or more times, and summed.
///
/// Whatever the mechanism, the sum S over n respondents of whom c hold the bit has a mean that is linear in c, so
/// c is estimated without bias by (S/draws − n·flip)/(1 − 2·flip).
///
/// # Utility
/// The variance of that estimate is n times [`BitNoise::variance`], whatever c is:
/// - one report: p(1 − p)/(1 − 2p)²;
/// - r runs, each with its own coin: the same, divided by r;
/// - tau fragments behind a backstop: [p_b q_b + p_f q_f/(tau (1 − 2p_f)²)]/(1 − 2p_b)². The paper's proof of its
///   accuracy theorem has twice the variance of one report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitNoise {
    draws: f64,
    encodings: f64,
    flip: f64,
    gain: f64,
    variance: f64,
    per_holder: f64,
    range: f64,
}

impl BitNoise {
    /// One report.
    pub fn single(coin: Bernoulli) -> Self {
        Self::repeated(coin, 1)
    }

    /// Several runs of one randomizer on the same value.
    pub fn repeated(coin: Bernoulli, runs: u32) -> Self {
        Self::repeated_in_part(coin, runs, Part::ALL)
    }

    /// The same where only a part of the fragments arrives.
    ///
    /// # Utility
    /// A draw that is set with probability μ arrives with probability ρμ, so the sum over a bit's r draws has variance
    /// rρμ(1 − ρμ), with μ = 1 − p for those who hold the bit and μ = p for the others; the count is that, divided by
    /// (rρ(1 − 2p))².
    pub fn repeated_in_part(coin: Bernoulli, runs: u32, part: Part) -> Self {
        let (runs, share) = (f64::from(runs), part.share());
        let (flip, gain) = (coin.probability(), coin.gain());
        let variance = |set: f64| set * (1.0 - share * set) / (share * runs * gain * gain);
        let (variance, holder) = (variance(flip), variance(1.0 - flip));
        Self {
            draws: runs * share,
            encodings: runs,
            flip,
            gain,
            variance,
            per_holder: part.per_holder(variance, holder),
            range: 1.0 / (share * gain),
        }
    }

    /// Several report fragments, all drawn from one backstop.
    pub fn fragmented(backstop: Bernoulli, fragment: Bernoulli, tau: u32) -> Self {
        Self::fragmented_in_part(backstop, fragment, tau, Part::ALL)
    }

    /// The same where only a part of the fragments arrives.
    ///
    /// # Utility
    /// Given the backstop's bit, each of tau fragments is set with probability π, which is 1 − p_f or p_f, and arrives
    /// with probability ρ. Routing spreads them evenly, which makes their sum vary less than if each found its own way;
    /// the variance is stated for the latter.
    pub fn fragmented_in_part(backstop: Bernoulli, fragment: Bernoulli, tau: u32, part: Part) -> Self {
        let (pb, pf, tau) = (backstop.probability(), fragment.probability(), f64::from(tau));
        let share = part.share();
        let gain = backstop.gain() * fragment.gain();
        let given = |set: f64| set * (1.0 - share * set) / (share * tau * fragment.gain().powi(2));
        let variance = |one: f64| {
            let fragments = one * given(1.0 - pf) + (1.0 - one) * given(pf);
            (pb * (1.0 - pb) + fragments) / backstop.gain().powi(2)
        };
        let (variance, holder) = (variance(pb), variance(1.0 - pb));
        // Two flips in a row are one flip with this probability, and 1 − 2·flip is the product of the gains.
        let flip = pb * (1.0 - pf) + pf * (1.0 - pb);
        Self {
            draws: tau * share,
            encodings: 1.0,
            flip,
            gain,
            variance,
            per_holder: part.per_holder(variance, holder),
            range: 1.0 / (share * gain),
        }
    }

    /// No noise at all: the non-private baseline.
    pub fn noiseless() -> Self {
        Self { draws: 1.0, encodings: 1.0, flip: 0.0, gain: 1.0, variance: 0.0, per_holder: 0.0, range: 1.0 }
    }

    /// The unbiased estimate of how many of `respondents` bits were set, from the sum over all their draws.
    #[inline]
    pub fn count(&self, sum: f64, respondents: f64) -> f64 {
        (sum / self.draws - respondents * self.flip) / self.gain
    }

    /// The sum and the sum of squares of [`BitNoise::count`] over many sums with the same number of respondents,
    /// from how many they are, their total and the total of their squares.
    pub(crate) fn count_moments(&self, total: f64, squares: f64, sums: f64, respondents: f64) -> (f64, f64) {
        let (mean, square) = (total / self.draws, squares / (self.draws * self.draws));
        let offset = respondents * self.flip;
        let first = (mean - sums * offset) / self.gain;
        let second = (square - 2.0 * offset * mean + sums * offset * offset) / (self.gain * self.gain);
        (first, second)
    }

    /// The probability that a bit arrives flipped, over the share of the signal that survives.
    pub(crate) fn flip_over_gain(&self) -> f64 {
        self.flip / self.gain
    }

    /// The probability that a bit arrives flipped.
    pub fn flip(&self) -> f64 {
        self.flip
    }

    /// The variance of an estimated count, per respondent.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// How much more variance a respondent brings who holds the value: only where a part of the fragments is missing.
    pub fn per_holder(&self) -> f64 {
        self.per_holder
    }

    /// How often each respondent's value was encoded anew (a new hash function or attribute sampled each time).
    pub fn encodings(&self) -> f64 {
        self.encodings
    }

    /// Estimates of all attributes, where a value is one attribute.
    pub(crate) fn estimates(&self, tally: &Tally) -> Result<Estimates, Error> {
        let respondents = tally.respondents() as f64;
        let attributes = tally.attributes() as u64;
        let mut counts = Vec::new();
        counts.try_reserve_exact(tally.attributes()).map_err(|_| Error::TallyMemory { attributes })?;
        counts.extend(tally.counts().map(|sum| self.count(sum as f64, respondents)));
        let spread = Spread {
            per_holder: self.per_holder,
            ..Spread::constant(respondents * self.variance, self.range())
        };
        Ok(Estimates::new(tally.respondents(), counts, spread))
    }

    /// How far one respondent's draws can move a count.
    pub fn range(&self) -> f64 {
        self.range
    }
}

/// Some of the shuffler instances, over which fragments are spread at random: what did not come from the others is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    present: u32,
    all: u32,
}

impl Part {
    /// Nothing is missing.
    pub const ALL: Self = Self { present: 1, all: 1 };

    /// `present` of `all` instances.
    pub fn new(present: u32, all: u32) -> Result<Self, Error> {
        if present == 0 {
            return Err(Error::ZeroCount("the number of instances that a release is made from"));
        }
        if present > all {
            let what = "the number of instances that a release is made from";
            return Err(Error::TooLarge { what, got: u64::from(present), limit: u64::from(all) });
        }
        Ok(Self { present, all })
    }

    /// The chance of a fragment to be among those that came.
    pub fn share(self) -> f64 {
        f64::from(self.present) / f64::from(self.all)
    }

    /// What a holder adds to the variance. Where nothing is missing a coin varies alike for everyone: what would be left
    /// are roundings.
    fn per_holder(self, other: f64, holder: f64) -> f64 {
        if self.present == self.all { 0.0 } else { holder - other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epsilon;

    fn coin(epsilon: f64) -> Bernoulli {
        Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn the_mean_of_a_sum_gives_back_the_count() {
        let (n, c) = (1000.0, 30.0);
        for noise in [
            BitNoise::single(coin(2.0)),
            BitNoise::repeated(coin(0.5), 5),
            BitNoise::fragmented(coin(3.0), coin(1.0), 16),
            BitNoise::noiseless(),
        ] {
            let mean = noise.draws * (c * (1.0 - noise.flip) + (n - c) * noise.flip);
            assert!((noise.count(mean, n) - c).abs() < 1e-9);
        }
    }

    /// One respondent's draws lie between none and all of them set, so a count moves by 1/(1 − 2·flip) at most, and by
    /// that exactly.
    #[test]
    fn the_range_is_that_of_one_respondent() {
        for noise in [
            BitNoise::single(coin(2.0)),
            BitNoise::repeated(coin(0.5), 5),
            BitNoise::fragmented(coin(3.0), coin(1.0), 16),
            BitNoise::noiseless(),
        ] {
            let reach = noise.count(noise.draws, 1.0) - noise.count(0.0, 1.0);
            assert!((noise.range() / reach - 1.0).abs() < 1e-12, "{noise:?}");
        }
        assert_eq!(BitNoise::repeated(coin(1.0), 3).encodings(), 3.0);
        assert_eq!(BitNoise::fragmented(coin(1.0), coin(1.0), 3).encodings(), 1.0);
    }

    /// Mean and variance of a thinned bit, from its whole law: fragments arrive independently of one another.
    #[test]
    fn a_part_of_the_fragments_has_the_mean_and_variance_of_its_law() {
        let part = Part::new(2, 3).unwrap();
        let (p, pb, pf) = (coin(2.0).probability(), coin(3.0).probability(), coin(1.5).probability());
        // One run: set with `set` and there with 2/3. Three fragments behind a backstop: the law of a sum, written out.
        let single = BitNoise::repeated_in_part(coin(2.0), 1, part);
        let law = |set: f64| {
            let there = set * 2.0 / 3.0;
            vec![(0.0, 1.0 - there), (1.0, there)]
        };
        let behind = |one: f64| -> Vec<(f64, f64)> {
            let choose = [1.0, 3.0, 3.0, 1.0];
            let given = |set: f64, k: i32| {
                let there = set * 2.0 / 3.0;
                choose[k as usize] * there.powi(k) * (1.0 - there).powi(3 - k)
            };
            (0..4).map(|k| (f64::from(k), one * given(1.0 - pf, k) + (1.0 - one) * given(pf, k))).collect()
        };
        let fragmented = BitNoise::fragmented_in_part(coin(3.0), coin(1.5), 3, part);
        for (noise, holder, other) in
            [(single, law(1.0 - p), law(p)), (fragmented, behind(1.0 - pb), behind(pb))]
        {
            let moments = |law: &[(f64, f64)]| {
                let mean: f64 = law.iter().map(|(sum, chance)| chance * noise.count(*sum, 1.0)).sum();
                let square: f64 =
                    law.iter().map(|(sum, chance)| chance * noise.count(*sum, 1.0).powi(2)).sum();
                (mean, square - mean * mean)
            };
            let ((held, held_variance), (none, variance)) = (moments(&holder), moments(&other));
            assert!((held - 1.0).abs() < 1e-12 && none.abs() < 1e-12);
            assert!((noise.variance() / variance - 1.0).abs() < 1e-9, "{noise:?}");
            assert!(((noise.variance() + noise.per_holder()) / held_variance - 1.0).abs() < 1e-9);
            let last = holder.last().unwrap().0;
            assert!((noise.range() - (noise.count(last, 1.0) - noise.count(0.0, 1.0))).abs() < 1e-9);
        }
        let all = BitNoise::repeated_in_part(coin(2.0), 1, Part::new(3, 3).unwrap());
        assert_eq!(all, BitNoise::single(coin(2.0)));
        assert!(Part::new(0, 3).is_err() && Part::new(4, 3).is_err());
    }

    #[test]
    fn variances_are_those_of_the_accounting_notes() {
        // One report: e^ε/(e^ε − 1)², which the paper's appendix states as 2/(e^ε − 1).
        let single = BitNoise::single(coin(8.55));
        let e = 8.55f64.exp();
        assert!((single.variance() / (e / (e - 1.0).powi(2)) - 1.0).abs() < 1e-12);
        // Horse, epsilon_backstop 8.55, tau 16, epsilon_fragment 5.775: standard deviation 27.3.
        let horse = BitNoise::fragmented(coin(8.55), coin(5.775), 16);
        assert!(((1_914_589.0 * horse.variance()).sqrt() - 27.3).abs() < 0.05);
        // Many precise fragments are as good as the backstop itself.
        let limit = BitNoise::fragmented(coin(3.0), coin(20.0), 256);
        assert!((limit.variance() / BitNoise::single(coin(3.0)).variance() - 1.0).abs() < 1e-7);
    }
}
