//! SHUFFLE: envelopes in, a permuted batch of envelopes out, and nothing about who sent them.
//!
//! Pure: no file, socket or clock; what is kept goes through a [`Store`]. A shuffler sees envelopes as bytes of one
//! length; this crate names no type that a plaintext could have.
//!
//! | idea | where |
//! |---|---|
//! | a shuffler on a path, as a state machine | [`Hop`] |
//! | one body of each respondent, while an epoch lasts | `intake.rs` |
//! | the crowd, and randomized deletion | [`CrowdRule`] |
//! | a uniformly random order, in memory and on disk | [`Permutation`], [`Shuffle`] |
//! | what happened, for ever, and how far that has come | `journal.rs`, [`Mark`] |
//! | files that nobody else can have written | `state_key.rs` |
//! | randomness that is drawn once | `draw.rs` |
//! | envelopes of one length, and a batch of them | [`Records`], [`Manifest`] |

mod batch;
mod buckets;
mod channel;
mod crowd;
mod distinct;
mod draw;
mod error;
mod hop;
mod intake;
mod journal;
mod mark;
mod memory_store;
mod permutation;
mod records;
mod refusal;
mod ring;
mod shuffling;
mod sip;
mod state_key;
mod store;
mod taken;

pub use batch::Manifest;
pub use throng_wire::Channel;
pub use crowd::CrowdRule;
pub use error::Error;
pub use hop::{Cut, Hop, HopConfig, Outgoing};
pub use intake::Upload;
pub use mark::Mark;
pub use memory_store::MemoryStore;
pub use permutation::{Permutation, Seed};
pub use records::Records;
pub use refusal::Refusal;
pub use shuffling::Shuffle;
pub use store::{Store, StoreFile};
pub use taken::Taken;
