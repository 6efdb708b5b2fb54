//! A whole batch in a uniformly random order, without its duplicates, in as much memory as there is.
//!
//! A batch that fits is permuted in memory. A larger one takes two passes over the disk: every record is thrown into one
//! of several buckets, then each bucket, which fits, is permuted, and they are put one after another. If the throws are
//! independent and uniform the whole order is uniform (Rao 1961, Sandelius 1962). The bucket of a record is a hash of it
//! under a secret key, which makes throws of distinct records independent and uniform, and puts equal records, which
//! have to be found and dropped, into one bucket. The hash is SipHash-2-4, a pseudorandom function made for short inputs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufWriter, Read, Write};

use rayon::prelude::*;
use siphasher::sip::SipHasher24;

use crate::batch::{BatchReader, BatchWriter, Manifest};
use crate::draw::derive;
use crate::store::{Store, StoreFile};
use crate::{Error, Permutation, Records, Seed};

/// A shuffle of one file of records into another.
pub struct Shuffle<'a> {
    /// Where the files are.
    pub store: &'a dyn Store,
    /// The file of all records.
    pub input: &'a str,
    /// How many bytes each of them has.
    pub length: usize,
    /// How many there are.
    pub records: u64,
    /// The file of the result. Buckets are files that are named after it.
    pub output: &'a str,
    /// About how many bytes may be in memory.
    pub memory: usize,
}

impl Shuffle<'_> {
    /// The records that `keep` says by their place, each once, in an order that the seed alone says. The result is synced
    /// when this returns.
    pub fn run(&self, seed: &Seed, keep: impl Fn(u64) -> bool) -> Result<Manifest, Error> {
        let bits = self.bucket_bits()?;
        let names: Vec<String> = (0..1_u32 << bits).map(|bucket| self.bucket_name(bucket)).collect();
        let mut output = BatchWriter::create(self.store, self.output, self.length)?;
        if bits == 0 {
            let mut all = Vec::new();
            self.kept_parts(keep, |part| {
                all.extend_from_slice(part.as_bytes());
                Ok(())
            })?;
            output.write(permuted(Records::from_bytes(self.length, all)?, seed, 0)?.as_bytes())?;
            return Ok(output.finish()?);
        }
        self.scatter(&names, bits, &derive(seed, "scatter", 0), keep)?;
        for (bucket, name) in (0..).zip(&names) {
            let all = self.whole(name)?;
            output.write(permuted(all, seed, bucket)?.as_bytes())?;
            self.store.remove(name)?;
        }
        Ok(output.finish()?)
    }

    /// How many bits choose a bucket: so many that a bucket fits three times, and no more than there are buffers for.
    fn bucket_bits(&self) -> Result<u32, Error> {
        let bytes = u128::from(self.records) * self.length as u128;
        let buckets = (COPIES * bytes).div_ceil(self.memory.max(1) as u128).max(1);
        let bits = 128 - (buckets - 1).leading_zeros();
        if bits > 0 && (BUFFER as u128) << bits > self.memory as u128 {
            return Err(Error::Memory {
                bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
                limit: self.memory,
            });
        }
        Ok(bits)
    }

    /// How many bytes can be shuffled in so much memory.
    pub fn bytes_max(memory: usize) -> u64 {
        let buckets = (memory / BUFFER).checked_ilog2().map_or(1, |bits| 1_u128 << bits);
        u64::try_from(buckets * memory as u128 / COPIES).unwrap_or(u64::MAX)
    }

    fn bucket_name(&self, bucket: u32) -> String {
        format!("{}-bucket-{bucket}", self.output)
    }

    /// First pass: every record that is kept into its bucket.
    fn scatter(
        &self,
        names: &[String],
        bits: u32,
        key: &Seed,
        keep: impl Fn(u64) -> bool,
    ) -> Result<(), Error> {
        // A quarter of the memory waits to be written; the rest is for the part that is read.
        let buffer = (self.memory / 4 / names.len()).clamp(BUFFER / 2, BUFFER_MAX);
        let mut buckets = names
            .iter()
            .map(|name| Ok(BufWriter::with_capacity(buffer, self.store.create(name)?)))
            .collect::<Result<Vec<BufWriter<Box<dyn StoreFile>>>, Error>>()?;
        self.kept_parts(keep, |part| {
            let records: Vec<&[u8]> = part.iter().collect();
            let chosen: Vec<u32> = records
                .par_iter()
                .with_min_len(1 << 10)
                .map(|record| (keyed_hash(key, record) >> (64 - bits)) as u32)
                .collect();
            for (record, bucket) in records.into_iter().zip(chosen) {
                buckets[bucket as usize].write_all(record)?;
            }
            Ok(())
        })?;
        // Buckets need not survive a crash: the input is still there, and the draw is the same.
        buckets.iter_mut().try_for_each(Write::flush)?;
        Ok(())
    }

    /// The kept records part by part.
    fn kept_parts(
        &self,
        keep: impl Fn(u64) -> bool,
        mut take: impl FnMut(Records) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let part_len = (self.memory / PARTS).clamp(1 << 12, 1 << 22);
        let mut input = BatchReader::open(self.store, self.input, self.length, part_len)?;
        let mut place = 0;
        while let Some(mut part) = input.next_part()? {
            let count = part.len() as u64;
            part.retain(|index| keep(place + index as u64));
            place += count;
            take(part)?;
        }
        if place == self.records { Ok(()) } else { Err(Error::Damaged { file: "spool", at: place }) }
    }

    /// All records of a bucket.
    fn whole(&self, name: &str) -> Result<Records, Error> {
        // Buckets are about alike, and more than half full.
        let mut bytes = Vec::with_capacity(self.memory / COPIES as usize);
        self.store.read(name)?.read_to_end(&mut bytes)?;
        Records::from_bytes(self.length, bytes)
    }
}

/// The distinct records in the order of the seed.
fn permuted(records: Records, seed: &Seed, bucket: u64) -> Result<Records, Error> {
    let distinct = distinct(records, &derive(seed, "distinct", bucket));
    let permutation = Permutation::new(distinct.len() as u64, &derive(seed, "order", bucket))?;
    Ok(distinct.permuted(&permutation))
}

/// The first of each set of equal records. Hashes find candidates, and bytes decide.
fn distinct(mut records: Records, key: &Seed) -> Records {
    let all: Vec<&[u8]> = records.iter().collect();
    let hashes: Vec<u64> =
        all.par_iter().with_min_len(1 << 10).map(|record| keyed_hash(key, record)).collect();
    let mut first: HashMap<u64, u32, BuildHasherDefault<Hashed>> =
        HashMap::with_capacity_and_hasher(all.len(), BuildHasherDefault::default());
    let (mut again, mut collisions) = (Vec::new(), Vec::new());
    for (place, hash) in hashes.into_iter().enumerate() {
        match first.entry(hash) {
            Entry::Vacant(none) => drop(none.insert(place as u32)),
            Entry::Occupied(earlier) if all[*earlier.get() as usize] == all[place] => again.push(place),
            // Two that differ and have one hash are rare enough to be compared with one another.
            Entry::Occupied(_) if collisions.iter().any(|&other: &usize| all[other] == all[place]) => {
                again.push(place);
            }
            Entry::Occupied(_) => collisions.push(place),
        }
    }
    if !again.is_empty() {
        records.retain(|place| again.binary_search(&place).is_err());
    }
    records
}

/// SipHash-2-4 under the first half of a seed.
fn keyed_hash(key: &Seed, record: &[u8]) -> u64 {
    let half = key.first_chunk().unwrap_or(&[0; 16]);
    SipHasher24::new_with_key(half).hash(record)
}

/// Numbers that are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) | u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// A bucket in memory is there as it was read, as it is written, and a bit more.
const COPIES: u128 = 3;

/// A part of the input is this share of the memory.
const PARTS: usize = 16;

/// What an open bucket takes at least: half of it is its buffer.
const BUFFER: usize = 1 << 15;
const BUFFER_MAX: usize = 1 << 22;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::MemoryStore;

    fn seed(number: u64) -> Seed {
        let mut seed = [3; 32];
        seed[..8].copy_from_slice(&number.to_be_bytes());
        seed
    }

    /// Records whose first byte says which they are.
    fn store(kinds: &[u8], length: usize) -> MemoryStore {
        let store = MemoryStore::new();
        let mut file = store.create("spool").unwrap();
        kinds.iter().for_each(|&kind| file.write_all(&vec![kind; length]).unwrap());
        store
    }

    fn run(store: &MemoryStore, length: usize, records: u64, memory: usize, seed: &Seed) -> Vec<u8> {
        let shuffle = Shuffle { store, input: "spool", length, records, output: "batch", memory };
        let manifest = shuffle.run(seed, |_| true).unwrap();
        let bytes = store.bytes("batch").unwrap();
        assert_eq!(manifest.digest, throng_wire::Digest::of(&bytes));
        assert_eq!(manifest.records, (bytes.len() / length) as u64);
        assert_eq!(store.names().unwrap(), ["batch", "spool"], "no bucket is left");
        bytes.chunks_exact(length).map(|record| record[0]).collect()
    }

    /// Attack 10, on disk: 4 records over 2 buckets, 12,000 orders. Each of 24 is expected 500 times; chi-square with 23
    /// degrees of freedom is above 80 with a probability below 1e-7.
    #[test]
    fn orders_over_buckets_are_uniform() {
        let (length, memory) = (6000, 1 << 16);
        let store = store(&[0, 1, 2, 3], length);
        let shuffle = Shuffle { store: &store, input: "spool", length, records: 4, output: "b", memory };
        assert_eq!(shuffle.bucket_bits().unwrap(), 1);
        let mut counts = BTreeMap::new();
        for number in 0..12_000 {
            *counts.entry(run(&store, length, 4, memory, &seed(number))).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        let chi_square: f64 = counts.values().map(|&count| (f64::from(count) - 500.0).powi(2) / 500.0).sum();
        assert!(chi_square < 80.0, "{chi_square}");
    }

    #[test]
    fn duplicates_are_found_in_memory_and_on_disk() {
        let kinds = [7, 1, 7, 2, 3, 7, 1];
        for (length, memory) in [(60, 1 << 16), (6000, 1 << 16)] {
            let store = store(&kinds, length);
            let mut left = run(&store, length, 7, memory, &seed(1));
            left.sort_unstable();
            assert_eq!(left, [1, 2, 3, 7]);
        }
    }

    #[test]
    fn the_draw_alone_says_the_order() {
        let kinds: Vec<u8> = (0..200).collect();
        for (length, memory) in [(100, 1 << 20), (1000, 1 << 18)] {
            let store = store(&kinds, length);
            let first = run(&store, length, 200, memory, &seed(1));
            assert_eq!(run(&store, length, 200, memory, &seed(1)), first);
            assert_ne!(run(&store, length, 200, memory, &seed(2)), first);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let store = store(&[0; 4], 6000);
        let small = |memory| {
            let shuffle =
                Shuffle { store: &store, input: "spool", length: 6000, records: 4, output: "b", memory };
            shuffle.run(&seed(1), |_| true)
        };
        assert!(matches!(small(1 << 15), Err(Error::Memory { bytes: 24_000, .. })));
        assert!(Shuffle::bytes_max(1 << 15) < 24_000 && Shuffle::bytes_max(1 << 16) >= 24_000);
        small(1 << 16).unwrap();
        let short =
            Shuffle { store: &store, input: "spool", length: 6000, records: 5, output: "b", memory: 1 << 20 };
        assert!(matches!(short.run(&seed(1), |_| true), Err(Error::Damaged { .. })), "a record is missing");
    }

    #[test]
    fn kept_places_are_kept() {
        let store = store(&[0, 1, 2, 3, 4], 6000);
        let shuffle =
            Shuffle { store: &store, input: "spool", length: 6000, records: 5, output: "b", memory: 1 << 16 };
        shuffle.run(&seed(1), |place| place % 2 == 0).unwrap();
        let mut left: Vec<u8> = store.bytes("b").unwrap().chunks_exact(6000).map(|one| one[0]).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 2, 4]);
    }
}
