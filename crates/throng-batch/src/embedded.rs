//! The batch engine for one machine: all cores, a limit of memory, and the disk for what is beyond it.

use std::io::{BufWriter, Write};

use rayon::prelude::*;
use throng_dp::Tally;
use throng_wire::peel::{open_body, peel};
use throng_wire::{Hasher, HopContent, Stop};

use crate::batch::BatchReader;
use crate::counting::Counter;
use crate::engine::{Body, CountJob, Engine, Framing, Input, Layer, OpenJob, OpenedBatch, PermuteJob};
use crate::shuffling::Shuffle;
use crate::{Error, Manifest, Partition, Rejected};

/// The embedded engine.
///
/// A layer is opened part by part, each on all threads of the current pool. `shuffling.rs` makes the order of a batch: it
/// follows from the seed, the records, and the limit of memory, which decides how many buckets there are.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedEngine {
    memory: usize,
}

impl EmbeddedEngine {
    /// An engine that holds about so many bytes in memory at once.
    pub fn new(memory: usize) -> Self {
        Self { memory }
    }

    /// How many bytes of input are opened at once.
    fn part_len(&self) -> usize {
        (self.memory / 8).clamp(1 << 12, 1 << 22)
    }

    /// Opens bodies; says how many records there are after each, and how many bodies there were.
    fn open_bodies(
        &self,
        job: &OpenJob<'_>,
        (partitions, framing): (&[Partition], &dyn Framing),
        spool: &mut dyn Write,
    ) -> Result<OpenedBatch, Error> {
        let Layer { route, layout, keys } = job.layer;
        let length = layout.envelope_len(layout.after(1)) as u64;
        let (mut ends, mut input, mut read) = (Vec::new(), Hasher::new(), 0);
        let mut records = 0;
        for partition in partitions {
            let reader = job.volume.read_range(&partition.name, partition.bytes.clone())?;
            let mut framed = framing.bodies(partition, reader);
            loop {
                let (mut bodies, mut bytes) = (Vec::new(), 0);
                while bytes < self.part_len()
                    && let Some(body) = framed.next()
                {
                    let body: Body = body?;
                    input.update(body.digest.as_bytes());
                    bytes += body.bytes.len();
                    bodies.push(body.bytes);
                }
                if bodies.is_empty() {
                    break;
                }
                read += bodies.len() as u64;
                let opened: Vec<Option<Vec<u8>>> =
                    bodies.into_par_iter().map(|body| open_body(&route, &layout, keys, &body).ok()).collect();
                for envelopes in opened.into_iter().flatten() {
                    records += envelopes.len() as u64 / length;
                    ends.push(records);
                    spool.write_all(&envelopes)?;
                }
            }
        }
        let spool = vec![Partition::first(job.spool, records * length)];
        Ok(OpenedBatch { spool, records, ends, input: input.finish(), read })
    }

    /// Opens envelopes, as the hop of this number.
    fn open_envelopes(
        &self,
        job: &OpenJob<'_>,
        (partitions, hop): (&[Partition], u32),
        spool: &mut dyn Write,
    ) -> Result<OpenedBatch, Error> {
        let Layer { route, layout, keys } = job.layer;
        let length = layout.envelope_len(Stop::Hop(hop));
        let mut incoming = BatchReader::open(job.volume, partitions, length, self.part_len());
        let (mut records, mut len, mut read, mut hasher) = (0, 0, 0, Hasher::new());
        while let Some(part) = incoming.next_part()? {
            hasher.update(part.as_bytes());
            read += part.len() as u64;
            let envelopes: Vec<&[u8]> = part.iter().collect();
            let opened: Vec<Option<Vec<u8>>> = envelopes
                .into_par_iter()
                .map(|envelope| match peel(&route, &layout, hop, keys, envelope) {
                    Ok(HopContent::Envelope(inner)) => Some(inner),
                    Ok(HopContent::Chaff) | Err(_) => None,
                })
                .collect();
            for inner in opened.into_iter().flatten() {
                records += 1;
                len += inner.len() as u64;
                spool.write_all(&inner)?;
            }
        }
        let spool = vec![Partition::first(job.spool, len)];
        Ok(OpenedBatch { spool, records, ends: Vec::new(), input: hasher.finish(), read })
    }
}

impl Engine for EmbeddedEngine {
    fn open(&self, job: &OpenJob<'_>) -> Result<OpenedBatch, Error> {
        let mut spool = BufWriter::with_capacity(1 << 16, job.volume.create(job.spool)?);
        let opened = match job.input {
            Input::Bodies(partitions, framing) => self.open_bodies(job, (partitions, framing), &mut spool)?,
            Input::Envelopes(partitions, hop) => self.open_envelopes(job, (partitions, hop), &mut spool)?,
        };
        spool.flush()?;
        Ok(opened)
    }

    fn permute(&self, job: &PermuteJob<'_>) -> Result<Manifest, Error> {
        let PermuteJob { volume, length, output, .. } = *job;
        let added: u64 = job.added.iter().map(|one| one.bytes.end - one.bytes.start).sum();
        let input: Vec<Partition> = job.input.iter().chain(job.added).cloned().collect();
        let records = job.records + added / length as u64;
        let shuffle = Shuffle { volume, input: &input, length, records, output, memory: self.memory };
        if job.dropped.is_empty() {
            return shuffle.run(job.seed, |_| true);
        }
        shuffle.run(job.seed, |place| {
            let before = job.dropped.partition_point(|(start, _)| *start <= place);
            before == 0 || job.dropped[before - 1].1 <= place
        })
    }

    fn count(
        &self,
        job: &CountJob<'_>,
        tally: &mut Tally,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Rejected, Error> {
        Counter::new(job, self.memory).run(tally, progress)
    }

    fn bytes_max(&self) -> u64 {
        Shuffle::bytes_max(self.memory)
    }
}
