//! How many of many equal coins show heads, drawn exactly from a table.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use rand_core::CryptoRng;

use super::Bernoulli;
use super::bracket::Bracket;

/// The number of heads in `trials` tosses of one coin, sampled exactly.
///
/// A draw compares a uniform real number U, of which only the first 64 bits are drawn, with the cumulative
/// probabilities F(0) < F(1) < ..., of which the table holds the first 64 bits. When these bits leave it open
/// on which side of some F(j) the number U lies (once in about 2^64/`table length` draws), more bits of both are
/// made until they do not. So the law is the binomial's, with no rounding at all.
#[derive(Clone, Debug)]
pub(crate) struct Binomial {
    trials: u64,
    coin: Bernoulli,
    /// floor(2^64 F(j)) for j = 0, 1, ...; the last entry is 2^64 - 1.
    cuts: Vec<u64>,
    /// Where to begin in `cuts`, by the first byte of the word.
    starts: Vec<u16>,
}

impl Binomial {
    /// The largest expected number of heads that the table is meant for.
    pub(crate) const MEAN_MAX: f64 = 4096.0;

    /// A table for `trials` tosses; `trials * probability` may be at most [`Binomial::MEAN_MAX`].
    pub(crate) fn new(trials: u64, coin: Bernoulli) -> Self {
        debug_assert!(trials as f64 * coin.probability() <= Self::MEAN_MAX, "split the trials into blocks");
        let mut cuts = Vec::new();
        let mut bits = TABLE_BITS;
        while cuts.last() != Some(&u64::MAX) {
            cuts.clear();
            for bracket in cumulative(trials, coin, bits) {
                let low = (&bracket.low >> (bits - 64)).to_u64().unwrap_or(u64::MAX);
                let high = (&bracket.high >> (bits - 64)).to_u64().unwrap_or(u64::MAX);
                if low != high {
                    break; // Too few bits to know the cut; start again with more.
                }
                cuts.push(low);
                if low == u64::MAX {
                    break;
                }
            }
            bits *= 2;
        }
        let starts = (0..256u64)
            .map(|byte| cuts.partition_point(|&cut| cut < byte << 56).min(cuts.len() - 1) as u16)
            .collect();
        Self { trials, coin, cuts, starts }
    }

    /// One draw.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
        let word = rng.next_u64();
        let mut heads = usize::from(self.starts[(word >> 56) as usize]);
        while word > self.cuts[heads] {
            heads += 1;
        }
        if word == self.cuts[heads] { self.draw_closely(word, rng) } else { heads as u64 }
    }

    /// How many words the table holds.
    #[cfg(test)]
    pub(crate) fn table_len(&self) -> usize {
        self.cuts.len()
    }

    /// The draw goes on with more bits: U lies between `numerator` and `numerator + 1` units of 2^-bits.
    #[cold]
    fn draw_closely(&self, word: u64, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
        let mut numerator = BigUint::from(word);
        let mut bits = 64;
        loop {
            numerator = (numerator << 64u32) + rng.next_u64();
            bits += 64;
            let precision = bits + TABLE_BITS;
            let low = &numerator << TABLE_BITS;
            let high = (&numerator + BigUint::one()) << TABLE_BITS;
            for (heads, bracket) in cumulative(self.trials, self.coin, precision).enumerate() {
                if high <= bracket.low || heads as u64 == self.trials {
                    return heads as u64; // U < F(heads), and not below any F before.
                }
                if low < bracket.high {
                    break; // Open; draw on.
                }
            }
        }
    }
}

/// Brackets of F(0), F(1), ..., F(trials), in units of 2^-bits.
fn cumulative(trials: u64, coin: Bernoulli, bits: u64) -> impl Iterator<Item = Bracket> {
    let tails = BigUint::from(coin.threshold());
    let keep = (BigUint::one() << 128u32) - &tails;
    let mut mass = Bracket::dyadic(&keep, 128, bits).power(trials, bits);
    let mut sum = Bracket::zero();
    (0..=trials).map(move |heads| {
        if heads > 0 {
            // f(j) = f(j-1) * (n-j+1)/j * p/(1-p)
            let numerator = &tails * BigUint::from(trials - heads + 1);
            let denominator = &keep * BigUint::from(heads);
            mass = if mass.high.is_zero() { Bracket::zero() } else { mass.scale(&numerator, &denominator) };
        }
        sum = sum.add(&mass);
        sum.clone()
    })
}

/// The least probability in a table is about e^-4096; the brackets start below that.
const TABLE_BITS: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epsilon;
    use crate::testing::{Script, assert_share, rng};
    use num_rational::Ratio;

    fn coin(epsilon: f64) -> Bernoulli {
        Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// F(j) as an exact fraction: the slow reference.
    fn exact(trials: u64, coin: Bernoulli) -> Vec<Ratio<BigUint>> {
        let one = BigUint::one() << 128u32;
        let p = Ratio::new(BigUint::from(coin.threshold()), one.clone());
        let q = Ratio::new(&one - BigUint::from(coin.threshold()), one);
        let mut choose = BigUint::one();
        let mut sum = Ratio::from_integer(BigUint::zero());
        (0..=trials)
            .map(|j| {
                if j > 0 {
                    choose = &choose * BigUint::from(trials - j + 1) / BigUint::from(j);
                }
                let mut term = Ratio::from_integer(choose.clone());
                (0..j).for_each(|_| term *= p.clone());
                (0..trials - j).for_each(|_| term *= q.clone());
                sum += term;
                sum.clone()
            })
            .collect()
    }

    #[test]
    fn brackets_hold_the_exact_cumulative_probabilities() {
        for (trials, epsilon) in [(1, 1.0), (3, 0.5), (12, 2.0), (40, 3.5)] {
            let coin = coin(epsilon);
            let bits = 256;
            for (bracket, f) in cumulative(trials, coin, bits).zip(exact(trials, coin)) {
                let low = Ratio::new(bracket.low, BigUint::one() << bits);
                let high = Ratio::new(bracket.high, BigUint::one() << bits);
                assert!(low <= f && f <= high);
                assert!((high - low) * Ratio::from_integer(BigUint::one() << 230u32) < Ratio::one());
            }
        }
    }

    /// The words around every cut, followed by further words on either side of it, against exact fractions.
    #[test]
    fn draws_are_exact_where_the_first_word_leaves_it_open() {
        let trials = 5;
        let coin = coin(1.5);
        let table = Binomial::new(trials, coin);
        let exact = exact(trials, coin);
        for f in &exact[..trials as usize] {
            // The first four words of F(j), then one unit to either side in the second, third and fourth word.
            let digits = (f * Ratio::from_integer(BigUint::one() << 256u32)).to_integer();
            for place in 0..4u32 {
                for up in [false, true] {
                    let unit = BigUint::one() << (64 * place);
                    let u = if up { &digits + &unit } else { &digits - &unit };
                    let words: Vec<u64> = (0..4u32)
                        .rev()
                        .map(|i| (&u >> (64 * i) as usize).iter_u64_digits().next().unwrap_or(0))
                        .collect();
                    // Anything may follow; a draw that stays open to the fourth word would need more.
                    let words = words.into_iter().chain([u64::MAX / 3; 4]);
                    let expected = exact
                        .iter()
                        .position(|f| Ratio::new(u.clone(), BigUint::one() << 256u32) < *f)
                        .unwrap() as u64;
                    assert_eq!(table.draw(&mut Script::new(words)), expected);
                }
            }
        }
    }

    #[test]
    fn the_last_word_of_all_means_a_closer_look() {
        let table = Binomial::new(3, coin(2.0));
        assert_eq!(table.draw(&mut Script::new([u64::MAX, u64::MAX, u64::MAX, u64::MAX])), 3);
        assert_eq!(table.draw(&mut Script::new([0])), 0);
    }

    #[test]
    fn tables_reach_the_corners() {
        assert_eq!(Binomial::new(0, coin(1.0)).draw(&mut rng(1)), 0);
        assert_eq!(Binomial::new(1 << 32, Bernoulli::from_threshold(1)).draw(&mut rng(1)), 0);
        // Mean 4096, where e^-mean is far below 2^-512: the table starts again with more bits.
        let wide = Binomial::new(8192 * 16, Bernoulli::from_threshold(1 << 123));
        let mut rng = rng(2);
        let sum: u64 = (0..4000).map(|_| wide.draw(&mut rng)).sum();
        assert_share(sum, 4000 * 8192 * 16, 1.0 / 32.0, 1);
    }

    #[test]
    fn draws_follow_the_binomial() {
        let (trials, coin) = (20, coin(1.0));
        let table = Binomial::new(trials, coin);
        let mut rng = rng(3);
        let draws = 500_000;
        let mut seen = vec![0u64; trials as usize + 1];
        for _ in 0..draws {
            seen[table.draw(&mut rng) as usize] += 1;
        }
        let p = coin.probability();
        let mut choose = 1.0;
        for (j, &count) in seen.iter().enumerate() {
            if j > 0 {
                choose *= (trials as f64 - j as f64 + 1.0) / j as f64;
            }
            let mass = choose * p.powi(j as i32) * (1.0 - p).powi(trials as i32 - j as i32);
            assert_share(count, draws, mass, 21);
        }
    }
}
