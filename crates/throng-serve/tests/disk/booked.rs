//! What an analyzer's ledger allows is opened, after it is written there, and nothing else is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use throng_analyze::BatchHead;
use throng_batch::EmbeddedEngine;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_serve::analysis::{BookedEpoch, DataKey, Opener, SealedFiles, TallyFiles};
use throng_testing::world::{ONE_HOT, World};
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{
    BatchCount, Digest, EpochStatement, ForwardedCount, Layout, Outcome, Place, Route, Signed, Stop,
};

const EPOCH: u64 = 7;

/// An analyzer's files, and hops that sign whatever crowd is wanted.
struct Desk {
    dir: tempfile::TempDir,
    world: World,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(ONE_HOT, dir.path());
        let keys = dir.path().join("layer.keys");
        fs::write(&keys, world.layers[&Place::Analyzer].to_file().as_str()).unwrap();
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
        Self { dir, world }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn route(&self, instance: u32) -> Route {
        Route { survey: self.world.survey.hash(), label: 0, epoch: EPOCH, instance }
    }

    fn sealed(&self) -> SealedFiles {
        SealedFiles::new(&self.data(), self.world.survey.hash())
    }

    /// The batch of an instance comes, of five envelopes that open for nobody, from a crowd of so many.
    fn deliver(&self, instance: u32, respondents: u64) {
        let (route, survey) = (self.route(instance), &self.world.survey);
        let length = Layout::of(survey.survey()).envelope_len(Stop::Analyzer);
        let envelopes: Vec<u8> =
            (0..5 * length).map(|at| (at / length) as u8 + 10 * instance as u8).collect();
        let count = BatchCount::salted([instance as u8; 32], 5);
        let sent = respondents * 40;
        let told = [ForwardedCount::Told(sent), ForwardedCount::Committed(count.commitment())];
        let statements: Vec<Signed<EpochStatement>> = (1..)
            .zip(told)
            .map(|(hop, forwarded)| {
                let batch = Digest::of(&envelopes);
                let outcome = Outcome::Released { respondents, received: Some(sent), forwarded, batch };
                let lists = Digest::NONE;
                let said = EpochStatement { route, hop, outcome, key_list: lists, analyzer_key_list: lists };
                Signed::new(said, &self.world.signing[&Place::hop(instance, hop)]).unwrap()
            })
            .collect();
        let head = BatchHead::check(survey, route, &statements, count).unwrap();
        self.sealed().create().unwrap();
        TallyFiles::new(&self.data(), survey.hash()).create().unwrap();
        let mut arriving = self.sealed().begin(head, &statements, &count).unwrap();
        arriving.write(&envelopes).unwrap();
        arriving.finish().unwrap();
    }

    fn open(&self, epsilon: f64) -> throng_serve::Result<BookedEpoch> {
        let budget: CentralGuarantee<Removal> =
            CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(1e-5).unwrap());
        let opener = Opener {
            data: &self.data(),
            survey: &self.world.survey,
            keys: self.dir.path(),
            population: "people",
            budget,
            key: &DataKey::new(&self.world.signing[&Place::Analyzer], &self.dir.path().join("ledger.mark")),
            engine: &EmbeddedEngine::new(1 << 24),
        };
        opener.open((0, EPOCH), &mut |_, _| ())
    }

    fn spent(&self, epsilon: f64) -> f64 {
        self.open(epsilon).unwrap().recorded.spent().epsilon().value()
    }

    /// Whether a batch waits, and whether it was counted.
    fn state(&self, instance: u32) -> (bool, bool) {
        let tallies = TallyFiles::new(&self.data(), self.world.survey.hash());
        let route = self.route(instance);
        (self.sealed().waits(&route), tallies.was_counted(&route).unwrap().is_some())
    }

    fn lines(&self) -> usize {
        lines(&self.data())
    }
}

fn lines(data: &Path) -> usize {
    fs::read_to_string(data.join("ledger")).unwrap_or_default().lines().count()
}

const SEALED: (bool, bool) = (true, false);
const OPEN: (bool, bool) = (false, true);

/// What a crowd of so many spends.
fn price(respondents: u64) -> f64 {
    let desk = Desk::new();
    desk.deliver(1, respondents);
    desk.spent(100.0)
}

#[test]
fn a_late_batch_is_booked_before_it_is_opened_or_stays_sealed() {
    let (large, small) = (price(150_000), price(100_000));
    assert!(large < small);
    let desk = Desk::new();
    desk.deliver(1, 150_000);
    let between = (large + small) / 2.0;
    assert_eq!(desk.spent(between), large);
    assert_eq!((desk.state(1), desk.lines()), (OPEN, 1));

    // Of the same crowd it costs nothing, and of a smaller one more than there is: what is open stays as it was.
    desk.deliver(2, 150_000);
    assert_eq!(desk.spent(between), large);
    desk.deliver(3, 100_000);
    let booked = desk.open(between).unwrap();
    assert_eq!((booked.parts.len(), booked.refused.as_slice()), (2, &[3][..]));
    assert_eq!(booked.recorded.spent().epsilon().value(), large);
    assert_eq!((desk.state(2), desk.state(3), desk.lines()), (OPEN, SEALED, 1));

    // With more budget the epoch is still one entry, and the worse one.
    let booked = desk.open(100.0).unwrap();
    assert_eq!((booked.parts.len(), booked.refused.len()), (3, 0));
    assert_eq!(booked.recorded.spent().epsilon().value(), small);
    assert_eq!((desk.state(3), desk.lines()), (OPEN, 2));
    assert_eq!(desk.spent(small), small, "once more, for nothing");
    assert_eq!(desk.lines(), 2);
}

#[test]
fn nothing_is_opened_that_the_ledger_refuses_and_nothing_booked_that_cannot_be_opened() {
    let desk = Desk::new();
    desk.deliver(1, 100_000);
    let refused = desk.open(0.1).unwrap_err();
    assert!(refused.refusal().is_some(), "{refused:#}");
    assert_eq!((desk.state(1), desk.lines()), (SEALED, 0));
    // Without its key it would be paid for in vain.
    let (keys, away) = (desk.dir.path().join("layer.keys"), desk.dir.path().join("away"));
    fs::rename(&keys, &away).unwrap();
    assert!(desk.open(100.0).is_err());
    assert_eq!((desk.state(1), desk.lines()), (SEALED, 0));
    fs::rename(&away, &keys).unwrap();
    let booked = desk.open(100.0).unwrap();
    let counted = booked.parts[0].counted.as_ref().unwrap();
    assert_eq!((counted.envelopes, counted.rejected.key + counted.rejected.seal), (5, 5));
    assert_eq!((desk.state(1), desk.lines()), (OPEN, 1));
}

/// A key that rotted opens nothing: that is found out before anything is paid for.
#[test]
fn a_layer_key_that_is_not_listed_is_refused_before_anything_is_booked() {
    let desk = Desk::new();
    desk.deliver(1, 100_000);
    let listed = desk.world.lists.iter().find(|list| list.claimed_party() == Place::Analyzer).unwrap();
    fs::write(desk.dir.path().join("key-list"), listed.to_text()).unwrap();
    let keys = desk.dir.path().join("layer.keys");
    let whole = fs::read_to_string(&keys).unwrap();
    let digit = whole.len() - 20;
    let other = if &whole[digit..=digit] == "0" { "1" } else { "0" };
    fs::write(&keys, format!("{}{other}{}", &whole[..digit], &whole[digit + 1..])).unwrap();
    let error = desk.open(100.0).unwrap_err().to_string();
    assert!(error.contains("put back copies of both"), "{error}");
    assert_eq!((desk.state(1), desk.lines()), (SEALED, 0));
    fs::write(&keys, whole).unwrap();
    assert_eq!(desk.open(100.0).unwrap().parts.len(), 1);
}

/// Who waits for the lock while another process erases finds what is there then, and not what was there before: nothing is
/// booked for a batch that is gone.
#[test]
#[cfg(target_os = "linux")]
fn what_is_erased_while_somebody_waits_to_open_it_is_refused_and_costs_nothing() {
    let desk = Desk::new();
    desk.deliver(1, 100_000);
    let lock = desk.sealed().lock().unwrap();
    let refused = std::thread::scope(|scope| {
        let opening = scope.spawn(|| desk.open(100.0));
        until_somebody_waits(&desk.data().join(format!("sealed/{}/lock", desk.world.survey.hash())));
        desk.sealed().erase(&desk.world.survey, &desk.route(1)).unwrap();
        drop(lock);
        opening.join().unwrap().unwrap_err()
    });
    assert!(refused.refusal().is_some(), "{refused:#}");
    assert!(refused.to_string().contains("erased unopened"), "{refused:#}");
    assert_eq!((desk.state(1), desk.lines()), ((false, false), 0));
}

/// Until the kernel's list of locks has one that waits for this file.
#[cfg(target_os = "linux")]
fn until_somebody_waits(file: &Path) {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", fs::metadata(file).unwrap().ino());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    let waits = |line: &str| line.contains("->") && line.contains(&inode);
    while !fs::read_to_string("/proc/locks").unwrap().lines().any(waits) {
        assert!(std::time::Instant::now() < deadline, "nobody waits for {}", file.display());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_sealed_batch_is_the_one_that_the_hops_signed() {
    let desk = Desk::new();
    desk.deliver(1, 100_000);
    let route = desk.route(1);
    let path = desk.data().join(format!("sealed/{}/0-{EPOCH}-1.sealed", desk.world.survey.hash()));
    let whole = fs::read(&path).unwrap();
    // In both statements, in the salt and the number that the last one commits to, and in the envelopes.
    let count = 23 + 2 * STATEMENT_LEN;
    for at in [30, 23 + 60, count, count + BATCH_COUNT_LEN - 1, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, changed).unwrap();
        assert!(desk.open(100.0).is_err(), "byte {at}");
        assert_eq!(desk.state(1), SEALED, "byte {at}");
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(desk.open(100.0).is_err());
    fs::write(&path, &whole).unwrap();
    assert_eq!(desk.open(100.0).unwrap().parts.len(), 1);
    // What was erased leaves its hash behind, and no more.
    desk.deliver(2, 100_000);
    let head = desk.sealed().head(&desk.world.survey, &desk.route(2)).unwrap().unwrap();
    desk.sealed().erase(&desk.world.survey, &desk.route(2)).unwrap();
    assert_eq!(desk.sealed().erased(&desk.route(2)).unwrap().unwrap().batch, head.batch());
    assert_eq!((desk.state(2), desk.sealed().erased(&route).unwrap()), ((false, false), None));
    assert_eq!(desk.open(100.0).unwrap().parts.len(), 1);
}
