//! Randomized report deletion: how many reports of a crowd are dropped at random.

use rand_core::CryptoRng;

use super::laplace::DiscreteLaplace;

/// The noise of randomized report deletion: of n reports, min(n, max(0, shift − L)) are dropped, L two-sided geometric.
///
/// What it guarantees is worked out by `throng_account::deletion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionNoise {
    shift: u64,
    noise: DiscreteLaplace,
}

impl DeletionNoise {
    /// Deletion around `shift` reports.
    pub fn new(shift: u64, noise: DiscreteLaplace) -> Self {
        Self { shift, noise }
    }

    /// The noise L, to be drawn once per crowd and never again.
    pub fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> i128 {
        self.noise.draw(rng)
    }

    /// How many of `reports` to drop, given the noise that was drawn. Noise above the shift drops nothing.
    pub fn drops(&self, reports: u64, noise: i128) -> u64 {
        let wanted = i128::from(self.shift).saturating_sub(noise).clamp(0, i128::from(u64::MAX));
        reports.min(wanted as u64)
    }
}
