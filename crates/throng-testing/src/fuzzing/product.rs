//! Parsers of the crate `throng`: paths and answers of the network, ledgers, answers as they are stored, tables and pictures.

use std::fs;
use std::path::PathBuf;

use hyper::StatusCode;
use throng_dp::{CentralGuarantee, Delta, Epsilon};
use throng_host::net::{Problem, paths};
use throng_respondent::{PersonalLedger, StoredAnswer};
use throng_serve::analysis::ReleaseLedger;
use throng_simulate::dataset::{Dataset, Records};

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
    let Ok(answer) = StoredAnswer::from_bytes(bytes) else { return };
    let written = answer.to_bytes().expect("an answer that was read can be written");
    assert_eq!(StoredAnswer::from_bytes(&written).ok(), Some(answer));
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
