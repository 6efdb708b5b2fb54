//! The interface of batch engines (the engine door): what a hop or an analyzer does to a whole batch at once.
//!
//! `throng-wire` opens one envelope; an [`Engine`] opens all of a batch. The door is over partitions, never over single
//! records, so that whatever is behind it may spread them over threads or machines. This crate has the engine of one
//! machine, [`EmbeddedEngine`](crate::EmbeddedEngine).
//!
//! What every engine keeps to:
//!
//! - *Ranged reads.* Input is a list of [`Partition`]s, each a range of a named file with whole records or bodies in it. Their order
//!   is the order of the input; each can be read by itself.
//! - *Several writers.* Output is named. An engine may write it as several files, as long as its [`Volume`] reads the name
//!   as all of them, one after another.
//! - *Deterministic.* The same job gives the same bytes, whatever threads, machines, crashes and second tries there are. All
//!   randomness follows from the seed of the job.
//! - *A manifest at the end.* A job returns its manifest once its output survives a crash, and not before. A job that
//!   fails is done again from its beginning: jobs are idempotent.
//! - *No envelope is fatal.* What does not open is dropped, and an analyzer counts why.
//!
//! The keys are in the job for the engine of one machine. One on several machines does not send them: its workers hold
//! their own, and know by the route which they need.

use std::io::Read;

use throng_dp::Tally;
use throng_dp::fragmenting::Assignment;
use throng_wire::{Digest, LayerKeys, Layout, Route};

use crate::{Error, Manifest, Partition, Partitions, Rejected, Seed, Volume};

/// A batch engine: opens, drops, adds, permutes and counts.
pub trait Engine: Send + Sync {
    /// Opens a layer of everything, and drops what fails, and chaff. What is left stands in the order of the input, in files
    /// of the job's volume. They need not survive a crash: the input is still there.
    fn open(&self, job: &OpenJob<'_>) -> Result<OpenedBatch, Error>;

    /// Drops some records and all duplicates, adds others, and writes what is left in a uniformly random order that follows
    /// from the seed.
    fn permute(&self, job: &PermuteJob<'_>) -> Result<Manifest, Error>;

    /// Opens the last layer of everything, drops duplicates and what fails, and adds the rest to a tally. Says what was not
    /// counted. `progress` is told how many bytes are done, in steps that add up to the length of the batch. After an error
    /// the tally is of no use.
    fn count(
        &self,
        job: &CountJob<'_>,
        tally: &mut Tally,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Rejected, Error>;

    /// How many bytes of records one job can permute.
    fn bytes_max(&self) -> u64;
}

/// What is opened: all envelopes of a channel at one instance, by whom.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// What every envelope is bound to.
    pub route: Route,
    /// The sizes of what travels.
    pub layout: Layout,
    /// The keys of whoever opens.
    pub keys: &'a LayerKeys,
}

/// A hop opens its layer.
pub struct OpenJob<'a> {
    /// Where the files are.
    pub volume: &'a dyn Volume,
    /// What is opened.
    pub layer: Layer<'a>,
    /// What came in.
    pub input: Input<'a>,
    /// The name of what is left. Further files, if there are, have names that begin with it.
    pub spool: &'a str,
}

/// What comes into a hop.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// Hop 1: bodies, in partitions that this framing takes apart.
    Bodies(&'a [Partition], &'a dyn Framing),
    /// The hop of this number, from 2: envelopes of one length.
    Envelopes(&'a [Partition], u32),
}

/// How bodies are delimited in a partition, and checked to be as they were written. It knows no file: a partition can be
/// read anywhere.
pub trait Framing: Sync {
    /// The bodies of a partition from what is read of it.
    fn bodies<'a>(
        &'a self,
        partition: &Partition,
        reader: Box<dyn Read + Send>,
    ) -> Box<dyn Iterator<Item = Result<Body, Error>> + 'a>;
}

/// A body as it was sent.
pub struct Body {
    /// Its bytes, still sealed.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub digest: Digest,
}

/// What a hop has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedBatch {
    /// The records that are left, in the order of the input.
    pub spool: Vec<Partition>,
    /// How many they are.
    pub records: u64,
    /// Of bodies: where the records of each that opened end, among all. Empty for envelopes.
    pub ends: Vec<u64>,
    /// SHA-256 of all envelopes one after another; of bodies, of their SHA-256 one after another. Also of what did not open.
    pub input: Digest,
    /// How many envelopes or bodies there were.
    pub read: u64,
}

/// A hop permutes what it has opened.
#[derive(Clone, Copy)]
pub struct PermuteJob<'a> {
    /// Where the files are.
    pub volume: &'a dyn Volume,
    /// The records, in their order.
    pub input: &'a [Partition],
    /// How many they are. Another number is an error.
    pub records: u64,
    /// Which records are left out: ranges (start, end) of their places in all of the input, which rise and do not touch.
    pub dropped: &'a [(u64, u64)],
    /// Records that take part as if they stood after the input. They are sealed already, by whoever adds them.
    pub added: &'a [Partition],
    /// How many bytes every record has.
    pub length: usize,
    /// What the order follows from.
    pub seed: &'a Seed,
    /// The name of the result. Further files, if there are, have names that begin with it.
    pub output: &'a str,
}

/// An analyzer counts a batch.
#[derive(Clone, Copy)]
pub struct CountJob<'a> {
    /// Where the batch is.
    pub partitions: &'a dyn Partitions,
    /// The envelopes, in their order.
    pub input: &'a [Partition],
    /// What they have to be. Anything else is an error.
    pub manifest: Manifest,
    /// What is opened.
    pub layer: Layer<'a>,
    /// How many attributes the survey has. A fragment of any other is rejected.
    pub attributes: u64,
    /// How fragments are assigned to instances, and the position of this one; `None` if fragments never come here.
    pub bound: Option<(Assignment, u32)>,
}
