//! Plans of trainings: all that is decided before a training starts.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use throng_account::composition::DpSgd;
use throng_dp::{CentralGuarantee, Delta, Epsilon};
use throng_learn::{Average, Mechanism, MechanismName, Network, Protocol, Rate, Settings, Simulation};

use super::accountant::Accountant;
use super::defaults::Defaults;
use super::{Choices, Mode, ModelName, ProtocolName, Source, Statement};
use throng_account::Refusal;
use throng_simulate::dataset::{LabelledExamples, PictureSet};

/// What is trained on what, how, and what that guarantees.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The examples, as the model reads them. Accuracy is measured on `data.test`.
    pub data: LabelledExamples,
    /// The model.
    pub model: ModelName,
    /// Its layers.
    pub network: Network,
    /// How it is trained.
    pub settings: Settings,
    /// Whether accuracy is measured on training examples that were held out, and the test examples were not touched.
    pub held_out: bool,
    /// What the whole training guarantees.
    pub statement: Statement,
    /// After which steps accuracy is measured, and what the training has cost by then.
    pub points: Vec<(u64, Option<f64>)>,
}

impl Plan {
    /// Opens the data and decides all that was left open. A target that not even one step fits is a
    /// [`Refusal`](throng_account::Refusal).
    pub fn new(source: &Source, choices: &Choices) -> Result<Self> {
        Self::of(source.open()?, source.pictures(), choices)
    }

    /// The same for data that were opened already; `set` says which pictures they are.
    pub fn of(data: LabelledExamples, set: Option<PictureSet>, choices: &Choices) -> Result<Self> {
        choices.check()?;
        let model = choices.model.unwrap_or_else(|| ModelName::suited(set));
        let (mut data, network) = model.prepare(set, data)?;
        if choices.held_out {
            (data.training, data.test) = data.training.held_out(HELD_OUT_ONE_IN)?;
        }
        let respondents = data.training.len() as u64;
        let draft = Draft::new(set, model, choices, respondents, network.dimension())?;
        let account = |settings: &Settings| {
            let delta = Delta::new(choices.delta)?;
            let (mode, cover) = (choices.mode, choices.cover);
            Accountant::new(settings, network.dimension(), respondents, mode, cover, delta)
        };
        let steps = match choices.epsilon_central {
            // A trusted server makes as much noise as it takes.
            Some(_) if choices.protocol == ProtocolName::Central && choices.noise.is_none() => draft.steps,
            Some(target) => {
                let target = Epsilon::new(target).context("--epsilon-central")?;
                let within = account(&draft.settings(draft.steps))?.steps_within(target)?;
                within.map_or(draft.steps, |within| within.min(draft.steps))
            }
            None => draft.steps,
        };
        if steps == 0 {
            let one = account(&draft.settings(1))?.epsilons(&[1])?[0].unwrap_or(f64::INFINITY);
            return Err(Refusal(format!(
                "one step alone costs epsilon_central {one:.4}, more than the {} asked for; give {} or a larger \
                 --epsilon-central",
                choices.epsilon_central.unwrap_or(0.0),
                match (choices.protocol, choices.mode) {
                    (ProtocolName::Central, _) => "more --noise, a smaller --batch",
                    (_, Mode::Deploy) if !choices.cover =>
                        "more respondents in a step (--batch), a smaller --epsilon-local, --cover",
                    _ => "more respondents in a step (--batch), a smaller --epsilon-local",
                }
            ))
            .into());
        }
        let settings = draft.settings(steps);
        let accountant = account(&settings)?;
        let at = measured_at(steps);
        let epsilons = accountant.epsilons(&at)?;
        let statement = accountant.statement(steps)?;
        let points = at.into_iter().zip(epsilons).collect();
        Ok(Self { data, model, network, settings, held_out: choices.held_out, statement, points })
    }

    /// All that decides the training, but for the randomness and the examples themselves, by name.
    pub fn shown(&self) -> Map<String, Value> {
        let settings = &self.settings;
        let mut shown = Map::new();
        let mut say = |name: &str, value: Value| shown.insert(name.to_owned(), value);
        say("data", json!(self.data.name));
        say("model", json!(self.model));
        say("parameters", json!(self.network.dimension()));
        say("training_examples", json!(self.data.training.len()));
        say("held_out", json!(self.held_out));
        say("examples_each_step", json!(settings.examples_each_step));
        say("steps", json!(settings.steps));
        say("rate_first", json!(settings.rate.at(0, settings.steps)));
        say("rate_last", json!(settings.rate.at(settings.steps - 1, settings.steps)));
        say("average", json!(average_name(settings.average)));
        if let Some(radius) = settings.radius {
            say("radius", json!(radius));
        }
        match settings.protocol {
            Protocol::Plain => {
                say("protocol", json!("plain"));
            }
            Protocol::Central { clip, noise } => {
                say("protocol", json!("central"));
                say("clip", json!(clip));
                say("noise", json!(noise));
            }
            Protocol::Local { mechanism, epsilon, clip, reports_each, simulation } => {
                say("protocol", json!("local"));
                say("randomizer", json!(randomizer_name(mechanism)));
                say("epsilon_local", json!(epsilon.value()));
                say("clip", json!(clip));
                say("reports_each", json!(reports_each));
                say("simulation", json!(simulation_name(simulation)));
            }
        }
        match &self.statement {
            Statement::Local(local) => {
                say("mode", json!(local.mode));
                say("cover", json!(local.cover));
                say("delta", json!(local.delta));
            }
            Statement::Central(central) => {
                say("delta", json!(central.delta));
            }
            Statement::Plain => {}
        }
        shown
    }

    /// The share of the test examples that are of the most frequent class: what a model has to beat.
    pub fn majority(&self) -> f64 {
        let sizes = self.data.test.class_sizes();
        sizes.into_iter().max().unwrap_or(0) as f64 / self.data.test.len() as f64
    }
}

impl Choices {
    /// Refuses what does not go together.
    fn check(&self) -> Result<()> {
        let deploy = self.mode == Mode::Deploy;
        let local = self.protocol == ProtocolName::Local;
        ensure!(
            local || !deploy,
            "--mode deploy is about reports of respondents; use it with --protocol local"
        );
        ensure!(
            !deploy || matches!(self.simulation, None | Some(Simulation::Literal)),
            "--mode deploy makes every report as the protocol does: leave out --simulation, or give literal"
        );
        ensure!(
            deploy || !self.cover,
            "--cover is for --mode deploy; a simulated batch takes the credit for sampling anyway, and says so"
        );
        ensure!(
            self.epsilon_central.is_none() || self.protocol != ProtocolName::Plain,
            "--protocol plain has no guarantee, so no --epsilon-central can be kept; leave it out, or use local or central"
        );
        ensure!(
            self.noise.is_none() || self.protocol == ProtocolName::Central,
            "--noise is that of a trusted server; use it with --protocol central"
        );
        ensure!(
            self.protocol != ProtocolName::Central || self.noise.is_some() || self.epsilon_central.is_some(),
            "--protocol central needs to know how much noise: give --epsilon-central, or --noise in clipping norms"
        );
        Epsilon::new(self.epsilon_local).context("--epsilon-local")?;
        Delta::new(self.delta).context("--delta")?;
        ensure!(
            self.delta > 0.0 && self.delta < 1.0,
            "--delta: give a number strictly between 0 and 1, well below 1 over the number of respondents"
        );
        ensure!(
            self.steps.is_none_or(|steps| (1..=STEPS_MAX).contains(&steps)),
            "--steps: give at least 1 and at most {STEPS_MAX}"
        );
        ensure!(
            self.radius.is_none_or(|radius| radius.is_finite() && radius > 0.0),
            "--radius: give a number above 0"
        );
        Ok(())
    }
}

/// Settings, all but the number of steps that a budget may allow.
struct Draft {
    defaults: Defaults,
    set: Option<PictureSet>,
    model: ModelName,
    protocol: Protocol,
    examples_each_step: usize,
    steps: u64,
    average: Average,
    rate: Option<f64>,
    radius: Option<f64>,
    /// On each coordinate of a step's mean gradient, in clipping norms.
    noise: Option<f64>,
}

impl Draft {
    fn new(
        set: Option<PictureSet>,
        model: ModelName,
        choices: &Choices,
        respondents: u64,
        dimension: usize,
    ) -> Result<Self> {
        let quiet = choices.randomizer == MechanismName::PrivUnit;
        let defaults = Defaults::of(set, model, quiet);
        let steps = choices.steps.unwrap_or(defaults.steps);
        let clip = choices.clip.unwrap_or(defaults.clip);
        let batch = choices.batch.unwrap_or(defaults.batch.min(respondents));
        let local = choices.protocol == ProtocolName::Local;
        let reports_each = match choices.reports_each {
            Some(each) => {
                ensure!(
                    local || each == 1,
                    "--reports-each is for --protocol local: nobody reports to a trusted server twice"
                );
                each
            }
            None if local && choices.mode == Mode::SimulateBatch => divisor(batch, defaults.reports_each),
            None => 1,
        };
        ensure!(
            reports_each > 0 && batch.is_multiple_of(u64::from(reports_each)),
            "--reports-each {reports_each} does not divide the {batch} reports of a step; give a divisor, or another --batch"
        );
        let examples = batch / u64::from(reports_each);
        ensure!(
            examples > 0 && examples <= respondents,
            "--batch: a step of {batch} reports, {reports_each} about each example, takes {examples} of {respondents} \
             examples; give at least {reports_each} and at most {}",
            respondents * u64::from(reports_each)
        );
        let (protocol, noise) = match choices.protocol {
            ProtocolName::Plain => (Protocol::Plain, None),
            ProtocolName::Central => {
                let noise = match (choices.noise, choices.epsilon_central) {
                    (Some(noise), _) => noise,
                    (None, Some(target)) => calibrated(respondents, examples, steps, target, choices.delta)?,
                    (None, None) => bail!("--protocol central needs --noise or --epsilon-central"),
                };
                (Protocol::Central { clip, noise }, Some(noise / examples as f64))
            }
            ProtocolName::Local => {
                let epsilon = Epsilon::new(choices.epsilon_local)?;
                let mechanism = Mechanism::new(choices.randomizer, dimension, clip, epsilon)?;
                let simulation = match (choices.simulation, choices.mode) {
                    (Some(simulation), _) => simulation,
                    (None, Mode::Deploy) => Simulation::Literal,
                    (None, Mode::SimulateBatch) => Simulation::ChunkExact,
                };
                let protocol = Protocol::Local {
                    mechanism: choices.randomizer,
                    epsilon,
                    clip,
                    reports_each,
                    simulation,
                };
                (protocol, Some(mechanism.across() / clip / (batch as f64).sqrt()))
            }
        };
        Ok(Self {
            defaults: Defaults { clip, ..defaults },
            set,
            model,
            protocol,
            examples_each_step: usize::try_from(examples)?,
            steps,
            average: choices.average.unwrap_or(defaults.average),
            rate: choices.rate,
            radius: choices.radius,
            noise,
        })
    }

    fn settings(&self, steps: u64) -> Settings {
        let mut rate = self.defaults.rate(self.set, self.model, self.average, steps, self.noise);
        if let Some(start) = self.rate {
            rate = match rate {
                Rate::Linear { start: was, end } => Rate::Linear { start, end: start * end / was },
                _ => Rate::Constant(start),
            };
        }
        Settings {
            protocol: self.protocol,
            examples_each_step: self.examples_each_step,
            steps,
            rate,
            momentum: 0.0,
            average: self.average,
            radius: self.radius,
        }
    }
}

/// The noise with which a trusted server's training costs no more than `target`.
fn calibrated(respondents: u64, asked: u64, steps: u64, target: f64, delta: f64) -> Result<f64> {
    let target =
        CentralGuarantee::new(Epsilon::new(target).context("--epsilon-central")?, Delta::new(delta)?);
    match DpSgd::new(respondents, asked, 1.0, steps)?.calibrated(target) {
        Ok(training) => Ok(training.noise_multiplier()),
        Err(error) => Err(Refusal(error.to_string()).into()),
    }
}

/// The largest divisor of `number` up to `most`.
fn divisor(number: u64, most: u32) -> u32 {
    (1..=most).rev().find(|&each| number.is_multiple_of(u64::from(each))).unwrap_or(1)
}

/// The start, the end, and regular steps between them.
fn measured_at(steps: u64) -> Vec<u64> {
    let mut at: Vec<u64> = (0..=POINTS).map(|i| steps * i / POINTS).collect();
    at.dedup();
    at
}

/// What an average is called.
pub(super) fn average_name(average: Average) -> String {
    match average {
        Average::Last => "last".into(),
        Average::Exponential(keep) => format!("exponential {keep}"),
        Average::SecondHalf => "second-half".into(),
    }
}

fn randomizer_name(name: MechanismName) -> &'static str {
    match name {
        MechanismName::Sign => "sign",
        MechanismName::PrivUnit => "privunit",
    }
}

fn simulation_name(simulation: Simulation) -> &'static str {
    match simulation {
        Simulation::Literal => "literal",
        Simulation::ChunkExact => "chunk",
        Simulation::Fast => "fast",
    }
}

const POINTS: u64 = 20;
/// Nobody waits for more.
const STEPS_MAX: u64 = 1_000_000_000;
/// About one training example in this many is held out where settings are chosen: 10,000 of the 60,000 of MNIST.
pub const HELD_OUT_ONE_IN: u64 = 6;

#[cfg(test)]
mod tests {
    use throng_learn::Randomness;

    use super::*;
    use crate::learning::{Checkpoint, Run};

    #[test]
    fn a_radius_keeps_the_model_in_its_ball_and_is_told() {
        let few = Choices { batch: Some(1000), steps: Some(3), ..Choices::default() };
        let ball = Choices { radius: Some(0.125), ..few.clone() };
        let norm = |choices: &Choices| {
            let plan = Plan::new(&Source::Census, choices).unwrap();
            let trained = Run::start(&plan, Randomness::numbered(1)).unwrap().to_end(|_| ()).unwrap();
            (plan, trained.model.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt())
        };
        let ((free, far), (kept, near)) = (norm(&few), norm(&ball));
        assert!(near <= 0.125 + 1e-6 && far > 0.25, "{near} {far}");
        assert_eq!(kept.shown()["radius"], json!(0.125));
        assert_eq!(kept.statement, free.statement, "what is done with noisy sums costs nothing");
        assert!(!free.shown().contains_key("radius"));
        let identity = |plan: &Plan| Checkpoint::identity(plan, 1, None);
        assert_ne!(identity(&free), identity(&kept));

        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error =
                Plan::new(&Source::Census, &Choices { radius: Some(bad), ..few.clone() }).unwrap_err();
            assert_eq!(error.to_string(), "--radius: give a number above 0");
        }
    }
}
