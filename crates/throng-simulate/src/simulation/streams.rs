//! Seeded randomness: one seed, and a stream of its own for every piece of work.

use chacha20::rand_core::SeedableRng;
use chacha20::{ChaCha8Rng, ChaCha20Rng};

/// One seed, as many independent streams as there are pieces of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    seed: u64,
}

/// What a stream is for: the same piece may need more than one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The reports of a block of respondents.
    Reports,
    /// Which respondents are in which rows of a sketch.
    Split,
    /// The noise of counts.
    Noise,
    /// The noise of a trusted party.
    Gaussian,
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The generator that respondents' coins are tossed with.
    pub(super) fn rng(self, purpose: Purpose, piece: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(self.key(purpose));
        rng.set_stream(piece);
        rng
    }

    /// One with fewer rounds, for numbers that stand for many coins: they protect nobody, and there are billions.
    pub(super) fn fast_rng(self, purpose: Purpose, piece: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::from_seed(self.key(purpose));
        rng.set_stream(piece);
        rng
    }

    /// A label, the purpose and the seed. The stream number is the piece.
    fn key(self, purpose: Purpose) -> [u8; 32] {
        let mut key = *b"throng simulate v1 .............";
        key[19] = match purpose {
            Purpose::Reports => b'r',
            Purpose::Split => b's',
            Purpose::Noise => b'n',
            Purpose::Gaussian => b'g',
        };
        key[24..].copy_from_slice(&self.seed.to_le_bytes());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::Rng;

    #[test]
    fn every_stream_is_another_and_always_the_same() {
        let first = |seed, purpose, piece| Streams::new(seed).rng(purpose, piece).next_u64();
        let mut words = vec![
            first(1, Purpose::Reports, 0),
            first(1, Purpose::Reports, 1),
            first(1, Purpose::Split, 0),
            first(1, Purpose::Noise, 0),
            first(2, Purpose::Reports, 0),
        ];
        assert_eq!(words[1], first(1, Purpose::Reports, 1));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 5);
    }
}
