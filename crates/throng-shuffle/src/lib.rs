//! SHUFFLE: envelopes in, a permuted batch of envelopes out, and nothing about who sent them.
//!
//! Pure: no file, socket or clock. A shuffler sees envelopes as bytes of one length; this crate names no type that a
//! plaintext could have.
//!
//! | idea | where |
//! |---|---|
//! | envelopes of one length | [`Records`] |
//! | a uniformly random order | [`Permutation`] |

mod error;
mod permutation;
mod records;

pub use error::Error;
pub use permutation::{Permutation, Seed};
pub use records::Records;
