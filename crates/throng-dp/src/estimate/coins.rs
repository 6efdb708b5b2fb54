//! The coins of a mechanism, as the accountant and the estimator need to know them.

use super::BitNoise;
use crate::sampling::Bernoulli;

/// The coins between a bit and the analyzer's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coins {
    /// Independent runs, each with a coin of its own.
    Runs {
        /// The coin of each run.
        coin: Bernoulli,
        /// How many runs; nearly always one.
        runs: u32,
    },
    /// Fragments that share a backstop.
    Fragments {
        /// The coin that the backstop was drawn with.
        backstop: Bernoulli,
        /// The coin of each fragment.
        fragment: Bernoulli,
        /// How many fragments: tau.
        tau: u32,
    },
}

impl Coins {
    /// The noise that they add to a bit, which an estimator has to undo.
    pub fn noise(&self) -> BitNoise {
        self.noise_of(self.draws())
    }

    /// The noise of a bit that is drawn `draws` times instead.
    pub fn noise_of(&self, draws: u32) -> BitNoise {
        match *self {
            Self::Runs { coin, .. } => BitNoise::repeated(coin, draws),
            Self::Fragments { backstop, fragment, .. } => BitNoise::fragmented(backstop, fragment, draws),
        }
    }

    /// How often each bit is sent.
    pub fn draws(&self) -> u32 {
        match *self {
            Self::Runs { runs, .. } => runs,
            Self::Fragments { tau, .. } => tau,
        }
    }
}
