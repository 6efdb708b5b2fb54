//! What all experiments share: the paper's four data sets, measurements, and the seed they come from.

use std::path::PathBuf;

use anyhow::Result;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use indicatif::ProgressBar;
use throng_account::amplification::exact;
use throng_account::gaussian::Gaussian;
use throng_analyze::{Accuracy, rmse};
use throng_dp::estimate::clip;
use throng_dp::{CountSketch, Delta, Encoding, Epsilon, Estimates, Mechanism, OneHot, SketchShape};

use throng_simulate::dataset::{Dataset, Generator};
use throng_simulate::simulation::{self, Mode, Simulation};

/// Where experiments are run.
#[derive(Debug)]
pub struct Lab {
    /// What all randomness comes from.
    pub seed: u64,
    /// How many threads to use.
    pub threads: usize,
    /// Where data that does not come with the program is, if the user has it.
    pub data: Option<PathBuf>,
    /// Says what is going on.
    pub progress: ProgressBar,
}

/// A data set of the paper's Section VII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Phone locations, a picture of 1365 x 2048.
    Map,
    /// A drawing of 274 x 320.
    Horse,
    /// A portrait of 721 x 497.
    Child,
    /// Two hundred million reports on a power law.
    Heavy,
}

/// One reconstruction, compared with the truth.
#[derive(Clone, Debug)]
pub(super) struct Reconstruction {
    /// The unbiased estimates.
    pub estimates: Estimates,
    /// Their error.
    pub accuracy: Accuracy,
}

impl Data {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Horse => "horse",
            Self::Child => "child",
            Self::Heavy => "heavy hitters",
        }
    }

    /// The delta that the paper states its guarantees at.
    pub(super) fn delta(self) -> Delta {
        let delta = match self {
            Self::Map | Self::Heavy => 5e-10,
            Self::Horse => 5e-8,
            Self::Child => 5e-9,
        };
        Delta::new(delta).unwrap_or(Delta::ZERO)
    }

    pub(super) fn load(self) -> Result<Dataset> {
        match self {
            Self::Map => Dataset::built_in("map"),
            Self::Horse => Dataset::built_in("horse"),
            Self::Child => Dataset::built_in("portrait"),
            Self::Heavy => Dataset::generate(&Generator::default()),
        }
    }
}

impl Lab {
    /// Runs one mechanism on a crowd.
    pub(super) fn measure(&self, data: &Dataset, mechanism: &Mechanism) -> Result<Reconstruction> {
        let counts = data.counts();
        let mode = Mode::Aggregate;
        let simulation = Simulation { mechanism, counts, mode, seed: self.seed, threads: self.threads };
        Ok(Reconstruction::new(simulation.run(|_| self.progress.tick())?.estimates, mechanism, counts))
    }

    /// Runs one mechanism on one of several crowds, each of which has noise of its own.
    pub(super) fn measure_crowd(
        &self,
        counts: &[u64],
        mechanism: &Mechanism,
        crowd: u64,
    ) -> Result<Reconstruction> {
        // The first crowd has the seed of the lab, and seeds of neighbors are far apart.
        let seed = self.seed ^ crowd.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mode = Mode::Aggregate;
        let simulation = Simulation { mechanism, counts, mode, seed, threads: self.threads };
        Ok(Reconstruction::new(simulation.run(|_| self.progress.tick())?.estimates, mechanism, counts))
    }

    /// Randomness for what an experiment draws itself: one stream for each piece of its work.
    pub(super) fn rng(&self, piece: u64) -> ChaCha20Rng {
        let mut key = *b"throng experiment v1 ...........";
        key[24..].copy_from_slice(&self.seed.to_le_bytes());
        let mut rng = ChaCha20Rng::from_seed(key);
        rng.set_stream(piece);
        rng
    }

    /// Runs several sketches of one shape on a crowd.
    pub(super) fn measure_sketches(
        &self,
        data: &Dataset,
        mechanisms: &[&Mechanism],
    ) -> Result<Vec<Reconstruction>> {
        let tick = |_| self.progress.tick();
        let all = simulation::sketches(mechanisms, data.counts(), self.seed, self.threads, tick)?;
        let measured = |(mechanism, one): (&&Mechanism, simulation::SimulationOutcome)| {
            Reconstruction::new(one.estimates, mechanism, data.counts())
        };
        Ok(mechanisms.iter().zip(all).map(measured).collect())
    }

    /// What a trusted party gives with this noise.
    pub(super) fn measure_gaussian(&self, data: &Dataset, sigma: f64) -> Reconstruction {
        let estimates = simulation::gaussian(data.counts(), sigma, self.seed);
        let accuracy = Accuracy::of(&estimates, data.counts(), &estimates.spread());
        Reconstruction { estimates, accuracy }
    }

    /// Says what is being worked on.
    pub(super) fn say(&self, what: impl Into<String>) {
        self.progress.set_message(what.into());
        self.progress.tick();
    }
}

impl Reconstruction {
    fn new(estimates: Estimates, mechanism: &Mechanism, truth: &[u64]) -> Self {
        let accuracy = Accuracy::of(&estimates, truth, &mechanism.spread_of(truth));
        Self { estimates, accuracy }
    }

    /// The error as the paper measures it: counts moved into [0, 255] first, whatever a unit stands for.
    pub(super) fn rmse_as_paper(&self, data: &Dataset) -> f64 {
        match data.canvas() {
            Some(_) => rmse(&clip(self.estimates.counts(), 0.0, 255.0), data.counts()),
            None => rmse(&clip(self.estimates.counts(), 0.0, f64::INFINITY), data.counts()),
        }
    }

    /// The error after counts were moved into the range that they can have.
    pub(super) fn rmse_clipped(&self, data: &Dataset) -> f64 {
        let high = data.canvas().map_or(f64::INFINITY, |canvas| 255.0 * canvas.respondents_per_unit);
        rmse(&clip(self.estimates.counts(), 0.0, high), data.counts())
    }
}

/// One bit per value, in `tau` report fragments (1: none, and ε_fragment is not used).
pub(super) fn one_hot(domain: u64, floor: Epsilon, fragment: Epsilon, tau: u32) -> Result<Mechanism> {
    in_fragments(OneHot::new(domain, floor)?, fragment, tau)
}

/// The same in a sketch.
pub(super) fn sketch(shape: SketchShape, floor: Epsilon, fragment: Epsilon, tau: u32) -> Result<Mechanism> {
    in_fragments(CountSketch::new(shape, floor)?, fragment, tau)
}

fn in_fragments(whole: impl Into<Encoding>, fragment: Epsilon, tau: u32) -> Result<Mechanism> {
    Ok(if tau == 1 { Mechanism::plain(whole) } else { Mechanism::fragments(whole, fragment, tau)? })
}

/// The largest ε_local that the exact accountant certifies.
pub(super) fn exact_local(n: u64, central: f64, delta: Delta) -> Result<Epsilon> {
    Ok(exact::epsilon_local_certified(n, Epsilon::new(central)?, delta)?)
}

/// The noise with which a trusted party keeps the same promise.
pub(super) fn gaussian_sigma(central: f64, delta: Delta) -> Result<f64> {
    Ok(Gaussian::calibrated(Epsilon::new(central)?, delta, 1.0)?.sigma())
}

/// The paper's epsilons of fragments lie on a grid of 0.005.
pub(super) fn on_paper_grid(epsilon: Epsilon) -> Result<Epsilon> {
    Ok(Epsilon::new((epsilon.value() / 0.005).round() * 0.005)?)
}

/// The root of the mean of some squares.
pub(super) fn root_mean(squares: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        squares.into_iter().fold((0.0, 0.0), |(sum, count), square| (sum + square, count + 1.0));
    (sum / f64::max(count, 1.0)).sqrt()
}

/// A number of respondents, or an estimate of one, as a person reads it: 7,009,728.
pub(super) fn people(count: f64) -> String {
    let digits = format!("{:.0}", count.abs());
    let mut text = if count <= -0.5 { String::from("-") } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
impl Lab {
    /// A quiet one, for tests.
    pub(super) fn for_tests(data: Option<PathBuf>) -> Self {
        Self { seed: 1, threads: 2, data, progress: ProgressBar::hidden() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_counted_in_thousands() {
        assert_eq!(["0", "999", "1,000", "-12,345"], [0.4, 999.0, 999.9, -12_345.4].map(people));
        assert_eq!(people(7_009_728.0), "7,009,728");
        assert_eq!(root_mean([9.0, 16.0, 0.0]), (25.0f64 / 3.0).sqrt());
    }
}
