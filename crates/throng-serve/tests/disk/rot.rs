//! What becomes of an analyzer whose files rot: whatever decides something is found out, and nothing is spent twice.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use throng_analyze::{BatchHead, InstanceTally};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_host::ensure;
use throng_serve::Result;
use throng_serve::analysis::published::{LEDGER, RELEASE};
use throng_serve::analysis::{
    self, DataKey, Opener, PublishedReleases, ReleaseLedger, ReleaseName, Released, SealedFiles, TallyFiles,
    Wanted,
};
use throng_testing::world::{ONE_HOT, World};
use throng_wire::{
    BatchCount, Digest, EpochStatement, Forwarded, Layout, Outcome, Place, Route, Signed, Stop,
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
                1 => Forwarded::Told(sent),
                _ => Forwarded::Committed(count.commitment()),
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
            memory: 1 << 24,
        };
        let (release, _) = analysis::release(&opener, (0, OPENED), &mut |_, _| ()).unwrap();
        let wanted = Wanted { top: 3, confidence: 0.95, liars: 1 };
        let released = Released::of(survey.survey(), &release, ("people", budget), wanted).unwrap();
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
    let desk = Desk::new();
    let mut whole = BTreeMap::new();
    walk(&desk.data(), &mut whole);
    let mark = desk.key.mark().to_owned();
    whole.insert(mark.clone(), fs::read(&mark).unwrap());
    let before = desk.read().unwrap();
    for (path, bytes) in &whole {
        let name = path.strip_prefix(desk.dir.path()).unwrap().display();
        let most = if name.to_string().starts_with("data/releases/") { 32 } else { 256 };
        let step = if bytes.len() > 2 * most { bytes.len().div_ceil(most) } else { 1 };
        for at in (0..bytes.len()).step_by(step).chain(bytes.len().checked_sub(1)) {
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
