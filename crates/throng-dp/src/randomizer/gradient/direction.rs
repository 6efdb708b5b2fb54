//! From a seed of 128 bits to a direction in any number of dimensions, the same on every machine.
//!
//! The map uses integers only, so no platform's floating-point functions can change it:
//! 1. The key of a ChaCha20 stream (RFC 8439, nonce and counter zero) is the seed, then the 16 bytes of
//!    `throng direction`.
//! 2. Each coordinate takes two bytes of the stream, little-endian: 15 bits i, and a sign above them.
//! 3. Its size is table[i] = the nearest integer to 4096·z, where z is the quantile of |N(0, 1)| at (i + 1/2)/2^15.
//!
//! So a coordinate is 4096 times a normal variable, rounded. The table has the mean absolute value and the variance
//! of the normal distribution to about 1 part in 10^5, which bounds the bias of a decoded gradient.

use std::sync::LazyLock;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::normal;

/// The seed of a direction.
pub type Seed = [u8; 16];

/// What a coordinate of 1 is written as.
pub const UNIT: i16 = 4096;

/// The coordinates of one direction, made block by block.
#[derive(Debug)]
pub struct Direction {
    stream: ChaCha20Rng,
}

impl Direction {
    /// The direction of a seed.
    pub fn new(seed: Seed) -> Self {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&seed);
        key[16..].copy_from_slice(b"throng direction");
        Self { stream: ChaCha20Rng::from_seed(key) }
    }

    /// As many coordinates as there is room for.
    pub fn fill(mut self, coordinates: &mut [i16]) {
        coordinates.chunks_mut(BLOCK).for_each(|chunk| self.next_block(chunk));
    }

    /// The inner product with a vector, in units of the coordinates, without holding the direction. In doubles: sums
    /// of 32-bit products can neither overflow nor lose what decides a side.
    pub(super) fn dot(mut self, vector: &[f32]) -> f64 {
        let mut block = [0; BLOCK];
        let mut sum = 0.0;
        for chunk in vector.chunks(BLOCK) {
            self.next_block(&mut block[..chunk.len()]);
            sum += dot_block(chunk, &block);
        }
        sum
    }

    /// Adds the direction, or its opposite, to a sum.
    pub(super) fn add(mut self, positive: bool, sums: &mut [i64]) {
        let mut block = [0; BLOCK];
        for chunk in sums.chunks_mut(BLOCK) {
            self.next_block(&mut block[..chunk.len()]);
            if positive {
                chunk.iter_mut().zip(&block).for_each(|(sum, &v)| *sum += i64::from(v));
            } else {
                chunk.iter_mut().zip(&block).for_each(|(sum, &v)| *sum -= i64::from(v));
            }
        }
    }

    /// The next coordinates: a whole block, or the beginning of the last one.
    fn next_block(&mut self, coordinates: &mut [i16]) {
        let mut bytes = [0; 2 * BLOCK];
        let bytes = &mut bytes[..2 * coordinates.len()];
        self.stream.fill_bytes(bytes);
        let table: &[i16; LEVELS] = &TABLE;
        for (coordinate, pair) in coordinates.iter_mut().zip(bytes.as_chunks::<2>().0) {
            let word = u16::from_le_bytes(*pair);
            let size = table[usize::from(word) % LEVELS];
            // All ones for a negative coordinate: (size ^ -1) - (-1) = -size.
            let sign = (word as i16) >> 15;
            *coordinate = (size ^ sign) - sign;
        }
    }
}

fn dot_block(vector: &[f32], block: &[i16; BLOCK]) -> f64 {
    // Independent partial sums, which the compiler can keep in vector registers.
    let mut sums = [0.0f64; LANES];
    let (vectors, rest) = vector.as_chunks::<LANES>();
    for (x, v) in vectors.iter().zip(block.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * f64::from(v[lane]);
        }
    }
    let tail: f64 = rest
        .iter()
        .zip(&block[vector.len() - rest.len()..])
        .map(|(&x, &v)| f64::from(x) * f64::from(v))
        .sum();
    sums.iter().sum::<f64>() + tail
}

const LANES: usize = 16;
/// Coordinates made at a time: two bytes each, small enough for the first-level cache.
const BLOCK: usize = 2048;
const LEVELS: usize = 1 << 15;

static TABLE: LazyLock<Box<[i16; LEVELS]>> = LazyLock::new(|| {
    let mut table = Box::new([0; LEVELS]);
    for (i, size) in table.iter_mut().enumerate() {
        *size = level(i).round() as i16;
    }
    table
});

/// The sizes that a coordinate can have, all equally likely.
#[cfg(test)]
pub(super) fn sizes() -> &'static [i16] {
    TABLE.as_slice()
}

/// 4096 times the quantile of |N(0, 1)| in the middle of the i-th of 2^15 equally likely parts. No value is near
/// a half-integer (a test says how near), so every good implementation rounds alike.
fn level(i: usize) -> f64 {
    let tail = (LEVELS as f64 - (i as f64 + 0.5)) / (2 * LEVELS) as f64;
    f64::from(UNIT) * normal::upper_quantile(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(seed: Seed, length: usize) -> Vec<i16> {
        let mut coordinates = vec![0; length];
        Direction::new(seed).fill(&mut coordinates);
        coordinates
    }

    #[test]
    fn the_table_is_far_from_any_rounding_doubt() {
        let nearest = (0..LEVELS).map(|i| (level(i).fract() - 0.5).abs()).fold(1.0, f64::min);
        assert!(nearest > 1e-6, "a quantile is only {nearest} from a half-integer");
    }

    #[test]
    fn the_table_has_the_moments_of_the_normal_distribution() {
        let mean = |power: i32| {
            TABLE.iter().map(|&t| (f64::from(t) / f64::from(UNIT)).powi(power)).sum::<f64>() / LEVELS as f64
        };
        assert!((mean(1) / (2.0 / std::f64::consts::PI).sqrt() - 1.0).abs() < 1e-5, "{}", mean(1));
        assert!((mean(2) - 1.0).abs() < 3e-5, "{}", mean(2));
        assert!(TABLE.windows(2).all(|w| w[0] <= w[1]) && TABLE[0] == 0);
    }

    #[test]
    fn blocks_of_any_length_agree() {
        let long = direction([9; 16], 3 * BLOCK + 17);
        assert_eq!(long[..100], direction([9; 16], 100));
        assert_ne!(long[..100], long[BLOCK..BLOCK + 100]);
        assert_ne!(long, direction([8; 16], 3 * BLOCK + 17));

        let vector: Vec<f32> = (0..long.len()).map(|i| (i % 7) as f32 - 3.0).collect();
        let exact: f64 = vector.iter().zip(&long).map(|(&x, &v)| f64::from(x) * f64::from(v)).sum();
        assert!((Direction::new([9; 16]).dot(&vector) - exact).abs() < 1e-15 * exact.abs().max(1e6));

        let mut sums = vec![5; long.len()];
        Direction::new([9; 16]).add(false, &mut sums);
        assert!(sums.iter().zip(&long).all(|(&sum, &v)| sum == 5 - i64::from(v)));
        Direction::new([9; 16]).add(true, &mut sums);
        assert!(sums.iter().all(|&sum| sum == 5));
    }
}
