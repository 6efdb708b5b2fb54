//! Synthetic pictures for smoke tests: runs that only show that everything works.

use std::f32::consts::PI;

use anyhow::Result;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_learn::Examples;

use throng_simulate::dataset::PictureSet;

/// Bars in ten directions, one for each class, in the shape of a set: training pictures, and others to test with.
pub(super) fn drawn(set: PictureSet) -> Result<(Examples, Examples)> {
    Ok((bars(set, TRAINING, 1)?, bars(set, TEST, 2)?))
}

fn bars(set: PictureSet, count: usize, seed: u64) -> Result<Examples> {
    let [channels, rows, columns] = set.shape();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut uniform = || (rng.next_u32() >> 8) as f32 * 2f32.powi(-24);
    let mut inputs = Vec::with_capacity(count * channels * rows * columns);
    let mut labels = Vec::with_capacity(count);
    for i in 0..count {
        let class = i % CLASSES;
        let (sin, cos) = (PI * class as f32 / CLASSES as f32).sin_cos();
        let (x0, y0) = (columns as f32 * (0.4 + 0.2 * uniform()), rows as f32 * (0.4 + 0.2 * uniform()));
        for _ in 0..channels {
            for pixel in 0..rows * columns {
                let (x, y) = ((pixel % columns) as f32 - x0, (pixel / columns) as f32 - y0);
                let across = (x * sin - y * cos).abs();
                inputs.push((1.0 - across / 3.0).max(0.0) * (0.8 + 0.2 * uniform()));
            }
        }
        labels.push(class as u8);
    }
    Ok(Examples::new(inputs, channels * rows * columns, labels, CLASSES)?)
}

const CLASSES: usize = 10;
const TRAINING: usize = 240;
const TEST: usize = 60;
