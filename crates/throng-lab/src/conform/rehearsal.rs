//! A tiny survey, with the private keys of all its parties.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use getrandom::rand_core::CryptoRng;
use serde_json::json;
use throng_wire::survey::{Instance, Parties, Party};
use throng_wire::{
    Address, Approval, Credential, Digest, KeyList, LayerKey, LayerKeys, LayerSecretKey, Lifetime, Place,
    Signed, SignedSurvey, SigningKey, Survey,
};

/// How large it is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Instances.
    pub instances: u32,
    /// Hops of each.
    pub hops: u32,
    /// The length of an epoch.
    pub epoch_s: u64,
}

/// Where a first hop answers.
#[derive(Clone, Debug)]
pub struct Door {
    /// As its address has it.
    pub url: String,
    /// The hash of its certificate, with TLS.
    pub certificate: Option<Digest>,
}

/// A key of a party, with its private part.
pub(super) struct KnownKey {
    pub(super) place: Place,
    pub(super) key: LayerKey,
    pub(super) secret: [u8; 32],
}

/// A survey that nobody is to answer in earnest: all its keys are known.
pub struct Rehearsal {
    survey: SignedSurvey,
    signing: BTreeMap<Place, SigningKey>,
    keys: Vec<KnownKey>,
    lists: Vec<KeyList>,
    credential: Credential,
    files: Vec<(&'static str, String)>,
}

impl std::fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rehearsal(survey {})", self.survey.hash())
    }
}

impl Rehearsal {
    /// A survey of this shape whose first hops are behind these doors, with keys from `epoch` on.
    pub fn new(
        shape: Shape,
        doors: &[Door],
        epoch: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let mut draft = Survey::from_toml(&text(shape))?;
        let mut signing = BTreeMap::new();
        for place in draft.places() {
            signing.insert(place, SigningKey::generate(rng)?);
        }
        let party = |place: Place| Party {
            operator: format!("Rehearsal, {place}"),
            jurisdiction: "none".into(),
            signing_key: signing[&place].public(),
        };
        let hops = |instance| (1..=shape.hops).map(|hop| party(Place::hop(instance, hop))).collect();
        draft.parties = Some(Parties {
            analyzer: Some(party(Place::Analyzer)),
            instances: (1..=shape.instances).map(|instance| Instance { hops: hops(instance) }).collect(),
        });
        let approvals = signing.iter().map(|(&place, key)| Approval::sign(&draft, place, key));
        let approvals = approvals.collect::<Result<Vec<Signed<Approval>>, _>>()?;
        let (toml, json) = (draft.to_toml()?, draft.canonical()?);
        let survey = SignedSurvey::new(draft, &approvals)?;

        let (mut keys, mut lists, mut published, mut addresses) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        for (&place, signer) in &signing {
            let mut layers = LayerKeys::new();
            for (serial, chosen) in [(1, &KEYS[..1]), (2, &KEYS[1..])] {
                for &(id, before, first, last) in chosen {
                    let first_epoch = epoch.saturating_sub(before) + first;
                    let lifetime = Lifetime { first_epoch, last_epoch: epoch + last };
                    let mut secret = [0; 32];
                    rng.fill_bytes(&mut secret);
                    let key = LayerSecretKey::from_bytes(id, lifetime, &secret)?;
                    keys.push(KnownKey { place, key: *key.key(), secret });
                    layers.add(key)?;
                }
                // The first list is out of date, and stays in the file, as it should.
                let list = layers.list(survey.hash(), place, serial);
                published += &Signed::new(list.clone(), signer)?.to_text();
                if serial == 2 {
                    lists.push(list);
                }
            }
            if let Place::Hop { instance, hop: 1 } = place {
                let Door { url, certificate } =
                    doors.get(instance as usize - 1).context("every first hop has a door")?.clone();
                let address = Address { survey: survey.hash(), party: place, serial: 1, url, certificate };
                addresses += &Signed::new(address, signer)?.to_text();
            }
        }
        let known: Vec<_> = keys.iter().map(listed).collect();
        let files = vec![
            ("survey.signatures", approvals.iter().map(Signed::to_text).collect()),
            ("survey.addresses", addresses),
            ("survey.keys", published),
            ("survey.json", json),
            ("layer-keys.json", serde_json::to_string_pretty(&known)? + "\n"),
            ("survey.toml", toml),
        ];
        Ok(Self { survey, signing, keys, lists, credential: Credential::generate(rng), files })
    }

    /// The survey.
    pub fn survey(&self) -> &SignedSurvey {
        &self.survey
    }

    /// The files to publish, by name.
    pub fn files(&self) -> &[(&'static str, String)] {
        &self.files
    }

    /// The credential of the one respondent.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    pub(super) fn signing(&self, place: Place) -> &SigningKey {
        &self.signing[&place]
    }

    pub(super) fn keys(&self) -> &[KnownKey] {
        &self.keys
    }

    /// The key of a party to seal to in an epoch.
    pub(super) fn key_for(&self, place: Place, epoch: u64) -> Option<&LayerKey> {
        self.lists.iter().find(|list| list.party == place)?.key_for(epoch).ok()
    }
}

/// The survey without its parties. Some of it is hard to write as canonical JSON. No instance can get more fragments than its
/// bodies have envelopes, and the claim is what the local floor gives anyway.
fn text(shape: Shape) -> String {
    let Shape { instances, hops, epoch_s } = shape;
    let envelopes = DOMAIN.div_ceil(instances) + 1;
    format!(
        r#"
version = 1
name = "rehearsal"
question = "Which of these do you like best: \"é\", \\, €, \uFB33 or 😀?"
epoch_s = {epoch_s}
encoding = {{ kind = "one-hot", domain = {DOMAIN} }}
randomizer = {{ kind = "attribute-fragments", epsilon_local = 2.0 }}
crowd = {{ respondents_min = 100, honest_fraction = 1.0, enrolment = "credential" }}
delivery = {{ instances = {instances}, hops = {hops}, envelopes = {envelopes}, cover = "chaff" }}
claim = {{ epsilon_central = 2.5, delta = 1e-7, neighbors = "removal", bound = "exact" }}
"#
    )
}

fn listed(known: &KnownKey) -> serde_json::Value {
    let secret: String = known.secret.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "party": known.place.to_string(),
        "id": known.key.id,
        "first_epoch": known.key.lifetime.first_epoch,
        "last_epoch": known.key.lifetime.last_epoch,
        "public": known.key.public.to_string(),
        "secret": secret,
    })
}

const DOMAIN: u32 = 8;

/// Id, how many epochs before now and after now it begins, and when it ends: one from an older list that is still good, the
/// one to seal to, and one for later.
const KEYS: [(u8, u64, u64, u64); 3] = [(7, 20, 0, 100_000), (2, 2, 0, 200_000), (9, 0, 50_000, 300_000)];
