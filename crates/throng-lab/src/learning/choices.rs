//! The hyperparameters that somebody asks for.

use serde::Serialize;
use throng_learn::{Average, MechanismName, Simulation};

use super::{Mode, ModelName};

/// A training as it is asked for; what is left open is chosen to suit the data and the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// The model.
    pub model: Option<ModelName>,
    /// How gradients reach the server.
    pub protocol: ProtocolName,
    /// The randomizer of reports.
    pub randomizer: MechanismName,
    /// What each report guarantees by itself.
    pub epsilon_local: f64,
    /// How many reports a step collects.
    pub batch: Option<u64>,
    /// How many steps there are, at most.
    pub steps: Option<u64>,
    /// How many reports each example's gradient is the subject of.
    pub reports_each: Option<u32>,
    /// Whose reports these are taken to be.
    pub mode: Mode,
    /// How the sum of reports is made.
    pub simulation: Option<Simulation>,
    /// The clipping norm.
    pub clip: Option<f64>,
    /// The learning rate of the first step.
    pub rate: Option<f64>,
    /// Which model comes out.
    pub average: Option<Average>,
    /// The ball around 0 that the parameters are kept in.
    pub radius: Option<f64>,
    /// The noise of a trusted server, in clipping norms.
    pub noise: Option<f64>,
    /// What the training may cost: it has as many steps as fit, or a trusted server as much noise as it takes.
    pub epsilon_central: Option<f64>,
    /// The allowance beside the guarantee's epsilon: `throng_dp::Delta` says what that is.
    pub delta: f64,
    /// Those who are not asked in a step send chaff, so that nobody can tell who was asked.
    pub cover: bool,
    /// Measure on a sixth of the training examples, which are then not trained on, instead of the test examples.
    pub held_out: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            model: None,
            protocol: ProtocolName::Local,
            randomizer: MechanismName::Sign,
            epsilon_local: 1.9,
            batch: None,
            steps: None,
            reports_each: None,
            mode: Mode::SimulateBatch,
            simulation: None,
            clip: None,
            rate: None,
            average: None,
            radius: None,
            noise: None,
            epsilon_central: None,
            delta: 1e-5,
            cover: false,
            held_out: false,
        }
    }
}

throng_simulate::choices! {
    /// How gradients reach the server, by name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProtocolName {
        /// Randomized by each respondent: LDP-SGD
        Local = "local",
        /// As they are, to a trusted server that adds the noise: DP-SGD
        Central = "central",
        /// As they are: no privacy
        Plain = "plain",
    }
}
