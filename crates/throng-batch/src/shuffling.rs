//! External shuffle: a whole batch in a uniformly random order, without duplicates, in bounded memory.
//!
//! A batch that fits is permuted in memory. A larger one takes two passes over the disk: every record is thrown into one
//! of several buckets, then each bucket, which fits, is permuted, and they are put one after another. If the throws are
//! independent and uniform the whole order is uniform (Rao 1961, Sandelius 1962). The bucket of a record is a hash of it
//! under a secret key, which makes throws of distinct records independent and uniform, and puts equal records, which
//! have to be found and dropped, into one bucket, where the same hash, kept beside the record, finds them. The hash is
//! SipHash-1-3, made for tables whose users may be hostile. Nobody's anonymity leans on it: a bucket depends on what a record
//! is, never on where it stood, so that even with a known key the order tells no more than the records themselves.
//!
//! In both passes a thread reads, one shuffles (with the pool's help) and others hash and write, on buffers that go round
//! between them.

use std::io::{self, Read};
use std::thread;

use crate::batch::{BatchReader, BatchWriter, Manifest};
use crate::buckets::{BucketHead, Buckets, Piece, Pieces, write_pieces};
use crate::distinct::keep_distinct;
use crate::ring::{Producer, joined, ring};
use crate::sip::sip;
use crate::{Error, Partition, Permutation, Records, Seed, Volume, VolumeFile, derive};

/// A shuffle of some partitions of records into a file.
pub(crate) struct Shuffle<'a> {
    /// Where the files are.
    pub(crate) volume: &'a dyn Volume,
    /// All records.
    pub(crate) input: &'a [Partition],
    /// How many bytes each of them has.
    pub(crate) length: usize,
    /// How many there are.
    pub(crate) records: u64,
    /// The file of the result. Buckets are files that are named after it.
    pub(crate) output: &'a str,
    /// About how many bytes may be in memory.
    pub(crate) memory: usize,
}

impl Shuffle<'_> {
    /// Shuffles the records for whose places `keep` is true, each once. The order follows from the seed, the records and
    /// the limit of memory. The result is synced when this returns.
    pub(crate) fn run(&self, seed: &Seed, keep: impl Fn(u64) -> bool) -> Result<Manifest, Error> {
        let bits = self.bucket_bits()?;
        if bits == 0 {
            let mut all = self.kept(keep)?;
            let output = BatchWriter::create(self.volume, self.output, self.length)?;
            let mut hashes = Vec::new();
            sip(&all, &derive(seed, "distinct", 0), &mut hashes);
            keep_distinct(&mut all, &hashes)?;
            return self.written(output, |shuffled| self.permute(&all, seed, 0, shuffled).map(drop));
        }
        let names: Vec<String> = (0..1_u32 << bits).map(|bucket| self.bucket_name(bucket)).collect();
        // What an earlier try has left is emptied meanwhile.
        let (output, staying) = thread::scope(|scope| {
            let output = scope.spawn(|| BatchWriter::create(self.volume, self.output, self.length));
            let staying = self.scatter(&names, &derive(seed, "scatter", 0), keep)?;
            Ok::<_, Error>((joined(output)?, staying))
        })?;
        let manifest = self.collect(&names, staying, seed, output)?;
        self.volume.remove_all(&names)?;
        Ok(manifest)
    }

    /// How many bits choose a bucket: at least so many that a bucket fits, at most so many that there is a buffer for each,
    /// and in between so many that threads need not wait for one another and a bucket fits a cache.
    fn bucket_bits(&self) -> Result<u32, Error> {
        let bytes = u128::from(self.records) * self.length as u128;
        let memory = self.memory.max(1) as u128;
        let least = bits_at_least(bytes * COPIES, memory);
        let most = (self.memory / BUFFER).checked_ilog2().unwrap_or(0);
        if least > most {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            return Err(Error::Memory { bytes, limit: self.memory });
        }
        if least == 0 {
            return Ok(0);
        }
        let ahead = bits_at_least(bytes * COPIES_AHEAD, memory);
        let cached = bits_at_least(bytes, CACHE).min(CACHE_BITS_MAX);
        Ok(ahead.max(cached).clamp(least, most))
    }

    /// How many bytes can be shuffled in so much memory.
    pub(crate) fn bytes_max(memory: usize) -> u64 {
        let buckets = (memory / BUFFER).checked_ilog2().map_or(1, |bits| 1_u128 << bits);
        u64::try_from(buckets * memory as u128 / COPIES).unwrap_or(u64::MAX)
    }

    fn bucket_name(&self, bucket: u32) -> String {
        format!("{}-bucket-{bucket}", self.output)
    }

    /// All records that are kept, in memory.
    fn kept(&self, keep: impl Fn(u64) -> bool) -> Result<Records, Error> {
        let mut all = Vec::with_capacity((self.records * self.length as u64) as usize);
        let mut input = self.input();
        let (mut place, mut used) = (0, Vec::new());
        while let Some(mut part) = input.next_part_in(used)? {
            retain(&mut part, &mut place, &keep);
            all.extend_from_slice(part.as_bytes());
            used = part.into_bytes();
        }
        self.check_count(place)?;
        Records::from_bytes(self.length, all)
    }

    /// How many records a bucket has on average.
    fn mean(&self, buckets: usize) -> u64 {
        self.records.div_ceil(buckets as u64)
    }

    /// Whether a bucket can be read while another is permuted.
    fn reads_ahead(&self, buckets: usize) -> bool {
        u128::from(self.mean(buckets)) * self.length as u128 * COPIES_AHEAD <= self.memory as u128
    }

    /// A quarter of the memory waits to be written, and another one is for the parts that are read. What the second pass
    /// leaves of the rest is room for pieces that are never written; they are at most half of a bucket.
    fn pieces(&self, buckets: usize) -> Pieces {
        let len = 1 << (self.memory / 4 / buckets).clamp(BUFFER / 2, BUFFER_MAX).ilog2();
        let copies = if self.reads_ahead(buckets) { COPIES_AHEAD } else { COPIES };
        let bucket = u128::from(self.mean(buckets)) * self.length as u128;
        let second = bucket * copies + (self.memory / OUT_PARTS * OUT_BUFFERS) as u128;
        let left = (self.memory as u128).saturating_sub(second).min(self.memory as u128 * 3 / 8);
        let staying = (left / buckets as u128).min(bucket / 2);
        Pieces { len, staying: staying as usize / len }
    }

    /// First pass: every record that is kept into its bucket. Returns what is not in its file.
    fn scatter(
        &self,
        names: &[String],
        key: &Seed,
        keep: impl Fn(u64) -> bool,
    ) -> Result<Vec<BucketHead>, Error> {
        let bits = names.len().ilog2();
        let mut files = names
            .iter()
            .map(|name| self.volume.create(name))
            .collect::<io::Result<Vec<Box<dyn VolumeFile>>>>()?;
        let mut input = self.input();
        thread::scope(|scope| {
            let (fill, parts) = ring::<Vec<u8>>(2);
            let reading = scope.spawn(move || read_parts(&mut input, &fill));
            let (full, write) = ring::<Vec<Piece>>(2);
            let writing = scope.spawn(move || write_pieces(&mut files, &write));
            let mut buckets = Buckets::new(names.len(), self.pieces(names.len()));
            let (mut place, mut hashes) = (0, Vec::new());
            while let Some(part) = parts.full() {
                let mut part = Records::from_bytes(self.length, part)?;
                retain(&mut part, &mut place, &keep);
                sip(&part, key, &mut hashes);
                for (record, hash) in part.iter().zip(&hashes) {
                    buckets.add((hash >> (64 - bits)) as usize, record, *hash);
                }
                parts.give_back(part.into_bytes());
                // The writer is gone if it failed, and says why below.
                let Some(used) = full.empty() else { break };
                full.pass_on(buckets.full(used));
            }
            let (rest, staying) = buckets.rest(full.empty().unwrap_or_default());
            full.pass_on(rest);
            drop((parts, full));
            joined(writing)?;
            joined(reading)?;
            self.check_count(place)?;
            Ok(staying)
        })
    }

    /// Second pass: bucket after bucket, each in a random order.
    fn collect(
        &self,
        names: &[String],
        staying: Vec<BucketHead>,
        seed: &Seed,
        output: BatchWriter,
    ) -> Result<Manifest, Error> {
        let ahead = self.reads_ahead(names.len());
        thread::scope(|scope| {
            let (fill, buckets) = ring::<Vec<u8>>(if ahead { 2 } else { 1 });
            let reading = scope.spawn(move || self.read_buckets(names, staying, &fill));
            let manifest = self.written(output, |shuffled| {
                let mut bucket = 0;
                while let Some(bytes) = buckets.full() {
                    let mut records = Records::from_bytes(self.hashed_length(), bytes)?;
                    keep_distinct_hashed(&mut records)?;
                    if !self.permute(&records, seed, bucket, shuffled)? {
                        break;
                    }
                    buckets.give_back(records.into_bytes());
                    bucket += 1;
                }
                drop(buckets);
                joined(reading)
            })?;
            Ok(manifest)
        })
    }

    /// Records, without their hashes, in the order of the seed, part by part, each in memory that was used before. False
    /// if nobody writes any more.
    fn permute(
        &self,
        records: &Records,
        seed: &Seed,
        bucket: u64,
        shuffled: &Producer<Vec<u8>>,
    ) -> Result<bool, Error> {
        let order = Permutation::new(records.len() as u64, &derive(seed, "order", bucket))?;
        let part_len = (self.memory / OUT_PARTS).min(1 << 22);
        for places in order.places().chunks((part_len / self.length).max(1)) {
            // The writer is gone if it failed, and says why itself.
            let Some(used) = shuffled.empty() else { return Ok(false) };
            shuffled.pass_on(records.heads_gathered(self.length, places, used));
        }
        Ok(true)
    }

    /// What somebody shuffles, hashed and written by other threads meanwhile.
    fn written(
        &self,
        output: BatchWriter,
        shuffle: impl FnOnce(&Producer<Vec<u8>>) -> Result<(), Error>,
    ) -> Result<Manifest, Error> {
        thread::scope(|scope| {
            let (shuffled, parts) = ring::<Vec<u8>>(OUT_BUFFERS);
            let writing = scope.spawn(move || output.write_parts(parts));
            let outcome = shuffle(&shuffled);
            drop(shuffled);
            let written = joined(writing);
            outcome?;
            Ok(written?)
        })
    }

    /// Reads one bucket after another, and empties what it has read.
    fn read_buckets(
        &self,
        names: &[String],
        staying: Vec<BucketHead>,
        fill: &Producer<Vec<u8>>,
    ) -> Result<(), Error> {
        // Eight deviations above the mean: distinct records are not more than that in any bucket.
        let mean = self.mean(names.len());
        let len = (mean + 8 * mean.isqrt() + 8) as usize * self.hashed_length();
        for (name, first) in names.iter().zip(staying) {
            let Some(used) = fill.empty() else { break };
            fill.pass_on(self.read_bucket(name, first, len, used)?);
            // It is removed for good with all others, but takes no room until then.
            self.volume.create(name)?;
        }
        Ok(())
    }

    /// All records of a bucket, but for some that are there twice if they are more than `len` bytes: whoever sends one
    /// record many times fills one bucket, and must not fill the memory.
    fn read_bucket(
        &self,
        name: &str,
        first: BucketHead,
        mut len: usize,
        mut bytes: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        bytes.clear();
        bytes.reserve_exact(len);
        first.iter().for_each(|piece| bytes.extend_from_slice(piece));
        drop(first);
        let mut file = self.volume.read(name)?;
        loop {
            let wanted = len - bytes.len();
            bytes.reserve_exact(wanted);
            let read = file.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
            if read < wanted {
                return Ok(bytes);
            }
            let mut records = Records::from_bytes(self.hashed_length(), bytes)?;
            keep_distinct_hashed(&mut records)?;
            bytes = records.into_bytes();
            if bytes.len() > len / 2 {
                len *= 2;
            }
        }
    }

    /// How many bytes a record in a bucket has: its own, then its hash.
    fn hashed_length(&self) -> usize {
        self.length + HASH
    }

    fn input(&self) -> BatchReader<'_> {
        let part_len = (self.memory / PARTS).clamp(1 << 12, 1 << 22);
        BatchReader::open(self.volume, self.input, self.length, part_len)
    }

    fn check_count(&self, read: u64) -> Result<(), Error> {
        if read == self.records { Ok(()) } else { Err(Error::Damaged { file: "spool", at: read }) }
    }
}

/// Reads all of a file, part by part.
fn read_parts(input: &mut BatchReader<'_>, fill: &Producer<Vec<u8>>) -> Result<(), Error> {
    while let Some(used) = fill.empty()
        && let Some(part) = input.next_part_in(used)?
    {
        fill.pass_on(part.into_bytes());
    }
    Ok(())
}

/// Keeps some records of a part that starts at a place, and goes on to the place after it.
fn retain(part: &mut Records, place: &mut u64, keep: impl Fn(u64) -> bool) {
    let (start, count) = (*place, part.len() as u64);
    part.retain(|index| keep(start + index as u64));
    *place += count;
}

/// Keeps each record of a bucket once.
fn keep_distinct_hashed(records: &mut Records) -> Result<(), Error> {
    let hashes: Vec<u64> = records
        .iter()
        .map(|record| u64::from_le_bytes(*record.last_chunk().expect("a hash is there")))
        .collect();
    keep_distinct(records, &hashes)
}

/// How many bits count `bytes` divided by `limit`, rounded up.
fn bits_at_least(bytes: u128, limit: u128) -> u32 {
    bytes.div_ceil(limit.max(1)).max(1).next_power_of_two().trailing_zeros()
}

/// A bucket in memory is there as it was read, with its order and hashes, and as much again if records are short.
const COPIES: u128 = 3;

/// The same where a thread reads a bucket while another is permuted.
const COPIES_AHEAD: u128 = 6;

/// Buckets of this size are found in a cache when they are permuted.
const CACHE: u128 = 1 << 24;
/// But so many buckets are enough: more would be written in small pieces.
const CACHE_BITS_MAX: u32 = 7;

/// A part of the input is this share of the memory; there are two as they were read, and two by bucket.
const PARTS: usize = 16;

/// A part of the output is this share of the memory, so that it is found in a cache where it is hashed; so many of them are
/// filled, hashed and written at once.
const OUT_PARTS: usize = 64;
const OUT_BUFFERS: usize = 6;

/// What an open bucket takes at least: half of it is the buffer that waits to be written.
const BUFFER: usize = 1 << 15;
const BUFFER_MAX: usize = 1 << 16;

/// How many bytes a hash has.
const HASH: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::LazyLock;

    use super::*;
    use crate::MemoryStore;

    static SPOOL: LazyLock<[Partition; 1]> = LazyLock::new(|| [Partition::whole("spool")]);

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
        let shuffle = Shuffle { volume: store, input: &*SPOOL, length, records, output: "batch", memory };
        let manifest = shuffle.run(seed, |_| true).unwrap();
        let bytes = store.bytes("batch").unwrap();
        assert_eq!(manifest.digest, throng_wire::Digest::of(&bytes));
        assert_eq!(manifest.records, (bytes.len() / length) as u64);
        assert_eq!(store.file_names().unwrap(), ["batch", "spool"], "no bucket is left");
        bytes.chunks_exact(length).map(|record| record[0]).collect()
    }

    /// Attack 10, on disk: 4 records over 2 buckets, 12,000 orders. Each of 24 is expected 500 times; chi-square with 23
    /// degrees of freedom is above 80 with a probability below 1e-7.
    #[test]
    fn orders_over_buckets_are_uniform() {
        let (length, memory) = (6000, 1 << 16);
        let store = store(&[0, 1, 2, 3], length);
        let shuffle = Shuffle { volume: &store, input: &*SPOOL, length, records: 4, output: "b", memory };
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
                Shuffle { volume: &store, input: &*SPOOL, length: 6000, records: 4, output: "b", memory };
            shuffle.run(&seed(1), |_| true)
        };
        assert!(matches!(small(1 << 15), Err(Error::Memory { bytes: 24_000, .. })));
        assert!(Shuffle::bytes_max(1 << 15) < 24_000 && Shuffle::bytes_max(1 << 16) >= 24_000);
        small(1 << 16).unwrap();
        let short = Shuffle {
            volume: &store,
            input: &*SPOOL,
            length: 6000,
            records: 5,
            output: "b",
            memory: 1 << 20,
        };
        assert!(matches!(short.run(&seed(1), |_| true), Err(Error::Damaged { .. })), "a record is missing");
    }

    /// Distinct records, and room for several buckets at a time.
    fn large() -> (MemoryStore, Vec<u32>) {
        let (store, numbers) = (MemoryStore::new(), Vec::from_iter(0..20_000));
        let mut file = store.create("spool").unwrap();
        file.write_all(&numbers.iter().flat_map(|number: &u32| number.to_be_bytes()).collect::<Vec<u8>>())
            .unwrap();
        file.sync().unwrap();
        (store, numbers)
    }

    fn large_shuffle(store: &MemoryStore) -> Shuffle<'_> {
        Shuffle {
            volume: store,
            input: &*SPOOL,
            length: 4,
            records: 20_000,
            output: "batch",
            memory: 1 << 17,
        }
    }

    #[test]
    fn buckets_that_threads_work_on_at_once_come_out_in_order() {
        let (store, numbers) = large();
        let shuffle = large_shuffle(&store);
        assert_eq!(shuffle.bucket_bits().unwrap(), 2);
        let manifest = shuffle.run(&seed(1), |_| true).unwrap();
        let bytes = store.bytes("batch").unwrap();
        assert_eq!(manifest.digest, throng_wire::Digest::of(&bytes));
        let mut left: Vec<u32> =
            bytes.as_chunks().0.iter().map(|number| u32::from_be_bytes(*number)).collect();
        assert_ne!(left, numbers);
        left.sort_unstable();
        assert_eq!(left, numbers);
    }

    /// Whatever fails, whichever thread finds out: the shuffle ends with an error, and later gives the one order.
    #[test]
    fn a_shuffle_that_fails_anywhere_is_done_again_with_the_same_order() {
        let (store, _) = large();
        let whole = store.copy();
        let expected = large_shuffle(&whole).run(&seed(1), |_| true).unwrap();
        for operations in 0.. {
            let store = store.copy();
            store.fail_after(operations);
            let outcome = large_shuffle(&store).run(&seed(1), |_| true);
            store.restart(operations as usize % 3);
            if let Ok(manifest) = outcome {
                assert!(operations > 10 && manifest == expected);
                assert_eq!(store.bytes("batch"), whole.bytes("batch"), "what is done is synced");
                break;
            }
            assert_eq!(large_shuffle(&store).run(&seed(1), |_| true).unwrap(), expected);
        }
    }

    #[test]
    fn a_record_that_is_sent_often_does_not_fill_the_memory() {
        let mut kinds = vec![9; 1000];
        kinds.extend([1, 2, 9, 3]);
        let store = store(&kinds, 100);
        let shuffle = Shuffle {
            volume: &store,
            input: &*SPOOL,
            length: 100,
            records: 1004,
            output: "b",
            memory: 1 << 18,
        };
        // Any eight bytes are the hash of 92: equal ones of equal records.
        let hashed = Shuffle { length: 92, ..shuffle };
        let bucket = hashed.read_bucket("spool", Vec::new(), 1000, Vec::new()).unwrap();
        assert!(bucket.len() <= 1000 && bucket.capacity() <= 2000, "{} {}", bucket.len(), bucket.capacity());
        let mut left = Records::from_bytes(100, bucket).unwrap();
        keep_distinct_hashed(&mut left).unwrap();
        assert!(left.iter().map(|record| record[0]).eq([9, 1, 2, 3]));
        assert_eq!(run(&store, 100, 1004, 1 << 18, &seed(3)).len(), 4);
    }

    /// What stays in memory is part of its bucket, and what is sent twice is found wherever it is.
    #[test]
    fn buckets_are_what_stays_in_memory_and_what_is_in_files() {
        let numbers: Vec<u64> = (0..22_000).chain(0..22_000).collect();
        let store = MemoryStore::new();
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|number| [*number, 5]).flat_map(u64::to_be_bytes).collect();
        store.create("spool").unwrap().write_all(&bytes).unwrap();
        let records = numbers.len() as u64;
        let shuffle =
            Shuffle { volume: &store, input: &*SPOOL, length: 16, records, output: "batch", memory: 1 << 20 };
        let buckets = 1 << shuffle.bucket_bits().unwrap();
        assert_eq!((buckets, shuffle.pieces(buckets)), (8, Pieces { len: 1 << 15, staying: 1 }));
        let manifest = shuffle.run(&seed(1), |_| true).unwrap();
        assert_eq!(shuffle.run(&seed(1), |_| true).unwrap(), manifest, "one order");
        let mut left: Vec<u64> = store
            .bytes("batch")
            .unwrap()
            .as_chunks()
            .0
            .iter()
            .map(|one: &[u8; 16]| u64::from_be_bytes(*one.first_chunk().unwrap()))
            .collect();
        left.sort_unstable();
        assert!(left.into_iter().eq(0..22_000));
    }

    #[test]
    fn what_stays_leaves_room_for_both_passes() {
        let store = MemoryStore::new();
        let mut used = 0;
        for memory in (18..32).map(|bits| 1_usize << bits) {
            for (length, records) in (1..60).map(|size| (7 * size, (memory * size / 40 / (7 * size)) as u64))
            {
                let shuffle =
                    Shuffle { volume: &store, input: &*SPOOL, length, records, output: "o", memory };
                let buckets = 1 << shuffle.bucket_bits().unwrap();
                let Pieces { len, staying: pieces } = shuffle.pieces(buckets);
                let (staying, bucket) = (pieces * len, shuffle.mean(buckets) as usize * length);
                assert!(staying * 2 <= bucket && staying * buckets <= memory / 8 * 3);
                assert!(pieces == 0 || staying * buckets + COPIES as usize * bucket <= memory);
                used += pieces;
            }
        }
        assert!(used > 0);
    }

    #[test]
    fn kept_places_are_kept() {
        let store = store(&[0, 1, 2, 3, 4], 6000);
        let shuffle = Shuffle {
            volume: &store,
            input: &*SPOOL,
            length: 6000,
            records: 5,
            output: "b",
            memory: 1 << 16,
        };
        shuffle.run(&seed(1), |place| place % 2 == 0).unwrap();
        let mut left: Vec<u8> = store.bytes("b").unwrap().chunks_exact(6000).map(|one| one[0]).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 2, 4]);
    }
}
