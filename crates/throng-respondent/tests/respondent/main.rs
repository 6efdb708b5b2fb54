//! A respondent, from the survey's files to receipts: what is sent, what is kept, and what a crash may not
//! change.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod budgets;
mod clocks;
mod key_lists;
mod receipts;
mod records;
mod sending;
mod state;
mod surveys;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use throng_respondent::{Answer, Respondent};
use throng_testing::program::names;

fn bytes(answer: &Answer) -> Vec<Vec<u8>> {
    answer.bodies.iter().map(|body| body.bytes().to_vec()).collect()
}

/// All files below a directory, but for the lock.
fn files(state: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["", "outbox", "permanent", "surveys"] {
        for name in names(&state.join(folder)) {
            let path = state.join(folder).join(&name);
            if path.is_file() && name != "lock" {
                all.insert(
                    format!("{folder}/{name}").trim_start_matches('/').to_owned(),
                    fs::read(path).unwrap(),
                );
            }
        }
    }
    all
}

/// A state directory with exactly these files.
fn restore(state: &Path, all: &BTreeMap<String, Vec<u8>>) {
    fs::remove_dir_all(state).ok();
    drop(Respondent::open(state).unwrap());
    for name in ["ledger", "secret"] {
        fs::remove_file(state.join(name)).unwrap();
    }
    for (name, bytes) in all {
        fs::write(state.join(name), bytes).unwrap();
    }
}
