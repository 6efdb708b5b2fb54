//! What executors do: each kind of task, on one core.
//!
//! Every task is deterministic and writes its object whole, so that one that is tried again, or runs twice, leaves the same
//! bytes. What does not open is dropped or counted, and never an error: no respondent can stop a batch.

use std::collections::BTreeMap;
use std::io::{self, Write};

use throng_batch::{Rejected, Volume, sip_one};
use throng_shuffle::framed_bodies;
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::{AnalyzerContent, Digest, HopContent, Layout, Rejection, Stop};

use crate::keys::Keys;
use crate::objects::Objects;
use crate::task::{Bound, Counts, Layer, OpenedBodies, Range, Task, Work, digest_of, to_bytes};

/// Does a task and gives its answer.
pub fn run(task: &Task, objects: &Objects, keys: &dyn Keys) -> io::Result<Vec<u8>> {
    let here = Executor { objects: objects.below(&task.prefix), keys };
    match &task.work {
        Work::Bodies { layer, input, spool } => {
            here.open_bodies(layer, input, spool).map(|one| to_bytes(&one))
        }
        Work::Envelopes { layer, hop, input, spool } => {
            here.open_envelopes((layer, *hop), input, spool).map(|left| to_bytes(&left))
        }
        Work::Scatter { input, dropped, length, key, bits, output } => {
            let keep = |place: u64| {
                let before = dropped.partition_point(|(start, _)| *start <= place);
                before == 0 || dropped[before - 1].1 <= place
            };
            here.scatter(input, *length, output, (*bits, key), keep).map(|counts| to_bytes(&counts))
        }
        Work::Merge { input, length, output } => {
            here.merge(input, *length, output).map(|left| to_bytes(&left))
        }
        Work::Fragments { layer, input, attributes, bound, bits, output } => {
            let findings = here.fragments(layer, input, (*attributes, *bound))?;
            here.write_buckets(findings.iter().map(|one| (first_bits(one, *bits), &one[..])), *bits, output)
                .map(|counts| to_bytes(&counts))
        }
        Work::Count { input } => here.count(input).map(|counts| to_bytes(&counts)),
    }
}

/// One executor, for one task.
struct Executor<'a> {
    objects: Objects,
    keys: &'a dyn Keys,
}

impl Executor<'_> {
    fn open_bodies(&self, layer: &Layer, input: &[Range], spool: &str) -> io::Result<OpenedBodies> {
        let (route, (layout, keys)) = (layer.route(), self.keys.layer(layer, layer.place(1))?);
        let length = layout.envelope_len(layout.after(1));
        let (mut opened, mut left) = (OpenedBodies::default(), self.objects.create(spool)?);
        for range in input {
            let bytes = self.read(range)?;
            for body in framed_bodies(&bytes, layout.body_len(layout.envelopes())) {
                let body = body.map_err(io::Error::other)?;
                opened.digests.push(digest_of(body));
                if let Ok(envelopes) = open_body(&route, &layout, &keys, body) {
                    opened.envelopes.push((envelopes.len() / length) as u32);
                    left.write_all(&envelopes)?;
                }
            }
        }
        left.sync()?;
        Ok(opened)
    }

    fn open_envelopes(&self, (layer, hop): (&Layer, u32), input: &[Range], spool: &str) -> io::Result<u64> {
        let (route, (layout, keys)) = (layer.route(), self.keys.layer(layer, layer.place(hop))?);
        let length = layout.envelope_len(Stop::Hop(hop));
        let (mut records, mut left) = (0, self.objects.create(spool)?);
        for range in input {
            let bytes = self.read(range)?;
            whole(&bytes, length)?;
            for envelope in bytes.chunks_exact(length) {
                if let Ok(HopContent::Envelope(inner)) = peel(&route, &layout, hop, &keys, envelope) {
                    records += 1;
                    left.write_all(&inner)?;
                }
            }
        }
        left.sync()?;
        Ok(records)
    }

    fn scatter(
        &self,
        input: &[Range],
        length: u64,
        output: &str,
        (bits, key): (u32, &[u8; 32]),
        keep: impl Fn(u64) -> bool,
    ) -> io::Result<Vec<u64>> {
        let parts: Vec<_> = input.iter().map(|range| self.read(range)).collect::<io::Result<_>>()?;
        parts.iter().try_for_each(|part| whole(part, length as usize))?;
        let records = parts.iter().flat_map(|part| part.chunks_exact(length as usize));
        let kept = records.zip(0..).filter(|(_, place)| keep(*place)).map(|(record, _)| {
            let hash = sip_one(record, key);
            (top(hash, bits), record)
        });
        self.write_buckets(kept, bits, output)
    }

    fn merge(&self, input: &[Range], length: u64, output: &str) -> io::Result<u64> {
        let parts: Vec<_> = input.iter().map(|range| self.read(range)).collect::<io::Result<_>>()?;
        parts.iter().try_for_each(|part| whole(part, length as usize))?;
        let mut records: Vec<&[u8]> =
            parts.iter().flat_map(|part| part.chunks_exact(length as usize)).collect();
        // In one order, whatever the order was that they came in: what the driver draws is the only order there is.
        records.sort_unstable();
        records.dedup();
        let mut file = self.objects.create(output)?;
        records.iter().try_for_each(|record| file.write_all(record))?;
        file.sync()?;
        Ok(records.len() as u64)
    }

    /// A name and what was found, for every envelope.
    fn fragments(
        &self,
        layer: &Layer,
        input: &[Range],
        (attributes, bound): (u64, Option<Bound>),
    ) -> io::Result<Vec<[u8; FINDING]>> {
        let (route, (layout, keys)) = (layer.route(), self.keys.layer(layer, layer.place(0))?);
        let length = layout.envelope_len(Stop::Analyzer);
        let mut findings = Vec::new();
        for range in input {
            let bytes = self.read(range)?;
            whole(&bytes, length)?;
            findings.extend(bytes.chunks_exact(length).map(|envelope| {
                let (kind, attribute) = match open_fragment(&route, &layout, attributes, &keys, envelope) {
                    Ok(AnalyzerContent::Fragment(fragment))
                        if bound.is_some_and(|bound| bound.has(fragment.attribute())) =>
                    {
                        (COUNTED, fragment.attribute())
                    }
                    Ok(AnalyzerContent::Fragment(_)) => (FOREIGN, 0),
                    Ok(AnalyzerContent::Chaff) => (CHAFF, 0),
                    Err(Rejection::Length) => (LENGTH, 0),
                    Err(Rejection::Key) => (KEY, 0),
                    Err(Rejection::Content) => (CONTENT, 0),
                    Err(_) => (SEAL, 0),
                };
                let mut finding = [0; FINDING];
                finding[..NAME].copy_from_slice(&Digest::of(envelope).as_bytes()[..NAME]);
                finding[NAME] = kind;
                finding[NAME + 1..].copy_from_slice(&attribute.to_be_bytes());
                finding
            }));
        }
        Ok(findings)
    }

    fn count(&self, input: &[Range]) -> io::Result<Counts> {
        let parts: Vec<_> = input.iter().map(|range| self.read(range)).collect::<io::Result<_>>()?;
        parts.iter().try_for_each(|part| whole(part, FINDING))?;
        let mut findings: Vec<&[u8; FINDING]> = parts.iter().flat_map(|part| part.as_chunks().0).collect();
        findings.sort_unstable();
        let all = findings.len();
        findings.dedup_by_key(|finding| &finding[..NAME]);
        let mut rejected = Rejected { duplicates: (all - findings.len()) as u64, ..Rejected::default() };
        let mut attributes = BTreeMap::new();
        for finding in findings {
            match finding[NAME] {
                COUNTED => {
                    let attribute = finding.last_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                    *attributes.entry(attribute).or_insert(0) += 1;
                }
                FOREIGN => rejected.foreign += 1,
                CHAFF => rejected.chaff += 1,
                LENGTH => rejected.length += 1,
                KEY => rejected.key += 1,
                CONTENT => rejected.content += 1,
                _ => rejected.seal += 1,
            }
        }
        Ok(Counts { attributes: attributes.into_iter().collect(), rejected: rejected.to_array() })
    }

    /// Writes records bucket after bucket; says how many each has.
    fn write_buckets<'b>(
        &self,
        records: impl Iterator<Item = (usize, &'b [u8])>,
        bits: u32,
        output: &str,
    ) -> io::Result<Vec<u64>> {
        let mut buckets: Vec<Vec<&[u8]>> = vec![Vec::new(); 1 << bits];
        records.for_each(|(bucket, record)| buckets[bucket].push(record));
        let mut file = self.objects.create(output)?;
        buckets.iter().flatten().try_for_each(|record| file.write_all(record))?;
        file.sync()?;
        Ok(buckets.iter().map(|bucket| bucket.len() as u64).collect())
    }

    /// Reads a range, all of it, and compares its hash where that is known.
    fn read(&self, range: &Range) -> io::Result<bytes::Bytes> {
        let bytes = self.objects.get(&range.name, range.start..range.end)?;
        if bytes.len() as u64 != range.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{} is too short", range.name)));
        }
        match range.digest {
            Some(digest) if digest_of(&bytes) != digest => {
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", range.name)))
            }
            _ => Ok(bytes),
        }
    }
}

/// Whether bytes are whole records.
fn whole(bytes: &[u8], length: usize) -> io::Result<()> {
    match length > 0 && bytes.len().is_multiple_of(length) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "a range holds half a record")),
    }
}

/// The bucket that the first bits of a hash name.
fn top(hash: u64, bits: u32) -> usize {
    if bits == 0 { 0 } else { (hash >> (64 - bits)) as usize }
}

/// The bucket of a finding, by its name, which is a hash.
fn first_bits(finding: &[u8; FINDING], bits: u32) -> usize {
    top(finding.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)), bits)
}

/// Layout and keys of whoever opens a layer.
pub type LayerOf = (Layout, throng_wire::LayerKeys);

/// How an envelope is named: half of its SHA-256, as in the embedded engine.
const NAME: usize = 16;
/// A name, what was found, and the attribute.
pub(crate) const FINDING: usize = NAME + 1 + 4;

const COUNTED: u8 = 0;
const FOREIGN: u8 = 1;
const CHAFF: u8 = 2;
const LENGTH: u8 = 3;
const KEY: u8 = 4;
const CONTENT: u8 = 5;
const SEAL: u8 = 6;
