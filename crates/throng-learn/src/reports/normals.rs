//! Vectors of normal variables.

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use throng_dp::randomizer::gradient::{Direction, Seed, UNIT};

/// Adds independent normal variables of a standard deviation: a direction as reports have it, from a fresh seed. For
/// simulations of such reports; their tails end at 4.3 standard deviations, so they protect nobody by themselves.
pub(super) fn add_normals(deviation: f64, rng: &mut ChaCha20Rng, to: &mut [f32]) {
    let mut seed = Seed::default();
    rng.fill_bytes(&mut seed);
    let mut direction = vec![0i16; to.len()];
    Direction::new(seed).fill(&mut direction);
    let factor = (deviation / f64::from(UNIT)) as f32;
    to.iter_mut().zip(&direction).for_each(|(to, &x)| *to += factor * f32::from(x));
}
