//! The server's sum of gradient reports, for either mechanism.

use super::{Direction, Seed, UNIT};
use crate::Error;

/// The sum of signed directions: integers, so it does not depend on the order of the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradientTally {
    reports: u64,
    sums: Vec<i64>,
}

impl GradientTally {
    pub(super) fn new(dimension: usize) -> Self {
        Self { reports: 0, sums: vec![0; dimension] }
    }

    /// The number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds the sums of another part of the crowd.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if self.sums.len() != other.sums.len() {
            return Err(Error::TallyMismatch { left: self.sums.len(), right: other.sums.len() });
        }
        self.reports += other.reports;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        Ok(())
    }

    /// Counts one report: a direction, or its opposite.
    pub(super) fn add(&mut self, dimension: usize, seed: Seed, positive: bool) -> Result<(), Error> {
        if self.sums.len() != dimension {
            return Err(Error::TallyMismatch { left: self.sums.len(), right: dimension });
        }
        Direction::new(seed).add(positive, &mut self.sums);
        self.reports += 1;
        Ok(())
    }

    /// The mean direction times `scale`, where one report's coordinates have the standard deviation `noise`.
    pub(super) fn estimate(&self, scale: f64, noise: f64) -> Result<GradientEstimate, Error> {
        if self.reports == 0 {
            return Err(Error::ZeroCount("the number of reports"));
        }
        let n = self.reports as f64;
        let factor = scale / (n * f64::from(UNIT));
        let mean = self.sums.iter().map(|&sum| factor * sum as f64).collect();
        Ok(GradientEstimate { mean, standard_error: noise / n.sqrt() })
    }
}

/// The mean of the clipped gradients of a crowd.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientEstimate {
    /// Unbiased, coordinate by coordinate.
    pub mean: Vec<f64>,
    /// An upper bound on the standard error of a coordinate (the root mean square over all of them).
    pub standard_error: f64,
}
