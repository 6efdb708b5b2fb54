//! HMAC-SHA256 (RFC 2104): hashes that only the holder of a key can make.

use aws_lc_rs::hmac;

/// Hashes that only the holder of a key can make: HMAC-SHA256. AWS-LC erases the key when it is freed.
#[derive(Debug)]
pub struct Mac(hmac::Key);

impl Mac {
    /// Under this key.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The hash of some parts, one after another.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        parts.iter().for_each(|part| context.update(part));
        let mut tag = [0; 32];
        tag.copy_from_slice(context.sign().as_ref());
        tag
    }
}
