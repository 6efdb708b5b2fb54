//! Parsers of the crate `throng`: paths and answers of the network, ledgers and what is noted beside them, published releases,
//! files of operators, answers as they are stored, tables, pictures and what is learned from.

use std::fs;
use std::path::PathBuf;

use hyper::StatusCode;
use throng_account::ledger::{Entry, Spending};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_host::net::{Problem, paths};
use throng_lab::learning::Checkpoint;
use throng_learn::{Cifar, CifarRecords, IdxPictures};
use throng_respondent::{Answer, PersonalLedger};
use throng_serve::analysis::{DataKey, ReleaseLedger, SealedFiles};
use throng_serve::verify::verify;
use throng_serve::{AnalyzerConfig, ShufflerConfig};
use throng_simulate::dataset::{Dataset, LabelledExamples, Records};
use throng_wire::{Digest, Route, SigningKey, SurveyHash};

use super::Target;

/// Their names, and what they do.
pub(super) const TARGETS: &[Target] = &[
    ("net_paths", net_paths),
    ("problem", problem),
    ("release_ledger", release_ledger),
    ("personal_ledger", personal_ledger),
    ("stored_answer", stored_answer),
    ("tables", tables),
    ("pictures", pictures),
    ("published", published),
    ("config_files", config_files),
    ("ledger_mark", ledger_mark),
    ("erased_note", erased_note),
    ("labelled", labelled),
    ("checkpoint", checkpoint),
];

/// A path of an upload is read as it was made, or not at all.
fn net_paths(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(route) = paths::upload(text)
    {
        assert_eq!(paths::path(&route, "body"), text);
    }
}

/// An answer with an error is shown in one line.
fn problem(bytes: &[u8]) {
    let problem = Problem::read(StatusCode::BAD_REQUEST, bytes);
    assert!(!problem.to_string().contains(char::is_control), "{problem}");
}

/// Lines of a release ledger, as they are published.
fn release_ledger(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let budget = (Epsilon::new(5.0), Delta::new(1e-6));
    let (Ok(epsilon), Ok(delta)) = budget else { return };
    drop(ReleaseLedger::of_excerpt(text, CentralGuarantee::new(epsilon, delta)));
}

/// A person's ledger adds up, or says why not.
fn personal_ledger(bytes: &[u8]) {
    let Ok(ledger) = serde_json::from_slice::<PersonalLedger>(bytes) else { return };
    if let Ok(spent) = ledger.spent() {
        assert!(spent.value() >= 0.0);
        assert!(ledger.left().is_ok_and(|left| left >= 0.0 || left.is_nan()));
        assert!(ledger.spent_after_each().is_ok());
    }
}

/// An answer as it waits to be sent.
fn stored_answer(bytes: &[u8]) {
    let Ok(answer) = Answer::from_bytes(bytes) else { return };
    let written = answer.to_bytes().expect("an answer that was read can be written");
    assert_eq!(Answer::from_bytes(&written).ok(), Some(answer));
}

/// CSV, zipped or not.
fn tables(bytes: &[u8]) {
    let file = File::new("table.csv", bytes);
    if let Ok(read) = Dataset::open_csv(&file.0, None) {
        assert_eq!(read.counts().iter().sum::<u64>(), read.respondents());
    }
    drop(Dataset::open_csv(&file.0, Some("a")));
    drop(Records::open_csv(&file.0, &["a", "b"]));
}

/// PNG pictures.
fn pictures(bytes: &[u8]) {
    // The size is in bytes 16 to 24. Large pictures are fine, and slow.
    let side = |at: usize| bytes.get(at..at + 4).is_none_or(|side| side[..3] == [0, 0, 0]);
    if side(16) && side(20) {
        drop(Dataset::open_picture(&File::new("picture.png", bytes).0, 1.0));
    }
}

/// A release as strangers publish it, one file of which has any bytes: the first byte says which. `throng verify` comes to a
/// verdict that does nothing to the terminal it is read on, or says that there is no release.
fn published(bytes: &[u8]) {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    thread_local! {
        static FOLDER: Folder = Folder::new("published");
    }
    FOLDER.with(|Folder(folder)| {
        for (name, whole) in PUBLISHED {
            fs::write(folder.join(name), whole).expect("a temporary file");
        }
        let (name, _) = PUBLISHED[usize::from(which) % PUBLISHED.len()];
        fs::write(folder.join(name), bytes).expect("a temporary file");
        let Ok(verdict) = verify(folder, None) else { return };
        let said = verdict.to_string();
        assert!(said.lines().all(|line| !line.contains(char::is_control)), "{said:?}");
    });
}

/// What an operator writes. The limits that are in it can be worked with.
fn config_files(bytes: &[u8]) {
    let file = File::new("server.toml", bytes);
    if let Ok(config) = ShufflerConfig::read(&file.0) {
        assert!(config.memory_each() > 0 && config.connections_for(1 << 20) > 0);
    }
    if let Ok(config) = AnalyzerConfig::read(&file.0) {
        assert!(config.memory() > 0);
        drop(config.budget.guarantee());
    }
}

/// The mark of a release ledger: the one that was written, or a complaint.
fn ledger_mark(bytes: &[u8]) {
    thread_local! {
        static LEDGER: (Folder, DataKey, Vec<u8>) = marked_ledger();
    }
    LEDGER.with(|(Folder(folder), key, whole)| {
        fs::write(key.mark(), bytes).expect("a temporary file");
        let read = ReleaseLedger::look_at(&folder.join("data"), key, budget());
        assert_eq!(read.is_ok(), bytes == whole);
    });
}

/// A ledger with a release, and the bytes of its mark.
pub fn marked_ledger() -> (Folder, DataKey, Vec<u8>) {
    let folder = Folder::new("ledger");
    let signing = SigningKey::from_seed(&[1; 32]).expect("a seed");
    let key = DataKey::new(&signing, &folder.0.join("mark"));
    let mut ledger = ReleaseLedger::open(&folder.0.join("data"), &key, budget()).expect("a new ledger");
    let entry = Entry { survey: "survey".into(), epoch: 7, spending: Spending::Guarantee(budget()) };
    ledger.record("people", entry).expect("all of the budget is there");
    let mark = fs::read(key.mark()).expect("a mark");
    (folder, key, mark)
}

fn budget() -> CentralGuarantee<Removal> {
    let (epsilon, delta) = (Epsilon::new(1.0).expect("positive"), Delta::new(1e-6).expect("positive"));
    CentralGuarantee::new(epsilon, delta)
}

/// A note that a batch was erased unopened: what names a batch is exactly what is written about that one.
fn erased_note(bytes: &[u8]) {
    thread_local! {
        static FOLDER: Folder = Folder::new("erased");
    }
    FOLDER.with(|Folder(folder)| {
        let route = Route { survey: SurveyHash::new([7; 32]), label: 1, epoch: 7, instance: 2 };
        let files = SealedFiles::new(folder, route.survey);
        files.create().expect("a temporary directory");
        let path = folder.join(format!("sealed/{}/1-7-2.erased", route.survey));
        for bytes in [bytes.to_vec(), [bytes, erased_check(bytes, &route).as_bytes()].concat()] {
            fs::write(&path, &bytes).expect("a temporary file");
            if let Ok(read) = files.erased(&route) {
                let batch = read.expect("a file that is there").batch.to_string();
                assert!(bytes.windows(batch.len()).any(|window| window == batch.as_bytes()));
            }
        }
    });
}

/// The last line of a note.
pub(crate) fn erased_check(content: &[u8], route: &Route) -> String {
    format!("{}\n", Digest::of(&[content, &route.to_bytes()].concat()))
}

/// What is learned from: a table; pictures in the IDX form, whose length the first two bytes say, with their labels; and CIFAR.
fn labelled(bytes: &[u8]) {
    let file = File::new("labelled.csv", bytes);
    if let Ok(table) = LabelledExamples::open_csv(&file.0, "class") {
        assert!(table.training.len() + table.test.len() > 0);
    }
    for set in [Cifar::Ten, Cifar::Hundred] {
        let mut records = CifarRecords::new(set);
        if records.read(bytes).is_ok() {
            drop(records.into_examples());
        }
    }
    let Some((len, rest)) = bytes.split_first_chunk() else { return };
    let (pictures, labels) = rest.split_at(usize::from(u16::from_be_bytes(*len)).min(rest.len()));
    if let Ok(pictures) = IdxPictures::new(pictures)
        && let Ok(examples) = pictures.labelled(labels, 10)
    {
        assert_eq!(examples.len(), pictures.count());
    }
}

/// A training that was stopped, with a checksum that fits: what is read is written, and that is the same again.
fn checkpoint(bytes: &[u8]) {
    let file = File::new("checkpoint", bytes);
    drop(Checkpoint::read(&file.0));
    let file = File::new("checkpoint", &[bytes, Digest::of(bytes).as_bytes()].concat());
    let again = || {
        let read = Checkpoint::read(&file.0).ok()??;
        read.write(&file.0).expect("a temporary file");
        fs::read(&file.0).ok()
    };
    if let Some(written) = again() {
        assert_eq!(again(), Some(written));
    }
}

/// The files of a small release: `throng verify` holds for them. Written by `the_fixture_of_the_fuzzer_is_written` in
/// crates/throng/tests/verify.rs.
pub const PUBLISHED: [(&str, &[u8]); 7] = [
    ("release.json", include_bytes!("../../../../fuzz/published/release.json")),
    ("estimates.csv", include_bytes!("../../../../fuzz/published/estimates.csv")),
    ("survey.toml", include_bytes!("../../../../fuzz/published/survey.toml")),
    ("survey.signatures", include_bytes!("../../../../fuzz/published/survey.signatures")),
    ("survey.keys", include_bytes!("../../../../fuzz/published/survey.keys")),
    ("statements", include_bytes!("../../../../fuzz/published/statements")),
    ("ledger", include_bytes!("../../../../fuzz/published/ledger")),
];

/// A directory for readers that take one, which is removed again.
pub struct Folder(pub PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let thread = std::thread::current().id();
        let path = std::env::temp_dir().join(format!("throng-fuzz-{}-{thread:?}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// A file for readers that take one, which is removed again.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let thread = std::thread::current().id();
        let path = std::env::temp_dir().join(format!("throng-fuzz-{}-{thread:?}-{name}", std::process::id()));
        fs::write(&path, bytes).expect("a temporary file");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}
