//! A small survey with all its parties, from fixed seeds. The same everywhere, so that tests can share it.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_wire::survey::{Cover, Instance, Parties, Party};
use throng_wire::{
    Approval, KeyList, LayerKeys, LayerSecretKey, Lifetime, Path, Place, Route, Signed, SignedSurvey,
    SigningKey, Survey,
};

use crate::survey;

/// The first epoch in which the first layer keys are valid; the second ones overlap them from 108 on.
pub const EPOCH: u64 = 100;

/// A survey with its parties' private keys.
pub struct World {
    /// Signed by all parties.
    pub survey: SignedSurvey,
    /// Their signatures.
    pub approvals: Vec<Signed<Approval>>,
    /// Their signing keys.
    pub signing: BTreeMap<Place, SigningKey>,
    /// Their layer keys.
    pub layers: BTreeMap<Place, LayerKeys>,
    /// What they publish of them.
    pub lists: Vec<KeyList>,
}

/// What distinguishes one world from another.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Instances.
    pub instances: u32,
    /// Hops of each.
    pub hops: u32,
    /// Envelopes of a body.
    pub envelopes: u32,
    /// Whether bodies are filled up.
    pub cover: Cover,
    /// Whether there are two labels.
    pub labels: bool,
    /// Fragments under the second label go to instance 1 alone.
    pub profiles: bool,
    /// How many make a crowd.
    pub respondents_min: u64,
}

/// Three instances of two hops, without labels.
pub const SHAPE: Shape = Shape {
    instances: 3,
    hops: 2,
    envelopes: 4,
    cover: Cover::Chaff,
    labels: false,
    profiles: false,
    respondents_min: 3000,
};

impl World {
    /// A world of this shape.
    pub fn new(shape: Shape) -> Self {
        Self::of(draft(shape))
    }

    /// With the parties of a draft that has none.
    pub fn of(draft: Survey) -> Self {
        let lifetime = Lifetime { first_epoch: EPOCH, last_epoch: EPOCH + 9 };
        Self::with(draft, lifetime, |keys, rng| keys.rotate(10, 2, rng).map(drop).unwrap())
    }

    /// The same with one layer key of each party, which has this lifetime.
    pub fn with_keys(draft: Survey, lifetime: Lifetime) -> Self {
        Self::with(draft, lifetime, |_, _| ())
    }

    fn with(mut draft: Survey, lifetime: Lifetime, more: impl Fn(&mut LayerKeys, &mut ChaCha20Rng)) -> Self {
        let (instances, hops) = (draft.delivery.instances, draft.delivery.hops);
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        let places: Vec<Place> = draft.places().collect();
        let signing: BTreeMap<Place, SigningKey> =
            places.iter().map(|&place| (place, SigningKey::generate(rng).unwrap())).collect();
        let party = |place: Place| Party {
            operator: format!("Operator of {place}"),
            jurisdiction: "CH".into(),
            signing_key: signing[&place].public(),
        };
        draft.parties = Some(Parties {
            analyzer: Some(party(Place::Analyzer)),
            instances: (1..=instances)
                .map(|instance| Instance {
                    hops: (1..=hops).map(|hop| party(Place::Hop { instance, hop })).collect(),
                })
                .collect(),
        });
        let approvals: Vec<_> =
            places.iter().map(|&place| Approval::sign(&draft, place, &signing[&place]).unwrap()).collect();
        let survey = SignedSurvey::new(draft, &approvals).unwrap();
        let mut layers = BTreeMap::new();
        let mut lists = Vec::new();
        for place in places {
            let mut keys = LayerKeys::new();
            keys.add(LayerSecretKey::generate(1, lifetime, rng).unwrap()).unwrap();
            more(&mut keys, rng);
            lists.push(keys.list(survey.hash(), place, 1));
            layers.insert(place, keys);
        }
        Self { survey, approvals, signing, layers, lists }
    }

    /// The path of an answer.
    pub fn path(&self, label: u32, epoch: u64, instance: u32) -> Path {
        Path::new(&self.survey, label, epoch, instance, &self.lists).unwrap()
    }

    /// The first epoch of instance 1, without a label.
    pub fn route(&self) -> Route {
        Route { survey: self.survey.hash(), label: 0, epoch: EPOCH, instance: 1 }
    }

    /// The layer keys of a hop.
    pub fn keys(&self, instance: u32, hop: u32) -> &LayerKeys {
        &self.layers[&Place::Hop { instance, hop }]
    }
}

/// The survey of a shape, which has no parties yet.
pub fn draft(shape: Shape) -> Survey {
    let Shape { instances, hops, envelopes, respondents_min, .. } = shape;
    let cover = if shape.cover == Cover::Chaff { "chaff" } else { "none" };
    let crowd = format!(
        "{{ respondents_min = {respondents_min}, honest_fraction = 0.9, enrolment = \"credential\" }}"
    );
    let delivery =
        format!("{{ instances = {instances}, hops = {hops}, envelopes = {envelopes}, cover = \"{cover}\" }}");
    let mut text = survey::with(survey::SURVEY, &[("crowd", &crowd), ("delivery", &delivery)]);
    if shape.labels {
        text += "[labels]\nnames = [\"de\", \"fr\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\n";
    }
    if shape.profiles {
        text += "profiles = { fr = [1] }\n";
    }
    Survey::from_toml(&text).unwrap()
}
