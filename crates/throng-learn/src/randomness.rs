//! Seeded randomness: one seed, and a stream of its own for every piece of work. So a training goes on from any step exactly
//! as if it had never stopped, on any number of threads.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

/// The randomness of a training.
#[derive(Clone)]
pub struct Randomness {
    seed: [u8; 32],
}

/// A piece of work that draws.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    /// The parameters that training starts from.
    Start,
    /// Who takes part in a step.
    Choice,
    /// The noise of a step as a whole.
    Noise,
    /// The reports of one group of a step.
    Group(usize),
}

impl Randomness {
    /// From a seed. Whoever knows it can undo the noise: where people's data are at stake it has to be secret and uniform.
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed }
    }

    /// From a number, for simulations that can be run again.
    pub fn numbered(number: u64) -> Self {
        let mut seed = *NUMBERED;
        seed[24..].copy_from_slice(&number.to_le_bytes());
        Self { seed }
    }

    /// The number that it came from; none if it came from a seed.
    pub fn number(&self) -> Option<u64> {
        let (start, number) = self.seed.split_last_chunk()?;
        NUMBERED.starts_with(start).then_some(u64::from_le_bytes(*number))
    }

    /// The seed, for whoever stores it.
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    pub(crate) fn of(&self, step: u64, piece: Piece) -> ChaCha20Rng {
        let piece = match piece {
            Piece::Start => 0,
            Piece::Choice => 1,
            Piece::Noise => 2,
            Piece::Group(group) => 3 + group as u64,
        };
        let mut rng = ChaCha20Rng::from_seed(self.seed);
        rng.set_stream(step << 16 | piece);
        rng
    }
}

/// What the seeds of numbers look like, but for the last 8 bytes.
const NUMBERED: &[u8; 32] = b"throng learning, seed number ...";

/// The seed is not shown.
impl std::fmt::Debug for Randomness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Randomness")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_told() {
        for number in [0, 7, u64::MAX] {
            let numbered = Randomness::numbered(number);
            assert_eq!(Randomness::new(*numbered.seed()).number(), Some(number));
        }
        let mut other = *Randomness::numbered(7).seed();
        other[23] ^= 1;
        assert_eq!(Randomness::new(other).number(), None);
    }
}
