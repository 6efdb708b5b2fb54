//! Ed25519 signatures (RFC 8032), always over a message that says what is signed.
//!
//! Signing draws no randomness, so a document has one signature by a key. A signature cannot be changed into another
//! one that verifies: the library refuses an s that is not reduced (RFC 8032, section 5.1.7) and compares R as bytes,
//! and keys of small order, under which one signature fits many messages, are no [`VerifyingKey`].

use std::fmt;

use rand_core::CryptoRng;
use throng_survey::{VerifyingKey, hex_form};
use zeroize::Zeroizing;

use crate::crypto::{Ed25519Secret, ed25519_verify};
use crate::{Error, Mac, hex};

/// A party's private signing key. It is erased from memory when dropped, and never shown.
pub struct SigningKey {
    seed: Zeroizing<[u8; 32]>,
    imported: Ed25519Secret,
    public: VerifyingKey,
}

impl SigningKey {
    /// A fresh key.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut());
        Self::from_seed(&seed)
    }

    /// The key of a seed: the private key of RFC 8032, section 5.1.5.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, Error> {
        let imported = Ed25519Secret::new(seed).ok_or(Error::WeakKey)?;
        let public = imported.public().and_then(VerifyingKey::new).ok_or(Error::WeakKey)?;
        Ok(Self { seed: Zeroizing::new(*seed), imported, public })
    }

    /// The key that its signatures are checked by.
    pub fn public(&self) -> VerifyingKey {
        self.public
    }

    /// Signs the canonical bytes of a document of some kind.
    pub fn sign(&self, kind: &str, canonical: &[u8]) -> Signature {
        Signature(self.imported.sign(&message(kind, canonical)))
    }

    /// A derived key, for what its holder alone writes and reads again: HMAC(seed, purpose, context). The end of the purpose is
    /// marked, so that no purpose can pass for another. The derived key tells nothing of the signing key.
    pub fn derive(&self, purpose: &str, context: &[&[u8]]) -> Mac {
        let purpose = [purpose.as_bytes(), &[0]].concat();
        let parts: Vec<&[u8]> = std::iter::once(&purpose[..]).chain(context.iter().copied()).collect();
        Mac::new(&Zeroizing::new(Mac::new(&self.seed).tag(&parts)))
    }

    /// The text of a key file: a line that says what it is, and the seed.
    pub fn to_file(&self) -> Zeroizing<String> {
        // Room for all of it, so that no half-written copy is left behind.
        let mut text = Zeroizing::new(String::with_capacity(SIGNING_HEADER.len() + 65));
        text.push_str(SIGNING_HEADER);
        hex::encode_into(self.seed.as_ref(), &mut text);
        text.push('\n');
        text
    }

    /// Reads a key file: exactly what `to_file` writes.
    pub fn from_file(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Document { kind: "signing key file", reason: "it is not as keygen wrote it".into() };
        let digits = text.strip_prefix(SIGNING_HEADER).and_then(|rest| rest.strip_suffix('\n'));
        let seed = Zeroizing::new(digits.and_then(hex::decode::<32>).ok_or_else(wrong)?);
        Self::from_seed(&seed)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, private part not shown)", self.public)
    }
}

/// A signature.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature([u8; 64]);

impl Signature {
    /// A signature that came from elsewhere.
    pub fn new(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Verifies it: whether this key signed the canonical bytes of a document of some kind.
    pub fn verify(&self, key: &VerifyingKey, kind: &str, canonical: &[u8]) -> bool {
        ed25519_verify(key.as_bytes(), &message(kind, canonical), &self.0)
    }

    fn from_array(bytes: [u8; 64]) -> Option<Self> {
        Some(Self(bytes))
    }
}

hex_form!(Signature, 64, "an Ed25519 signature");

/// What is signed: `throng-v1 KIND`, a zero byte, the canonical bytes. No kind contains a zero byte, so a signature of
/// one kind of document is never one of another.
fn message(kind: &str, canonical: &[u8]) -> Vec<u8> {
    [b"throng-v1 ", kind.as_bytes(), &[0], canonical].concat()
}

/// The first line of a signing key file.
const SIGNING_HEADER: &str = "throng-v1 signing key (private)\n";

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use proptest::prelude::*;

    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32]).unwrap()
    }

    #[test]
    fn keys_and_signatures_are_those_of_rfc_8032() {
        // Section 7.1, test 3. Our messages have a label in front, so the bare library signs this one.
        let seed = hex::decode("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7").unwrap();
        let key = SigningKey::from_seed(&seed).unwrap();
        let public = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
        assert_eq!(key.public().to_string(), public);
        assert_eq!(
            hex::encode(key.imported.sign(&[0xaf, 0x82]).as_ref()),
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
             18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        );
    }

    #[test]
    fn a_signature_is_for_one_kind_of_document_by_one_key() {
        let signature = key(1).sign("receipt", b"bytes");
        assert!(signature.verify(&key(1).public(), "receipt", b"bytes"));
        assert!(!signature.verify(&key(1).public(), "survey", b"bytes"));
        assert!(!signature.verify(&key(1).public(), "receipt", b"byte"));
        assert!(!signature.verify(&key(1).public(), "receip", b"t\0bytes"));
        assert!(!signature.verify(&key(2).public(), "receipt", b"bytes"));
    }

    /// s + L, with the group order L of RFC 8032, verifies under a careless implementation.
    #[test]
    fn a_signature_cannot_be_stretched() {
        let mut bytes = *key(1).sign("receipt", b"bytes").as_bytes();
        let order =
            hex::decode::<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").unwrap();
        let mut carry = 0;
        for (byte, add) in bytes[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
        assert_eq!(carry, 0);
        assert!(!Signature::new(bytes).verify(&key(1).public(), "receipt", b"bytes"));
    }

    #[test]
    fn key_files_are_read_exactly_and_keys_are_not_shown() {
        let key = SigningKey::generate(&mut ChaCha20Rng::from_seed([7; 32])).unwrap();
        let text = key.to_file();
        assert_eq!(SigningKey::from_file(&text).unwrap().public(), key.public());
        let shown = format!("{key:?}");
        assert!(
            !shown.contains(&hex::encode(key.seed.as_ref())) && shown.contains(&key.public().to_string())
        );
        for other in [
            text.trim_end().to_owned(),
            format!("{}\n", *text),
            text.replace("v1", "v2"),
            text.to_uppercase(),
            text.replace('\n', "\r\n"),
            String::new(),
        ] {
            match SigningKey::from_file(&other) {
                Err(error) => assert!(!error.to_string().contains(text.lines().nth(1).unwrap())),
                Ok(_) => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn a_changed_bit_is_noticed(message: Vec<u8>, bit in 0_usize..512) {
            let mut bytes = *key(1).sign("receipt", &message).as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!Signature::new(bytes).verify(&key(1).public(), "receipt", &message));
        }
    }
}
