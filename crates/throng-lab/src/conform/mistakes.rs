//! Diagnosis of a layer: made as it should be, or with one or two of the mistakes that are easily made.

use std::collections::BTreeMap;

use rustls::crypto::aws_lc_rs::hpke::{
    DH_KEM_X25519_HKDF_SHA256_AES_128, DH_KEM_X25519_HKDF_SHA256_AES_256,
    DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305,
};
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey};
use throng_wire::{Place, Route, Stop};

use super::rehearsal::{KnownKey, Rehearsal};
use super::verdict::Rule;

/// A layer that opened, and what was not as it should be.
pub(super) struct Reading {
    pub(super) plaintext: Vec<u8>,
    pub(super) enc: Vec<u8>,
    pub(super) mistakes: Vec<(Rule, String)>,
}

/// Opens layers with all keys that there are.
pub(super) struct Reader<'a> {
    rehearsal: &'a Rehearsal,
    route: Route,
    /// What opened the last layer for a stop; `None` where nothing did. A client makes one mistake everywhere.
    found: BTreeMap<u32, Option<Way>>,
}

/// Which choice is made in each of five points: arrangement, suite, key, info, associated data. 0 is as it should be.
type Way = [usize; 5];

/// A choice in one point, and what to say about it unless it is right.
type Choice<T> = (T, Option<String>);

/// How the bytes of a layer are arranged.
struct Parts<'a> {
    id: Option<u8>,
    enc: &'a [u8],
    ciphertext: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(rehearsal: &'a Rehearsal, route: Route) -> Self {
        Self { rehearsal, route, found: BTreeMap::new() }
    }

    /// What is in a layer for a stop, if anything opens it: the right way, or one with as few mistakes as can be.
    pub(super) fn read(&mut self, stop: Stop, layer: &[u8]) -> Option<Reading> {
        let parts = arrangements(layer);
        let keys = self.keys(self.route.place(stop));
        if let Some(way) = self.found.get(&number(stop)) {
            return self.open(&parts, &keys, (*way)?);
        }
        let sizes = [parts.len(), SUITES, keys.len(), INFOS, self.aads(keys.first()?.0, 0).len()];
        for mistakes in 0..=MISTAKES_MAX {
            for way in ways(sizes, mistakes) {
                if let Some(reading) = self.open(&parts, &keys, way) {
                    self.found.insert(number(stop), Some(way));
                    return Some(reading);
                }
            }
        }
        self.found.insert(number(stop), None);
        None
    }

    /// Whether a layer opens as it should, and no questions asked.
    pub(super) fn opens(&self, stop: Stop, layer: &[u8]) -> bool {
        let keys = self.keys(self.route.place(stop));
        self.open(&arrangements(layer), &keys, [0; 5]).is_some()
    }

    fn open(&self, parts: &[Choice<Parts<'_>>], keys: &[Choice<&KnownKey>], way: Way) -> Option<Reading> {
        let (parts, arrangement) = parts.get(way[0])?;
        let (known, sealed_to) = keys.get(way[2])?;
        let (suite, cipher) = suite(way[1]);
        let id = parts.id.unwrap_or(known.key.id);
        let aads = self.aads(known, id);
        let (aad, bound_to) = aads.get(way[4])?;
        let (info, informed) = info(way[3], &aads[0].0);
        let enc = EncapsulatedSecret(parts.enc.to_vec());
        let secret = HpkePrivateKey::from(known.secret.to_vec());
        let plaintext = suite.open(&enc, &info, aad, parts.ciphertext, &secret).ok()?;
        let named = (id != known.key.id)
            .then(|| format!("its first byte names key {id}, and it is sealed to key {}", known.key.id));
        let seal = [arrangement.clone(), cipher, informed, bound_to.clone(), named];
        let mut mistakes: Vec<_> = seal.into_iter().flatten().map(|what| (Rule::Seal, what)).collect();
        mistakes.extend(sealed_to.clone().map(|what| (Rule::Key, what)));
        Some(Reading { plaintext, enc: parts.enc.to_vec(), mistakes })
    }

    /// All keys, the right one first.
    fn keys(&self, place: Place) -> Vec<Choice<&'a KnownKey>> {
        let epoch = self.route.epoch;
        let wanted = self.rehearsal.key_for(place, epoch);
        let mut keys: Vec<Choice<&KnownKey>> = Vec::new();
        for known in self.rehearsal.keys() {
            let (id, lifetime) = (known.key.id, known.key.lifetime);
            if known.place == place && Some(&known.key) == wanted {
                keys.insert(0, (known, None));
            } else if known.place == place {
                let wanted = wanted.map_or(0, |wanted| wanted.id);
                let what = format!(
                    "it is sealed to key {id} of {place}, for epochs {} to {}: of the keys for epoch {epoch} take the one with \
                     the highest first_epoch, in the list with the highest serial; that is key {wanted} (section 3)",
                    lifetime.first_epoch, lifetime.last_epoch
                );
                keys.push((known, Some(what)));
            } else {
                let what = format!(
                    "it is sealed for {} and not for {place}: are the layers in the right order? (section 5)",
                    known.place
                );
                keys.push((known, Some(what)));
            }
        }
        keys
    }

    /// The associated data of a layer that is sealed to a key under an id, the right one first.
    fn aads(&self, known: &KnownKey, id: u8) -> Vec<Choice<Vec<u8>>> {
        let Route { survey, label, epoch, instance } = self.route;
        let hop = match known.place {
            Place::Analyzer => 0,
            Place::Hop { hop, .. } => hop,
        };
        let delivery = &self.rehearsal.survey().survey().delivery;
        let hash = survey.as_bytes();
        let aad = |label: u32, epoch: u64, instance: u32, hop: u32, id: u8| {
            let (label, epoch, instance, hop) =
                (label.to_be_bytes(), epoch.to_be_bytes(), instance.to_be_bytes(), hop.to_be_bytes());
            [&hash[..], &label, &epoch, &instance, &hop, &[id]].concat()
        };
        let good = aad(label, epoch, instance, hop, id);
        let says = |what: String| Some(format!("its associated data {what} (section 4)"));
        let mut all = vec![(good.clone(), None)];
        all.push((
            Vec::new(),
            says("is empty: HPKE takes info and associated data, and here both are needed".into()),
        ));
        all.push((INFO.to_vec(), says("is what should be the info: the two are different arguments".into())));
        all.push((good[..52].to_vec(), says("ends before the key id: it has 53 bytes".into())));
        let epochs = [epoch.wrapping_sub(1), epoch + 1, 0, epoch * self.rehearsal.survey().survey().epoch_s];
        for other in epochs {
            all.push((aad(label, other, instance, hop, id), says(format!("has epoch {other}, not {epoch}"))));
        }
        for other in (0..=delivery.instances + 1).filter(|&other| other != instance) {
            let what = format!("has instance {other}, not {instance}: they count from 1");
            all.push((aad(label, epoch, other, hop, id), says(what)));
        }
        for other in (0..=delivery.hops + 1).filter(|&other| other != hop) {
            let what = format!("has hop {other}, not {hop}: hops count from 1, and 0 is the analyzer");
            all.push((aad(label, epoch, instance, other, id), says(what)));
        }
        for other in [0, 1, 2, 7, 9].into_iter().filter(|&other| other != id) {
            let what = format!("has key id {other}, not {id}");
            all.push((aad(label, epoch, instance, hop, other), says(what)));
        }
        all.push((
            aad(1, epoch, instance, hop, id),
            says("has label 1, and the survey has no labels: it is 0".into()),
        ));
        all.push((aad(label, epoch, hop, instance, id), says("has the hop before the instance".into())));
        let text = [survey.to_string().as_bytes(), &good[32..]].concat();
        all.push((text, says("has the survey's hash as text: it is 32 bytes".into())));
        let little = [
            &hash[..],
            &label.to_le_bytes(),
            &epoch.to_le_bytes(),
            &instance.to_le_bytes(),
            &hop.to_le_bytes(),
            &[id],
        ];
        all.push((little.concat(), says("has little-endian numbers: they are big-endian".into())));
        let short = [&good[..36], &good[40..]].concat();
        all.push((short, says("has an epoch of 4 bytes: it has 8".into())));
        all.push(([&[0; 32], &good[32..]].concat(), says("has zeros for the survey's hash".into())));
        all
    }
}

/// The bytes of a layer, as they should be and as they might be.
fn arrangements(layer: &[u8]) -> Vec<Choice<Parts<'_>>> {
    let mut all = Vec::new();
    if let Some((&id, rest)) = layer.split_first()
        && let Some((enc, ciphertext)) = rest.split_at_checked(ENC_LEN)
        && let Some((early, late)) = rest.split_at_checked(rest.len().saturating_sub(ENC_LEN))
    {
        all.push((Parts { id: Some(id), enc, ciphertext }, None));
        let what = "the encapsulated key stands after the ciphertext: it belongs before it (section 4)";
        all.push((Parts { id: Some(id), enc: late, ciphertext: early }, Some(what.to_owned())));
    }
    if let Some((enc, ciphertext)) = layer.split_at_checked(ENC_LEN) {
        let what = "it has no key id before the encapsulated key (section 4)";
        all.push((Parts { id: None, enc, ciphertext }, Some(what.to_owned())));
    }
    all
}

fn suite(choice: usize) -> (&'static dyn Hpke, Option<String>) {
    let wrong = |name| Some(format!("it is sealed with {name}: the AEAD is AES-128-GCM (section 4)"));
    match choice {
        0 => (DH_KEM_X25519_HKDF_SHA256_AES_128, None),
        1 => (DH_KEM_X25519_HKDF_SHA256_AES_256, wrong("AES-256-GCM")),
        _ => (DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305, wrong("ChaCha20Poly1305")),
    }
}

fn info(choice: usize, aad: &[u8]) -> (Vec<u8>, Option<String>) {
    let wrong = |what| Some(format!("its HPKE info {what}: it is \"throng-v1 layer\" (section 4)"));
    match choice {
        0 => (INFO.to_vec(), None),
        1 => (Vec::new(), wrong("is empty")),
        2 => (aad.to_vec(), wrong("is what should be the associated data")),
        3 => (b"throng-v1 layer\0".to_vec(), wrong("ends with a zero byte")),
        _ => (b"throng-v1".to_vec(), wrong("is \"throng-v1\"")),
    }
}

/// All ways with exactly `mistakes` mistakes.
fn ways(sizes: [usize; 5], mistakes: usize) -> Vec<Way> {
    let mut all: Vec<(Way, usize)> = vec![([0; 5], 0)];
    for (point, size) in sizes.into_iter().enumerate() {
        let before = all.clone();
        for choice in 1..size {
            all.extend(before.iter().filter(|way| way.1 < mistakes).map(|&(mut way, made)| {
                way[point] = choice;
                (way, made + 1)
            }));
        }
    }
    all.into_iter().filter(|way| way.1 == mistakes).map(|way| way.0).collect()
}

fn number(stop: Stop) -> u32 {
    match stop {
        Stop::Hop(hop) => hop,
        Stop::Analyzer => 0,
    }
}

const INFO: &[u8] = b"throng-v1 layer";
const ENC_LEN: usize = 32;
const SUITES: usize = 3;
const INFOS: usize = 5;
/// With more, too much would have to be tried.
const MISTAKES_MAX: usize = 2;
