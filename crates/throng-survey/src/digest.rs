//! SHA-256 hashes, of bytes and of surveys.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher as TableHasher};

use sha2::{Digest as _, Sha256};

use crate::hex_form;

/// A SHA-256 hash of bytes: of a body, a batch, a key list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// All zeros, which stand for no hash where there was nothing to hash.
    pub const NONE: Self = Self([0; 32]);

    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A hash that was computed elsewhere.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn from_array(bytes: [u8; 32]) -> Option<Self> {
        Some(Self(bytes))
    }
}

hex_form!(Digest, 32, "a SHA-256 hash");

/// A hash of bytes that come one after another.
#[derive(Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    /// No bytes yet.
    #[allow(clippy::new_without_default, reason = "a hash of nothing is rarely what is wanted")]
    pub fn new() -> Self {
        Self(Sha256::new())
    }

    /// More bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes so far.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// A hash map whose keys are cryptographic hashes already: [`Digest`]s, or keyed hashes. Their first bytes serve as they are,
/// because nobody finds many hashes that begin alike without as much work (no hash flooding).
pub type HashedMap<K, V> = HashMap<K, V, BuildHasherDefault<FirstBytes>>;

/// The set beside [`HashedMap`].
pub type HashedSet<K> = HashSet<K, BuildHasherDefault<FirstBytes>>;

/// The hasher of [`HashedMap`]: it takes the first eight bytes for all of them.
#[derive(Debug, Default)]
pub struct FirstBytes(u64);

impl TableHasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    }

    /// Ignores lengths, which are all the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash that names a survey: SHA-256 of its canonical JSON. It is bound into every seal and every signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurveyHash([u8; 32]);

impl SurveyHash {
    /// The hash of a survey's canonical JSON.
    pub(crate) fn of(canonical: &str) -> Self {
        Self(*Digest::of(canonical.as_bytes()).as_bytes())
    }

    /// A hash that was computed elsewhere.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn from_array(bytes: [u8; 32]) -> Option<Self> {
        Some(Self(bytes))
    }
}

hex_form!(SurveyHash, 32, "a survey's hash");

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn tables_of_hashes_tell_them_apart() {
        let hashes: Vec<Digest> = (0..1000_u32).map(|number| Digest::of(&number.to_be_bytes())).collect();
        let table: HashedMap<Digest, usize> = hashes.iter().copied().zip(0..).collect();
        assert!(hashes.iter().zip(0..).all(|(hash, number)| table.get(hash) == Some(&number)));
        let mut other = *hashes[0].as_bytes();
        other[31] ^= 1;
        assert_eq!(
            table.get(&Digest::new(other)),
            None,
            "hashes that begin alike are not taken for one another"
        );
        let place = |bytes: [u8; 16]| BuildHasherDefault::<FirstBytes>::default().hash_one(bytes);
        assert_ne!(place([1; 16]), place([2; 16]), "and those that do not have places of their own");
    }

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-4, example "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(abc.parse(), Ok(Digest::of(b"abc")));
        assert!(abc.to_uppercase().parse::<Digest>().is_err());
        let mut hasher = Hasher::new();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), Digest::of(b"abc"));
    }
}
