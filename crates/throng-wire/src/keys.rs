//! Layer keys: the X25519 keys that envelopes are sealed to, how long each lives, and how they follow one another.
//!
//! Lifetimes are counted in epochs, not in seconds. All respondents of an epoch then use one and the same key of a
//! party; a key that changed in the middle of an epoch would tell every later hop who had sent early and who late.

use std::fmt;

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::crypto::X25519Secret;
use crate::{Error, hex};
use throng_survey::hex_form;

/// The first and the last epoch for which a key may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// Not before this epoch.
    pub first_epoch: u64,
    /// Not after this epoch.
    pub last_epoch: u64,
}

impl Lifetime {
    /// Whether a key may be used for an epoch.
    pub fn covers(&self, epoch: u64) -> bool {
        (self.first_epoch..=self.last_epoch).contains(&epoch)
    }
}

/// A public X25519 key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayerPublicKey([u8; 32]);

impl LayerPublicKey {
    /// A key that came from elsewhere. Sealing to a point of small order fails (RFC 9180, section 7.1.4).
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes: SerializePublicKey of RFC 9180.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn from_array(bytes: [u8; 32]) -> Option<Self> {
        Some(Self(bytes))
    }
}

hex_form!(LayerPublicKey, 32, "an X25519 public key");

/// A public layer key with its number and lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerKey {
    /// Its number among the party's keys, the first byte of every layer that is sealed to it.
    pub id: u8,
    /// The epochs that it is for.
    pub lifetime: Lifetime,
    /// The key.
    pub public: LayerPublicKey,
}

/// A private layer key. It is erased from memory when dropped, and never shown.
pub struct LayerSecretKey {
    key: LayerKey,
    secret: Zeroizing<[u8; 32]>,
    /// The same, imported once, and erased when it is freed.
    imported: X25519Secret,
}

impl LayerSecretKey {
    /// A fresh key.
    pub fn generate(id: u8, lifetime: Lifetime, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self, Error> {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut());
        Self::from_bytes(id, lifetime, &secret)
    }

    /// A key of 32 bytes: SerializePrivateKey of RFC 9180.
    pub fn from_bytes(id: u8, lifetime: Lifetime, secret: &[u8; 32]) -> Result<Self, Error> {
        if lifetime.first_epoch > lifetime.last_epoch {
            return Err(Error::Keys("a key ends before it begins".into()));
        }
        let wrong = || Error::Keys("not an X25519 private key".into());
        let imported = X25519Secret::new(secret).ok_or_else(wrong)?;
        let public = imported.public().ok_or_else(wrong)?;
        let key = LayerKey { id, lifetime, public: LayerPublicKey(public) };
        Ok(Self { key, secret: Zeroizing::new(*secret), imported })
    }

    /// The public part.
    pub fn key(&self) -> &LayerKey {
        &self.key
    }

    pub(crate) fn imported(&self) -> &X25519Secret {
        &self.imported
    }

    #[cfg(test)]
    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

impl fmt::Debug for LayerSecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LayerSecretKey({:?}, private part not shown)", self.key)
    }
}

/// All private layer keys of a party. No two have one number, or begin in one epoch.
#[derive(Debug, Default)]
pub struct LayerKeys {
    keys: Vec<LayerSecretKey>,
}

impl LayerKeys {
    /// No keys yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key. One that could be confused with another is refused.
    pub fn add(&mut self, key: LayerSecretKey) -> Result<(), Error> {
        let mut public = self.public();
        public.push(key.key);
        check_distinct(&public)?;
        self.keys.push(key);
        Ok(())
    }

    /// Makes the next key: it begins `overlap` epochs before the newest one ends and lives for `epochs`, under the next
    /// number that is free. Respondents who have the new list use it from its first epoch on; the overlap is for those
    /// who have not.
    pub fn rotate(
        &mut self,
        epochs: u64,
        overlap: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<&LayerKey, Error> {
        let wrong = |reason: &str| Error::Keys(reason.to_owned());
        let newest = self.newest().ok_or_else(|| wrong("there is no key to follow"))?;
        let first_epoch = newest.lifetime.last_epoch.saturating_add(1).saturating_sub(overlap);
        let last_epoch = first_epoch.checked_add(epochs).and_then(|end| end.checked_sub(1));
        let last_epoch = last_epoch.ok_or_else(|| wrong("the key would live in no epoch"))?;
        if first_epoch <= newest.lifetime.first_epoch || last_epoch <= newest.lifetime.last_epoch {
            return Err(wrong("the overlap is as long as a key lives"));
        }
        let id = (1..=u8::MAX)
            .map(|step| newest.id.wrapping_add(step))
            .find(|id| self.keys.iter().all(|key| key.key.id != *id))
            .ok_or_else(|| wrong("all 256 numbers are taken: erase expired keys"))?;
        self.add(LayerSecretKey::generate(id, Lifetime { first_epoch, last_epoch }, rng)?)?;
        Ok(&self.keys[self.keys.len() - 1].key)
    }

    /// Erases every key that is for epochs before `epoch` only; says how many.
    pub fn erase_before(&mut self, epoch: u64) -> usize {
        let before = self.keys.len();
        self.keys.retain(|key| key.key.lifetime.last_epoch >= epoch);
        before - self.keys.len()
    }

    /// The key with a number, if it may be used for an epoch.
    pub fn find(&self, id: u8, epoch: u64) -> Option<&LayerSecretKey> {
        self.keys.iter().find(|key| key.key.id == id && key.key.lifetime.covers(epoch))
    }

    /// The number of epochs, from `epoch` on, that have a key, up to the first that has none.
    pub fn epochs_from(&self, epoch: u64) -> u64 {
        let mut next = epoch;
        let last_of = |next: u64| {
            let covering =
                self.keys.iter().map(|key| key.key.lifetime).filter(|lifetime| lifetime.covers(next));
            covering.map(|lifetime| lifetime.last_epoch).max()
        };
        while let Some(after) = last_of(next).and_then(|last| last.checked_add(1)) {
            next = after;
        }
        next - epoch
    }

    /// The first epoch that there is a key for.
    pub fn first_epoch(&self) -> Option<u64> {
        self.keys.iter().map(|key| key.key.lifetime.first_epoch).min()
    }

    /// The last epoch that there is a key for.
    pub fn last_epoch(&self) -> Option<u64> {
        self.keys.iter().map(|key| key.key.lifetime.last_epoch).max()
    }

    /// The public parts, by number.
    pub fn public(&self) -> Vec<LayerKey> {
        let mut keys: Vec<LayerKey> = self.keys.iter().map(|key| key.key).collect();
        keys.sort_by_key(|key| key.id);
        keys
    }

    /// The text of a key file: a line that says what it is, then for each key its number, first and last epoch and
    /// secret. Its size is reserved, so that no half-written copy is left in memory.
    pub fn to_file(&self) -> Zeroizing<String> {
        let mut text =
            Zeroizing::new(String::with_capacity(LAYER_HEADER.len() + self.keys.len() * LINE_LEN_MAX));
        text.push_str(LAYER_HEADER);
        let mut keys: Vec<&LayerSecretKey> = self.keys.iter().collect();
        keys.sort_by_key(|key| key.key.id);
        for LayerSecretKey { key, secret, .. } in keys {
            text.push_str(&format!("{} {} {} ", key.id, key.lifetime.first_epoch, key.lifetime.last_epoch));
            hex::encode_into(secret.as_ref(), &mut text);
            text.push('\n');
        }
        text
    }

    /// Reads a key file: exactly what `to_file` writes.
    pub fn from_file(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Document { kind: "layer key file", reason: "it is not as keygen wrote it".into() };
        let mut keys = Self::new();
        for line in text.strip_prefix(LAYER_HEADER).ok_or_else(wrong)?.split_inclusive('\n') {
            let fields: Vec<&str> = line.strip_suffix('\n').ok_or_else(wrong)?.split(' ').collect();
            let [id, first, last, secret] = fields[..] else { return Err(wrong()) };
            let (Ok(id), Ok(first_epoch), Ok(last_epoch)) = (id.parse(), first.parse(), last.parse()) else {
                return Err(wrong());
            };
            let mut secret = hex::decode::<32>(secret).ok_or_else(wrong)?;
            let key = LayerSecretKey::from_bytes(id, Lifetime { first_epoch, last_epoch }, &secret);
            secret.zeroize();
            keys.add(key?)?;
        }
        // Numbers have one spelling and keys one order.
        if *keys.to_file() == text { Ok(keys) } else { Err(wrong()) }
    }

    fn newest(&self) -> Option<&LayerKey> {
        self.keys.iter().map(|key| &key.key).max_by_key(|key| key.lifetime.first_epoch)
    }
}

/// Refuses two keys with one number (a layer would not say which it is for) and two that begin in one epoch (a
/// respondent would not know which to use).
pub(crate) fn check_distinct(keys: &[LayerKey]) -> Result<(), Error> {
    for (index, key) in keys.iter().enumerate() {
        for other in &keys[index + 1..] {
            let twice = if key.id == other.id {
                "two keys have one number"
            } else if key.public == other.public {
                "one key has two numbers"
            } else if key.lifetime.first_epoch == other.lifetime.first_epoch {
                "two keys begin in one epoch"
            } else {
                continue;
            };
            return Err(Error::Keys(twice.into()));
        }
    }
    Ok(())
}

/// The first line of a layer key file.
const LAYER_HEADER: &str = "throng-v1 layer keys (private)\n";

/// More than a line of a layer key file can have: 3 + 20 + 20 + 64 characters, spaces and the line's end.
const LINE_LEN_MAX: usize = 112;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use proptest::prelude::*;

    use super::*;

    fn lifetime(first_epoch: u64, last_epoch: u64) -> Lifetime {
        Lifetime { first_epoch, last_epoch }
    }

    fn keys() -> LayerKeys {
        let rng = &mut ChaCha20Rng::from_seed([3; 32]);
        let mut keys = LayerKeys::new();
        keys.add(LayerSecretKey::generate(255, lifetime(10, 19), rng).unwrap()).unwrap();
        keys.rotate(10, 2, rng).unwrap();
        keys
    }

    #[test]
    fn a_public_key_is_that_of_rfc_9180() {
        // Appendix A.1.1: skRm and pkRm.
        let secret = hex::decode("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8").unwrap();
        let key = LayerSecretKey::from_bytes(0, lifetime(0, 0), &secret).unwrap();
        let public = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d";
        assert_eq!(key.key().public.to_string(), public);
    }

    #[test]
    fn a_rotated_key_overlaps_the_one_before() {
        let keys = keys();
        let ids: Vec<u8> = keys.public().iter().map(|key| key.id).collect();
        assert_eq!(ids, [0, 255], "numbers wrap around");
        assert_eq!(keys.public()[0].lifetime, lifetime(18, 27));
        for (id, epoch, found) in [
            (255, 9, false),
            (255, 10, true),
            (255, 19, true),
            (255, 20, false),
            (0, 17, false),
            (0, 18, true),
            (0, 27, true),
            (0, 28, false),
            (1, 18, false),
        ] {
            assert_eq!(keys.find(id, epoch).is_some(), found, "key {id}, epoch {epoch}");
        }
    }

    #[test]
    fn expired_keys_are_erased() {
        let mut keys = keys();
        assert_eq!(keys.erase_before(19), 0);
        assert_eq!(keys.erase_before(20), 1);
        assert!(keys.find(255, 19).is_none() && keys.find(0, 20).is_some());
    }

    #[test]
    fn ambiguous_keys_are_refused() {
        let rng = &mut ChaCha20Rng::from_seed([4; 32]);
        let mut keys = keys();
        for (id, first, last) in [(255, 50, 60), (0, 50, 60), (7, 10, 60), (7, 60, 50)] {
            let refused =
                LayerSecretKey::generate(id, lifetime(first, last), rng).and_then(|key| keys.add(key));
            assert!(matches!(refused, Err(Error::Keys(_))), "{id} {first} {last}");
        }
        let same = *keys.keys[0].secret;
        assert!(keys.add(LayerSecretKey::from_bytes(9, lifetime(70, 80), &same).unwrap()).is_err());
        assert!(keys.rotate(10, 10, rng).is_err(), "the overlap is too long");
        assert!(LayerKeys::new().rotate(10, 2, rng).is_err());
    }

    #[test]
    fn key_files_are_read_exactly_and_keys_are_not_shown() {
        let keys = keys();
        let text = keys.to_file();
        assert_eq!(LayerKeys::from_file(&text).unwrap().public(), keys.public());
        assert_eq!(*LayerKeys::from_file(&text).unwrap().to_file(), *text);
        let secrets: Vec<&str> = text.lines().skip(1).filter_map(|line| line.rsplit(' ').next()).collect();
        let shown = format!("{keys:?}");
        assert!(secrets.iter().all(|secret| !shown.contains(secret)));
        let lines: Vec<&str> = text.lines().collect();
        for other in [
            text.trim_end().to_owned(),
            format!("{}\n", *text),
            text.replace("\n255 ", "\n0255 "),
            text.replace(" 18 ", "  18 "),
            text.replace(" 18 ", " +18 "),
            format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]),
            format!("{}{}\n", *text, lines[1]),
        ] {
            assert_ne!(other, *text);
            match LayerKeys::from_file(&other) {
                Err(error) => assert!(secrets.iter().all(|secret| !error.to_string().contains(secret))),
                Ok(_) => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn a_changed_key_file_is_refused_or_another_key(place in 0_usize..240, byte in 32_u8..127) {
            let text = keys().to_file();
            let mut other = text.to_string().into_bytes();
            let place = place % other.len();
            prop_assume!(other[place] != byte);
            other[place] = byte;
            if let Ok(read) = LayerKeys::from_file(std::str::from_utf8(&other).unwrap()) {
                prop_assert_eq!(&*read.to_file(), std::str::from_utf8(&other).unwrap());
            }
        }
    }
}
