//! A second engine, as plain as can be, gives the same bytes as the embedded one.
//!
//! It was written from what `shuffling.rs` and `permutation.rs` say, and shares with them the derivation of seeds alone: everything is
//! loaded, opened one by one, told apart by a set, and hashed by the crate `siphasher`. So it also says exactly which order a seed
//! means.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hasher as _;
use std::io::{self, Read, Write};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use proptest::prelude::*;
use siphasher::sip::SipHasher13;
use throng_batch::{
    Body, CountJob, EmbeddedEngine, Engine, Error, Framing, Input, Layer, Manifest, MemoryStore, OpenJob,
    OpenedBatch, Partition, Partitions, PermuteJob, Rejected, Seed, Volume, derive,
};
use throng_dp::Tally;
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::{AnalyzerContent, Digest, Fragment, HopContent, Layout, Place, Rejection, Stop};

/// The second engine.
struct PlainEngine {
    memory: u128,
}

impl PlainEngine {
    /// Into how many buckets so many bytes are thrown: the order depends on it. `None` if they do not fit.
    fn buckets(&self, bytes: u128) -> Option<u64> {
        let times = |copies: u128| (bytes * copies).div_ceil(self.memory).max(1).next_power_of_two();
        let most = if self.memory < 1 << 15 { 1 } else { 1 << (self.memory >> 15).ilog2() };
        if times(3) > most {
            return None;
        }
        if times(3) == 1 {
            return Some(1);
        }
        let cached = bytes.div_ceil(1 << 24).max(1).next_power_of_two().min(1 << 7);
        Some(times(6).max(cached).min(most) as u64)
    }
}

impl Engine for PlainEngine {
    fn open(&self, job: &OpenJob<'_>) -> Result<OpenedBatch, Error> {
        let Layer { route, layout, keys } = job.layer;
        let (mut left, mut ends, mut hashed, mut read, mut records) = (Vec::new(), vec![], vec![], 0, 0);
        match job.input {
            Input::Bodies(partitions, framing) => {
                for partition in partitions {
                    let reader = job.volume.read_range(&partition.name, partition.bytes.clone())?;
                    for body in framing.bodies(partition, reader) {
                        let body = body?;
                        hashed.extend(*Digest::of(&body.bytes).as_bytes());
                        read += 1;
                        if let Ok(envelopes) = open_body(&route, &layout, keys, &body.bytes) {
                            records += (envelopes.len() / layout.envelope_len(layout.after(1))) as u64;
                            ends.push(records);
                            left.extend(envelopes);
                        }
                    }
                }
            }
            Input::Envelopes(partitions, hop) => {
                hashed = all(job.volume, partitions);
                for envelope in hashed.chunks(layout.envelope_len(Stop::Hop(hop))) {
                    read += 1;
                    if let Ok(HopContent::Envelope(inner)) = peel(&route, &layout, hop, keys, envelope) {
                        records += 1;
                        left.extend(inner);
                    }
                }
            }
        }
        job.volume.create(job.spool)?.write_all(&left)?;
        let spool = vec![Partition::first(job.spool, left.len() as u64)];
        Ok(OpenedBatch { spool, records, ends, input: Digest::of(&hashed), read })
    }

    fn permute(&self, job: &PermuteJob<'_>) -> Result<Manifest, Error> {
        let given = all(job.volume, job.input);
        let added = all(job.volume, job.added);
        let is_dropped = |place: u64| job.dropped.iter().any(|(start, end)| (*start..*end).contains(&place));
        let kept = given.chunks(job.length).zip(0..).filter(|(_, place)| !is_dropped(*place));
        let records: Vec<&[u8]> = kept.map(|(one, _)| one).chain(added.chunks(job.length)).collect();
        let bytes = (given.len() + added.len()) as u128;
        let buckets =
            self.buckets(bytes).ok_or(Error::Memory { bytes: bytes as u64, limit: self.memory as usize })?;
        let key = derive(job.seed, "scatter", 0);
        let (mut thrown, mut seen) = (vec![Vec::new(); buckets as usize], HashSet::new());
        for record in records {
            if seen.insert(record) {
                let mut sip = SipHasher13::new_with_key(key.first_chunk().unwrap());
                sip.write(record);
                let bucket = (u128::from(sip.finish()) * u128::from(buckets)) >> 64;
                thrown[bucket as usize].push(record);
            }
        }
        let ordered: Vec<&[u8]> = (0..)
            .zip(thrown)
            .flat_map(|(bucket, records)| ordered(&records, &derive(job.seed, "order", bucket)))
            .collect();
        let batch = ordered.concat();
        job.volume.create(job.output)?.write_all(&batch)?;
        Ok(Manifest { records: ordered.len() as u64, digest: Digest::of(&batch) })
    }

    fn count(
        &self,
        job: &CountJob<'_>,
        tally: &mut Tally,
        _: &mut dyn FnMut(u64),
    ) -> Result<Rejected, Error> {
        let Layer { route, layout, keys } = job.layer;
        let batch = all(job.partitions, job.input);
        let (mut rejected, mut seen, mut counts) = (Rejected::default(), HashSet::new(), BTreeMap::new());
        for envelope in batch.chunks(layout.envelope_len(Stop::Analyzer)) {
            if !seen.insert(envelope) {
                rejected.duplicates += 1;
                continue;
            }
            match open_fragment(&route, &layout, job.attributes, keys, envelope) {
                Ok(AnalyzerContent::Fragment(fragment)) => {
                    *counts.entry(fragment.attribute()).or_insert(0) += 1;
                }
                Ok(AnalyzerContent::Chaff) => rejected.chaff += 1,
                Err(Rejection::Length) => rejected.length += 1,
                Err(Rejection::Key) => rejected.key += 1,
                Err(Rejection::Content) => rejected.content += 1,
                Err(_) => rejected.seal += 1,
            }
        }
        for (attribute, count) in counts {
            match job.bound.is_some_and(|(assignment, here)| assignment.fragments(attribute, here) > 0) {
                true => tally.add_count(attribute, count)?,
                false => rejected.foreign += count,
            }
        }
        Ok(rejected)
    }

    fn bytes_max(&self) -> u64 {
        u64::MAX
    }
}

/// All bytes of some partitions.
fn all(files: &(impl Partitions + ?Sized), partitions: &[Partition]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for partition in partitions {
        let mut reader = files.read_range(&partition.name, partition.bytes.clone()).unwrap();
        reader.read_to_end(&mut bytes).unwrap();
    }
    bytes
}

/// Records in the order that a seed means: thrown into as many heaps as it takes for 2^15 in each, by 16 bits of ChaCha20 each,
/// and every heap shuffled by a stream of its own.
fn ordered<'a>(records: &[&'a [u8]], seed: &Seed) -> Vec<&'a [u8]> {
    let heaps = records.len().div_ceil(1 << 15).next_power_of_two().min(1 << 11);
    let (mut thrown, mut rng) = (vec![Vec::new(); heaps], ChaCha20Rng::from_seed(*seed));
    for four in records.chunks(4) {
        let word = rng.next_u64().to_le_bytes();
        for (record, bits) in four.iter().zip(word.chunks(2)) {
            let heap = (usize::from(u16::from_le_bytes([bits[0], bits[1]])) * heaps) >> 16;
            thrown[heap].push(*record);
        }
    }
    for (stream, heap) in (1..).zip(&mut thrown) {
        let mut rng = ChaCha20Rng::from_seed(*seed);
        rng.set_stream(stream);
        for left in (2..=heap.len() as u64).rev() {
            let chosen = loop {
                let product = u64::from(rng.next_u32()) * left;
                if product % (1 << 32) >= (1 << 32) % left {
                    break product >> 32;
                }
            };
            heap.swap(left as usize - 1, chosen as usize);
        }
    }
    thrown.concat()
}

/// The record of a number: any bytes, the same for the same number.
fn record(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    ChaCha20Rng::seed_from_u64(number).fill_bytes(&mut bytes);
    bytes
}

/// What is permuted, as numbers of records, and how.
#[derive(Clone, Debug)]
struct Work {
    length: usize,
    memory: usize,
    seed: Seed,
    given: Vec<u64>,
    added: Vec<u64>,
    /// Lengths of stretches that are kept and dropped in turn.
    stretches: Vec<u64>,
    /// Where the input is cut into partitions.
    cuts: Vec<usize>,
}

fn work() -> impl Strategy<Value = Work> {
    let memory = prop::sample::select(vec![1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 22]);
    let numbers = |most: usize| prop::collection::vec(0..600_u64, 0..most);
    (
        1..240_usize,
        memory,
        any::<Seed>(),
        numbers(1500),
        numbers(200),
        prop::collection::vec(1..90_u64, 0..20),
    )
        .prop_flat_map(|(length, memory, seed, given, added, stretches)| {
            let cuts = prop::collection::vec(0..=given.len(), 0..4);
            (Just((length, memory, seed, given, added, stretches)), cuts)
        })
        .prop_map(|((length, memory, seed, given, added, stretches), mut cuts)| {
            cuts.sort_unstable();
            Work { length, memory, seed, given, added, stretches, cuts }
        })
}

/// What an engine makes of it: the manifest or that it does not fit, the batch, and which files are left.
fn permuted(engine: &dyn Engine, work: &Work) -> (Option<Manifest>, Option<Vec<u8>>) {
    let store = MemoryStore::new();
    let put = |name: &str, numbers: &[u64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| record(*number, work.length)).collect();
        // Others' bytes are before and behind.
        let mut file = store.create(name).unwrap();
        file.write_all(&[&[1; 5], &bytes[..], &[2; 300]].concat()).unwrap();
        Partition { name: name.into(), bytes: 5..5 + bytes.len() as u64, digest: None }
    };
    let starts = [0].into_iter().chain(work.cuts.iter().copied());
    let ends = work.cuts.iter().copied().chain([work.given.len()]);
    let input: Vec<Partition> = starts
        .zip(ends)
        .map(|(start, end)| put(&format!("input-{start}-{end}"), &work.given[start..end]))
        .collect();
    let (half, rest) = work.added.split_at(work.added.len() / 2);
    let added = [put("added-1", half), put("added-2", rest)];
    let records = work.given.len() as u64;
    let (mut dropped, mut place) = (Vec::new(), 0);
    for pair in work.stretches.chunks_exact(2) {
        let (start, end) = ((place + pair[0]).min(records), (place + pair[0] + pair[1]).min(records));
        if start < end {
            dropped.push((start, end));
        }
        place = end;
    }
    let before = store.file_names().unwrap();
    let manifest = engine.permute(&PermuteJob {
        volume: &store,
        input: &input,
        records,
        dropped: &dropped,
        added: if work.added.is_empty() { &[] } else { &added },
        length: work.length,
        seed: &work.seed,
        output: "batch",
    });
    match manifest {
        Ok(manifest) => {
            let left: Vec<String> = store.file_names().unwrap();
            assert!(left.iter().filter(|name| !before.contains(name)).eq(["batch"]), "{left:?}");
            (Some(manifest), store.bytes("batch"))
        }
        Err(Error::Memory { .. }) => (None, None),
        Err(other) => panic!("{other}"),
    }
}

fn check(work: &Work) -> Option<Manifest> {
    let plain = permuted(&PlainEngine { memory: work.memory as u128 }, work);
    assert_eq!(permuted(&EmbeddedEngine::new(work.memory), work), plain);
    plain.0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// In memory and on disk, with duplicates, gaps, several partitions and records that are added.
    #[test]
    fn both_engines_give_the_same_order(work in work()) {
        check(&work);
    }
}

/// The same where it matters how many buckets there are, and where records are thrown twice: many in a bucket.
#[test]
fn both_engines_give_the_same_order_of_many_records() {
    // In memory in several heaps; on disk in 4, 16 and 16 buckets.
    for (length, count, memory) in
        [(8, 70_000, 1 << 23), (24, 40_000, 1 << 21), (16, 90_000, 1 << 20), (100, 70_000, 1 << 22)]
    {
        let given: Vec<u64> = (0..count).chain(0..1000).collect();
        let added: Vec<u64> = (count - 5..count + 3000).collect();
        let work =
            Work { length, memory, seed: [9; 32], given, added, stretches: vec![50, 10], cuts: vec![777] };
        let manifest = check(&work).unwrap();
        // What is dropped is there a second time; of what is added, five are.
        assert_eq!(manifest.records, count + 3000);
    }
}

/// Bodies as a test stores them: a length of four bytes before each.
struct Lengths;

impl Framing for Lengths {
    fn bodies<'a>(
        &'a self,
        _: &Partition,
        mut reader: Box<dyn Read + Send>,
    ) -> Box<dyn Iterator<Item = Result<Body, Error>> + 'a> {
        Box::new(std::iter::from_fn(move || {
            let mut len = [0; 4];
            match reader.read_exact(&mut len) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return None,
                read => read.unwrap(),
            }
            let mut bytes = vec![0; u32::from_be_bytes(len) as usize];
            reader.read_exact(&mut bytes).unwrap();
            Some(Ok(Body { digest: Digest::of(&bytes), bytes }))
        }))
    }
}

/// What was not counted, and what was.
type Counts = (Rejected, Vec<u64>);

/// Everything that an instance does to an epoch: what each step came to, and all bytes between them.
fn instance(
    engine: &dyn Engine,
    world: &World,
    files: &MemoryStore,
) -> (Vec<OpenedBatch>, Vec<Vec<u8>>, Counts) {
    let (layout, route) = (Layout::of(world.survey.survey()), world.route());
    let (store, mut opened, mut bytes) = (files.copy(), Vec::new(), Vec::new());
    let segments = [Partition::whole("segment-1"), Partition::whole("segment-2")];
    let mut batch = Manifest { records: 0, digest: Digest::NONE };
    for hop in 1..=layout.hops() {
        let incoming = [Partition::whole(format!("batch-{}", hop - 1))];
        let input = match hop {
            1 => Input::Bodies(&segments, &Lengths),
            _ => Input::Envelopes(&incoming, hop),
        };
        let layer = Layer { route, layout, keys: world.keys(1, hop) };
        let (spool, output) = (format!("spool-{hop}"), format!("batch-{hop}"));
        let left = engine.open(&OpenJob { volume: &store, layer, input, spool: &spool }).unwrap();
        if hop > 1 {
            assert_eq!((left.input, left.read), (batch.digest, batch.records));
        }
        // The third body is deleted by hop 1, and hop 1 adds what nobody can open.
        let dropped = if hop == 1 { vec![(left.ends[1], left.ends[2])] } else { Vec::new() };
        let length = layout.envelope_len(layout.after(hop));
        let added: Vec<u8> = (0..20).flat_map(|number| record(number, length)).collect();
        store.create("added").unwrap().write_all(&added).unwrap();
        let added = [Partition::first("added", added.len() as u64)];
        batch = engine
            .permute(&PermuteJob {
                volume: &store,
                input: &left.spool,
                records: left.records,
                dropped: &dropped,
                added: if hop == layout.hops() { &added } else { &[] },
                length,
                seed: &[hop as u8; 32],
                output: &output,
            })
            .unwrap();
        bytes.extend([store.bytes(&spool).unwrap(), store.bytes(&output).unwrap()]);
        opened.push(left);
    }
    // A last hop that lies hands on some envelopes again.
    let mut last = bytes.last().unwrap().clone();
    last.extend_from_within(..3 * layout.envelope_len(Stop::Analyzer));
    store.create("last").unwrap().write_all(&last).unwrap();
    let survey = world.survey.survey();
    let mut tally = survey.mechanism().unwrap().tally().unwrap();
    let manifest = Manifest { records: batch.records + 3, digest: Digest::of(&last) };
    let job = CountJob {
        partitions: &store,
        input: &[Partition::whole("last")],
        manifest,
        layer: Layer { route, layout, keys: &world.layers[&Place::Analyzer] },
        attributes: survey.attributes(),
        bound: Some((throng_dp::fragmenting::Assignment::new(1, 3).unwrap(), 0)),
    };
    let rejected = engine.count(&job, &mut tally, &mut |_| ()).unwrap();
    (opened, bytes, (rejected, tally.counts().collect()))
}

/// From bodies to a tally, with failures, duplicates, chaff and added records; memory for all, and for little.
#[test]
fn both_engines_open_and_count_the_same() {
    for hops in 1..=3 {
        let world = World::new(Shape { hops, instances: 3, ..SHAPE });
        let (path, mut rng) = (world.path(0, EPOCH, 1), ChaCha20Rng::from_seed([1; 32]));
        let mut bodies: Vec<Vec<u8>> = (0..60_u32)
            .map(|person| path.body(&[Fragment::new(person), Fragment::new(2 * person)], &mut rng).unwrap())
            .collect();
        bodies[7][40] ^= 1;
        bodies[20] = bodies[21].clone();
        bodies[30] = vec![5; bodies[31].len()];
        let store = MemoryStore::new();
        for (name, bodies) in [("segment-1", &bodies[..25]), ("segment-2", &bodies[25..])] {
            let framed =
                bodies.iter().flat_map(|body| [&(body.len() as u32).to_be_bytes(), &body[..]].concat());
            store.create(name).unwrap().write_all(&framed.collect::<Vec<u8>>()).unwrap();
        }
        for memory in [1 << 24, 1 << 17] {
            let plain = instance(&PlainEngine { memory: memory as u128 }, &world, &store);
            assert_eq!(plain.0[0].ends.len(), 58, "two bodies do not open");
            let (rejected, counts) = &plain.2;
            assert_eq!((rejected.duplicates, rejected.key + rejected.seal), (3, 20), "{rejected:?}");
            assert!(rejected.foreign > 0 && counts.iter().sum::<u64>() > 30);
            assert!(instance(&EmbeddedEngine::new(memory), &world, &store) == plain, "{hops} hops, {memory}");
        }
    }
}
