//! The cryptographic primitives of this crate: HMAC-SHA256, X25519, AES-128-GCM and Ed25519, by AWS-LC.
//!
//! This is the only file that names the library. AWS-LC erases its copies of keys when it frees them.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{self, ParsedPublicKey, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use aws_lc_rs::signature::{self, ED25519, Ed25519KeyPair, KeyPair};
use zeroize::Zeroizing;

/// HMAC-SHA256 (RFC 2104) of a message.
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut tag = Zeroizing::new([0; 32]);
    tag.copy_from_slice(hmac::sign(&hmac::Key::new(HMAC_SHA256, key), message).as_ref());
    tag
}

/// A key of HMAC-SHA256 that is used again.
#[derive(Debug)]
pub(crate) struct HmacKey(hmac::Key);

impl HmacKey {
    /// Of these bytes.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The tag of some parts, one after another.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        parts.iter().for_each(|part| context.update(part));
        let mut tag = [0; 32];
        tag.copy_from_slice(context.sign().as_ref());
        tag
    }
}

/// A private X25519 key (RFC 7748), imported once for many agreements.
#[derive(Debug)]
pub(crate) struct X25519Secret(PrivateKey);

impl X25519Secret {
    /// Any 32 bytes are a key. `None` means that the library has failed.
    pub(crate) fn new(bytes: &[u8; 32]) -> Option<Self> {
        PrivateKey::from_private_key(&agreement::X25519, bytes).ok().map(Self)
    }

    /// The bytes of its public key.
    pub(crate) fn public(&self) -> Option<[u8; 32]> {
        self.0.compute_public_key().ok()?.as_ref().try_into().ok()
    }

    /// The Diffie-Hellman shared secret, as `derive` takes it. `None` if it is zero, which is so if and only if the
    /// public key is a point of small order.
    pub(crate) fn agree<T>(&self, public: &X25519Public, derive: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // The clone is a reference to the same key.
        agreement::agree(&self.0, public.0.clone(), (), |dh| Ok(derive(dh))).ok()
    }
}

/// A public X25519 key, imported once for many agreements.
#[derive(Clone, Debug)]
pub(crate) struct X25519Public(ParsedPublicKey);

impl X25519Public {
    /// Any 32 bytes are a key. `None` means that the library has failed.
    pub(crate) fn new(bytes: &[u8; 32]) -> Option<Self> {
        UnparsedPublicKey::new(&agreement::X25519, bytes).try_into().ok().map(Self)
    }
}

/// Encrypts `text` in place by AES-128-GCM (NIST SP 800-38D), and returns the tag. A key and nonce are for one message.
pub(crate) fn aes_128_gcm_seal(
    key: &[u8; 16],
    nonce: &[u8; 12],
    aad: &[u8],
    text: &mut [u8],
) -> Option<[u8; 16]> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).ok()?);
    let nonce = Nonce::assume_unique_for_key(*nonce);
    key.seal_in_place_separate_tag(nonce, Aad::from(aad), text).ok()?.as_ref().try_into().ok()
}

/// Decrypts ciphertext and tag by AES-128-GCM. `None` if the tag is wrong.
pub(crate) fn aes_128_gcm_open(
    key: &[u8; 16],
    nonce: &[u8; 12],
    aad: &[u8],
    ciphertext: &[u8],
) -> Option<Vec<u8>> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).ok()?);
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let mut plaintext = ciphertext.to_vec();
    let length = key.open_in_place(nonce, Aad::from(aad), &mut plaintext).ok()?.len();
    plaintext.truncate(length);
    Some(plaintext)
}

/// A private Ed25519 key (RFC 8032).
pub(crate) struct Ed25519Secret(Ed25519KeyPair);

impl Ed25519Secret {
    /// The key of a seed: the private key of RFC 8032, section 5.1.5.
    pub(crate) fn new(seed: &[u8; 32]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    /// The bytes of its public key.
    pub(crate) fn public(&self) -> Option<[u8; 32]> {
        self.0.public_key().as_ref().try_into().ok()
    }

    /// The signature of a message.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.0.sign(message).as_ref());
        bytes
    }
}

/// Whether the key with these bytes signed a message. The library refuses an s that is not reduced (RFC 8032, section
/// 5.1.7) and compares R as bytes.
pub(crate) fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    signature::UnparsedPublicKey::new(&ED25519, public).verify(message, signature).is_ok()
}
