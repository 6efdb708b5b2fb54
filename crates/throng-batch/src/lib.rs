//! BATCH: batch processing for hops and analyzers, who work on all envelopes of an epoch at once, behind one trait.
//!
//! A hop opens a layer of every envelope, drops some, adds some and permutes the rest; an analyzer opens the last layer and
//! counts. Both go through [`Engine`], a trait over partitions, so that a batch can be worked on by one machine or by many.
//! [`EmbeddedEngine`] is the one for one machine.
//!
//! Pure: no file, socket or clock; what is read and written goes through a [`Volume`].
//!
//! | question | type |
//! |---|---|
//! | what is done to a batch, and what must hold? | [`Engine`], [`OpenJob`], [`PermuteJob`], [`CountJob`] |
//! | who does it on one machine? | [`EmbeddedEngine`] |
//! | where are the records? | [`Partition`], [`Partitions`], [`Volume`] |
//! | which batch is it? | [`Manifest`], [`ManifestCheck`] |
//! | what is a uniformly random order? | [`Permutation`], [`Seed`] |
//! | what was not counted, and why? | [`Rejected`] |
//!
//! ```
//! use std::io::{Read, Write};
//! use throng_batch::{EmbeddedEngine, Engine, MemoryStore, Partition, Partitions, PermuteJob, Volume};
//!
//! let volume = MemoryStore::new();
//! volume.create("input")?.write_all(b"onetwotwosix")?;
//! let manifest = EmbeddedEngine::new(1 << 20).permute(&PermuteJob {
//!     volume: &volume,
//!     input: &[Partition::whole("input")],
//!     records: 4,
//!     dropped: &[],
//!     added: &[],
//!     length: 3,
//!     seed: &[7; 32],
//!     output: "batch",
//! })?;
//! assert_eq!(manifest.records, 3, "each record once");
//! # Ok::<(), throng_batch::Error>(())
//! ```

mod batch;
mod buckets;
mod counting;
mod distinct;
mod embedded;
mod engine;
mod error;
mod memory_store;
mod partition;
mod permutation;
mod records;
mod rejected;
mod ring;
mod seed;
mod shuffling;
mod sip;

pub use batch::{BatchWriter, Manifest, ManifestCheck};
pub use embedded::EmbeddedEngine;
pub use engine::{Body, CountJob, Engine, Framing, Input, Layer, OpenJob, OpenedBatch, PermuteJob};
pub use error::Error;
pub use memory_store::{MemoryFile, MemoryStore};
pub use partition::{Partition, Partitions, Volume, VolumeFile};
pub use permutation::Permutation;
pub use records::Records;
pub use rejected::{REASONS, Rejected};
pub use seed::{Seed, derive};
pub use sip::sip_one;
