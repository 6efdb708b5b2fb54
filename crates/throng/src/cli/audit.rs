//! The arguments of `throng audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::choice::choice;
use super::learn::TrainingArgs;
use throng_lab::audit::randomizers::RandomizerName;
use throng_simulate::simulation::Mode;

/// The arguments of `throng audit`.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  throng audit local           every randomizer against its epsilon_local
  throng audit central         a release against every bound of epsilon_central
  throng audit wire            live shufflers: can they, or the network, tell what was answered?
  throng audit membership      a trained model against its epsilon_central
  throng audit wire --broken   a system that is broken on purpose: exit code 1

Exit codes: 0 nothing was found, 1 a promise is broken, 2 failed."
)]
pub struct AuditArgs {
    /// What to audit.
    #[command(subcommand)]
    pub what: AuditCommand,
}

/// What can be audited.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Every randomizer: a lower bound of epsilon_local from many reports, beside what it claims
    ///
    /// Reports are drawn through the code that respondents run, with and without a value, until an excess of 5 % over
    /// the claim would have shown. The lower bound is Clopper and Pearson's, for an event that other reports have chosen.
    Local(LocalArgs),

    /// A release: a lower bound of epsilon_central from many games, beside what every bound claims
    ///
    /// The number of fragments of one value is drawn many times, with a respondent who holds it and with one who has
    /// nothing to say; the attacker knows all else. A delta such as 1e-6 is too small to be sampled well, so bounds are
    /// compared at larger ones; what a survey claims is tried at its own delta too.
    Central(CentralArgs),

    /// Live processes: can hops or the network tell two values apart, or a value from none?
    ///
    /// Starts all parties of a small survey on this machine, with keys of their own. In three epochs the same respondents
    /// answer with one value, with another one, and with nothing to say. Numbers and lengths have to be the same; times,
    /// places in a body and bytes answered have to have the same law. How long answers take is printed and not judged.
    Wire(WireArgs),

    /// A trained model: can those it was trained on be told from others? Beside epsilon_central
    ///
    /// Trains on a random half of the examples and asks which half an example is from, by the model's loss on it (the
    /// paper's Section VII.C). The losses of one model are no independent trials, so the limit is no certified bound.
    Membership(MembershipArgs),
}

/// What all audits share.
#[derive(Args, Clone, Copy, Debug)]
pub struct ConfidenceArgs {
    /// How sure to be before a promise is called broken, for all that this run looks at together
    #[arg(long, value_name = "P", default_value_t = 0.999, allow_negative_numbers = true)]
    pub confidence: f64,

    /// What all randomness of the audit comes from [default: random, and printed]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

/// The arguments of `throng audit local`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng audit local
      every randomizer at epsilon_local 1 and 4; seconds
  throng audit local --epsilon 0.1,1,4,8,13
      the whole range; minutes
  throng audit local --survey survey.toml
      what a survey names, at its own epsilon_local
  throng audit local --randomizer one-hot,sketch --epsilon 8 --broken
      randomizers that spend 1.05 times what they claim: exit code 1
  throng audit local --epsilon 0.1,1,4,8 --self-check 20
      20 seeds: are right ones always passed, and broken ones caught in 19 of 20?")]
pub struct LocalArgs {
    /// Survey files, as `throng plan` writes them, instead of the randomizers by name
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["randomizer", "epsilon"])]
    pub survey: Vec<PathBuf>,

    /// Which randomizers; several with commas [default: all]
    #[arg(long, value_parser = choice::<RandomizerName>(), value_name = "NAME", value_delimiter = ',')]
    pub randomizer: Vec<RandomizerName>,

    /// The epsilon_local that they claim; several with commas
    #[arg(
        long,
        value_name = "E",
        value_delimiter = ',',
        default_values_t = [1.0, 4.0],
        allow_negative_numbers = true
    )]
    pub epsilon: Vec<f64>,

    /// Audit randomizers that spend 1.05 times what they claim
    #[arg(long)]
    pub broken: bool,

    /// Try the audit itself: with so many seeds, on right randomizers and on broken ones
    #[arg(long, value_name = "SEEDS", conflicts_with = "broken")]
    pub self_check: Option<u64>,

    /// How sure, and from which seed.
    #[command(flatten)]
    pub sureness: ConfidenceArgs,
}

/// The arguments of `throng audit central`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng audit central
      10,000 respondents under epsilon_central 0.5, delta 1e-6
  throng audit central --respondents 1000000 --epsilon-local 8 --at-delta 0.001
      a crowd and a randomizer of your own
  throng audit central --survey survey.toml
      the crowd and the randomizer of a survey, against what it claims
  throng audit central --respondents 50 --epsilon-local 2 --mode respondent --games 200000
      everyone's report is drawn and counted
  throng audit central --broken
      a crowd that is half as large as stated: exit code 1")]
pub struct CentralArgs {
    /// A survey file, as `throng plan` writes it, instead of the flags below
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["respondents", "epsilon_local", "epsilon_central", "delta"])]
    pub survey: Option<PathBuf>,

    /// How many honest respondents
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub respondents: u64,

    /// What each report guarantees by itself [default: what --epsilon-central allows]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_local: Option<f64>,

    /// What a release should guarantee (removal)
    #[arg(
        long,
        value_name = "E",
        default_value_t = 0.5,
        allow_negative_numbers = true,
        conflicts_with = "epsilon_local"
    )]
    pub epsilon_central: f64,

    /// The allowance beside epsilon_central
    #[arg(long, help = super::DELTA, value_name = "D", default_value_t = 1e-6, allow_negative_numbers = true)]
    pub delta: f64,

    /// The deltas at which the bounds are compared; several with commas
    #[arg(long, value_name = "D", value_delimiter = ',', default_values_t = [0.01, 0.001], allow_negative_numbers = true)]
    pub at_delta: Vec<f64>,

    /// How many of the others hold the same value; none is about the worst
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub holders: u64,

    /// Draw what the others add at once, or all their reports
    #[arg(long, value_parser = choice::<Mode>(), default_value = Mode::Aggregate.name())]
    pub mode: Mode,

    /// How often the game is played in each world
    #[arg(long, value_name = "N", default_value_t = 6_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub games: u64,

    /// Audit a crowd that is half as large as stated
    #[arg(long)]
    pub broken: bool,

    /// How sure, and from which seed.
    #[command(flatten)]
    pub sureness: ConfidenceArgs,
}

/// The arguments of `throng audit wire`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng audit wire
      seven processes, three epochs; about a minute
  throng audit wire --respondents 100 --answers 2000 --epoch-s 20
      more of everything
  throng audit wire --broken
      respondents who have nothing to say save traffic: exit code 1")]
pub struct WireArgs {
    /// How many respondents answer in each epoch
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(10..=10_000))]
    pub respondents: u64,

    /// How many more answers are made for each case, for times and places
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(50..=1_000_000))]
    pub answers: u64,

    /// The length of an epoch in seconds: in it all of them have to be sent
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..=3600))]
    pub epoch_s: u64,

    /// Audit respondents who send to the first instance only when they have nothing to say
    #[arg(long)]
    pub broken: bool,

    /// How sure, and from which seed.
    #[command(flatten)]
    pub sureness: ConfidenceArgs,
}

/// The arguments of `throng audit membership`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng audit membership
      a model of the census that comes with the program
  throng audit membership mnist --data DIR --steps 500
      the paper's network on MNIST
  throng audit membership --protocol central --epsilon-central 1
      a trusted server's training
  throng audit membership --broken
      a training that leaves its noise out: exit code 1")]
pub struct MembershipArgs {
    /// What is trained, and what it promises.
    #[command(flatten)]
    pub training: TrainingArgs,

    /// Audit a training that leaves its noise out, on labels that only memory can know
    #[arg(long, conflicts_with_all = ["source", "target", "model", "pretrained"])]
    pub broken: bool,

    /// How sure, and from which seed.
    #[command(flatten)]
    pub sureness: ConfidenceArgs,
}
