//! A respondent's desk: the files of a survey, a credential, and a state directory, in one folder.

use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_dp::Epsilon;
use throng_host::bundle::Bundle;
use throng_respondent::{Answer, AnswerOptions, Respondent};

use crate::world::{EPOCH_MS, ONE_HOT, World};
use throng_wire::Lifetime;

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

    /// With a survey that everybody may answer, and keys for whatever day it is: for examples that look at no other clock than the
    /// machine's.
    pub fn today() -> Self {
        let survey = ONE_HOT.replace("enrolment = \"credential\"", "enrolment = \"open\"");
        let folder = tempfile::tempdir().unwrap();
        let world =
            World::with_keys(&survey, Lifetime { first_epoch: 0, last_epoch: 1 << 40 }, folder.path());
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
        self.open_at(self.state()).unwrap()
    }

    /// The same with another state directory.
    pub fn open_at(&self, state: impl AsRef<Path>) -> throng_respondent::Result<Respondent> {
        let mut respondent = Respondent::open_with(state, &mut rng(1))?;
        if respondent.ledger().epsilon_limit().is_none() {
            respondent.set_epsilon_limit(Epsilon::new(50.0)?)?;
        }
        respondent.use_credential(self.folder.path().join("credential"))?;
        Ok(respondent)
    }

    /// Answers the survey at a time, from a seed; with `None`, for somebody who has nothing to say.
    pub fn answer(
        &self,
        respondent: &mut Respondent,
        value: Option<u64>,
        now_ms: u64,
        seed: u8,
    ) -> throng_respondent::Result<Answer> {
        let (bundle, options, rng) = (self.bundle(), AnswerOptions::default(), &mut rng(seed));
        match value {
            Some(value) => respondent.answer_with(&bundle, value, &options, now_ms, rng),
            None => respondent.abstain_with(&bundle, &options, now_ms, rng),
        }
    }
}
