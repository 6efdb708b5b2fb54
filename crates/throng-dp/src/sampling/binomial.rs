//! Binomial sampling: how many of many equal coins show heads, drawn exactly from a table.

use num_bigint::BigUint;
use num_traits::{One, Zero};
use rand_core::CryptoRng;

use super::Bernoulli;
use super::bracket::Bracket;
use super::table::{Law, Table};

/// The number of heads in `trials` tosses of one coin, sampled exactly.
#[derive(Clone, Debug)]
pub(crate) struct Binomial {
    table: Table<Tosses>,
}

/// Some tosses of one coin.
#[derive(Clone, Copy, Debug)]
struct Tosses {
    trials: u64,
    coin: Bernoulli,
}

impl Binomial {
    /// The largest expected number of heads that the table is meant for.
    pub(crate) const MEAN_MAX: f64 = 4096.0;

    /// A table for `trials` tosses; `trials * probability` may be at most [`Binomial::MEAN_MAX`].
    pub(crate) fn new(trials: u64, coin: Bernoulli) -> Self {
        debug_assert!(trials as f64 * coin.probability() <= Self::MEAN_MAX, "split the trials into blocks");
        Self { table: Table::new(Tosses { trials, coin }) }
    }

    /// One draw.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
        self.table.draw(rng)
    }

    /// How many words the table holds.
    #[cfg(test)]
    pub(crate) fn table_len(&self) -> usize {
        self.table.len()
    }
}

impl Law for Tosses {
    fn cumulative(&self, bits: u64) -> impl Iterator<Item = Bracket> {
        let Self { trials, coin } = *self;
        let tails = BigUint::from(coin.threshold());
        let keep = (BigUint::one() << 128u32) - &tails;
        let mut mass = Bracket::dyadic(&keep, 128, bits).power(trials, bits);
        let mut sum = Bracket::zero();
        (0..=trials).map(move |heads| {
            if heads == trials {
                return Bracket::one(bits);
            }
            if heads > 0 {
                // f(j) = f(j-1) * (n-j+1)/j * p/(1-p)
                let numerator = &tails * BigUint::from(trials - heads + 1);
                let denominator = &keep * BigUint::from(heads);
                mass =
                    if mass.high.is_zero() { Bracket::zero() } else { mass.scale(&numerator, &denominator) };
            }
            sum = sum.add(&mass);
            sum.clone()
        })
    }
}

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
            for (bracket, f) in (Tosses { trials, coin }).cumulative(bits).zip(exact(trials, coin)) {
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
