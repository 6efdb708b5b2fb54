//! What becomes of an analyzer whose files rot: whatever decides something is found out, and nothing is spent twice. And of the
//! keys of any party, with all that is signed by them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use throng_analyze::{BatchHead, InstanceTally};
use throng_batch::EmbeddedEngine;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_host::clock::{Clock, SystemClock};
use throng_host::ensure;
use throng_host::keygen::{self, Deployment, Party};
use throng_serve::Result;
use throng_serve::analysis::published::{LEDGER, RELEASE};
use throng_serve::analysis::{
    self, DataKey, DisplayOptions, Opener, PublishedReleases, ReleaseLedger, ReleaseName, ReleaseSummary,
    SealedFiles, TallyFiles,
};
use throng_serve::{AnalyzerConfig, AnalyzerServer, Shuffler, ShufflerConfig};
use throng_testing::world::{ONE_HOT, World};
use throng_wire::{
    BatchCount, Credential, CredentialList, Digest, EpochStatement, ForwardedCount, Layout, Outcome, Place,
    Route, Signed, Stop, Survey,
};

/// An analyzer with an epoch that was opened and released, one that waits sealed, and one that was erased.
struct Desk {
    dir: tempfile::TempDir,
    world: World,
    key: DataKey,
}

const OPENED: u64 = 7;
const SEALED: u64 = 8;
const ERASED: u64 = 9;

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(ONE_HOT, dir.path());
        let keys = dir.path().join("keys");
        fs::create_dir(&keys).unwrap();
        let layers = keys.join("layer.keys");
        fs::write(&layers, world.layers[&Place::Analyzer].to_file().as_str()).unwrap();
        fs::set_permissions(&layers, fs::Permissions::from_mode(0o600)).unwrap();
        let key = DataKey::new(&world.signing[&Place::Analyzer], &keys.join("ledger.mark"));
        let desk = Self { dir, world, key };
        desk.deliver(OPENED, 1);
        desk.destroy(OPENED, 3);
        desk.release();
        desk.deliver(SEALED, 1);
        desk.deliver(ERASED, 1);
        desk.sealed().erase(&desk.world.survey, &desk.route(ERASED, 1)).unwrap();
        desk
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn route(&self, epoch: u64, instance: u32) -> Route {
        Route { survey: self.world.survey.hash(), label: 0, epoch, instance }
    }

    fn sealed(&self) -> SealedFiles {
        SealedFiles::new(&self.data(), self.world.survey.hash())
    }

    fn tallies(&self) -> TallyFiles {
        TallyFiles::new(&self.data(), self.world.survey.hash())
    }

    fn statements(&self, route: Route, outcome: impl Fn(u32) -> Outcome) -> Vec<Signed<EpochStatement>> {
        let sign = |hop| {
            let (key_list, analyzer_key_list) = (Digest::NONE, Digest::NONE);
            let said = EpochStatement { route, hop, outcome: outcome(hop), key_list, analyzer_key_list };
            Signed::new(said, &self.world.signing[&Place::hop(route.instance, hop)]).unwrap()
        };
        let statements: Vec<_> = (1..=2).map(sign).collect();
        self.tallies().create().unwrap();
        self.tallies().store_statements(&route, &statements).unwrap();
        statements
    }

    /// A batch of five envelopes that open for nobody.
    fn deliver(&self, epoch: u64, instance: u32) {
        let (route, survey) = (self.route(epoch, instance), &self.world.survey);
        let length = Layout::of(survey.survey()).envelope_len(Stop::Analyzer);
        let envelopes: Vec<u8> = (0..5 * length).map(|at| (at / length) as u8).collect();
        let (respondents, count) = (100_000, BatchCount::salted([1; 32], 5));
        let (sent, batch) = (respondents * 40, Digest::of(&envelopes));
        let statements = self.statements(route, |hop| {
            let forwarded = match hop {
                1 => ForwardedCount::Told(sent),
                _ => ForwardedCount::Committed(count.commitment()),
            };
            Outcome::Released { respondents, received: Some(sent), forwarded, batch }
        });
        let head = BatchHead::check(survey, route, &statements, count).unwrap();
        self.sealed().create().unwrap();
        let mut arriving = self.sealed().begin(head, &statements, &count).unwrap();
        arriving.write(&envelopes).unwrap();
        arriving.finish().unwrap();
    }

    fn destroy(&self, epoch: u64, instance: u32) {
        let route = self.route(epoch, instance);
        self.statements(route, |_| Outcome::Destroyed);
        self.tallies().store(&InstanceTally { route, counted: None }).unwrap();
    }

    fn release(&self) {
        let (survey, budget) = (&self.world.survey, budget());
        let opener = Opener {
            data: &self.data(),
            survey,
            keys: &self.dir.path().join("keys"),
            population: "people",
            budget,
            key: &self.key,
            engine: &EmbeddedEngine::new(1 << 24),
        };
        let (release, _) = analysis::release(&opener, (0, OPENED), &mut |_, _| ()).unwrap();
        let wanted = DisplayOptions { top: 3, confidence: 0.95, liars: 1 };
        let released = ReleaseSummary::of(survey.survey(), &release, ("people", budget), wanted).unwrap();
        let mut files = released.files(survey.survey(), &release, None, None).unwrap();
        let ledger = ReleaseLedger::open(&self.data(), &self.key, budget).unwrap();
        files.push((LEDGER, ledger.excerpt("people").unwrap().0.into_bytes()));
        files.push((RELEASE, serde_json::to_vec(&released).unwrap()));
        self.releases().at(survey.hash(), ReleaseName { epoch: OPENED, label: 0 }).write(&files).unwrap();
    }

    fn releases(&self) -> PublishedReleases {
        PublishedReleases::new(&self.data(), &self.key)
    }

    /// What was spent, and everything else that an analyzer reads of its files.
    fn read(&self) -> Result<(String, String)> {
        let (survey, mut all) = (&self.world.survey, Vec::new());
        for (epoch, instance) in
            [OPENED, SEALED, ERASED].into_iter().flat_map(|epoch| [(epoch, 1), (epoch, 3)])
        {
            let route = self.route(epoch, instance);
            if let Some((head, mut envelopes)) = self.sealed().open(survey, &route)? {
                let mut bytes = Vec::new();
                envelopes.read_to_end(&mut bytes)?;
                // Whoever opens it finds the same: `a_sealed_batch_is_the_one_that_the_hops_signed` in booked.rs.
                ensure!(Digest::of(&bytes) == head.batch(), Damaged, "it is another batch");
                all.push(format!("{head:?}"));
            }
            if let Some(counted) = self.tallies().was_counted(&route)? {
                let statements = self.tallies().statements(survey, &route)?;
                let tally = self.tallies().read(survey.survey(), &route)?;
                all.push(format!("{counted} {statements:?} {tally:?}"));
            } else if self.sealed().waits(&route) || self.sealed().erased(&route)?.is_some() {
                all.push(format!("{:?}", self.tallies().statements(survey, &route)?));
            }
            all.push(format!("{:?}", self.sealed().erased(&route)?));
        }
        for name in self.releases().of(survey.hash())? {
            let published = self.releases().at(survey.hash(), name);
            for file in fs::read_dir(published.dir())? {
                let file = file?.file_name().into_string().unwrap();
                all.push(format!("{file} {}", Digest::of(&published.read(&file)?)));
            }
        }
        all.sort();
        // Last, since composing takes longest.
        let ledger = ReleaseLedger::look_at(&self.data(), &self.key, budget())?;
        Ok((format!("{:?}", ledger.entries("people")), all.join("\n")))
    }
}

fn budget() -> CentralGuarantee<Removal> {
    CentralGuarantee::new(Epsilon::new(100.0).unwrap(), Delta::new(1e-5).unwrap())
}

/// All files below a directory, so that new ones are among them.
fn walk(directory: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, all);
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
}

/// One bit in every byte of every file (of files over half a kilobyte in 256 bytes that are spread over it, and in 32 of each
/// file of a release, all of which are checked in the same way), and every length by the same rule: an error, or nothing is
/// different. A file that is gone frees no budget: it is an error, or less has come.
#[test]
fn files_of_an_analyzer_that_rot_are_found() {
    find_rot(|name, len| {
        let most = if name.starts_with("data/releases/") { 32 } else { 256 };
        if len > 2 * most { len.div_ceil(most) } else { 1 }
    });
}

#[test]
#[ignore = "takes minutes: every byte of every file, instead of some of long ones"]
fn files_of_an_analyzer_that_rot_in_any_byte_are_found() {
    find_rot(|_, _| 1);
}

fn find_rot(step: impl Fn(&str, usize) -> usize) {
    let desk = Desk::new();
    let mut whole = BTreeMap::new();
    walk(&desk.data(), &mut whole);
    let mark = desk.key.mark().to_owned();
    whole.insert(mark.clone(), fs::read(&mark).unwrap());
    let before = desk.read().unwrap();
    for (path, bytes) in &whole {
        let name = path.strip_prefix(desk.dir.path()).unwrap().display().to_string();
        for at in (0..bytes.len()).step_by(step(&name, bytes.len())).chain(bytes.len().checked_sub(1)) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            for (damaged, what) in [(&flipped[..], "changed"), (&bytes[..at], "cut off")] {
                fs::write(path, damaged).unwrap();
                if let Ok(after) = desk.read() {
                    assert_eq!(after, before, "{name} {what} at byte {at}");
                }
            }
        }
        fs::remove_file(path).unwrap();
        match desk.read() {
            Ok((spent, _)) => assert_eq!(spent, before.0, "{name} is gone"),
            Err(error) => {
                let said = format!("{error:#}").to_lowercase();
                assert!(said.contains("put back") || said.contains("cannot read"), "{name}: {said}");
            }
        }
        fs::write(path, bytes).unwrap();
        assert_eq!(desk.read().unwrap(), before, "{name} is put back");
    }
    let ends: Vec<&str> =
        [".tally", ".statements", ".sealed", ".erased", ".files", "/ledger", "release.json"].into();
    let there = |end: &&str| whole.keys().any(|path| path.display().to_string().ends_with(*end));
    assert!(ends.iter().all(there), "{:?}", whole.keys());
}

/// What is gone with the mark is known from what was published.
#[test]
fn a_ledger_that_is_gone_with_its_mark_is_no_fresh_one() {
    let desk = Desk::new();
    for path in [desk.data().join("ledger"), desk.key.mark().to_owned()] {
        fs::remove_file(path).unwrap();
    }
    let error = format!("{:#}", desk.read().unwrap_err());
    assert!(error.contains("was published, and is not in the ledger"), "{error}");
}

/// A first hop and an analyzer with their directories, as `throng keygen` makes them, and the public files.
struct Homes {
    dir: tempfile::TempDir,
    deployment: Deployment,
}

const HOP: Place = Place::Hop { instance: 1, hop: 1 };

impl Homes {
    fn new() -> Self {
        // In memory where the system has that: thousands of runs, each with its syncs.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let survey = Survey::from_toml(SURVEY).unwrap();
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let url = |_| "https://127.0.0.1:1".to_owned();
        let first = SystemClock.now_s() / survey.epoch_s;
        let deployment = keygen::deployment(&survey, dir.path(), url, first, &mut rng).unwrap();
        let credentials: Vec<Credential> = (0..3).map(|_| Credential::generate(&mut rng)).collect();
        let list = CredentialList::new(&credentials, &deployment.bundle.survey().hash(), HOP);
        let hop = &deployment.dirs[&HOP];
        fs::write(hop.join("list.credentials"), list.to_file()).unwrap();
        let surveys = "[[surveys]]\nsurvey = \"../survey.toml\"\n";
        let shuffler = format!(
            "listen = \"127.0.0.1:1\"\nidentity = \".\"\ndata = \"data\"\n{surveys}place = \"{HOP}\"\n\
             credentials = \"list.credentials\"\n"
        );
        fs::write(hop.join("shuffler.toml"), shuffler).unwrap();
        let analyzer = format!(
            "identity = \".\"\ndata = \"data\"\n[budget]\nepsilon_central = 20\ndelta = 0.01\n{surveys}"
        );
        fs::write(deployment.dirs[&Place::Analyzer].join("analyzer.toml"), analyzer).unwrap();
        Self { dir, deployment }
    }

    /// What the two parties run on, as far as it can be read: by `serve --check`, and by whoever publishes what they signed.
    fn read(&self) -> Result<String> {
        let dirs = &self.deployment.dirs;
        let mut all = Vec::new();
        for dir in dirs.values() {
            let party = Party::read(dir)?;
            all.push(format!("{} {}", party.signing_key().public(), party.identity().digest()));
        }
        let hop = Shuffler::prepare(ShufflerConfig::read(&dirs[&HOP].join("shuffler.toml"))?)?;
        all.push(format!("{:?}", hop.summary()));
        hop.check()?;
        let config = AnalyzerConfig::read(&dirs[&Place::Analyzer].join("analyzer.toml"))?;
        let analyzer = AnalyzerServer::prepare(config)?;
        all.push(format!("{:?}", analyzer.summary()));
        analyzer.check()?;
        let survey = &self.deployment.survey;
        let epoch = SystemClock.now_s() / self.deployment.bundle.survey().survey().epoch_s;
        let bundle = keygen::bundle(survey, &dirs.values().collect::<Vec<_>>(), epoch)?;
        for place in [HOP, Place::Analyzer] {
            all.push(format!("{:?} {:?}", bundle.address(place)?, bundle.key_list_digest(place)));
        }
        all.push(bundle.survey().hash().to_string());
        Ok(all.join("\n"))
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        walk(self.dir.path(), &mut all);
        all
    }
}

/// One bit in every byte of every file: an error, or what both parties run on is the same. The harmless ones:
///
/// - `signing.pub` is for people to read; a survey that pins another key is refused where it is signed.
/// - Line breaks of PEM are no part of a certificate, which is known by its hash, nor of a key. A private key has to belong to the certificate, or to the
///   public key that was signed: what passes is the same key, whatever bits its curve ignores.
/// - Files are compared by what is signed, so that a comment or a space of the survey file is harmless.
///
/// What an operator writes, `shuffler.toml` and `analyzer.toml`, is left out: it is their word, as arguments are.
#[test]
fn keys_and_what_they_signed_that_rot_are_found() {
    let homes = Homes::new();
    let before = homes.read().unwrap();
    let whole = homes.files();
    let mut found: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for (path, bytes) in &whole {
        let name = path.strip_prefix(homes.dir.path()).unwrap().display().to_string();
        if name.ends_with("shuffler.toml") || name.ends_with("analyzer.toml") {
            continue;
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            // In place, as a disk does it: who may read it stays.
            fs::write(path, &flipped).unwrap();
            let after = homes.read();
            // What was published is written by the look at it.
            whole.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            found.entry(name.clone()).or_default()[usize::from(after.is_err())] += 1;
            if let Ok(after) = after {
                assert_eq!(after, before, "{name}, byte {at}");
            }
        }
    }
    assert_eq!(homes.files(), whole);
    // What decides something is never passed over, but for the bits above.
    for (name, [harmless, noticed]) in &found {
        println!("{name}: {noticed} noticed, {harmless} harmless");
        let exact = ["signing.key", "key-list", "address", "approval", ".credentials"];
        assert!(*harmless == 0 || !exact.iter().any(|end| name.ends_with(end)), "{name}: {harmless}");
        // Nobody here reads these two: a key is read from the survey, which all have signed, and so is the survey; whoever reads it
        // as JSON compares its hash with what is signed.
        let for_others = ["signing.pub", "survey.json"];
        assert!(*noticed > 0 || for_others.iter().any(|end| name.ends_with(end)), "{name}");
    }
    for name in ["signing.key", "tls.key", "tls.crt", "approval", "address", "key-list", "layer.keys"] {
        for place in [HOP, Place::Analyzer] {
            assert!(found.contains_key(&format!("{place}/{name}")), "{place}/{name}");
        }
    }
    assert!(found.contains_key("instance-1-hop-1/list.credentials"));
}

const SURVEY: &str = r#"
version = 1
name = "test"
question = "Which number?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 8 }
randomizer = { kind = "attribute-fragments", epsilon_local = 4.0 }
crowd = { respondents_min = 5, honest_fraction = 1.0, enrolment = "credential" }
claim = { epsilon_central = 4.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
[delivery]
instances = 1
hops = 1
envelopes = 3
cover = "chaff"
"#;
