//! A uniformly random permutation (a shuffle), from a seed.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::{Error, Seed};

/// A uniformly random permutation: place i of the output gets the record that was at `places()[i]`.
///
/// Numbers are thrown into buckets independently and uniformly, then every bucket is permuted by Fisher and Yates;
/// buckets one after the other are a uniform permutation (Rao 1961, Sandelius 1962). A bucket fits the cache, which a
/// large batch does not. The generator is ChaCha20, and indices are drawn without bias. The seed alone says which
/// permutation it is, whatever the number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    places: Vec<u32>,
}

impl Permutation {
    /// A permutation of `len` records.
    pub fn new(len: u64, seed: &Seed) -> Result<Self, Error> {
        Self::with_buckets(len, seed, BUCKET)
    }

    fn with_buckets(len: u64, seed: &Seed, bucket: usize) -> Result<Self, Error> {
        let Ok(count) = u32::try_from(len) else { return Err(Error::TooMany { got: len }) };
        let bits = (count as usize).div_ceil(bucket).next_power_of_two().trailing_zeros().min(BITS_MAX);
        // Stream 0 chooses buckets; stream 1 + b permutes bucket b. The choices are drawn twice, first to count and then to
        // place: the generator is faster than fresh memory to keep them in.
        let mut sizes = vec![0; 1 << bits];
        throw(count, bits, seed, |_, bucket| sizes[bucket] += 1);
        let mut starts: Vec<usize> = sizes
            .iter()
            .scan(0, |sum, size| {
                let start = *sum;
                *sum += size;
                Some(start)
            })
            .collect();
        let mut places = vec![0; count as usize];
        throw(count, bits, seed, |number, bucket| {
            let start = &mut starts[bucket];
            places[*start] = number;
            *start += 1;
        });
        let mut buckets = Vec::with_capacity(sizes.len());
        let mut rest = places.as_mut_slice();
        for &size in &sizes {
            let (bucket, tail) = rest.split_at_mut(size);
            buckets.push(bucket);
            rest = tail;
        }
        let permute = |(number, bucket): (usize, &mut [u32])| {
            let mut rng = ChaCha20Rng::from_seed(*seed);
            rng.set_stream(1 + number as u64);
            fisher_yates(bucket, &mut rng);
        };
        // Threads are not worth waking for a small batch.
        if count as usize <= BUCKET {
            buckets.into_iter().enumerate().for_each(permute);
        } else {
            buckets.into_par_iter().enumerate().for_each(permute);
        }
        Ok(Self { places })
    }

    /// How many records it is for.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it is for none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where each record of the output comes from.
    pub fn places(&self) -> &[u32] {
        &self.places
    }
}

/// Tells a bucket for each of `count` numbers, by `bits` fair bits each; the same for the same seed.
fn throw(count: u32, bits: u32, seed: &Seed, mut tell: impl FnMut(u32, usize)) {
    if bits == 0 {
        return (0..count).for_each(|number| tell(number, 0));
    }
    let mut rng = ChaCha20Rng::from_seed(*seed);
    let mut numbers = 0..count;
    while !numbers.is_empty() {
        let word = rng.next_u64();
        for (quarter, number) in numbers.by_ref().take(4).enumerate() {
            tell(number, usize::from((word >> (16 * quarter)) as u16 >> (16 - bits)));
        }
    }
}

/// Every order equally likely: the last place gets any of all, the one before any of the rest, and so on.
fn fisher_yates(items: &mut [u32], rng: &mut ChaCha20Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u32 + 1, rng) as usize);
    }
}

/// Uniform below `bound`, without bias (Lemire 2019).
fn below(bound: u32, rng: &mut ChaCha20Rng) -> u32 {
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        // Only now is the exact limit worth a division.
        let limit = bound.wrapping_neg() % bound;
        while (product as u32) < limit {
            product = u64::from(rng.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}

/// Numbers that fit a core's cache: 128 KiB of them.
const BUCKET: usize = 1 << 15;
/// More buckets than this would not be written to as streams.
const BITS_MAX: u32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(number: u64) -> Seed {
        let mut seed = [3; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        seed
    }

    /// All 120 orders of five records over 120,000 seeds, once in one bucket and once in several: chi-square with 119
    /// degrees of freedom, at 5 deviations of Wilson and Hilferty's normal approximation (limit 211), a chance of 3e-7
    /// each that fresh seeds fail.
    #[test]
    fn every_order_is_equally_likely() {
        for bucket in [8, 2, 1] {
            let mut seen = std::collections::HashMap::new();
            for number in 0..120_000 {
                let permutation = Permutation::with_buckets(5, &seed(number), bucket).unwrap();
                *seen.entry(permutation.places().to_vec()).or_insert(0u32) += 1;
            }
            assert_eq!(seen.len(), 120);
            let chi: f64 = seen.values().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 211.0, "{chi} with buckets of {bucket}");
        }
    }

    /// Attack 10: where a record comes out says nothing about where it came in. 64 x 64 cells over 400,000 records, both
    /// divided into 64 stretches: chi-square with 63² degrees of freedom, limit at 5 deviations: 4428.
    #[test]
    fn output_places_do_not_depend_on_input_places() {
        let count = 400_000u32;
        let permutation = Permutation::new(u64::from(count), &seed(1)).unwrap();
        let mut cells = vec![0u32; 64 * 64];
        for (to, &from) in (0..count).zip(permutation.places()) {
            cells[(from * 16 / (count / 4)) as usize * 64 + (to * 16 / (count / 4)) as usize] += 1;
        }
        let expected = f64::from(count) / 4096.0;
        let chi: f64 = cells.iter().map(|&cell| (f64::from(cell) - expected).powi(2) / expected).sum();
        assert!((3500.0..4428.0).contains(&chi), "{chi}");
    }

    #[test]
    fn it_is_a_permutation_and_the_seed_alone_decides_it() {
        for count in [0u64, 1, 2, 1000, 100_000] {
            let permutation = Permutation::new(count, &seed(4)).unwrap();
            let mut sorted = permutation.places().to_vec();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..count as u32));
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(one.install(|| Permutation::new(count, &seed(4)).unwrap()), permutation);
        }
        assert_ne!(Permutation::new(1000, &seed(4)).unwrap(), Permutation::new(1000, &seed(5)).unwrap());
        assert!(matches!(Permutation::new(1 << 32, &seed(1)), Err(Error::TooMany { .. })));
    }
}
