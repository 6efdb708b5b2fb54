//! The arguments of `throng learn`.

use std::path::PathBuf;

use super::choice::choice;
use clap::{Args, ValueEnum};
use throng_learn::{Average, MechanismName, Simulation};

use throng_lab::learning::{Choices, Mode, ModelName, ProtocolName};

/// The arguments of `throng learn`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng learn
      who earns more than 50,000 dollars a year, from the census that comes with the program
  throng learn mnist --data DIR --out digits
      the paper's network on MNIST, with 10,000 reports in each of 2,000 steps; DIR/mnist has the four files
  throng learn fashion-mnist --data DIR --model hog --randomizer privunit
      fixed features and a quieter randomizer: more accurate at a smaller epsilon_central
  throng learn cifar-10 --data DIR --pretrained learning/pretrained-stand-in.bin
      the last layer of a network that throng experiment learning --only pretrain trained on public pictures
  throng learn csv --data people.csv --target Income --epsilon-central 0.5
      a table of your own, one row per respondent; as many steps as fit epsilon_central 0.5
  throng learn --mode deploy --cover --batch 5000
      by the letter of the protocol, with the operating system's randomness
  throng learn mnist --data DIR --protocol central --epsilon-central 1
      beside it: what a trusted server gets at the same guarantee

With --out, a training that was stopped (Ctrl-C, kill -9, a power cut) goes on where it was if the same command is
run again. Exit code 1: not even one step fits --epsilon-central.")]
pub struct LearnArgs {
    /// What is trained, and what each report and all of them may cost.
    #[command(flatten)]
    pub training: TrainingArgs,

    /// How many reports each example's gradient is the subject of [default: 20 for the paper's network, otherwise 1]
    #[arg(long, value_name = "TAU", help_heading = "Protocol")]
    pub reports_each: Option<u32>,

    /// Whether each report stands for another respondent, or all reports about one example are one respondent's
    #[arg(long, value_parser = choice::<Mode>(), default_value = Mode::SimulateBatch.name(), help_heading = "Protocol")]
    pub mode: Mode,

    /// How the sum of a step's reports is made [default: chunk; with --mode deploy literal]
    #[arg(long, value_enum, help_heading = "Protocol")]
    pub simulation: Option<SimulationArg>,

    /// With --mode deploy: those who are not asked send chaff, which earns credit for sampling
    #[arg(long, help_heading = "Protocol")]
    pub cover: bool,

    /// With --protocol central: the standard deviation of the server's noise, in clipping norms
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Protocol")]
    pub noise: Option<f64>,

    /// The clipping norm [default: what suits the model]
    #[arg(long, value_name = "L", allow_negative_numbers = true, help_heading = "Training")]
    pub clip: Option<f64>,

    /// The learning rate of the first step [default: what suits the model, the noise and the number of steps]
    #[arg(long, value_name = "R", allow_negative_numbers = true, help_heading = "Training")]
    pub rate: Option<f64>,

    /// Which model comes out [default: what suits the model]
    #[arg(long, value_enum, help_heading = "Training")]
    pub average: Option<AverageArg>,

    /// Keep the parameters in the ball of this radius around 0, as the paper's theorem on convex losses has it
    #[arg(long, value_name = "R", allow_negative_numbers = true, help_heading = "Training")]
    pub radius: Option<f64>,

    /// How many trainings, each with other randomness [default: 3; with --mode deploy 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "Training")]
    pub seeds: Option<u64>,

    /// What the randomness of the first training comes from; the next has the next number [default: random, and shown]
    #[arg(long, value_name = "S", help_heading = "Training")]
    pub seed: Option<u64>,

    /// Measure on a sixth of the training examples, held out, and leave the test examples alone
    #[arg(long, help_heading = "Result")]
    pub held_out: bool,

    /// Write a checkpoint after every so many steps [default: a twentieth of all]
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Result")]
    pub checkpoint_every: Option<u64>,

    /// Write model.safetensors, card.md, curve.csv, curve.png and result.json to this directory, and go on from there
    #[arg(long, value_name = "DIR", help_heading = "Result")]
    pub out: Option<PathBuf>,
}

/// What every training is told, also one that is trained to be attacked.
#[derive(Args, Debug)]
pub struct TrainingArgs {
    /// What to learn from
    #[arg(value_enum, value_name = "DATA", default_value_t = DataArg::Census)]
    pub source: DataArg,

    /// The directory that has the folder of a picture set, or the file of csv
    #[arg(long, value_name = "DIR|FILE", env = "THRONG_DATASETS")]
    pub data: Option<PathBuf>,

    /// With csv: the column that is learned from the others
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,

    /// The model [default: the paper's network for 28 x 28 pixels; hog for cifar-10; linear for tables]
    #[arg(long, value_parser = choice::<ModelName>())]
    pub model: Option<ModelName>,

    /// With cifar-10: a network that was trained on public pictures, whose last layer is trained anew
    /// (throng experiment learning --only pretrain makes one) [implies --model pretrained]
    #[arg(long, value_name = "FILE")]
    pub pretrained: Option<PathBuf>,

    /// How gradients reach the server
    #[arg(long, value_parser = choice::<ProtocolName>(), default_value = ProtocolName::Local.name(), help_heading = "Protocol")]
    pub protocol: ProtocolName,

    /// The randomizer of reports
    #[arg(long, value_enum, default_value_t = RandomizerArg::Sign, help_heading = "Protocol")]
    pub randomizer: RandomizerArg,

    /// What each report guarantees by itself (replacement)
    #[arg(
        long,
        value_name = "E",
        default_value_t = 1.9,
        allow_negative_numbers = true,
        help_heading = "Protocol"
    )]
    pub epsilon_local: f64,

    /// How many reports a step collects [default: what suits the data; 10000 for the paper's network]
    #[arg(long, value_name = "M", help_heading = "Protocol")]
    pub batch: Option<u64>,

    /// What the training may cost (replacement): it has as many steps as fit, or central as much noise as it takes
    #[arg(long, value_name = "E", allow_negative_numbers = true, help_heading = "Protocol")]
    pub epsilon_central: Option<f64>,

    /// The allowance beside epsilon_central
    #[arg(
        long,
        help = super::DELTA,
        value_name = "D",
        default_value_t = 1e-5,
        allow_negative_numbers = true,
        help_heading = "Protocol"
    )]
    pub delta: f64,

    /// How many steps, at most [default: what suits the model; 2000 for the paper's network]
    #[arg(long, value_name = "T", help_heading = "Training")]
    pub steps: Option<u64>,
}

/// What to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataArg {
    /// The census records that come with the program
    Census,
    /// Handwritten digits
    Mnist,
    /// Articles of clothing
    FashionMnist,
    /// Animals and vehicles
    #[value(name = "cifar-10")]
    Cifar10,
    /// A table of your own
    Csv,
}

/// A randomizer of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RandomizerArg {
    /// A random direction and a randomized sign, as in the paper
    Sign,
    /// A direction that is likely near the gradient: less noise at the same epsilon
    #[value(name = "privunit")]
    PrivUnit,
}

impl From<RandomizerArg> for MechanismName {
    fn from(arg: RandomizerArg) -> Self {
        match arg {
            RandomizerArg::Sign => Self::Sign,
            RandomizerArg::PrivUnit => Self::PrivUnit,
        }
    }
}

impl From<&TrainingArgs> for Choices {
    fn from(args: &TrainingArgs) -> Self {
        Self {
            model: args.model.or(args.pretrained.as_ref().map(|_| ModelName::Pretrained)),
            protocol: args.protocol,
            randomizer: args.randomizer.into(),
            epsilon_local: args.epsilon_local,
            batch: args.batch,
            steps: args.steps,
            epsilon_central: args.epsilon_central,
            delta: args.delta,
            ..Self::default()
        }
    }
}

/// How the sum of reports is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulationArg {
    /// Every report is made and read: the protocol itself
    Literal,
    /// The same distribution, many times faster
    Chunk,
    /// A little more noise than the protocol has, and faster still
    Fast,
}

impl From<SimulationArg> for Simulation {
    fn from(arg: SimulationArg) -> Self {
        match arg {
            SimulationArg::Literal => Self::Literal,
            SimulationArg::Chunk => Self::ChunkExact,
            SimulationArg::Fast => Self::Fast,
        }
    }
}

/// Which model comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AverageArg {
    /// The last one
    Last,
    /// An average in which each step keeps 97 % of the one before
    Exponential,
    /// The mean of all in the second half
    SecondHalf,
}

impl From<AverageArg> for Average {
    fn from(arg: AverageArg) -> Self {
        match arg {
            AverageArg::Last => Self::Last,
            AverageArg::Exponential => Self::Exponential(0.97),
            AverageArg::SecondHalf => Self::SecondHalf,
        }
    }
}
