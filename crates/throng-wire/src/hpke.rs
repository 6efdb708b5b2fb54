//! HPKE in base mode (RFC 9180) for our one suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. Both sides.
//!
//! The sender's randomness is an argument, so that the same randomness gives the same bytes; libraries draw it
//! themselves. A hop opens millions of messages with one key, and a respondent seals dozens to one: keys are imported once,
//! and what depends on nothing but `info` is computed once. Tests hold both sides to the vectors of RFC 9180, to rustls
//! and to the crate `hpke`.

use zeroize::{Zeroize, Zeroizing};

use crate::crypto::{X25519Public, X25519Secret, aes_128_gcm_open, aes_128_gcm_seal, hmac_sha256};

/// Everything in the key schedule that depends on `info` alone: `key_schedule_context` of section 5.1.
pub(crate) struct Context([u8; 65]);

impl Context {
    pub(crate) fn new(info: &[u8]) -> Self {
        // psk_id_hash = LabeledExtract("", "psk_id_hash", psk_id)
        // info_hash = LabeledExtract("", "info_hash", info)
        // key_schedule_context = concat(mode, psk_id_hash, info_hash)
        let mut context = [0; 65]; // mode_base is 0x00
        context[1..33].copy_from_slice(&*labeled_extract(&HPKE_SUITE, &[], b"psk_id_hash", &[]));
        context[33..].copy_from_slice(&*labeled_extract(&HPKE_SUITE, &[], b"info_hash", info));
        Self(context)
    }
}

/// A recipient's public key, ready for many messages.
#[derive(Clone, Debug)]
pub(crate) struct Recipient {
    bytes: [u8; 32],
    imported: X25519Public,
}

impl Recipient {
    /// `None` means that the library has failed: any bytes are a key here. Sealing refuses a point of small order.
    pub(crate) fn new(bytes: &[u8; 32]) -> Option<Self> {
        Some(Self { bytes: *bytes, imported: X25519Public::new(bytes)? })
    }

    /// Seals a message, and appends the encapsulated key, the ciphertext and its tag to `out`. `ikm` is the randomness:
    /// 32 uniform bytes that are used for nothing else, because two messages under one ephemeral key have one nonce.
    /// `None`, and nothing appended, if the recipient's key is a point of small order.
    pub(crate) fn seal(
        &self,
        context: &Context,
        aad: &[u8],
        plaintext: &[u8],
        ikm: &[u8; 32],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        // Section 4.1, Encap(pkR):
        //   skE, pkE = GenerateKeyPair()
        //   dh = DH(skE, pkR)
        //   enc = SerializePublicKey(pkE)
        //   kem_context = concat(enc, pkRm)
        //   shared_secret = ExtractAndExpand(dh, kem_context)
        // Agreement fails when dh is zero, as section 7.1.4 demands.
        let ephemeral = derive_key_pair(ikm)?;
        let enc = ephemeral.public()?;
        let shared_secret =
            ephemeral.agree(&self.imported, |dh| extract_and_expand(dh, &enc, &self.bytes))?;
        let (key, nonce) = key_schedule(context, &shared_secret);
        let start = out.len() + enc.len();
        out.reserve(enc.len() + plaintext.len() + 16);
        out.extend_from_slice(&enc);
        out.extend_from_slice(plaintext);
        let Some(tag) = aes_128_gcm_seal(&key, &nonce, aad, &mut out[start..]) else {
            out[start..].zeroize();
            out.truncate(start - enc.len());
            return None;
        };
        out.extend_from_slice(&tag);
        Some(())
    }
}

/// Opens a message. `public` is the key's own public part. Nothing is said about why one does not open.
pub(crate) fn open(
    context: &Context,
    secret: &X25519Secret,
    public: &[u8; 32],
    enc: &[u8; 32],
    aad: &[u8],
    ciphertext: &[u8],
) -> Option<Vec<u8>> {
    // Section 4.1, Decap(enc, skR):
    //   dh = DH(skR, pkE)
    //   kem_context = concat(enc, pkRm)
    //   shared_secret = ExtractAndExpand(dh, kem_context)
    // Agreement fails when dh is zero, as section 7.1.4 demands.
    let ephemeral = X25519Public::new(enc)?;
    let shared_secret = secret.agree(&ephemeral, |dh| extract_and_expand(dh, enc, public))?;
    let (key, nonce) = key_schedule(context, &shared_secret);
    aes_128_gcm_open(&key, &nonce, aad, ciphertext)
}

/// Section 7.1.3, DeriveKeyPair(ikm), which is how GenerateKeyPair() makes a key of random bytes:
///   dkp_prk = LabeledExtract("", "dkp_prk", ikm)
///   sk = LabeledExpand(dkp_prk, "sk", "", Nsk)
fn derive_key_pair(ikm: &[u8; 32]) -> Option<X25519Secret> {
    let dkp_prk = labeled_extract(&KEM_SUITE, &[], b"dkp_prk", ikm);
    X25519Secret::new(&labeled_expand::<32>(&KEM_SUITE, &dkp_prk, b"sk", &[]))
}

/// Section 4.1, ExtractAndExpand(dh, kem_context):
///   eae_prk = LabeledExtract("", "eae_prk", dh)
///   shared_secret = LabeledExpand(eae_prk, "shared_secret", kem_context, Nsecret)
fn extract_and_expand(dh: &[u8], enc: &[u8; 32], public: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    let kem_context = [*enc, *public];
    let eae_prk = labeled_extract(&KEM_SUITE, &[], b"eae_prk", dh);
    labeled_expand::<32>(&KEM_SUITE, &eae_prk, b"shared_secret", kem_context.as_flattened())
}

/// Section 5.1, KeySchedule in base mode:
///   secret = LabeledExtract(shared_secret, "secret", psk)
///   key = LabeledExpand(secret, "key", key_schedule_context, Nk)
///   base_nonce = LabeledExpand(secret, "base_nonce", key_schedule_context, Nn)
/// Section 5.2: the first message of a context has the base nonce, and there is no second one here.
fn key_schedule(context: &Context, shared_secret: &[u8; 32]) -> (Zeroizing<[u8; 16]>, Zeroizing<[u8; 12]>) {
    let secret = labeled_extract(&HPKE_SUITE, shared_secret, b"secret", &[]);
    let key = labeled_expand(&HPKE_SUITE, &secret, b"key", &context.0);
    let base_nonce = labeled_expand(&HPKE_SUITE, &secret, b"base_nonce", &context.0);
    (key, base_nonce)
}

/// Section 4: LabeledExtract(salt, label, ikm) = Extract(salt, concat("HPKE-v1", suite_id, label, ikm)). An empty salt
/// is as good as the zero bytes that RFC 5869 asks for: HMAC pads with zeros.
fn labeled_extract(suite: &[u8], salt: &[u8], label: &[u8], ikm: &[u8]) -> Zeroizing<[u8; 32]> {
    mac(salt, &[b"HPKE-v1", suite, label, ikm])
}

/// Section 4: LabeledExpand(prk, label, info, L) = Expand(prk, concat(I2OSP(L, 2), "HPKE-v1", suite_id, label, info), L).
/// For at most 32 bytes Expand (RFC 5869, section 2.3) is a single block: HMAC(prk, info | 0x01).
fn labeled_expand<const L: usize>(
    suite: &[u8],
    prk: &[u8; 32],
    label: &[u8],
    info: &[u8],
) -> Zeroizing<[u8; L]> {
    const { assert!(L <= 32) };
    let block = mac(prk, &[&(L as u16).to_be_bytes(), b"HPKE-v1", suite, label, info, &[1]]);
    let mut bytes = Zeroizing::new([0; L]);
    bytes.copy_from_slice(&block[..L]);
    bytes
}

/// HMAC-SHA256 of several parts.
fn mac(key: &[u8], message: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    // One call on one buffer is faster than a call for each part; the longest message has 95 bytes, and `info` is ours.
    let mut buffer = [0_u8; 160];
    let mut length = 0;
    for part in message {
        buffer[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    let tag = hmac_sha256(key, &buffer[..length]);
    buffer.zeroize();
    tag
}

/// suite_id of the KEM: "KEM" | 0x0020.
const KEM_SUITE: [u8; 5] = *b"KEM\0\x20";

/// suite_id of HPKE: "HPKE" | 0x0020 (DHKEM(X25519, HKDF-SHA256)) | 0x0001 (HKDF-SHA256) | 0x0001 (AES-128-GCM).
const HPKE_SUITE: [u8; 10] = *b"HPKE\0\x20\0\x01\0\x01";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_128 as RUSTLS;
    use rustls::crypto::hpke::{EncapsulatedSecret, Hpke as _, HpkePrivateKey, HpkePublicKey};
    use serde_json::Value;

    use super::*;

    struct Vector(Value);

    impl Vector {
        fn read() -> Self {
            let file: Value = serde_json::from_str(include_str!("../tests/vectors/rfc9180-a1.json")).unwrap();
            Self(file["vector"].clone())
        }

        fn bytes(&self, field: &str) -> Vec<u8> {
            bytes(&self.0[field])
        }

        fn array(&self, field: &str) -> [u8; 32] {
            self.bytes(field).try_into().unwrap()
        }

        fn encryptions(&self) -> &[Value] {
            self.0["encryptions"].as_array().unwrap()
        }
    }

    fn bytes(value: &Value) -> Vec<u8> {
        let text = value.as_str().unwrap();
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn the_vectors_of_rfc_9180_appendix_a_1_1_open() {
        let vector = Vector::read();
        let enc = EncapsulatedSecret(vector.bytes("enc"));
        let info = vector.bytes("info");
        let secret = HpkePrivateKey::from(vector.bytes("skRm"));
        let mut opener = RUSTLS.setup_opener(&enc, &info, &secret).unwrap();
        assert!(vector.encryptions().len() >= 5);
        for (index, encryption) in vector.encryptions().iter().enumerate() {
            let [aad, ct, pt] = ["aad", "ct", "pt"].map(|field| bytes(&encryption[field]));
            assert_eq!(opener.open(&aad, &ct).unwrap(), pt, "rustls, message {index}");
            if index == 0 {
                assert_eq!(RUSTLS.open(&enc, &info, &aad, &ct, &secret).unwrap(), pt);
                // Ours opens the first message of a context.
                let key = X25519Secret::new(&vector.array("skRm")).unwrap();
                let public = key.public().unwrap();
                assert_eq!(public, vector.array("pkRm"));
                let open = |info: &[u8], aad: &[u8], ct: &[u8]| {
                    super::open(&Context::new(info), &key, &public, &vector.array("enc"), aad, ct)
                };
                assert_eq!(open(&info, &aad, &ct), Some(pt));
                assert_eq!(open(b"other", &aad, &ct), None);
                assert_eq!(open(&info, b"other", &ct), None);
            }
        }
    }

    /// The ephemeral key that the vector gives, the encapsulated key and the first ciphertext: equal bytes.
    #[test]
    fn the_vectors_of_rfc_9180_appendix_a_1_1_are_sealed() {
        let vector = Vector::read();
        let ikm = vector.array("ikmE");
        let ephemeral = derive_key_pair(&ikm).unwrap();
        assert_eq!(ephemeral.public(), Some(vector.array("pkEm")));
        assert_eq!(X25519Secret::new(&vector.array("skEm")).unwrap().public(), ephemeral.public());
        let context = Context::new(&vector.bytes("info"));
        assert_eq!(context.0[..], vector.bytes("key_schedule_context"));
        let recipient = Recipient::new(&vector.array("pkRm")).unwrap();
        let shared_secret = ephemeral
            .agree(&recipient.imported, |dh| extract_and_expand(dh, &vector.array("enc"), &recipient.bytes));
        assert_eq!(*shared_secret.clone().unwrap(), vector.array("shared_secret"));
        let (key, nonce) = key_schedule(&context, &shared_secret.unwrap());
        assert_eq!((&key[..], &nonce[..]), (&vector.bytes("key")[..], &vector.bytes("base_nonce")[..]));
        let [aad, ct, pt] = ["aad", "ct", "pt"].map(|field| bytes(&vector.encryptions()[0][field]));
        let mut sealed = b"before".to_vec();
        recipient.seal(&context, &aad, &pt, &ikm, &mut sealed).unwrap();
        assert_eq!(sealed, [&b"before"[..], &vector.bytes("enc"), &ct].concat());
    }

    #[test]
    fn a_failed_seal_leaves_nothing_behind() {
        for first in [0, 1] {
            let mut point = [0; 32];
            point[0] = first;
            let mut out = b"before".to_vec();
            let recipient = Recipient::new(&point).unwrap();
            assert_eq!(recipient.seal(&Context::new(b""), b"", b"text", &[1; 32], &mut out), None);
            assert_eq!(out, b"before");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What one of the two seals, the other opens.
        #[test]
        fn ours_and_rustls_seal_for_one_another(
            secret: [u8; 32],
            ikm: [u8; 32],
            info in prop::collection::vec(any::<u8>(), 0..32),
            aad: Vec<u8>,
            plaintext: Vec<u8>,
        ) {
            let key = X25519Secret::new(&secret).unwrap();
            let public = key.public().unwrap();
            let context = Context::new(&info);
            let mut ours = Vec::new();
            Recipient::new(&public).unwrap().seal(&context, &aad, &plaintext, &ikm, &mut ours).unwrap();
            let enc = EncapsulatedSecret(ours[..32].to_vec());
            let opened = RUSTLS.open(&enc, &info, &aad, &ours[32..], &HpkePrivateKey::from(secret.to_vec()));
            prop_assert_eq!(opened.unwrap(), plaintext.clone());
            let (enc, theirs) = RUSTLS.seal(&info, &aad, &plaintext, &HpkePublicKey(public.to_vec())).unwrap();
            let enc = enc.0.try_into().unwrap();
            prop_assert_eq!(open(&context, &key, &public, &enc, &aad, &theirs), Some(plaintext));
        }

        /// The crate `hpke` takes its randomness as we do: equal bytes.
        #[test]
        fn ours_and_the_crate_hpke_seal_the_same_bytes(
            secret: [u8; 32],
            seed: [u8; 32],
            info in prop::collection::vec(any::<u8>(), 0..32),
            aad: Vec<u8>,
            plaintext: Vec<u8>,
        ) {
            use chacha20::ChaCha20Rng;
            use chacha20::rand_core::{Rng, SeedableRng};
            use ::hpke::{Deserializable, OpModeR, OpModeS, Serializable};
            use ::hpke::{aead::AesGcm128, kdf::HkdfSha256, kem::{Kem, X25519HkdfSha256}};

            let key = X25519Secret::new(&secret).unwrap();
            let public = key.public().unwrap();
            let mut ikm = [0; 32];
            ChaCha20Rng::from_seed(seed).fill_bytes(&mut ikm);
            let mut ours = Vec::new();
            let context = Context::new(&info);
            Recipient::new(&public).unwrap().seal(&context, &aad, &plaintext, &ikm, &mut ours).unwrap();
            let (enc, theirs) = ::hpke::single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
                &OpModeS::Base,
                &<X25519HkdfSha256 as Kem>::PublicKey::from_bytes(&public).unwrap(),
                &info,
                &plaintext,
                &aad,
                &mut ChaCha20Rng::from_seed(seed),
            )
            .unwrap();
            prop_assert_eq!(&ours, &[&enc.to_bytes()[..], &theirs].concat());
            let opened = ::hpke::single_shot_open::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
                &OpModeR::Base,
                &<X25519HkdfSha256 as Kem>::PrivateKey::from_bytes(&secret).unwrap(),
                &enc,
                &info,
                &ours[32..],
                &aad,
            );
            prop_assert_eq!(opened.unwrap(), plaintext);
        }
    }
}
