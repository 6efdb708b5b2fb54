//! The batch engine of many machines: the same work as the embedded one, as tasks over objects.
//!
//! ```text
//! open:     ranges of the input --open a layer--> spool parts, in the order of the input
//! permute:  spool parts --keyed hash--> buckets --sort, drop duplicates--> sorted buckets --the driver draws the order--> batch
//! count:    ranges of the batch --open the last layer--> findings by bucket --each envelope once--> counts
//! ```
//!
//! Between the stages data is in object storage, and not on the disks of executors: an executor that dies takes nothing along, a
//! task that is tried again writes the same object, and what is not needed any more is removed by name.
//!
//! The order of a batch is uniform for the same reason as in the embedded engine: a keyed hash throws distinct records into buckets
//! independently and uniformly, and each bucket is permuted by Fisher and Yates. Before that a bucket is sorted, so that its order
//! depends on nothing but what is in it. The driver alone has the seed; it reads the batch once in any case, since a batch's
//! hash is one SHA-256 of all of it.

use std::io::Read;
use std::sync::Arc;

use throng_batch::{
    BatchWriter, CountJob, Engine, Error, Input, Manifest, ManifestCheck, OpenJob, OpenedBatch, Partition,
    Permutation, PermuteJob, Records, Rejected, Volume, derive,
};
use throng_dp::Tally;
use throng_wire::{Digest, Hasher, Route, Stop};

use crate::jobs::Jobs;
use crate::objects::Objects;
use crate::postgres::segment_bytes;
use crate::task::{Bound, Counts, Layer, OpenedBodies, Range, Task, Work, from_bytes};
use crate::work::FINDING;

/// An engine whose tasks run wherever its [`Jobs`] take them.
pub struct ClusterEngine {
    jobs: Arc<dyn Jobs>,
    objects: Objects,
    prefix: String,
    sizes: Sizes,
}

/// How large pieces of work are.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes that one task reads.
    pub task: u64,
    /// Bytes of one bucket, which a task holds in memory.
    pub bucket: u64,
}

impl Default for Sizes {
    /// A task of a second: 4 MiB are about 40,000 envelopes.
    fn default() -> Self {
        Self { task: 4 << 20, bucket: 16 << 20 }
    }
}

impl ClusterEngine {
    /// An engine for the files of one hop or analyzer: all objects below `prefix`.
    pub fn new(jobs: Arc<dyn Jobs>, objects: &Objects, prefix: &str, sizes: Sizes) -> Self {
        Self { jobs, objects: objects.below(prefix), prefix: prefix.to_owned(), sizes }
    }

    /// Runs one task for each piece of work, and reads all answers.
    fn run<T: serde::de::DeserializeOwned>(&self, work: Vec<Work>) -> Result<Vec<T>, Error> {
        let tasks: Vec<Task> = work.into_iter().map(|work| Task::new(&self.prefix, work)).collect();
        let answers = self.jobs.run(&tasks)?;
        let read = |answer: &Vec<u8>| {
            from_bytes(answer).map_err(|error| Error::Volume(std::io::Error::other(error)))
        };
        answers.iter().map(read).collect()
    }

    /// The ranges of partitions, with whole records, in pieces of at most about `sizes.task` bytes.
    fn ranges(&self, partitions: &[Partition], length: u64) -> Result<Vec<Range>, Error> {
        let piece = (self.sizes.task / length).max(1) * length;
        let mut ranges = Vec::new();
        for partition in partitions {
            let end = match partition.bytes.end {
                u64::MAX => self.objects.len(&partition.name)?,
                end => end,
            };
            let mut start = partition.bytes.start;
            while start < end {
                let next = end.min(start + piece);
                ranges.push(Range { name: partition.name.clone(), start, end: next, digest: None });
                start = next;
            }
        }
        Ok(ranges)
    }

    /// Ranges one after another in groups of about `sizes.task` bytes.
    fn grouped(&self, ranges: Vec<Range>) -> Vec<Vec<Range>> {
        let (mut groups, mut len) = (Vec::<Vec<Range>>::new(), u64::MAX);
        for range in ranges {
            if len.saturating_add(range.len()) > self.sizes.task {
                groups.push(Vec::new());
                len = 0;
            }
            len += range.len();
            if let Some(group) = groups.last_mut() {
                group.push(range);
            }
        }
        groups
    }

    fn open_bodies(&self, job: &OpenJob<'_>, partitions: &[Partition]) -> Result<OpenedBatch, Error> {
        let layer = Layer::new(job.layer.route);
        let length = job.layer.layout.envelope_len(job.layer.layout.after(1)) as u64;
        // A segment is opened as a whole: its hash is known as a whole.
        let segments = partitions.iter().map(|one| {
            // Where a segment's places are virtual, executors read its object from the front.
            let bytes = segment_bytes(&one.name, &one.bytes).unwrap_or(one.bytes.clone());
            let digest = one.digest.map(|digest| *digest.as_bytes());
            Range { name: one.name.clone(), start: bytes.start, end: bytes.end, digest }
        });
        let groups = self.grouped(segments.collect());
        let names = numbered(job.spool, groups.len());
        let work = groups.into_iter().zip(&names);
        let work = work.map(|(input, spool)| Work::Bodies { layer, input, spool: spool.clone() }).collect();
        let opened: Vec<OpenedBodies> = self.run(work)?;
        let (mut input, mut read) = (Hasher::new(), 0);
        let (mut spool, mut ends, mut records) = (Vec::new(), Vec::new(), 0);
        for (name, part) in names.into_iter().zip(opened) {
            part.digests.iter().for_each(|digest| input.update(digest));
            read += part.digests.len() as u64;
            let before = records;
            for envelopes in part.envelopes {
                records += u64::from(envelopes);
                ends.push(records);
            }
            spool.push(Partition::first(name, (records - before) * length));
        }
        Ok(OpenedBatch { spool, records, ends, input: input.finish(), read })
    }

    fn open_envelopes(
        &self,
        job: &OpenJob<'_>,
        partitions: &[Partition],
        hop: u32,
    ) -> Result<OpenedBatch, Error> {
        let layer = Layer::new(job.layer.route);
        let layout = job.layer.layout;
        let (length, after) = (layout.envelope_len(Stop::Hop(hop)), layout.envelope_len(layout.after(hop)));
        let ranges = self.ranges(partitions, length as u64)?;
        let read = ranges.iter().map(Range::len).sum::<u64>() / length as u64;
        let names = numbered(job.spool, ranges.len());
        let work = ranges.into_iter().zip(&names).map(|(range, spool)| Work::Envelopes {
            layer,
            hop,
            input: vec![range],
            spool: spool.clone(),
        });
        let work = work.collect();
        // While executors open, the driver hashes what they open.
        let (left, input) = std::thread::scope(|scope| {
            let hashing = scope.spawn(|| self.hashed(partitions));
            let left = self.run::<u64>(work);
            let input = hashing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Error>((left?, input?))
        })?;
        let spool = names.into_iter().zip(&left);
        let spool = spool.map(|(name, left)| Partition::first(name, left * after as u64)).collect();
        Ok(OpenedBatch { spool, records: left.iter().sum(), ends: Vec::new(), input, read })
    }

    /// SHA-256 of some partitions, one after another.
    fn hashed(&self, partitions: &[Partition]) -> Result<Digest, Error> {
        use throng_batch::Partitions;
        let (mut hasher, mut part) = (Hasher::new(), vec![0; 1 << 16]);
        for partition in partitions {
            let mut reader = self.objects.read_range(&partition.name, partition.bytes.clone())?;
            loop {
                match reader.read(&mut part)? {
                    0 => break,
                    read => hasher.update(&part[..read]),
                }
            }
        }
        Ok(hasher.finish())
    }

    /// How many buckets so many bytes are thrown into, as a power of two.
    fn bits(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.sizes.bucket.max(1)).max(1).next_power_of_two().trailing_zeros().min(BITS_MAX)
    }

    /// One piece of work for each bucket, from what tasks have put into the buckets of their objects.
    fn buckets(parts: &[(String, Vec<u64>)], length: u64, bits: u32) -> Result<Vec<Vec<Range>>, Error> {
        let mut buckets = vec![Vec::new(); 1 << bits];
        for (name, counts) in parts {
            if counts.len() != buckets.len() {
                return Err(Error::Damaged { file: "bucket", at: counts.len() as u64 });
            }
            let mut start = 0;
            for (bucket, count) in buckets.iter_mut().zip(counts) {
                let end = start + count * length;
                if start < end {
                    bucket.push(Range { name: name.clone(), start, end, digest: None });
                }
                start = end;
            }
        }
        Ok(buckets)
    }

    /// First half of a shuffle: records thrown into buckets, and every bucket sorted, without duplicates. How many each has.
    fn sorted_buckets(&self, job: &PermuteJob<'_>) -> Result<(Vec<String>, Vec<u64>), Error> {
        let length = job.length as u64;
        let input: Vec<Partition> = job.input.iter().chain(job.added).cloned().collect();
        let ranges = self.ranges(&input, length)?;
        let bytes: u64 = ranges.iter().map(Range::len).sum();
        let added: u64 = job.added.iter().map(|one| one.bytes.end - one.bytes.start).sum();
        if bytes != job.records * length + added {
            return Err(Error::Damaged { file: "spool", at: bytes / length });
        }
        let bits = self.bits(bytes);
        let groups = self.grouped(ranges);
        let names = numbered(&format!("{}-scattered", job.output), groups.len());
        let key = derive(job.seed, "scatter", 0);
        let mut place = 0;
        let work = groups.into_iter().zip(&names).map(|(input, output)| {
            let start = place;
            place += input.iter().map(Range::len).sum::<u64>() / length;
            let dropped = dropped_within(job.dropped, start..place);
            Work::Scatter { input, dropped, length, key, bits, output: output.clone() }
        });
        let work = work.collect();
        let counts: Vec<Vec<u64>> = self.run(work)?;
        let parts: Vec<(String, Vec<u64>)> = names.iter().cloned().zip(counts).collect();
        let sorted = numbered(&format!("{}-sorted", job.output), 1 << bits);
        let work = Self::buckets(&parts, length, bits)?.into_iter().zip(&sorted);
        let work =
            work.map(|(input, output)| Work::Merge { input, length, output: output.clone() }).collect();
        let left = self.run(work)?;
        job.volume.remove_all(&names)?;
        Ok((sorted, left))
    }

    /// Copies a batch and counts the copy: how often each attribute was found, and what was not counted.
    fn count_copy(
        &self,
        job: &CountJob<'_>,
        copy: &str,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Vec<(u32, u64)>, Rejected), Error> {
        let (length, layer) = (job.layer.layout.envelope_len(Stop::Analyzer), Layer::new(job.layer.route));
        let len = self.copied(job, copy, progress)?;
        let ranges = self.ranges(&[Partition::first(copy, len)], length as u64)?;
        let bits = self.bits(job.manifest.records * FINDING as u64);
        let names = numbered(copy, ranges.len());
        let work = ranges.into_iter().zip(&names).map(|(range, output)| Work::Fragments {
            layer,
            input: vec![range],
            attributes: job.attributes,
            bound: job.bound.map(Bound::new),
            bits,
            output: output.clone(),
        });
        let work = work.collect();
        let found: Vec<Vec<u64>> = self.run(work)?;
        let parts: Vec<(String, Vec<u64>)> = names.into_iter().zip(found).collect();
        let work = Self::buckets(&parts, FINDING as u64, bits)?;
        let counted: Vec<Counts> = self.run(work.into_iter().map(|input| Work::Count { input }).collect())?;
        let rejected =
            counted.iter().fold(Rejected::default(), |all, one| all.and(Rejected::from_array(one.rejected)));
        Ok((counted.into_iter().flat_map(|one| one.attributes).collect(), rejected))
    }

    /// Copies a batch that is somewhere else into objects, and compares it with its manifest meanwhile.
    fn copied(&self, job: &CountJob<'_>, name: &str, progress: &mut dyn FnMut(u64)) -> Result<u64, Error> {
        let length = job.layer.layout.envelope_len(Stop::Analyzer);
        let mut check = ManifestCheck::new(job.manifest, length);
        let (mut copy, mut part, mut len) = (self.objects.create(name)?, vec![0; 1 << 16], 0);
        for partition in job.input {
            let mut reader = job.partitions.read_range(&partition.name, partition.bytes.clone())?;
            loop {
                let read = match reader.read(&mut part) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error.into()),
                };
                check.read(&part[..read])?;
                copy.write_all(&part[..read])?;
                len += read as u64;
                progress(read as u64);
            }
        }
        check.end()?;
        copy.sync()?;
        Ok(len)
    }
}

impl Engine for ClusterEngine {
    fn open(&self, job: &OpenJob<'_>) -> Result<OpenedBatch, Error> {
        match job.input {
            Input::Bodies(partitions, _) => self.open_bodies(job, partitions),
            Input::Envelopes(partitions, hop) => self.open_envelopes(job, partitions, hop),
        }
    }

    fn permute(&self, job: &PermuteJob<'_>) -> Result<Manifest, Error> {
        let (names, counts) = self.sorted_buckets(job)?;
        // By the hop's own volume: whoever has lost the lease of the hop cannot write or remove any more.
        let mut batch = BatchWriter::create(job.volume, job.output, job.length)?;
        for ((name, count), bucket) in names.iter().zip(&counts).zip(0..) {
            let bytes = self.objects.get(name, 0..count * job.length as u64)?;
            let records = Records::from_bytes(job.length, bytes.into())?;
            if records.len() as u64 != *count {
                return Err(Error::Damaged { file: "bucket", at: bucket });
            }
            let order = Permutation::new(*count, &derive(job.seed, "order", bucket))?;
            batch.write(records.permuted(&order).as_bytes())?;
        }
        let manifest = batch.finish()?;
        let spool = job.input.iter().map(|one| one.name.clone());
        job.volume.remove_all(&names.into_iter().chain(spool).collect::<Vec<_>>())?;
        Ok(manifest)
    }

    fn count(
        &self,
        job: &CountJob<'_>,
        tally: &mut Tally,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Rejected, Error> {
        let Route { survey, label, epoch, instance } = job.layer.route;
        let copy = format!("{survey}-{label}-{epoch}-{instance}.counting");
        let counted = self.count_copy(job, &copy, progress);
        // Whatever became of it: what is counted is not kept here, and what was not is copied again.
        let left: Vec<String> =
            self.objects.names()?.into_iter().filter(|name| name.starts_with(&copy)).collect();
        self.objects.remove_all(&left)?;
        let (counts, rejected) = counted?;
        counts.into_iter().try_for_each(|(attribute, count)| tally.add_count(attribute, count))?;
        Ok(rejected)
    }

    fn bytes_max(&self) -> u64 {
        // What one executor and the driver can hold of a bucket, in as many buckets as there can be.
        BUCKET_MAX << BITS_MAX
    }
}

/// Names of further files, which begin with the name of the first.
fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{name}-{number:06}")).collect()
}

/// The part of ranges that is within some places, as places from the first of these on.
fn dropped_within(dropped: &[(u64, u64)], places: std::ops::Range<u64>) -> Vec<(u64, u64)> {
    let first = dropped.partition_point(|(_, end)| *end <= places.start);
    let within = dropped[first..].iter().take_while(|(start, _)| *start < places.end);
    within
        .map(|(start, end)| (start.max(&places.start) - places.start, end.min(&places.end) - places.start))
        .collect()
}

/// The largest bucket, which one task sorts in memory.
const BUCKET_MAX: u64 = 1 << 30;

/// More buckets than this are more objects than it is worth.
const BITS_MAX: u32 = 12;
