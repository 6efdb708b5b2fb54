//! Every file of a hop's directories, in every phase: one changed bit, a cut at any length, or a file that is gone is noticed, or
//! changes nothing of what the hop says and hands on.
//!
//! Files are found by walking the directories. Of each, every byte of the first and the last `HEAD` is changed, and every `STEP`th between: secrets,
//! marks and notes are changed in every byte, so is the journal in throng-shuffle/src/journal/tests.rs, and what is between in larger files
//! are bodies and envelopes, which are authenticated as a whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_serve::file_store::FileStore;
use throng_shuffle::{Error, Hop, Upload};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day, name};
use throng_testing::wire::EPOCH;
use throng_wire::{BatchCount, Digest, EpochStatement, Signed};

const HEAD: usize = 128;
const STEP: usize = 31;

/// A hop's two directories, as files in memory.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What hop 1 hands on: hop 2 gets the same in every run.
type Batch = (Vec<Signed<EpochStatement>>, BatchCount, Vec<u8>);

fn read_all(root: &Path, below: &Path, files: &mut Files) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let path = below.join(entry.unwrap().file_name());
        if root.join(&path).is_dir() {
            read_all(root, &path, files);
        } else {
            files.insert(path.clone(), fs::read(root.join(path)).unwrap());
        }
    }
}

fn files(root: &Path) -> Files {
    let mut files = Files::new();
    read_all(root, Path::new(""), &mut files);
    files
}

/// In memory where the system has that: thousands of runs, each with its syncs.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(cascade: &Cascade, hop: u32, root: &Path) -> Result<Hop, Error> {
    let store = FileStore::open(&root.join("data"))?;
    fs::create_dir_all(root.join("keys")).unwrap();
    let mark = store.mark(root.join("keys/hop.mark"));
    Hop::open(cascade.config(hop), Box::new(store), Box::new(mark), day(EPOCH))
}

fn outgoing(hop: &Hop) -> Result<Batch, Error> {
    let (mut batch, mut bytes) = (hop.outgoing(FIRST)?, Vec::new());
    batch.records.read_to_end(&mut bytes)?;
    // Whoever gets it looks at its hash first.
    if Digest::of(&bytes) != batch.manifest.digest {
        return Err(throng_shuffle::Refusal::Batch.into());
    }
    Ok((batch.statements, batch.count, bytes))
}

/// All that is left to do at a hop, from these files on. Returns what it says and hands on, or that something was noticed.
fn run(cascade: &Cascade, hop: u32, files: &Files, before: &Batch) -> Result<Batch, String> {
    let root = directory();
    for (path, bytes) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let told = |error: Error| error.to_string();
    let rng = &mut ChaCha20Rng::from_seed([77; 32]);
    let opened = open(cascade, hop, root.path()).map_err(told)?;
    if hop == 1 {
        opened.close_due(NEXT_DAY).map_err(told)?;
    } else {
        let (statements, count, bytes) = before.clone();
        opened.receive(FIRST, statements, count, &mut &bytes[..], NEXT_DAY, rng).map_err(told)?;
    }
    opened.process(FIRST).map_err(told)?;
    let batch = outgoing(&opened).map_err(told)?;
    // A line in the log is enough where an end is missing that nobody was told of; but here all were.
    if opened.cuts().is_empty() { Ok(batch) } else { Err("an end was cut off".into()) }
}

/// The files of hop 1 and hop 2 in every phase, and what hop 2 gets.
fn states(cascade: &mut Cascade) -> (Vec<(&'static str, u32, Files)>, Batch) {
    let roots = [directory(), directory()];
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let mut states = Vec::new();
    let first = open(cascade, 1, roots[0].path()).unwrap();
    for person in 0..6 {
        let upload = Upload::new(FIRST, name(person), cascade.body(FIRST, &[person]));
        assert!(first.take(&[upload], day(EPOCH), rng)[0].is_ok());
    }
    states.push(("open", 1, files(roots[0].path())));
    first.close_due(NEXT_DAY).unwrap();
    states.push(("closed", 1, files(roots[0].path())));
    first.process(FIRST).unwrap();
    states.push(("decided", 1, files(roots[0].path())));
    let before = outgoing(&first).unwrap();
    let second = open(cascade, 2, roots[1].path()).unwrap();
    second.open_due(day(EPOCH), rng).unwrap();
    states.push(("open", 2, files(roots[1].path())));
    let (statements, count, bytes) = before.clone();
    second.receive(FIRST, statements, count, &mut &bytes[..], NEXT_DAY, rng).unwrap();
    states.push(("received", 2, files(roots[1].path())));
    second.process(FIRST).unwrap();
    states.push(("decided", 2, files(roots[1].path())));
    (states, before)
}

/// Where a file of some length is changed or cut.
fn places(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |at| *at < HEAD || at + HEAD >= len || at % STEP == 0)
}

#[test]
fn whatever_a_disk_changes_is_noticed_or_changes_nothing() {
    let mut cascade = Cascade::new(SMALL);
    let (states, before) = states(&mut cascade);
    let mut noticed: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for (phase, hop, files) in &states {
        let expected = run(&cascade, *hop, files, &before).unwrap();
        assert!(run(&cascade, *hop, files, &before) == Ok(expected.clone()), "a run can be repeated");
        for (path, bytes) in files {
            let whose = format!("hop {hop}, {phase}: {}", path.display());
            let mut check = |what: &str, changed: Option<Vec<u8>>| {
                let mut files = files.clone();
                match changed {
                    Some(changed) => drop(files.insert(path.clone(), changed)),
                    None => drop(files.remove(path)),
                }
                let outcome = run(&cascade, *hop, &files, &before);
                let counts = noticed.entry(whose.clone()).or_default();
                counts[usize::from(outcome.is_err())] += 1;
                assert!(outcome.is_err() || outcome == Ok(expected.clone()), "{whose}, {what}");
            };
            check("removed", None);
            for at in places(bytes.len()) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                check(&format!("a bit of byte {at}"), Some(changed));
                check(&format!("cut at {at}"), Some(bytes[..at].to_vec()));
            }
            check("longer", Some([&bytes[..], &[1]].concat()));
        }
    }
    // What decides something is never passed over.
    for (file, least) in
        [("journal", 100), ("hop.mark", 80), ("0-100.key", 64), ("0-100.draw", 64), ("0-100.uploads", 200)]
    {
        let counts = noticed.iter().filter(|(name, _)| name.ends_with(file));
        let noticed: u32 = counts.map(|(_, counts)| counts[1]).sum();
        assert!(noticed >= least, "{file}: {noticed}");
    }
    for (name, [harmless, noticed]) in &noticed {
        println!("{name}: {noticed} noticed, {harmless} harmless");
    }
}
