//! Randomness by piece of work, all from one seed.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;

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

    /// The key is a label, the purpose and the seed; ChaCha20's stream number is the piece.
    pub(super) fn rng(self, purpose: Purpose, piece: u64) -> ChaCha20Rng {
        let mut key = *b"throng simulate v1 .............";
        key[19] = match purpose {
            Purpose::Reports => b'r',
            Purpose::Split => b's',
            Purpose::Noise => b'n',
            Purpose::Gaussian => b'g',
        };
        key[24..].copy_from_slice(&self.seed.to_le_bytes());
        let mut rng = ChaCha20Rng::from_seed(key);
        rng.set_stream(piece);
        rng
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
