//! Inversion sampling: numbers 0, 1, 2, ... drawn exactly from a table of their cumulative probabilities.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use rand_core::CryptoRng;

use super::bracket::Bracket;

/// The law of a number 0, 1, 2, ...
pub(super) trait Law {
    /// Brackets of F(0), F(1), ..., in units of 2^-bits. If there are finitely many numbers, the last one is 1 exactly; if
    /// not, it may end anywhere, the later the more bits there are.
    fn cumulative(&self, bits: u64) -> impl Iterator<Item = Bracket>;
}

/// A law and the first bits of its cumulative probabilities.
///
/// A draw compares a uniform real number U, of which only the first 64 bits are drawn, with the cumulative
/// probabilities F(0) < F(1) < ..., of which the table holds the first 64 bits. When these bits leave it open
/// on which side of some F(j) the number U lies (once in about 2^64/`table length` draws), more bits of both are
/// made until they do not. So the law is drawn from with no rounding at all.
#[derive(Clone, Debug)]
pub(super) struct Table<L> {
    law: L,
    /// floor(2^64 F(j)) for j = 0, 1, ...; the last entry is 2^64 - 1.
    cuts: Vec<u64>,
    /// Where to begin in `cuts`, by the first byte of the word.
    starts: Vec<u16>,
}

impl<L: Law> Table<L> {
    pub(super) fn new(law: L) -> Self {
        let mut cuts = Vec::new();
        let mut bits = TABLE_BITS;
        while cuts.last() != Some(&u64::MAX) {
            cuts.clear();
            for bracket in law.cumulative(bits) {
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
        Self { law, cuts, starts }
    }

    /// One draw.
    #[inline]
    pub(super) fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
        let word = rng.next_u64();
        let mut number = usize::from(self.starts[(word >> 56) as usize]);
        while word > self.cuts[number] {
            number += 1;
        }
        if word == self.cuts[number] { self.draw_closely(word, rng) } else { number as u64 }
    }

    /// How many words it holds.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
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
            for (number, bracket) in self.law.cumulative(precision).enumerate() {
                if high <= bracket.low {
                    return number as u64; // U < F(number), and not below any F before.
                }
                if low < bracket.high {
                    break; // Open; draw on.
                }
            }
        }
    }
}

/// The least probability in a table is about e^-4096; the brackets start below that.
const TABLE_BITS: u64 = 512;
