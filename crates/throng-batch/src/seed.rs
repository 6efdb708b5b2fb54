//! Seeds, and the derivation of further ones.

use throng_wire::Digest;

/// What an order is made from: 32 random bytes of the operating system. A shuffler writes them down before it uses
/// them, so that a crash never leads to a second order of the same batch, and erases them with the batch.
pub type Seed = [u8; 32];

/// A seed from another one, for one purpose: SHA-256 of the seed, the purpose and a number of 8 bytes.
pub fn derive(seed: &Seed, purpose: &str, number: u64) -> Seed {
    *Digest::of(&[&seed[..], purpose.as_bytes(), &number.to_be_bytes()].concat()).as_bytes()
}
