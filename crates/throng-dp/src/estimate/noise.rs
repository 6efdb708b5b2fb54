//! The noise of one bit: all coins between a respondent's value and the analyzer's sum, and how an estimator undoes them.

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
}

impl BitNoise {
    /// One report.
    pub fn single(coin: Bernoulli) -> Self {
        Self::repeated(coin, 1)
    }

    /// Several runs of one randomizer on the same value.
    pub fn repeated(coin: Bernoulli, runs: u32) -> Self {
        let runs = f64::from(runs);
        let (flip, gain) = (coin.probability(), coin.gain());
        let variance = flip * (1.0 - flip) / (runs * gain * gain);
        Self { draws: runs, encodings: runs, flip, gain, variance }
    }

    /// Several report fragments, all drawn from one backstop.
    pub fn fragmented(backstop: Bernoulli, fragment: Bernoulli, tau: u32) -> Self {
        let (pb, pf, tau) = (backstop.probability(), fragment.probability(), f64::from(tau));
        let fragments = pf * (1.0 - pf) / (tau * fragment.gain().powi(2));
        let variance = (pb * (1.0 - pb) + fragments) / backstop.gain().powi(2);
        // Two flips in a row are one flip with this probability, and 1 − 2·flip is the product of the gains.
        let flip = pb * (1.0 - pf) + pf * (1.0 - pb);
        Self { draws: tau, encodings: 1.0, flip, gain: backstop.gain() * fragment.gain(), variance }
    }

    /// No noise at all: the non-private baseline.
    pub fn noiseless() -> Self {
        Self { draws: 1.0, encodings: 1.0, flip: 0.0, gain: 1.0, variance: 0.0 }
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
        Ok(Estimates::new(tally.respondents(), counts, self.spread(respondents, 1)))
    }

    /// The same from sums that were brought to one crowd, where each counts for `slots`.
    pub(crate) fn estimates_of(
        &self,
        sums: &[f64],
        respondents: u64,
        slots: u32,
    ) -> Result<Estimates, Error> {
        let (n, s) = (respondents as f64, f64::from(slots));
        let mut counts = Vec::new();
        let attributes = sums.len() as u64;
        counts.try_reserve_exact(sums.len()).map_err(|_| Error::TallyMemory { attributes })?;
        counts.extend(sums.iter().map(|&sum| s * self.count(sum, n)));
        Ok(Estimates::new(respondents, counts, self.spread(n, slots)))
    }

    /// How far counts are off where every respondent reports on one of `slots` bits, sampled at random, and counts are
    /// scaled up by as many; with one slot nothing is sampled.
    ///
    /// Given who was sampled, coins give s² times the variance of n bits. A holder of a value is sampled with probability
    /// 1/s and then counts s times: s²·(1/s)(1 − 1/s) = s − 1 more for each of them, less if they sample several times.
    pub fn spread(&self, respondents: f64, slots: u32) -> Spread {
        let s = f64::from(slots);
        let constant = Spread::constant(s * s * respondents * self.variance, s * self.range());
        Spread { per_holder: (s - 1.0) / self.encodings, ..constant }
    }

    /// How far one respondent's draws can move a count.
    pub fn range(&self) -> f64 {
        1.0 / self.gain
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

    #[test]
    fn sampled_counts_are_scaled_up_with_their_noise() {
        let noise = BitNoise::repeated(coin(2.0), 2);
        let (whole, sampled) = (noise.spread(500.0, 1), noise.spread(500.0, 4));
        assert_eq!(whole, Spread::constant(500.0 * noise.variance(), noise.range()));
        assert!((sampled.noise / whole.noise - 16.0).abs() < 1e-12);
        assert!((sampled.range / whole.range - 4.0).abs() < 1e-12);
        assert_eq!((whole.per_holder, sampled.per_holder), (0.0, 1.5), "two samples halve their error");
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
