//! The sum of all reports of a step: as the protocol makes it, and two cheaper ways to draw it.
//!
//! A report on a gradient with unit vector u decodes to a·u + w, where a is drawn by two coins and a normal variable
//! and w ~ N(0, σ²(I − uuᵀ)) is independent of it: all of a report's cost is in drawing w. A simulation draws the sum of
//! many w at once.

mod chunk;
mod normals;

use chacha20::ChaCha20Rng;
use throng_dp::randomizer::gradient::GradientTally;

use normals::add_normals;

use crate::number::wide;
use crate::{Error, Mechanism};

/// How the sum of reports is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulation {
    /// Every respondent draws directions, and the server expands each again: the reference, and the only one that is the
    /// protocol.
    Literal,
    /// The same distribution, from one vector of normals and a small matrix for every few gradients.
    ChunkExact,
    /// One vector of normals for the whole step: the noise along the gradients themselves, which the reports have
    /// already, is added once more. That makes it a little larger than it is, the less so the more parameters there are.
    Fast,
}

/// The reports of a part of a step's respondents.
pub(crate) struct Reports<'a> {
    mechanism: &'a Mechanism,
    simulation: Simulation,
    reports_each: u32,
    rng: ChaCha20Rng,
    sum: Sum,
}

/// What reports add up to.
pub(crate) enum Sum {
    /// As the server has it.
    Tally(GradientTally),
    /// Decoded.
    Decoded(Vec<f32>),
}

impl<'a> Reports<'a> {
    pub(crate) fn new(
        mechanism: &'a Mechanism,
        simulation: Simulation,
        reports_each: u32,
        dimension: usize,
        rng: ChaCha20Rng,
    ) -> Result<Self, Error> {
        let sum = match simulation {
            Simulation::Literal => Sum::Tally(mechanism.tally()?),
            Simulation::ChunkExact | Simulation::Fast => Sum::Decoded(vec![0.0; dimension]),
        };
        Ok(Self { mechanism, simulation, reports_each, rng, sum })
    }

    /// Some respondents report, each as often as agreed, on gradients of `norms`, which are not 0 where there is
    /// anything to report.
    pub(crate) fn add(&mut self, gradients: &[f32], norms: &[f64]) -> Result<(), Error> {
        let rows = gradients.chunks_exact(gradients.len() / norms.len());
        match &mut self.sum {
            Sum::Tally(tally) => {
                for gradient in rows {
                    for _ in 0..self.reports_each {
                        self.mechanism.report(gradient, tally, &mut self.rng)?;
                    }
                }
            }
            Sum::Decoded(sum) => {
                for (gradient, &norm) in rows.zip(norms) {
                    let along: f64 =
                        (0..self.reports_each).map(|_| self.mechanism.along(norm, &mut self.rng)).sum();
                    add_scaled(unit(along, norm), gradient, sum);
                }
                if self.simulation == Simulation::ChunkExact {
                    let across = self.mechanism.across();
                    chunk::add_across(gradients, norms, self.reports_each, across, &mut self.rng, sum);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn sum(self) -> Sum {
        self.sum
    }
}

/// The mean of all reports of a step, from the sums of its parts in their order.
pub(crate) fn mean(
    mechanism: &Mechanism,
    simulation: Simulation,
    sums: Vec<Sum>,
    reports: u64,
    noise: &mut ChaCha20Rng,
) -> Result<Vec<f32>, Error> {
    let mut tally: Option<GradientTally> = None;
    let mut decoded: Vec<f32> = Vec::new();
    for sum in sums {
        match sum {
            Sum::Tally(part) => match &mut tally {
                Some(all) => all.merge(&part)?,
                None => tally = Some(part),
            },
            Sum::Decoded(part) if decoded.is_empty() => decoded = part,
            Sum::Decoded(part) => add_scaled(1.0, &part, &mut decoded),
        }
    }
    if let Some(tally) = tally {
        return mechanism.mean(&tally);
    }
    if simulation == Simulation::Fast {
        add_normals(mechanism.across() * (reports as f64).sqrt(), noise, &mut decoded);
    }
    let share = 1.0 / reports as f32;
    decoded.iter_mut().for_each(|x| *x *= share);
    Ok(decoded)
}

/// `to` += factor · `from`.
pub(crate) fn add_scaled(factor: f32, from: &[f32], to: &mut [f32]) {
    wide(
        #[inline(always)]
        || to.iter_mut().zip(from).for_each(|(to, &x)| *to += factor * x),
    );
}

/// What to multiply a vector of this norm by to get one of this length; nothing has no direction.
fn unit(length: f64, norm: f64) -> f32 {
    if norm > 0.0 { (length / norm) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests;
