//! A small survey with all its parties, from fixed seeds. The same everywhere, so that tests can share it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_wire::survey::{Cover, Instance, Parties, Party};
use throng_wire::{
    Approval, KeyList, LayerKeys, LayerSecretKey, Lifetime, Path, Place, Route, Signed, SignedSurvey,
    SigningKey, Survey,
};

/// The first epoch in which the first layer keys are valid; the second ones overlap them from 108 on.
pub(crate) const EPOCH: u64 = 100;

/// A survey with its parties' private keys.
pub(crate) struct World {
    pub(crate) survey: SignedSurvey,
    pub(crate) approvals: Vec<Signed<Approval>>,
    pub(crate) signing: BTreeMap<Place, SigningKey>,
    pub(crate) layers: BTreeMap<Place, LayerKeys>,
    pub(crate) lists: Vec<KeyList>,
}

/// What distinguishes one world from another.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) instances: u32,
    pub(crate) hops: u32,
    pub(crate) envelopes: u32,
    pub(crate) cover: Cover,
    pub(crate) labels: bool,
    /// Fragments under the second label go to instance 1 alone.
    pub(crate) profiles: bool,
    pub(crate) respondents_min: u64,
}

pub(crate) const SHAPE: Shape = Shape {
    instances: 3,
    hops: 2,
    envelopes: 4,
    cover: Cover::Chaff,
    labels: false,
    profiles: false,
    respondents_min: 3000,
};

impl World {
    pub(crate) fn new(shape: Shape) -> Self {
        Self::of(draft(shape))
    }

    /// With the parties of a draft that has none.
    pub(crate) fn of(mut draft: Survey) -> Self {
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
            let lifetime = Lifetime { first_epoch: EPOCH, last_epoch: EPOCH + 9 };
            keys.add(LayerSecretKey::generate(1, lifetime, rng).unwrap()).unwrap();
            keys.rotate(10, 2, rng).unwrap();
            lists.push(keys.list(survey.hash(), place, 1));
            layers.insert(place, keys);
        }
        Self { survey, approvals, signing, layers, lists }
    }

    pub(crate) fn path(&self, label: u32, epoch: u64, instance: u32) -> Path {
        Path::new(&self.survey, label, epoch, instance, &self.lists).unwrap()
    }

    pub(crate) fn route(&self) -> Route {
        Route { survey: self.survey.hash(), label: 0, epoch: EPOCH, instance: 1 }
    }

    pub(crate) fn keys(&self, instance: u32, hop: u32) -> &LayerKeys {
        &self.layers[&Place::Hop { instance, hop }]
    }
}

pub(crate) fn draft(shape: Shape) -> Survey {
    let labels = if shape.labels {
        "[labels]\nnames = [\"de\", \"fr\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\n"
    } else {
        ""
    };
    let profiles = if shape.profiles { "profiles = { fr = [1] }\n" } else { "" };
    let cover = if shape.cover == Cover::Chaff { "chaff" } else { "none" };
    let text = format!(
        r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = {{ kind = "one-hot", domain = 784 }}
randomizer = {{ kind = "attribute-fragments", epsilon_local = 5.25 }}
crowd = {{ respondents_min = {}, honest_fraction = 0.9, enrolment = "credential" }}
claim = {{ epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }}
[delivery]
instances = {}
hops = {}
envelopes = {}
cover = "{cover}"
{labels}{profiles}"#,
        shape.respondents_min, shape.instances, shape.hops, shape.envelopes
    );
    Survey::from_toml(&text).unwrap()
}
