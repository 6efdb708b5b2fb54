//! SHUFFLE: a hop of a mix network. Envelopes in, a permuted batch of envelopes out, and nothing about who sent them.
//!
//! Pure: no file, socket or clock; what is kept goes through a [`Store`]. A shuffler sees envelopes as bytes of one
//! length; this crate names no type that a plaintext could have.
//!
//! | question | type |
//! |---|---|
//! | what does a shuffler on a path do, step by step? | [`Hop`] (a state machine) |
//! | who has answered in this epoch, and with what? | [`Upload`], `intake.rs`, [`Acknowledgement`] |
//! | is the crowd large enough, and whom does randomized deletion drop? | [`CrowdRule`] |
//! | what is done to a whole batch: opened, dropped, added, permuted? | [`throng_batch::Engine`] |
//! | what happened, for ever (write-ahead log), and how far has that come? | `journal.rs`, [`Mark`] |
//! | which files can nobody else have written? | `state_key.rs` |
//! | which randomness is drawn once? | `draw.rs` |
//! | where is all of that kept? | [`Store`] |
//! | what does a replica do that has no lease on it? | [`Hop::follow`] |
//! | why was something refused? | [`Refusal`] |

mod acknowledgement;
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
mod upload;

pub use acknowledgement::Acknowledgement;
pub use crowd::CrowdRule;
pub use error::Error;
pub use hop::{Cut, Hop, HopConfig, OutgoingBatch};
pub use mark::Mark;
pub use refusal::Refusal;
pub use store::{Claim, Intake, Log, Room, Store, StoreFile};
pub use throng_batch::{Manifest, MemoryStore, Partitions, Seed, Volume, VolumeFile};
pub use throng_wire::Channel;
pub use upload::{Upload, framed_bodies};
