//! A respondent, from the survey's files to receipts: what is sent, what is kept, and what a crash may not
//! change.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/world.rs"]
mod world;

mod budgets;
mod clocks;
mod command;
mod key_lists;
mod receipts;
mod records;
mod sending;
mod state;
mod surveys;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_dp::Epsilon;
use throng_host::bundle::Bundle;
use throng_respondent::{Answered, How, Respondent, StoredAnswer};
use world::{EPOCH_MS, World};

/// In epoch 10; answers are for epoch 11.
const NOW_MS: u64 = 10 * EPOCH_MS + 1_234_567;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

struct Desk {
    folder: TempDir,
    world: World,
}

impl Desk {
    fn new(survey: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(survey, folder.path());
        Self { folder, world }
    }

    fn bundle(&self) -> Bundle {
        Bundle::read(&self.world.file).unwrap()
    }

    fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> Respondent {
        self.open_at(&self.state()).unwrap()
    }

    fn open_at(&self, state: &Path) -> anyhow::Result<Respondent> {
        let mut respondent = Respondent::open_with(state, &mut rng(1))?;
        if respondent.ledger().epsilon_limit().is_none() {
            respondent.set_epsilon_limit(Epsilon::new(50.0)?)?;
        }
        respondent.use_credential(&self.folder.path().join("credential"))?;
        Ok(respondent)
    }

    fn answer(
        &self,
        respondent: &mut Respondent,
        value: Option<u64>,
        now_ms: u64,
        seed: u8,
    ) -> anyhow::Result<Answered> {
        Ok(respondent.answer_with(&self.bundle(), value, &How::default(), now_ms, &mut rng(seed))?)
    }
}

fn bytes(answer: &StoredAnswer) -> Vec<Vec<u8>> {
    answer.bodies.iter().map(|body| body.bytes().unwrap().to_vec()).collect()
}

/// All files below a directory, but for the lock.
fn files(state: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["", "outbox", "permanent", "surveys"] {
        for name in support::names(&state.join(folder)) {
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
