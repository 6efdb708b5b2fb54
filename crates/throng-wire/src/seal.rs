//! Public-key sealing of one layer: HPKE in base mode (RFC 9180, section 5.1.1) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256
//! and AES-128-GCM.
//!
//! A layer is the number of the key (1 byte), the encapsulated key (32), and ciphertext with tag (plaintext + 16). What
//! it is bound to is in the associated data; nothing of it travels with the layer. Since every seal has a key of its
//! own, a layer that is changed, cut or moved fails to open, and nothing is learned but that.
//!
//! The randomness of a seal is an argument: the same generator in the same state gives the same bytes. A generator that
//! repeats itself would encrypt two plaintexts under one key and nonce, so answers are sealed with system entropy.

use std::sync::LazyLock;

use rand_core::CryptoRng;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::Error;
use crate::envelope::LAYER_OVERHEAD;
use crate::hpke::{self, Context};
use crate::keys::{LayerKey, LayerKeys};
use crate::route::{ROUTE_LEN, Route, Stop};

/// Why an envelope is dropped. It says nothing about what is inside, and is counted, never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Rejection {
    /// Another length than all envelopes of the survey have here.
    #[error("the length is not that of the survey")]
    Length,
    /// Sealed to a key that is unknown, erased or not for this epoch.
    #[error("no key with this number is valid in this epoch")]
    Key,
    /// Changed on the way, or made for another survey, label, epoch, instance, stop or key.
    #[error("the seal does not open here")]
    Seal,
    /// Opened, but what is inside is not what a respondent writes.
    #[error("the content is malformed")]
    Content,
}

/// Seals one layer for a stop. Draws 32 bytes.
pub fn seal(
    route: &Route,
    stop: Stop,
    key: &LayerKey,
    plaintext: &[u8],
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<u8>, Error> {
    SealingKey::new(*key)?.seal(route, stop, plaintext, rng)
}

/// A public layer key that is imported once, to seal many layers to.
#[derive(Clone, Debug)]
pub(crate) struct SealingKey {
    key: LayerKey,
    recipient: hpke::Recipient,
}

impl SealingKey {
    pub(crate) fn new(key: LayerKey) -> Result<Self, Error> {
        let recipient = hpke::Recipient::new(key.public.as_bytes()).ok_or(UNUSABLE)?;
        Ok(Self { key, recipient })
    }

    /// Seals one layer for a stop.
    pub(crate) fn seal(
        &self,
        route: &Route,
        stop: Stop,
        plaintext: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Error> {
        if !self.key.lifetime.covers(route.epoch) {
            return Err(Error::NoKey { party: route.place(stop), epoch: route.epoch });
        }
        let mut ikm = Zeroizing::new([0; 32]);
        rng.fill_bytes(ikm.as_mut());
        let mut layer = Vec::with_capacity(OVERHEAD + plaintext.len());
        layer.push(self.key.id);
        let aad = associated_data(route, stop, self.key.id);
        self.recipient.seal(&CONTEXT, &aad, plaintext, &ikm, &mut layer).ok_or(UNUSABLE)?;
        debug_assert_eq!(layer.len(), OVERHEAD + plaintext.len());
        Ok(layer)
    }
}

/// Opens one layer at a stop.
pub fn open(route: &Route, stop: Stop, keys: &LayerKeys, layer: &[u8]) -> Result<Vec<u8>, Rejection> {
    if layer.len() < OVERHEAD {
        return Err(Rejection::Length);
    }
    let (&id, rest) = layer.split_first().ok_or(Rejection::Length)?;
    let (enc, ciphertext) = rest.split_first_chunk::<ENC_LEN>().ok_or(Rejection::Length)?;
    let key = keys.find(id, route.epoch).ok_or(Rejection::Key)?;
    let (imported, public) = (key.imported(), key.key().public);
    hpke::open(&CONTEXT, imported, public.as_bytes(), enc, &associated_data(route, stop, id), ciphertext)
        .ok_or(Rejection::Seal)
}

/// The route (48), the stop (4; 0 is the analyzer), the key's number (1).
fn associated_data(route: &Route, stop: Stop, key_id: u8) -> [u8; ROUTE_LEN + 5] {
    let mut bytes = [0; ROUTE_LEN + 5];
    bytes[..ROUTE_LEN].copy_from_slice(&route.to_bytes());
    bytes[ROUTE_LEN..ROUTE_LEN + 4].copy_from_slice(&stop.number().to_be_bytes());
    bytes[ROUTE_LEN + 4] = key_id;
    bytes
}

/// The info of every seal: protocol and version.
const INFO: &[u8] = b"throng-v1 layer";

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::new(INFO));

const UNUSABLE: Error = Error::Seal("the recipient's key is unusable");

/// The length of an encapsulated key: Nenc of RFC 9180, table 2.
const ENC_LEN: usize = 32;

const OVERHEAD: usize = LAYER_OVERHEAD as usize;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::{Rng, SeedableRng};
    use proptest::prelude::*;
    use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_128 as RUSTLS;
    use rustls::crypto::hpke::{EncapsulatedSecret, Hpke as _, HpkePrivateKey};

    use super::*;
    use crate::digest::SurveyHash;
    use crate::keys::{LayerSecretKey, Lifetime};

    const ROUTE: Route = Route { survey: SurveyHash::new([0; 32]), label: 2, epoch: 15, instance: 3 };

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::from_seed([3; 32])
    }

    fn keys(seed: u8) -> LayerKeys {
        let rng = &mut ChaCha20Rng::from_seed([seed; 32]);
        let mut keys = LayerKeys::new();
        let lifetime = Lifetime { first_epoch: 10, last_epoch: 19 };
        keys.add(LayerSecretKey::generate(1, lifetime, rng).unwrap()).unwrap();
        keys.rotate(10, 5, rng).unwrap();
        keys
    }

    #[test]
    fn a_layer_opens_where_it_belongs_and_nowhere_else() {
        let keys = keys(1);
        for key in keys.public() {
            let layer = seal(&ROUTE, Stop::Hop(2), &key, b"content", &mut rng()).unwrap();
            assert_eq!(layer.len(), 49 + 7);
            assert_eq!(layer[0], key.id);
            assert_eq!(open(&ROUTE, Stop::Hop(2), &keys, &layer).unwrap(), b"content");
            let mut survey = [0; 32];
            survey[31] = 1;
            for moved in [
                Route { survey: SurveyHash::new(survey), ..ROUTE },
                Route { label: 1, ..ROUTE },
                Route { epoch: 16, ..ROUTE },
                Route { instance: 2, ..ROUTE },
            ] {
                assert_eq!(open(&moved, Stop::Hop(2), &keys, &layer), Err(Rejection::Seal), "{moved:?}");
            }
            for stop in [Stop::Hop(1), Stop::Hop(3), Stop::Analyzer] {
                assert_eq!(open(&ROUTE, stop, &keys, &layer), Err(Rejection::Seal), "{stop:?}");
            }
        }
    }

    /// The same randomness makes the same bytes, more of it makes others, and 32 bytes of it are drawn.
    #[test]
    fn a_layer_follows_from_its_randomness() {
        let key = keys(1).public()[0];
        let (mut one, mut other) = (rng(), rng());
        let [first, second] =
            [(); 2].map(|()| seal(&ROUTE, Stop::Hop(2), &key, b"content", &mut one).unwrap());
        assert_ne!(first, second);
        assert_ne!(first[1..33], second[1..33], "every layer has an ephemeral key of its own");
        assert_eq!(seal(&ROUTE, Stop::Hop(2), &key, b"content", &mut other).unwrap(), first);
        let mut skipped = rng();
        skipped.fill_bytes(&mut [0; 32]);
        assert_eq!(seal(&ROUTE, Stop::Hop(2), &key, b"content", &mut skipped).unwrap(), second);
    }

    #[test]
    fn a_layer_needs_its_own_key() {
        let (keys, others) = (keys(1), self::keys(2));
        let key = keys.public()[0];
        let mut layer = seal(&ROUTE, Stop::Analyzer, &key, b"content", &mut rng()).unwrap();
        assert_eq!(open(&ROUTE, Stop::Analyzer, &others, &layer), Err(Rejection::Seal));
        layer[0] = 2; // a key in overlap
        assert_eq!(open(&ROUTE, Stop::Analyzer, &keys, &layer), Err(Rejection::Seal));
        layer[0] = 3;
        assert_eq!(open(&ROUTE, Stop::Analyzer, &keys, &layer), Err(Rejection::Key));
    }

    #[test]
    fn keys_are_used_in_their_lifetime_only() {
        let mut keys = keys(1);
        let old = keys.public()[0];
        let late = Route { epoch: 20, ..ROUTE };
        assert!(matches!(
            seal(&late, Stop::Hop(1), &old, b"", &mut rng()),
            Err(Error::NoKey { epoch: 20, .. })
        ));
        // A respondent who ignores that is not heard.
        let endless = LayerKey { lifetime: Lifetime { first_epoch: 0, last_epoch: 99 }, ..old };
        let layer = seal(&late, Stop::Hop(1), &endless, b"", &mut rng()).unwrap();
        assert_eq!(open(&late, Stop::Hop(1), &keys, &layer), Err(Rejection::Key));
        // Nor is anything opened once the key is erased.
        let layer = seal(&ROUTE, Stop::Hop(1), &old, b"", &mut rng()).unwrap();
        assert!(open(&ROUTE, Stop::Hop(1), &keys, &layer).is_ok());
        keys.erase_before(20);
        assert_eq!(open(&ROUTE, Stop::Hop(1), &keys, &layer), Err(Rejection::Key));
    }

    #[test]
    fn nothing_is_sealed_to_a_point_of_small_order() {
        let key = LayerKey { public: crate::keys::LayerPublicKey::new([0; 32]), ..keys(1).public()[0] };
        assert!(matches!(seal(&ROUTE, Stop::Hop(1), &key, b"content", &mut rng()), Err(Error::Seal(_))));
    }

    #[test]
    fn an_encapsulated_key_of_small_order_is_refused() {
        let keys = keys(1);
        let mut layer = seal(&ROUTE, Stop::Hop(2), &keys.public()[0], b"content", &mut rng()).unwrap();
        for first in [0, 1] {
            layer[1..33].fill(0);
            layer[1] = first;
            assert_eq!(open(&ROUTE, Stop::Hop(2), &keys, &layer), Err(Rejection::Seal));
        }
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let keys = keys(1);
        let layer = seal(&ROUTE, Stop::Hop(2), &keys.public()[0], b"content", &mut rng()).unwrap();
        for bit in 0..8 * layer.len() {
            let mut changed = layer.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&ROUTE, Stop::Hop(2), &keys, &changed).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn anything_sealed_opens(plaintext: Vec<u8>, label: u32, epoch in 15_u64..20, instance: u32, hop: u32) {
            let (keys, route) = (keys(1), Route { label, epoch, instance, ..ROUTE });
            for key in keys.public() {
                let layer = seal(&route, Stop::Hop(hop), &key, &plaintext, &mut rng()).unwrap();
                prop_assert_eq!(open(&route, Stop::Hop(hop), &keys, &layer).unwrap(), plaintext.clone());
            }
        }

        #[test]
        fn ours_and_rustls_open_the_same(plaintext: Vec<u8>, change in prop::option::of(0_usize..49)) {
            let keys = keys(1);
            let key = keys.public()[0];
            let mut layer = seal(&ROUTE, Stop::Hop(2), &key, &plaintext, &mut rng()).unwrap();
            if let Some(place) = change.filter(|&place| place > 0) {
                layer[place] ^= 1;
            }
            let enc = EncapsulatedSecret(layer[1..33].to_vec());
            let secret = HpkePrivateKey::from(keys.find(key.id, ROUTE.epoch).unwrap().secret().to_vec());
            let aad = associated_data(&ROUTE, Stop::Hop(2), key.id);
            let theirs = RUSTLS.open(&enc, INFO, &aad, &layer[33..], &secret).ok();
            prop_assert_eq!(open(&ROUTE, Stop::Hop(2), &keys, &layer).ok(), theirs);
        }

        #[test]
        fn cut_stretched_and_random_layers_are_refused(cut in 0_usize..56, extra: Vec<u8>, garbage: Vec<u8>) {
            let keys = keys(1);
            let layer = seal(&ROUTE, Stop::Hop(2), &keys.public()[0], b"content", &mut rng()).unwrap();
            prop_assert!(open(&ROUTE, Stop::Hop(2), &keys, &layer[..cut]).is_err());
            prop_assert!(open(&ROUTE, Stop::Hop(2), &keys, &garbage).is_err());
            if !extra.is_empty() {
                prop_assert!(open(&ROUTE, Stop::Hop(2), &keys, &[layer, extra].concat()).is_err());
            }
        }
    }
}
