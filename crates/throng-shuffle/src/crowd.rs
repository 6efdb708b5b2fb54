//! The crowd threshold: whether an epoch's crowd is large enough, and which uploads of it are kept.
//!
//! Paper: Section V. Where a crowd has a label, how many carried it is hidden first, by deleting whole uploads at
//! random; the threshold is then checked on what is left.

use std::collections::HashSet;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use rand_core::CryptoRng;
use throng_dp::sampling::{DeletionNoise, below};

use crate::Seed;

/// What an epoch needs to be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrowdRule {
    respondents_min: u64,
    deletion: Option<DeletionNoise>,
}

impl CrowdRule {
    /// At least this many distinct respondents, after the deletion that labelled crowds go through.
    pub fn new(respondents_min: u64, deletion: Option<DeletionNoise>) -> Self {
        Self { respondents_min, deletion }
    }

    /// The noise of a deletion, if there is one.
    pub(crate) fn draw(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Option<i128> {
        self.deletion.map(|deletion| deletion.draw(rng))
    }

    /// Which of `uploads` are kept, or `None` if the crowd is too small. Noise that was not drawn deletes nothing.
    pub(crate) fn keep(&self, uploads: u64, noise: Option<i128>, seed: &Seed) -> Option<KeptUploads> {
        let drops = self.deletion.zip(noise).map_or(0, |(deletion, noise)| deletion.drops(uploads, noise));
        let count = uploads - drops;
        if count < self.respondents_min {
            return None;
        }
        let rng = &mut ChaCha20Rng::from_seed(*seed);
        // Floyd's set: every set of this size is equally likely.
        let mut dropped = HashSet::new();
        for last in uploads - drops..uploads {
            let any = below(last + 1, rng);
            dropped.insert(if dropped.contains(&any) { last } else { any });
        }
        Some(KeptUploads { dropped, count })
    }
}

/// The uploads that are kept.
#[derive(Debug)]
pub(crate) struct KeptUploads {
    dropped: HashSet<u64>,
    pub(crate) count: u64,
}

impl KeptUploads {
    /// Whether the upload at this place is.
    pub(crate) fn contains(&self, upload: u64) -> bool {
        !self.dropped.contains(&upload)
    }
}

#[cfg(test)]
mod tests {
    use throng_dp::sampling::DiscreteLaplace;

    use super::*;

    fn rule(respondents_min: u64, shift: u64) -> CrowdRule {
        let noise = DiscreteLaplace::from_ratio(1, 10).unwrap();
        CrowdRule::new(respondents_min, Some(DeletionNoise::new(shift, noise)))
    }

    #[test]
    fn a_crowd_is_counted_after_deletion() {
        assert!(CrowdRule::new(100, None).keep(99, None, &[0; 32]).is_none());
        assert_eq!(CrowdRule::new(100, None).keep(100, None, &[0; 32]).unwrap().count, 100);
        assert!(rule(100, 20).keep(119, Some(0), &[0; 32]).is_none());
        let kept = rule(100, 20).keep(120, Some(0), &[0; 32]).unwrap();
        assert_eq!((kept.count, (0..120).filter(|&one| kept.contains(one)).count()), (100, 100));
        assert!(rule(1, 20).keep(3, Some(-5), &[0; 32]).is_none(), "more cannot be deleted than there is");
    }

    /// Attack 15: noise above the shift deletes nothing; it is not an error, and not drawn again.
    #[test]
    fn noise_above_the_shift_deletes_nothing() {
        for noise in [20, 21, i128::MAX] {
            let kept = rule(100, 20).keep(100, Some(noise), &[0; 32]).unwrap();
            assert!(kept.count == 100 && (0..100).all(|one| kept.contains(one)));
        }
    }

    /// Every upload is deleted equally often: 4000 deletions of 5 among 20, each upload 1000 times expected with a
    /// variance of 750. The chance that a correct rule strays by 165 for any of 20 is below 20·2·Φ(−6) < 1e-7.
    #[test]
    fn deleted_uploads_are_any() {
        let rule = rule(1, 5);
        let mut counts = [0u32; 20];
        for number in 0..4000u64 {
            let mut seed = [9; 32];
            seed[..8].copy_from_slice(&number.to_be_bytes());
            let kept = rule.keep(20, Some(0), &seed).unwrap();
            (0..20).filter(|&one| !kept.contains(one)).for_each(|one| counts[one as usize] += 1);
        }
        assert_eq!(counts.iter().sum::<u32>(), 20_000);
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 165), "{counts:?}");
    }
}
