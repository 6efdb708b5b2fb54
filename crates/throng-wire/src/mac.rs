//! HMAC-SHA256 (RFC 2104): hashes that only the holder of a key can make.

use crate::crypto::HmacKey;

/// Hashes that only the holder of a key can make: HMAC-SHA256. AWS-LC erases the key when it is freed.
#[derive(Debug)]
pub struct Mac(HmacKey);

impl Mac {
    /// Under this key.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(HmacKey::new(key))
    }

    /// The hash of some parts, one after another.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.0.tag(parts)
    }
}
