//! What the tests of this crate share: small surveys with all their parties, from fixed seeds.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_wire::survey::{Instance, Parties, Party};
use throng_wire::{
    Approval, KeyList, LayerKeys, LayerSecretKey, Lifetime, Place, SignedSurvey, SigningKey, Survey,
};

/// A signed survey with the keys of its parties.
pub(crate) struct World {
    pub(crate) survey: SignedSurvey,
    pub(crate) layers: BTreeMap<Place, LayerKeys>,
    pub(crate) lists: Vec<KeyList>,
}

/// Signs a survey's text by parties whose layer keys live in the first ten epochs.
pub(crate) fn world(text: &str) -> World {
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let mut survey = Survey::from_toml(text).unwrap();
    let signing: BTreeMap<Place, SigningKey> =
        survey.places().map(|place| (place, SigningKey::generate(rng).unwrap())).collect();
    let party = |place: Place| Party {
        operator: place.to_string(),
        jurisdiction: "CH".into(),
        signing_key: signing[&place].public(),
    };
    let hops = survey.delivery.hops;
    survey.parties = Some(Parties {
        analyzer: Some(party(Place::Analyzer)),
        instances: (1..=survey.delivery.instances)
            .map(|instance| Instance {
                hops: (1..=hops).map(|hop| party(Place::hop(instance, hop))).collect(),
            })
            .collect(),
    });
    let approvals: Vec<_> =
        signing.iter().map(|(&place, key)| Approval::sign(&survey, place, key).unwrap()).collect();
    let survey = SignedSurvey::new(survey, &approvals).unwrap();
    let mut world = World { survey, layers: BTreeMap::new(), lists: Vec::new() };
    for &place in signing.keys() {
        let mut keys = LayerKeys::new();
        let lifetime = Lifetime { first_epoch: 0, last_epoch: 9 };
        keys.add(LayerSecretKey::generate(1, lifetime, rng).unwrap()).unwrap();
        world.lists.push(keys.list(world.survey.hash(), place, 1));
        world.layers.insert(place, keys);
    }
    world
}

pub(crate) const SURVEY: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 40, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// As wide as `SURVEY`.
pub(crate) const RECORD: &str = r#"
version = 1
name = "people"
question = "How old are you, of which sex, and where do you live?"
epoch_s = 86400
encoding = { kind = "record", attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, { name = "county", values = 773 }] }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 40, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

pub(crate) const FRAGMENTED: &str = r#"
version = 1
name = "which-pixel-daily"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "report-fragments", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "open" }
delivery = { instances = 3, hops = 2, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// Under the first label fragments go to all instances, under the second to two of them, under the third to one.
pub(crate) const PROFILES: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 60, cover = "chaff" }
claim = { epsilon_central = 1.5, delta = 1e-6, neighbors = "removal", bound = "exact" }
[labels]
names = ["all", "two", "one"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
profiles = { two = [1, 3], one = [2] }
"#;
