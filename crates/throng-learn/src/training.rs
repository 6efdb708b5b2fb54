//! Training, step by step: some examples, their gradients, what the server learns of them, a step.

mod average;
mod noisy_sum;
mod settings;
mod state;

use std::sync::{Mutex, MutexGuard, PoisonError};

use faer::Accum;
use rand_core::CryptoRng;
use rayon::prelude::*;
use throng_dp::sampling;

pub use average::Average;
use noisy_sum::NoisySum;
pub use settings::{Protocol, Settings};
pub use state::State;
pub(crate) use state::project;

use crate::number::{Number, matrix};
use crate::randomness::Piece;
use crate::reports::{self, Reports, add_scaled};
use crate::{Error, Examples, Mechanism, Network, Randomness, Workspace};

/// A model that is being trained.
///
/// # Paper
/// Algorithm servrG, with a random part of all respondents in every step instead of all of them, as in Section VII.C. Who
/// takes part is drawn without replacement.
#[derive(Debug)]
pub struct Training<'a> {
    network: &'a Network,
    examples: &'a Examples,
    settings: Settings,
    mechanism: Option<Mechanism>,
    randomness: Randomness,
    state: State,
    spare: VectorPool,
}

/// What a step was like. These are true numbers about the respondents' data: a simulation may show them, a deployment
/// has no way to know them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The mean loss of those who took part.
    pub loss: f64,
    /// The share of gradients that were longer than the clipping norm.
    pub clipped: f64,
}

impl<'a> Training<'a> {
    /// From the start.
    pub fn new(
        network: &'a Network,
        examples: &'a Examples,
        settings: Settings,
        randomness: Randomness,
    ) -> Result<Self, Error> {
        let parameters = network.initial(&mut randomness.of(0, Piece::Start));
        Self::resume(network, examples, settings, randomness, State::new(parameters, &settings))
    }

    /// From where another training stopped, which had the same network, examples, settings and randomness.
    pub fn resume(
        network: &'a Network,
        examples: &'a Examples,
        settings: Settings,
        randomness: Randomness,
        state: State,
    ) -> Result<Self, Error> {
        settings.check(network, examples)?;
        state.check(network, &settings)?;
        let mechanism = settings.mechanism(network.dimension())?;
        Ok(Self { network, examples, settings, mechanism, randomness, state, spare: VectorPool::default() })
    }

    /// Where it is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The randomizer of a local protocol.
    pub fn mechanism(&self) -> Option<&Mechanism> {
        self.mechanism.as_ref()
    }

    /// One step. The order in which threads finish changes nothing.
    pub fn step(&mut self) -> Result<Step, Error> {
        let step = self.state.step;
        let chosen = choose(
            self.examples.len(),
            self.settings.examples_each_step,
            &mut self.randomness.of(step, Piece::Choice),
        );
        let (direction, report) = match self.settings.protocol {
            Protocol::Plain => self.plain(&chosen),
            Protocol::Central { clip, noise } => self.central(&chosen, clip, noise),
            Protocol::Local { clip, .. } => self.local(&chosen, clip)?,
        };
        let rate = self.settings.rate.at(step, self.settings.steps);
        self.state.go(&direction, rate, &self.settings);
        // Other protocols take none, so they would pile up.
        if self.settings.protocol == Protocol::Plain {
            self.spare.give_back(direction);
        }
        Ok(report)
    }

    /// The mean gradient as it is.
    fn plain(&self, chosen: &[usize]) -> (Vec<f32>, Step) {
        let len = chosen.len().div_ceil(PLAIN_GROUPS);
        let parts: Vec<_> = self.groups(chosen, len, |room, _, group| {
            let mut sum = self.spare.zeros(self.network.dimension());
            let mut losses = [0.0; PLAIN_AT_ONCE];
            let workspace = room.workspace.get_or_insert_with(|| self.network.workspace(PLAIN_AT_ONCE));
            let mut loss = 0.0;
            for few in group.chunks(PLAIN_AT_ONCE) {
                let (inputs, labels) = self.gathered(few);
                let losses = &mut losses[..few.len()];
                let parameters = &self.state.parameters;
                self.network.add_gradient(parameters, &inputs, &labels, workspace, losses, &mut sum);
                loss += losses.iter().sum::<f64>();
            }
            (sum, loss)
        });
        let count = chosen.len() as f64;
        let loss = parts.iter().map(|(_, loss)| loss).sum::<f64>() / count;
        let mut mean = self.total(parts.into_iter().map(|(sum, _)| sum));
        mean.iter_mut().for_each(|x| *x /= count as f32);
        (mean, Step { loss, clipped: 0.0 })
    }

    /// The mean of clipped gradients with Gaussian noise, as a server that sees them makes it.
    fn central(&self, chosen: &[usize], clip: f64, noise: f64) -> (Vec<f32>, Step) {
        let grid = NoisySum::new(clip, noise);
        let parts: Vec<_> = self.groups(chosen, group_len(chosen), |room, _, group| {
            // Sums of whole numbers: whichever groups a thread adds to the same vector, all of them together are the same.
            let mut sum = self.spare.sums().pop().unwrap_or_else(|| vec![0.0; self.network.dimension()]);
            let told = self.gradients(room, group, FEW, |gradients, _| {
                gradients.chunks_exact(self.network.dimension()).for_each(|one| grid.add(one, &mut sum));
            });
            self.spare.sums().push(sum);
            told
        });
        let mut sum = vec![0.0; self.network.dimension()];
        for part in self.spare.sums().iter_mut() {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += std::mem::take(part));
        }
        let rng = &mut self.randomness.of(self.state.step, Piece::Noise);
        (grid.mean(&sum, chosen.len(), rng), GradientStats::step(parts.iter(), clip))
    }

    /// The mean of randomized reports.
    fn local(&self, chosen: &[usize], clip: f64) -> Result<(Vec<f32>, Step), Error> {
        let (Some(mechanism), Protocol::Local { reports_each, simulation, .. }) =
            (&self.mechanism, self.settings.protocol)
        else {
            return Err(Error::Examples("this protocol has no randomizer; choose a local one".into()));
        };
        let at_once = match simulation {
            reports::Simulation::ChunkExact => CHUNK,
            reports::Simulation::Literal | reports::Simulation::Fast => FEW,
        };
        let parts: Vec<Result<_, Error>> = self.groups(chosen, group_len(chosen), |room, number, group| {
            let rng = self.randomness.of(self.state.step, Piece::Group(number));
            let dimension = self.network.dimension();
            let mut reports = Reports::new(mechanism, simulation, reports_each, dimension, rng)?;
            let mut refused = None;
            let told = self.gradients(room, group, at_once, |gradients, norms| {
                if let Err(error) = reports.add(gradients, norms) {
                    refused = Some(error);
                }
            });
            refused.map_or(Ok((reports.sum(), told)), Err)
        });
        let (sums, told): (Vec<_>, Vec<_>) =
            parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let rng = &mut self.randomness.of(self.state.step, Piece::Noise);
        let reports = chosen.len() as u64 * u64::from(reports_each);
        let mean = reports::mean(mechanism, simulation, sums, reports, rng)?;
        Ok((mean, GradientStats::step(told.iter(), clip)))
    }

    /// Does something with each group of those chosen, in parallel. How many groups there are does not depend on the number
    /// of threads, so neither does the result.
    fn groups<T: Send>(
        &self,
        chosen: &[usize],
        len: usize,
        f: impl Fn(&mut Room, usize, &[usize]) -> T + Sync,
    ) -> Vec<T> {
        let groups = chosen.par_chunks(len).enumerate();
        groups
            .map(|(number, group)| {
                let mut room = self.spare.rooms().pop().unwrap_or_default();
                let result = f(&mut room, number, group);
                self.spare.rooms().push(room);
                result
            })
            .collect()
    }

    /// Calls `f` with the gradients of a few examples at a time, and their norms.
    fn gradients(
        &self,
        room: &mut Room,
        group: &[usize],
        at_once: usize,
        mut f: impl FnMut(&[f32], &[f64]),
    ) -> GradientStats {
        let dimension = self.network.dimension();
        let workspace = room.workspace.get_or_insert_with(|| self.network.workspace(at_once));
        let mut losses = vec![0.0; at_once];
        room.gradients.resize(at_once * dimension, 0.0);
        let gradients = &mut room.gradients;
        let mut told =
            GradientStats { losses: Vec::with_capacity(group.len()), norms: Vec::with_capacity(group.len()) };
        for few in group.chunks(at_once) {
            let (inputs, labels) = self.gathered(few);
            let (losses, gradients) = (&mut losses[..few.len()], &mut gradients[..few.len() * dimension]);
            let parameters = &self.state.parameters;
            self.network.gradients(parameters, &inputs, &labels, workspace, losses, gradients);
            let first = told.norms.len();
            told.norms.extend(gradients.chunks_exact(dimension).map(norm));
            told.losses.extend_from_slice(losses);
            f(gradients, &told.norms[first..]);
        }
        told
    }

    /// The sum of vectors, in their order.
    fn total(&self, mut parts: impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            add_scaled(1.0, &part, &mut all);
            self.spare.give_back(part);
        }
        all
    }

    fn gathered(&self, positions: &[usize]) -> (Vec<&[f32]>, Vec<u8>) {
        let inputs = positions.iter().map(|&i| self.examples.input(i)).collect();
        (inputs, positions.iter().map(|&i| self.examples.label(i)).collect())
    }
}

/// What a thread works in, from one group to the next.
#[derive(Debug, Default)]
struct Room {
    workspace: Option<Workspace<f32>>,
    gradients: Vec<f32>,
}

/// What steps before have used: fresh memory for millions of numbers costs as much as a gradient.
#[derive(Debug, Default)]
struct VectorPool {
    vectors: Mutex<Vec<Vec<f32>>>,
    /// Zeros between steps.
    sums: Mutex<Vec<Vec<f64>>>,
    rooms: Mutex<Vec<Room>>,
}

impl VectorPool {
    fn zeros(&self, len: usize) -> Vec<f32> {
        let mut vector = self.vectors().pop().unwrap_or_default();
        vector.clear();
        vector.resize(len, 0.0);
        vector
    }

    fn give_back(&self, vector: Vec<f32>) {
        self.vectors().push(vector);
    }

    /// Whoever panicked with the lock in hand left whole vectors.
    fn vectors(&self) -> MutexGuard<'_, Vec<Vec<f32>>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sums(&self) -> MutexGuard<'_, Vec<Vec<f64>>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rooms(&self) -> MutexGuard<'_, Vec<Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What gradients were like.
struct GradientStats {
    losses: Vec<f64>,
    norms: Vec<f64>,
}

impl GradientStats {
    fn step<'t>(parts: impl Iterator<Item = &'t Self>, clip: f64) -> Step {
        let (mut count, mut loss, mut clipped) = (0.0, 0.0, 0.0);
        for part in parts {
            count += part.losses.len() as f64;
            loss += part.losses.iter().sum::<f64>();
            clipped += part.norms.iter().filter(|&&norm| norm > clip).count() as f64;
        }
        Step { loss: loss / count, clipped: clipped / count }
    }
}

/// `count` of `all` positions, each set of them as likely as any other.
fn choose(all: usize, count: usize, rng: &mut impl CryptoRng) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..all).collect();
    for i in 0..count {
        let other = i + sampling::below((all - i) as u64, rng) as usize;
        positions.swap(i, other);
    }
    positions.truncate(count);
    positions
}

fn norm(vector: &[f32]) -> f64 {
    let mut square = [0.0f32];
    f32::multiply(
        matrix(vector, 1, vector.len()),
        matrix(vector, vector.len(), 1),
        &mut square,
        (1, 1),
        Accum::Replace,
    );
    f64::from(square[0]).sqrt()
}

/// How many of those chosen are a group where all their gradients are looked at.
fn group_len(chosen: &[usize]) -> usize {
    chosen.len().div_ceil(GROUPS).next_multiple_of(CHUNK)
}

/// The largest number of groups in a step.
const GROUPS: usize = 64;
/// Gradients at once, where their vectors should stay in the cache.
const FEW: usize = 4;
/// Gradients at once for one vector of normals.
const CHUNK: usize = 16;
/// The same where only the sum of gradients is wanted: groups, each with a vector of its own, and examples at once.
const PLAIN_GROUPS: usize = 8;
const PLAIN_AT_ONCE: usize = 16;

#[cfg(test)]
mod tests;
