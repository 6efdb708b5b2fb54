//! From a batch of envelopes to the sums of the fragments in it.

use std::collections::HashSet;
use std::io::Read;

use rayon::prelude::*;
use throng_dp::Tally;
use throng_wire::peel::open_fragment;
use throng_wire::{AnalyzerContent, Digest, Rejection, Stop};

use crate::engine::{CountJob, Layer};
use crate::{Error, ManifestCheck, Rejected};

/// Counts one batch while it is read.
///
/// Duplicates are dropped, so every envelope that was seen takes some memory. Where there is not enough the batch is read
/// in several passes, each of them about one part of the envelopes, chosen by their hashes.
pub(crate) struct Counter<'a> {
    job: &'a CountJob<'a>,
    passes: u64,
    /// The hashes of all envelopes of this pass so far: one that comes again is dropped.
    seen: HashSet<[u8; 16]>,
    rejected: Rejected,
}

impl<'a> Counter<'a> {
    /// Besides the sums, at most about `memory` bytes are used.
    pub(crate) fn new(job: &'a CountJob<'a>, memory: usize) -> Self {
        let seen_max = (memory.saturating_sub(PART_LEN) / SEEN_LEN).max(1) as u64;
        let passes = job.manifest.records.div_ceil(seen_max).max(1);
        Self { job, passes, seen: HashSet::new(), rejected: Rejected::default() }
    }

    pub(crate) fn run(mut self, tally: &mut Tally, progress: &mut dyn FnMut(u64)) -> Result<Rejected, Error> {
        (0..self.passes).try_for_each(|pass| self.read(pass, tally, progress))?;
        Ok(self.rejected)
    }

    /// Reads the batch once.
    fn read(&mut self, pass: u64, tally: &mut Tally, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let length = self.envelope_len();
        let mut check = ManifestCheck::new(self.job.manifest, length);
        let (mut envelopes, mut part) = (Vec::new(), vec![0; READ_LEN]);
        for partition in self.job.input {
            let mut reader = self.job.partitions.read_range(&partition.name, partition.bytes.clone())?;
            loop {
                let read = match reader.read(&mut part) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error.into()),
                };
                check.read(&part[..read])?;
                envelopes.extend_from_slice(&part[..read]);
                if envelopes.len() >= PART_LEN {
                    let whole = envelopes.len() - envelopes.len() % length;
                    self.count(&envelopes[..whole], pass, tally)?;
                    envelopes.drain(..whole);
                }
                progress(read as u64 / self.passes);
            }
        }
        let whole = envelopes.len() - envelopes.len() % length;
        self.count(&envelopes[..whole], pass, tally)?;
        self.seen.clear();
        check.end()
    }

    /// Opens those envelopes that a pass is about, on all threads of the current pool, and counts them.
    fn count(&mut self, envelopes: &[u8], pass: u64, tally: &mut Tally) -> Result<(), Error> {
        let (passes, rejected) = (self.passes, &mut self.rejected);
        let Layer { route, layout, keys } = &self.job.layer;
        let chunks: Vec<&[u8]> = envelopes.chunks_exact(layout.envelope_len(Stop::Analyzer)).collect();
        let named: Vec<(&[u8], [u8; 16])> =
            chunks.into_par_iter().map(|envelope| (envelope, short(envelope))).collect();
        let mut fresh = Vec::with_capacity(named.len());
        for (envelope, name) in named.into_iter().filter(|(_, name)| part(name, passes) == pass) {
            if self.seen.insert(name) {
                fresh.push(envelope);
            } else {
                rejected.duplicates += 1;
            }
        }
        let opened: Vec<Result<AnalyzerContent, Rejection>> = fresh
            .par_iter()
            .map(|envelope| open_fragment(route, layout, self.job.attributes, keys, envelope))
            .collect();
        let mut fragments = Vec::with_capacity(opened.len());
        for one in opened {
            match one {
                Ok(AnalyzerContent::Fragment(fragment)) if is_bound(self.job, fragment.attribute()) => {
                    fragments.push(fragment.attribute());
                }
                Ok(AnalyzerContent::Fragment(_)) => rejected.foreign += 1,
                Ok(AnalyzerContent::Chaff) => rejected.chaff += 1,
                Err(Rejection::Length) => rejected.length += 1,
                Err(Rejection::Key) => rejected.key += 1,
                Err(Rejection::Content) => rejected.content += 1,
                Err(_) => rejected.seal += 1,
            }
        }
        Ok(tally.add_fragments(&fragments)?)
    }

    fn envelope_len(&self) -> usize {
        self.job.layer.layout.envelope_len(Stop::Analyzer)
    }
}

/// Whether those who keep to the survey send fragments of an attribute here. What others send is not counted, so that
/// nobody has more envelopes for a value than the bodies of the instances that it is bound to have.
fn is_bound(job: &CountJob<'_>, attribute: u32) -> bool {
    job.bound.is_some_and(|(assignment, position)| assignment.fragments(attribute, position) > 0)
}

/// Envelopes are told apart by half of a SHA-256: two that differ and agree in it are not to be found.
fn short(envelope: &[u8]) -> [u8; 16] {
    *Digest::of(envelope).as_bytes().first_chunk().unwrap_or(&[0; 16])
}

/// Which pass an envelope belongs to: equal ones to the same.
fn part(name: &[u8; 16], passes: u64) -> u64 {
    u64::from_be_bytes(*name.first_chunk().unwrap_or(&[0; 8])) % passes
}

/// How much is read before it is opened on all cores.
const PART_LEN: usize = 1 << 20;

/// How much is read at once.
const READ_LEN: usize = 1 << 16;

/// About what it takes to remember an envelope: a name of 16 bytes in a table that may have just grown.
const SEEN_LEN: usize = 48;
