//! The run-time choice of a randomizer of gradients.

use rand_core::CryptoRng;
use throng_dp::randomizer::gradient::GradientTally;
use throng_dp::{Epsilon, Estimator, Gradient, GradientRandomizer, PrivUnit, Randomizer};

use crate::Error;

/// A randomizer of gradients.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// The paper's: a direction and a randomized sign.
    Sign(Gradient),
    /// A direction that is likely near the gradient: less noise at the same ε.
    PrivUnit(PrivUnit),
}

/// The name of a randomizer of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MechanismName {
    /// [`Mechanism::Sign`].
    Sign,
    /// [`Mechanism::PrivUnit`].
    PrivUnit,
}

impl Mechanism {
    /// For gradients of `dimension` numbers clipped to the norm `clip`, ε for each report.
    pub fn new(name: MechanismName, dimension: usize, clip: f64, epsilon: Epsilon) -> Result<Self, Error> {
        Ok(match name {
            MechanismName::Sign => Self::Sign(Gradient::new(dimension, clip, epsilon)?),
            MechanismName::PrivUnit => Self::PrivUnit(PrivUnit::new(dimension, clip, epsilon)?),
        })
    }

    /// What one report guarantees by itself, computed from its coins.
    pub fn epsilon(&self) -> Epsilon {
        match self {
            Self::Sign(mechanism) => mechanism.epsilon(),
            Self::PrivUnit(mechanism) => mechanism.epsilon(),
        }
    }

    /// The component of a decoded report along a gradient of this norm. For simulations.
    pub(crate) fn along(&self, norm: f64, rng: &mut (impl CryptoRng + ?Sized)) -> f64 {
        match self {
            Self::Sign(mechanism) => mechanism.along(norm, rng),
            Self::PrivUnit(mechanism) => mechanism.along(norm, rng),
        }
    }

    /// The standard deviation of a decoded report in every direction across the gradient.
    pub fn across(&self) -> f64 {
        match self {
            Self::Sign(mechanism) => mechanism.across(),
            Self::PrivUnit(mechanism) => mechanism.across(),
        }
    }

    pub(crate) fn tally(&self) -> Result<GradientTally, Error> {
        Ok(match self {
            Self::Sign(mechanism) => mechanism.tally()?,
            Self::PrivUnit(mechanism) => mechanism.tally()?,
        })
    }

    /// One respondent's report on a gradient, and the server's part: literally the protocol.
    pub(crate) fn report(
        &self,
        gradient: &[f32],
        tally: &mut GradientTally,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        match self {
            Self::Sign(mechanism) => mechanism.add(tally, &mechanism.randomize(Some(gradient), rng)?)?,
            Self::PrivUnit(mechanism) => mechanism.add(tally, &mechanism.randomize(Some(gradient), rng)?)?,
        }
        Ok(())
    }

    pub(crate) fn mean(&self, tally: &GradientTally) -> Result<Vec<f32>, Error> {
        let estimate = match self {
            Self::Sign(mechanism) => mechanism.estimate(tally)?,
            Self::PrivUnit(mechanism) => mechanism.estimate(tally)?,
        };
        Ok(estimate.mean.iter().map(|&x| x as f32).collect())
    }
}
