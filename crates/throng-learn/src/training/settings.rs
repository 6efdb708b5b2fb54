//! The hyperparameters of a training, checked once.

use throng_dp::Epsilon;

use super::Average;
use super::noisy_sum::NoisySum;
use crate::{Error, Examples, Mechanism, MechanismName, Network, Rate, Simulation};

/// The hyperparameters of a training: all that decides it, but for the randomness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How gradients reach the server.
    pub protocol: Protocol,
    /// How many examples take part in a step, drawn without replacement.
    pub examples_each_step: usize,
    /// How many steps there are.
    pub steps: u64,
    /// How far each goes.
    pub rate: Rate,
    /// The share of the last step's movement that goes on in this one.
    pub momentum: f64,
    /// Which model comes out.
    pub average: Average,
    /// Parameters are kept in the ball of this radius around 0, as the paper's Theorem learning needs it.
    pub radius: Option<f64>,
}

/// How gradients reach the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    /// As they are: no privacy.
    Plain,
    /// Clipped, and the server adds Gaussian noise to their sum: central DP-SGD, for whoever trusts the server.
    Central {
        /// The clipping norm.
        clip: f64,
        /// The standard deviation of the noise on each coordinate of the sum, in clipping norms.
        noise: f64,
    },
    /// LDP-SGD.
    Local {
        /// Through which randomizer.
        mechanism: MechanismName,
        /// What each report guarantees by itself.
        epsilon: Epsilon,
        /// The clipping norm.
        clip: f64,
        /// How many reports each example's gradient is the subject of.
        reports_each: u32,
        /// How the sum of reports is made.
        simulation: Simulation,
    },
}

impl Protocol {
    /// The version of what a training computes. It is raised with every change after which the same seed, settings and examples
    /// may give another model; for all protocols after a change to networks, features or randomness. A training that another
    /// version began is not resumed, and one that it finished is made again.
    pub fn numerics(&self) -> u32 {
        match self {
            Self::Plain | Self::Local { .. } => 1,
            Self::Central { .. } => 2,
        }
    }
}

impl Settings {
    /// How many reports a step collects.
    pub fn reports(&self) -> u64 {
        let each = match self.protocol {
            Protocol::Local { reports_each, .. } => reports_each,
            Protocol::Plain | Protocol::Central { .. } => 1,
        };
        self.examples_each_step as u64 * u64::from(each)
    }

    pub(super) fn mechanism(&self, dimension: usize) -> Result<Option<Mechanism>, Error> {
        match self.protocol {
            Protocol::Plain | Protocol::Central { .. } => Ok(None),
            Protocol::Local { mechanism, epsilon, clip, .. } => {
                Mechanism::new(mechanism, dimension, clip, epsilon).map(Some)
            }
        }
    }

    pub(super) fn check(&self, network: &Network, examples: &Examples) -> Result<(), Error> {
        if network.inputs() != examples.width() || network.classes() != examples.classes() {
            return Err(Error::Examples(format!(
                "the network is for {} numbers and {} classes, the examples have {} and {}; choose the network for them",
                network.inputs(),
                network.classes(),
                examples.width(),
                examples.classes()
            )));
        }
        let setting = |what, got, fits: bool, expected| {
            if fits { Ok(()) } else { Err(Error::Setting { what, got, expected }) }
        };
        let count = self.examples_each_step;
        setting(
            "the number of examples in a step",
            count as f64,
            (1..=examples.len()).contains(&count),
            "give at least 1 and at most all examples",
        )?;
        let steps = self.steps;
        setting("the number of steps", steps as f64, steps > 0 && steps < 1 << 47, "give at least 1")?;
        for rate in [self.rate.at(0, steps), self.rate.at(steps - 1, steps)] {
            setting("the learning rate", rate, rate.is_finite() && rate >= 0.0, "give a number from 0 up")?;
        }
        let momentum = self.momentum;
        setting("the momentum", momentum, (0.0..1.0).contains(&momentum), "give a number from 0 to below 1")?;
        if let Average::Exponential(keep) = self.average {
            let fits = (0.0..1.0).contains(&keep);
            setting("the share that an average keeps", keep, fits, "give a number from 0 to below 1")?;
        }
        let positive = |what, x: f64| setting(what, x, x.is_finite() && x > 0.0, "give a number above 0");
        if let Some(radius) = self.radius {
            positive("the radius", radius)?;
        }
        match self.protocol {
            Protocol::Plain => Ok(()),
            Protocol::Central { clip, noise } => {
                positive("the clipping norm", clip)?;
                positive("the noise", noise)?;
                setting(
                    "the noise",
                    noise,
                    count as f64 / noise <= NoisySum::GRADIENTS_PER_NOISE_MAX,
                    "give more, at least the number of examples in a step divided by 2^24",
                )
            }
            Protocol::Local { reports_each, .. } => {
                positive("the number of reports of one respondent", f64::from(reports_each))
            }
        }
    }
}
