//! A small survey with all its parties and their files, and first hops in memory.

#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_respondent::{Clock, SendError, Transport};
use throng_wire::receipt::time_bucket;
use throng_wire::survey::{Instance, Parties, Party};
use throng_wire::{
    Address, Approval, Credential, Digest, KeyList, LayerKeys, LayerSecretKey, Lifetime, Opened, Peeled,
    Place, Receipt, ReceiptTree, Route, Signed, SignedReceipt, SignedSurvey, SigningKey, Stop, Survey, Token,
    peel,
};

/// A survey with its parties' private keys, and its files in a directory.
pub(crate) struct World {
    pub(crate) survey: SignedSurvey,
    pub(crate) signing: BTreeMap<Place, SigningKey>,
    pub(crate) layers: BTreeMap<Place, LayerKeys>,
    pub(crate) lists: Vec<Signed<KeyList>>,
    pub(crate) file: PathBuf,
}

/// One epoch is an hour. Layer keys live in the first hundred epochs.
pub(crate) const EPOCH_MS: u64 = 3_600_000;

pub(crate) const ONE_HOT: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 3600
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 40, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

pub(crate) const FRAGMENTED: &str = r#"
version = 1
name = "which-pixel-hourly"
question = "Which pixel of the drawing do you hold?"
epoch_s = 3600
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "report-fragments", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "open" }
delivery = { instances = 3, hops = 2, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// Records of three attributes, behind a backstop.
pub(crate) const RECORD: &str = r#"
version = 1
name = "people"
question = "How old are you, of which sex, and where do you live?"
epoch_s = 3600
encoding = { kind = "record", attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, { name = "county", values = 773 }] }
randomizer = { kind = "report-fragments", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "open" }
delivery = { instances = 3, hops = 2, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// A domain so large that a value does not come up by accident.
pub(crate) const SKETCHED: &str = r#"
version = 1
name = "which-word"
question = "Which word did you miss?"
epoch_s = 3600
encoding = { kind = "sketch", domain = 1000000000000, rows = 16, cells = 256, seed = 1 }
randomizer = { kind = "report-fragments", epsilon_backstop = 4.5, epsilon_fragment = 3.5, fragments = 3 }
crowd = { respondents_min = 1000000, honest_fraction = 1.0, enrolment = "open" }
delivery = { instances = 3, hops = 2, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 2.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

impl World {
    /// Signs a survey and writes its files into a directory.
    pub(crate) fn new(text: &str, folder: &Path) -> Self {
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        let mut survey = Survey::from_toml(text).unwrap();
        let signing: BTreeMap<Place, SigningKey> =
            survey.places().map(|place| (place, SigningKey::generate(rng).unwrap())).collect();
        let party = |place: Place| Party {
            operator: format!("Operator of {place}"),
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
        let approvals: Vec<Signed<Approval>> =
            signing.iter().map(|(&place, key)| Approval::sign(&survey, place, key).unwrap()).collect();
        let toml = survey.to_toml().unwrap();
        let survey = SignedSurvey::new(survey, &approvals).unwrap();
        let (mut layers, mut lists, mut addresses) = (BTreeMap::new(), Vec::new(), String::new());
        for (&place, key) in &signing {
            let mut keys = LayerKeys::new();
            let lifetime = Lifetime { first_epoch: 0, last_epoch: 99 };
            keys.add(LayerSecretKey::generate(1, lifetime, rng).unwrap()).unwrap();
            lists.push(Signed::new(keys.list(survey.hash(), place, 1), key).unwrap());
            layers.insert(place, keys);
            let url = format!("https://{place}.test");
            let certificate = Some(Digest::of(place.to_string().as_bytes()));
            let address = Address { survey: survey.hash(), party: place, serial: 1, url, certificate };
            addresses += &Signed::new(address, key).unwrap().to_text();
        }
        let file = folder.join("survey.toml");
        fs::write(&file, toml).unwrap();
        let text: String = approvals.iter().map(Signed::to_text).collect();
        fs::write(file.with_extension("signatures"), text).unwrap();
        fs::write(file.with_extension("addresses"), addresses).unwrap();
        let text: String = lists.iter().map(Signed::to_text).collect();
        fs::write(file.with_extension("keys"), text).unwrap();
        let credential = folder.join("credential");
        fs::write(&credential, Credential::generate(rng).to_file().as_str()).unwrap();
        fs::set_permissions(&credential, fs::Permissions::from_mode(0o600)).unwrap();
        Self { survey, signing, layers, lists, file }
    }

    /// The attributes that the analyzer finds in a body.
    pub(crate) fn open(&self, route: &Route, body: &[u8]) -> Vec<u32> {
        let survey = self.survey.survey();
        let layout = throng_wire::Layout::of(survey);
        let hop = |hop| &self.layers[&Place::hop(route.instance, hop)];
        let envelopes = peel::open_body(route, &layout, hop(1), body).unwrap();
        let mut attributes = Vec::new();
        for envelope in envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2))) {
            if let Peeled::Envelope(inner) = peel::peel(route, &layout, 2, hop(2), envelope).unwrap() {
                let analyzer = &self.layers[&Place::Analyzer];
                let opened =
                    peel::open_fragment(route, &layout, survey.attributes(), analyzer, &inner).unwrap();
                if let Opened::Fragment(fragment) = opened {
                    attributes.push(fragment.attribute());
                }
            }
        }
        attributes.sort_unstable();
        attributes
    }

    /// What hop 1 signs for a body.
    pub(crate) fn receipt(&self, route: &Route, body: &[u8], now_ms: u64) -> SignedReceipt {
        let bucket = time_bucket(self.survey.survey(), now_ms / 1000);
        let receipt = Receipt { route: *route, body: Digest::of(body), time_bucket: bucket };
        signed(receipt, &self.signing[&Place::hop(route.instance, 1)])
    }
}

/// A clock that goes on when someone waits.
pub(crate) struct TestClock(pub(crate) Cell<u64>);

impl TestClock {
    pub(crate) fn at(now_ms: u64) -> Self {
        Self(Cell::new(now_ms))
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.get()
    }

    fn sleep_ms(&self, ms: u64) {
        self.0.set(self.0.get() + ms);
    }
}

/// One body as a first hop saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) at_ms: u64,
    pub(crate) url: String,
    pub(crate) route: Route,
    pub(crate) token: Digest,
    pub(crate) body: Vec<u8>,
}

/// What a hop does with one body.
pub(crate) type Behaviour<'a> = dyn Fn(&World, &Seen, usize) -> Result<Vec<u8>, SendError> + 'a;

/// First hops in memory: they remember what they saw, and answer as they are told to.
pub(crate) struct Hops<'a> {
    pub(crate) world: &'a World,
    pub(crate) clock: &'a TestClock,
    pub(crate) seen: RefCell<Vec<Seen>>,
    pub(crate) behaviour: Box<Behaviour<'a>>,
}

impl<'a> Hops<'a> {
    /// Hops that take everything.
    pub(crate) fn honest(world: &'a World, clock: &'a TestClock) -> Self {
        Self::with(world, clock, |world, seen, _| Ok(receipt(world, seen)))
    }

    /// Hops that do something else; the number is how many bodies they saw before.
    pub(crate) fn with(
        world: &'a World,
        clock: &'a TestClock,
        behaviour: impl Fn(&World, &Seen, usize) -> Result<Vec<u8>, SendError> + 'a,
    ) -> Self {
        Self { world, clock, seen: RefCell::default(), behaviour: Box::new(behaviour) }
    }

    pub(crate) fn bodies(&self) -> Vec<(u32, Vec<u8>)> {
        let seen = self.seen.borrow();
        let mut bodies: Vec<_> = seen.iter().map(|seen| (seen.route.instance, seen.body.clone())).collect();
        bodies.sort();
        bodies.dedup();
        bodies
    }
}

/// A receipt in a tree of its own.
pub(crate) fn signed(receipt: Receipt, key: &SigningKey) -> SignedReceipt {
    ReceiptTree::new(vec![receipt], &mut ChaCha20Rng::from_seed([8; 32])).sign(key).receipt(0)
}

pub(crate) fn receipt(world: &World, seen: &Seen) -> Vec<u8> {
    world.receipt(&seen.route, &seen.body, seen.at_ms).to_bytes()
}

impl Transport for Hops<'_> {
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError> {
        let (url, body) = (to.url.clone(), body.to_vec());
        let seen = Seen { at_ms: self.clock.now_ms(), url, route: *route, token: token.id(), body };
        let before = self.seen.borrow().len();
        self.seen.borrow_mut().push(seen.clone());
        (self.behaviour)(self.world, &seen, before)
    }
}
