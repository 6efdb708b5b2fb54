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
//! | all that is done to a batch at once: opened, dropped, added, permuted | [`throng_batch::Engine`] |
//! | what happened, for ever, and how far that has come | `journal.rs`, [`Mark`] |
//! | files that nobody else can have written | `state_key.rs` |
//! | randomness that is drawn once | `draw.rs` |
//! | where all of that is kept | [`Store`] |

mod channel;
mod crowd;
mod draw;
mod error;
mod hop;
mod intake;
mod journal;
mod mark;
mod refusal;
mod state_key;
mod store;
mod taken;

pub use crowd::CrowdRule;
pub use error::Error;
pub use hop::{Cut, Hop, HopConfig, Outgoing};
pub use intake::Upload;
pub use mark::Mark;
pub use refusal::Refusal;
pub use store::{Claim, Intake, Log, Room, Store, StoreFile};
pub use taken::Taken;
pub use throng_batch::{Manifest, MemoryStore, Partitions, Seed, Volume, VolumeFile};
pub use throng_wire::Channel;
