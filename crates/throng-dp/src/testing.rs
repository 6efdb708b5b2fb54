//! What the tests of this crate share: seeded generators, scripted words, and statistical assertions with a
//! stated chance of failing a correct sampler.

use std::convert::Infallible;

use chacha20::ChaCha12Rng;
use rand_core::{SeedableRng, TryCryptoRng, TryRng};

use crate::Epsilon;

/// The chance that one statistical test fails a correct sampler on a fresh seed. The seeds are fixed, so a
/// correct sampler that passes once passes always.
pub(crate) const ALPHA: f64 = 1e-6;

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub(crate) fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

/// Words to be drawn in order; running out is a failure of the test.
pub(crate) struct Script {
    words: std::collections::VecDeque<u64>,
}

impl Script {
    pub(crate) fn new(words: impl IntoIterator<Item = u64>) -> Self {
        Self { words: words.into_iter().collect() }
    }
}

impl TryRng for Script {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.words.pop_front().expect("the sampler drew more words than scripted"))
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("samplers draw words")
    }
}

impl TryCryptoRng for Script {}

/// Fails if `hits` of `draws` independent draws with probability `p` is too far from its mean.
///
/// Bernstein: Pr[|hits - np| >= t] <= 2 exp(-t²/(2(npq + t/3))), so with L = ln(2 tests/ALPHA) and
/// t = L/3 + sqrt(L²/9 + 2npqL) all `tests` such assertions of a test together fail with probability ALPHA.
pub(crate) fn assert_share(hits: u64, draws: u64, p: f64, tests: u32) {
    let mean = draws as f64 * p;
    let allowed = bernstein(mean * (1.0 - p), f64::from(tests));
    let off = (hits as f64 - mean).abs();
    assert!(off <= allowed || p == 0.0 && hits == 0, "{hits} hits, expected {mean} within {allowed}");
    assert!(p > 0.0 || hits == 0, "an impossible outcome came up {hits} times");
}

/// Fails if the mean of `values` is further from `mean` than a normal mean of that many values with this
/// standard deviation would be, with chance ALPHA over `tests` assertions (z from the bound
/// Pr[|Z| > z] <= exp(-z²/2), which holds for every z >= 1).
pub(crate) fn assert_mean(values: &[f64], mean: f64, deviation: f64, tests: u32) {
    let average = values.iter().sum::<f64>() / values.len() as f64;
    let z = (2.0 * (f64::from(tests) / ALPHA).ln()).sqrt();
    let allowed = z * deviation / (values.len() as f64).sqrt();
    assert!((average - mean).abs() <= allowed, "mean {average}, expected {mean} within {allowed}");
}

/// Fails if the sample variance of roughly normal `values` is too far from `variance`: its relative standard
/// error is sqrt(2/n), and z is as in [`assert_mean`] with a quarter more for the skew of the chi-square.
pub(crate) fn assert_variance(values: &[f64], variance: f64, tests: u32) {
    let n = values.len() as f64;
    let average = values.iter().sum::<f64>() / n;
    let sample = values.iter().map(|v| (v - average).powi(2)).sum::<f64>() / (n - 1.0);
    let z = 1.25 * (2.0 * (f64::from(tests) / ALPHA).ln()).sqrt();
    let allowed = variance * z * (2.0 / n).sqrt();
    assert!((sample - variance).abs() <= allowed, "variance {sample}, expected {variance} within {allowed}");
}

fn bernstein(variance: f64, tests: f64) -> f64 {
    let l = (2.0 * tests / ALPHA).ln();
    l / 3.0 + (l * l / 9.0 + 2.0 * variance * l).sqrt()
}
