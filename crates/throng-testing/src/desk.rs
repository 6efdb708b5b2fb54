//! A respondent's desk: the files of a survey, a credential, and a state directory, in one folder.

use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_dp::Epsilon;
use throng_host::bundle::Bundle;
use throng_respondent::{Answered, How, Respondent};

use crate::world::{EPOCH_MS, World};

/// In epoch 10; answers are for epoch 11.
pub const NOW_MS: u64 = 10 * EPOCH_MS + 1_234_567;

/// Randomness from a seed.
pub fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// The folder, and the survey that is in it.
pub struct Desk {
    /// Where everything is.
    pub folder: TempDir,
    /// The survey, with the private keys of its parties.
    pub world: World,
}

impl Desk {
    /// With this survey, which all parties have signed.
    pub fn new(survey: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(survey, folder.path());
        Self { folder, world }
    }

    /// The survey's files as a respondent reads them.
    pub fn bundle(&self) -> Bundle {
        Bundle::read(&self.world.file).unwrap()
    }

    /// Where the state directory is, or will be.
    pub fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    /// The respondent, with a limit and their credential.
    pub fn open(&self) -> Respondent {
        self.open_at(&self.state()).unwrap()
    }

    /// The same with another state directory.
    pub fn open_at(&self, state: &Path) -> throng_respondent::Result<Respondent> {
        let mut respondent = Respondent::open_with(state, &mut rng(1))?;
        if respondent.ledger().epsilon_limit().is_none() {
            respondent.set_epsilon_limit(Epsilon::new(50.0)?)?;
        }
        respondent.use_credential(&self.folder.path().join("credential"))?;
        Ok(respondent)
    }

    /// Answers the survey at a time, from a seed.
    pub fn answer(
        &self,
        respondent: &mut Respondent,
        value: Option<u64>,
        now_ms: u64,
        seed: u8,
    ) -> throng_respondent::Result<Answered> {
        respondent.answer_with(&self.bundle(), value, &How::default(), now_ms, &mut rng(seed))
    }
}
