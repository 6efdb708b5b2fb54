//! A small survey with all its parties and their files, and first hops in memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_host::clock::Clock;
use throng_respondent::{SendError, Transport};
use throng_wire::receipt::time_bucket;
use throng_wire::{
    Address, AnalyzerContent, Credential, Digest, HopContent, KeyList, LayerKeys, Lifetime, Place, Receipt,
    ReceiptTree, Route, Signed, SignedReceipt, SignedSurvey, SigningKey, Stop, Survey, Token, peel,
};

use crate::wire;

/// A survey with its parties' private keys, and its files in a directory.
pub struct World {
    /// Signed by all parties.
    pub survey: SignedSurvey,
    /// Their signing keys.
    pub signing: BTreeMap<Place, SigningKey>,
    /// Their layer keys.
    pub layers: BTreeMap<Place, LayerKeys>,
    /// What they publish of them.
    pub lists: Vec<Signed<KeyList>>,
    /// Where the survey's TOML is; the other files are beside it.
    pub file: PathBuf,
}

/// One epoch is an hour. Layer keys live in the first hundred epochs.
pub const EPOCH_MS: u64 = 3_600_000;

const LIFETIME: Lifetime = Lifetime { first_epoch: 0, last_epoch: 99 };

pub use crate::survey::hourly::{FRAGMENTED, ONE_HOT, RECORD, SKETCHED};

impl World {
    /// Signs a survey and writes its files into a directory.
    pub fn new(text: &str, folder: &Path) -> Self {
        Self::with_keys(text, LIFETIME, folder)
    }

    /// The same with layer keys for other epochs.
    pub fn with_keys(text: &str, lifetime: Lifetime, folder: &Path) -> Self {
        let world = wire::World::with_keys(Survey::from_toml(text).unwrap(), lifetime);
        let wire::World { survey, approvals, signing, layers, lists } = world;
        let toml = survey.survey().to_toml().unwrap();
        let mut addresses = String::new();
        for (&place, key) in &signing {
            let url = format!("https://{place}.test");
            let certificate = Some(Digest::of(place.to_string().as_bytes()));
            let address = Address { survey: survey.hash(), party: place, serial: 1, url, certificate };
            addresses += &Signed::new(address, key).unwrap().to_text();
        }
        let sign = |list: KeyList| {
            let key = &signing[&list.party];
            Signed::new(list, key).unwrap()
        };
        let lists: Vec<Signed<KeyList>> = lists.into_iter().map(sign).collect();
        let file = folder.join("survey.toml");
        fs::write(&file, toml).unwrap();
        let text: String = approvals.iter().map(Signed::to_text).collect();
        fs::write(file.with_extension("signatures"), text).unwrap();
        fs::write(file.with_extension("addresses"), addresses).unwrap();
        let text: String = lists.iter().map(Signed::to_text).collect();
        fs::write(file.with_extension("keys"), text).unwrap();
        let credential = folder.join("credential");
        fs::write(&credential, Credential::generate(&mut ChaCha20Rng::from_seed([6; 32])).to_file().as_str())
            .unwrap();
        fs::set_permissions(&credential, fs::Permissions::from_mode(0o600)).unwrap();
        Self { survey, signing, layers, lists, file }
    }

    /// The attributes that the analyzer finds in a body.
    pub fn open(&self, route: &Route, body: &[u8]) -> Vec<u32> {
        let survey = self.survey.survey();
        let layout = throng_wire::Layout::of(survey);
        let hop = |hop| &self.layers[&Place::hop(route.instance, hop)];
        let envelopes = peel::open_body(route, &layout, hop(1), body).unwrap();
        let mut attributes = Vec::new();
        for envelope in envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2))) {
            if let HopContent::Envelope(inner) = peel::peel(route, &layout, 2, hop(2), envelope).unwrap() {
                let analyzer = &self.layers[&Place::Analyzer];
                let opened =
                    peel::open_fragment(route, &layout, survey.attributes(), analyzer, &inner).unwrap();
                if let AnalyzerContent::Fragment(fragment) = opened {
                    attributes.push(fragment.attribute());
                }
            }
        }
        attributes.sort_unstable();
        attributes
    }

    /// What hop 1 signs for a body.
    pub fn receipt(&self, route: &Route, body: &[u8], now_ms: u64) -> SignedReceipt {
        let bucket = time_bucket(self.survey.survey(), now_ms / 1000);
        let receipt = Receipt { route: *route, body: Digest::of(body), time_bucket: bucket };
        signed(receipt, &self.signing[&Place::hop(route.instance, 1)])
    }
}

/// A clock that goes on when someone waits.
pub struct TestClock(pub Cell<u64>);

impl TestClock {
    /// A clock that shows this.
    pub fn at(now_ms: u64) -> Self {
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
pub struct ObservedUpload {
    /// When.
    pub at_ms: u64,
    /// Where it was sent.
    pub url: String,
    /// On which route.
    pub route: Route,
    /// The name of its token.
    pub token: Digest,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// What a hop does with one body.
pub type Behaviour<'a> = dyn Fn(&World, &ObservedUpload, usize) -> Result<Vec<u8>, SendError> + 'a;

/// First hops in memory: they remember what they saw, and answer as they are told to.
pub struct Hops<'a> {
    /// Whose hops they are.
    pub world: &'a World,
    /// What time it is for them.
    pub clock: &'a TestClock,
    /// All that they saw.
    pub seen: RefCell<Vec<ObservedUpload>>,
    /// What they do.
    pub behaviour: Box<Behaviour<'a>>,
}

impl<'a> Hops<'a> {
    /// Hops that take everything.
    pub fn honest(world: &'a World, clock: &'a TestClock) -> Self {
        Self::with(world, clock, |world, seen, _| Ok(receipt(world, seen)))
    }

    /// Hops that do something else; the number is how many bodies they saw before.
    pub fn with(
        world: &'a World,
        clock: &'a TestClock,
        behaviour: impl Fn(&World, &ObservedUpload, usize) -> Result<Vec<u8>, SendError> + 'a,
    ) -> Self {
        Self { world, clock, seen: RefCell::default(), behaviour: Box::new(behaviour) }
    }

    /// The bodies that they saw, each once, with its instance.
    pub fn bodies(&self) -> Vec<(u32, Vec<u8>)> {
        let seen = self.seen.borrow();
        let mut bodies: Vec<_> = seen.iter().map(|seen| (seen.route.instance, seen.body.clone())).collect();
        bodies.sort();
        bodies.dedup();
        bodies
    }
}

/// A receipt in a tree of its own.
pub fn signed(receipt: Receipt, key: &SigningKey) -> SignedReceipt {
    ReceiptTree::new(vec![receipt], &mut ChaCha20Rng::from_seed([8; 32])).sign(key).receipt(0)
}

/// The receipt that an honest hop gives.
pub fn receipt(world: &World, seen: &ObservedUpload) -> Vec<u8> {
    world.receipt(&seen.route, &seen.body, seen.at_ms).to_bytes()
}

impl Transport for Hops<'_> {
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError> {
        let (url, body) = (to.url.clone(), body.to_vec());
        let seen = ObservedUpload { at_ms: self.clock.now_ms(), url, route: *route, token: token.id(), body };
        let before = self.seen.borrow().len();
        self.seen.borrow_mut().push(seen.clone());
        (self.behaviour)(self.world, &seen, before)
    }
}
