//! Sparse bit flips: every bit of a long vector flipped by its own coin, in time proportional to the bits that are set.

use std::fmt;

use rand_core::CryptoRng;

use super::{Bernoulli, Binomial, distinct_below};
use crate::{Epsilon, Error};

/// Flips each of `size` bits independently with one coin.
///
/// The vector is cut into blocks in which few flips are expected. In a block of clear bits the number of flips is
/// binomial, and given their number every set of places is equally likely: both are drawn exactly, so the joint
/// law is exactly that of independent coins. The bits that were set are then tossed again, one by one.
/// Memory does not grow with `size`: two tables of a few hundred words.
#[derive(Clone, Debug)]
pub struct Flips {
    size: u64,
    coin: Bernoulli,
    block: u32,
    plan: Plan,
}

/// How the flips of a block of clear bits are drawn.
#[derive(Clone, Debug)]
enum Plan {
    /// Flips are frequent: toss for every bit.
    Dense,
    /// Flips are rare: draw their number (in a whole block, or in the shorter last one), then their places.
    Sparse { whole: Binomial, last: Binomial },
}

impl Flips {
    /// The coins for a vector of 1 to 2^32 bits.
    pub fn new(size: u64, epsilon: Epsilon) -> Result<Self, Error> {
        if size == 0 || size > DOMAIN_MAX {
            return Err(Error::DomainSize(size));
        }
        let coin = Bernoulli::flip(epsilon)?;
        let p = coin.probability();
        if p > DENSE {
            return Ok(Self { size, coin, block: DENSE_BLOCK, plan: Plan::Dense });
        }
        let block = (FLIPS_PER_BLOCK / p).min(f64::from(BLOCK_MAX)).min(size as f64) as u32;
        let whole = Binomial::new(u64::from(block), coin);
        let last = Binomial::new(size % u64::from(block), coin);
        Ok(Self { size, coin, block, plan: Plan::Sparse { whole, last } })
    }

    /// The number of bits.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The coin of each bit.
    pub fn coin(&self) -> Bernoulli {
        self.coin
    }

    /// The set bits of `bits` after the flips, in rising order. `bits` must be rising and below the size.
    ///
    /// The order says nothing about which bits were set before: it is the order of the indices.
    pub(crate) fn flip(&self, bits: &[u32], rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        let mut out = Vec::new();
        self.flip_into(bits, &mut out, rng);
        out
    }

    /// [`Flips::flip`] into a buffer that is cleared first and can be used again.
    pub(crate) fn flip_into(
        &self,
        mut bits: &[u32],
        out: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) {
        out.clear();
        let mut base = 0;
        while base < self.size {
            base = self.block_into(base, &mut bits, out, rng);
        }
    }

    /// The same bits one block at a time, for vectors in which very many bits are set.
    pub(crate) fn flip_iter<'a, R: CryptoRng + ?Sized>(
        &'a self,
        bits: &'a [u32],
        rng: &'a mut R,
    ) -> FlippedBits<'a, R> {
        FlippedBits { flips: self, bits, rng, base: 0, buffer: Vec::new(), next: 0 }
    }

    /// Appends the set bits of the block that begins at `base`, takes that block's bits from the front of `bits`
    /// and returns where the next block begins.
    #[inline]
    fn block_into(
        &self,
        base: u64,
        bits: &mut &[u32],
        out: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> u64 {
        let end = (base + u64::from(self.block)).min(self.size);
        let length = (end - base) as u32;
        let start = out.len();
        match &self.plan {
            Plan::Dense => out.extend((0..length).filter(|_| self.coin.draw(rng))),
            Plan::Sparse { whole, last } => {
                let table = if length == self.block { whole } else { last };
                let flips = table.draw(rng) as usize;
                out.reserve(flips + 1); // One for a set bit that stays: the usual report is allocated once.
                distinct_below(length, flips, out, rng);
            }
        }
        if base > 0 {
            out[start..].iter_mut().for_each(|bit| *bit += base as u32);
        }
        while let Some((&bit, rest)) = bits.split_first()
            && u64::from(bit) < end
        {
            // This bit was set: what was drawn for it as a clear one is replaced by its own toss.
            match (out[start..].binary_search(&bit), self.coin.draw(rng)) {
                (Ok(place), true) => drop(out.remove(start + place)),
                (Err(place), false) => out.insert(start + place, bit),
                (Ok(_), false) | (Err(_), true) => {}
            }
            *bits = rest;
        }
        end
    }
}

/// The set bits of a flipped vector, in rising order, drawn as they are asked for.
pub struct FlippedBits<'a, R: ?Sized> {
    flips: &'a Flips,
    bits: &'a [u32],
    rng: &'a mut R,
    base: u64,
    buffer: Vec<u32>,
    next: usize,
}

// It holds the respondent's value.
impl<R: ?Sized> fmt::Debug for FlippedBits<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlippedBits(..)")
    }
}

impl<R: CryptoRng + ?Sized> Iterator for FlippedBits<'_, R> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.next == self.buffer.len() {
            if self.base == self.flips.size {
                return None;
            }
            self.buffer.clear();
            self.next = 0;
            self.base = self.flips.block_into(self.base, &mut self.bits, &mut self.buffer, self.rng);
        }
        self.next += 1;
        Some(self.buffer[self.next - 1])
    }
}

/// Bits are numbered by 32-bit integers.
const DOMAIN_MAX: u64 = 1 << 32;
/// Above this flip probability a toss for every bit costs less than looking for the set ones.
const DENSE: f64 = 1.0 / 16.0;
const DENSE_BLOCK: u32 = 1024;
/// Few enough that sorting a block is cheap, enough that its table lookup is shared by many flips.
const FLIPS_PER_BLOCK: f64 = 32.0;
/// Keeps lengths within 32 bits.
const BLOCK_MAX: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_share, rng};

    fn flips(size: u64, epsilon: f64) -> Flips {
        Flips::new(size, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn every_bit_pattern_has_its_exact_probability() {
        // Five bits, one of them set; dense at epsilon 1, sparse at epsilon 3 (and 4 blocks when forced small).
        for (epsilon, block) in [(1.0, 1024), (3.0, 5), (3.0, 2)] {
            let mut flips = flips(5, epsilon);
            if let Plan::Sparse { whole, last } = &mut flips.plan {
                *whole = Binomial::new(u64::from(block), flips.coin);
                *last = Binomial::new(u64::from(5 % block), flips.coin);
                flips.block = block;
            }
            let p = flips.coin().probability();
            let draws = 400_000;
            let mut seen = [0u64; 32];
            let mut rng = rng(40);
            for _ in 0..draws {
                let set = flips.flip(&[3], &mut rng);
                seen[set.iter().map(|b| 1usize << b).sum::<usize>()] += 1;
            }
            for (pattern, count) in seen.into_iter().enumerate() {
                let flipped = (pattern ^ (1 << 3)).count_ones() as i32;
                assert_share(count, draws, p.powi(flipped) * (1.0 - p).powi(5 - flipped), 96);
            }
        }
    }

    #[test]
    fn the_iterator_and_the_buffer_agree() {
        for (size, epsilon) in [(1u64, 0.5), (3000, 1.0), (200_000, 4.0), (1 << 32, 19.0)] {
            let flips = flips(size, epsilon);
            let bits: Vec<u32> = [0u64, 1, 1023, 1024, 150_000, (1 << 32) - 1]
                .into_iter()
                .filter(|&b| b < size)
                .map(|b| b as u32)
                .collect();
            let all: Vec<u32> = flips.flip_iter(&bits, &mut rng(9)).collect();
            assert_eq!(all, flips.flip(&bits, &mut rng(9)));
            assert_eq!(format!("{:?}", flips.flip_iter(&bits, &mut rng(9))), "FlippedBits(..)");
            assert!(all.windows(2).all(|w| w[0] < w[1]));
            assert!(all.iter().all(|&b| u64::from(b) < size));
        }
    }

    #[test]
    fn bits_everywhere_in_a_large_domain_are_flipped_alike() {
        // 2^32 bits at epsilon 16: about 483 flips a draw. Each sixteenth of the domain gets its share.
        let flips = flips(1 << 32, 16.0);
        let p = flips.coin().probability();
        let mut rng = rng(10);
        let draws = 300;
        let mut seen = [0u64; 16];
        for _ in 0..draws {
            flips.flip(&[], &mut rng).iter().for_each(|b| seen[(b >> 28) as usize] += 1);
        }
        for count in seen {
            assert_share(count, draws << 28, p, 16);
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_domain() {
        let words = |size| match flips(size, 8.55).plan {
            Plan::Sparse { whole, last } => (whole.table_len(), last.table_len()),
            Plan::Dense => unreachable!("8.55 flips rarely"),
        };
        for size in [1 << 18, 1 << 24, 1 << 32] {
            let (whole, last) = words(size);
            assert!(whole < 200 && last <= whole, "{size}: {whole} and {last} words");
        }
    }

    #[test]
    fn domains_must_hold_something_and_fit_an_index() {
        let epsilon = Epsilon::new(1.0).unwrap();
        assert_eq!(Flips::new(0, epsilon).unwrap_err(), Error::DomainSize(0));
        assert_eq!(Flips::new((1 << 32) + 1, epsilon).unwrap_err(), Error::DomainSize((1 << 32) + 1));
        assert_eq!(Flips::new(10, Epsilon::ZERO).unwrap_err(), Error::NoSignal(0.0));
    }
}
