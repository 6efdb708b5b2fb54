//! The command line as typed. Each command checks its own arguments before any work starts.

pub mod audit;
pub mod conform;
pub mod keygen;
pub mod learn;
pub mod plan;
pub mod release;
mod respond;
pub mod serve;
pub mod verify;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::account::questions;
use crate::dataset::GeneratorArg;
use crate::experiments::learning::Part;
use crate::simulation::Mode;
pub use plan::{AnswerChangesArg, AttributeArg, LabelArg, PlanArgs};
pub use respond::{EpochArg, MadeArg, RespondArgs, ValueArg};

/// Statistics from a crowd of people without data about any of them.
#[derive(Debug, Parser)]
#[command(
    name = "throng",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  throng demo                  the whole system on this machine, with a picture as its result
  throng demo --json           the same, as JSON
  throng plan --help           from a target guarantee to a survey file
  throng account --help        what parameters guarantee, under every bound
  throng simulate --help       a survey on your own data, beside the truth
  throng learn                 a model from anonymous reports of 129 bits
  throng experiment list       the paper's tables, measured again
  throng audit --help          attempts to break what is promised
  throng keygen --help         the keys of a real deployment, step by step
  throng serve --help          a shuffler or the analyzer of a real deployment
  throng respond --help        answer a survey
  throng release --help        what an epoch says, with its errors and its guarantee
  throng verify --help         what anyone can check of a release
  throng conform --help        a check of clients that other people write

Results go to stdout, progress and notes to stderr.
Exit codes: 0 done, 1 refused by a privacy or crowd rule, or a promise found broken, 2 failed."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the whole system on this machine, and draw what it found
    ///
    /// Three shuffler instances of two hops and an analyzer, each a process of its own with its own keys; thousands of
    /// respondents, each of whom holds a pixel of a drawing, answer over TLS with credentials. The survey is planned, signed,
    /// answered, shuffled and released with the commands of a real deployment, which are in commands.sh afterwards.
    ///
    /// Ctrl-C leaves no process and no temporary file.
    Demo(DemoArgs),

    /// Plan a survey from the guarantee that it should have
    ///
    /// From a target (epsilon_central, delta), a crowd and a domain to the noise that each respondent adds, the
    /// envelopes that each of them sends and the error of the result; or the reason why there is no such survey, and
    /// what is near and would work. Writes the survey file that all parties run on.
    Plan(PlanArgs),

    /// Say what parameters guarantee, under every bound that applies
    ///
    /// One question by flags, or thousands by --rows: JSON lines of the form {"bound": NAME, "params": {...}}, each
    /// answered by the same line with a "value" or an "error".
    Account(AccountArgs),

    /// Run a survey on data whose truth is known, and compare
    ///
    /// Every respondent of a dataset answers a survey; the estimate is shown beside the truth, with its errors and
    /// its guarantees. The same code encodes and analyzes as in a real survey; there is no encryption and no network.
    Simulate(SimulateArgs),

    /// Train a model on anonymous reports of 129 bits, simulated on labelled data
    ///
    /// Every example is one respondent. In each step some of them report on their gradient through a randomizer; the
    /// server sees the sum and makes a step. Accuracy and guarantee are shown on the way and at the end.
    Learn(learn::LearnArgs),

    /// Measure a table or figure of the paper, beside the paper's own numbers
    ///
    /// For each cell: what the paper printed, what its own accounting and post-processing give, what Throng gives at the
    /// same central guarantee, and what a trusted party with Gaussian noise would give. A cell that does not agree as
    /// it should makes the exit code 2.
    Experiment(ExperimentArgs),

    /// Try to break what is promised, and say with which confidence that failed
    ///
    /// A measurement can show that a promise is broken, and never that it is kept: what was found is a lower bound, beside
    /// the upper bound that is claimed.
    Audit(audit::AuditArgs),

    /// Make the keys of a party, and sign a survey with them
    ///
    /// Without a further step: an identity, that is a signing key and a TLS certificate, and the lines that name it in a
    /// survey. The steps then sign, publish and enrol.
    Keygen(keygen::KeygenArgs),

    /// Run a party of a survey
    ///
    /// A shuffler takes what respondents or the hop before send, makes it anonymous, and hands it on in crowds that are
    /// large enough.
    Serve(serve::ServeArgs),

    /// Answer a survey: randomize, seal and send a value, and keep account of it
    ///
    /// The survey's signatures and its claim are checked first; one that does not keep what it claims is refused. The
    /// value is randomized here and sealed into one body for every instance, each as long as everybody's, and sent at
    /// random times. Until a first hop has signed a receipt the same bytes are sent again. What this spends is added up
    /// in a ledger over all surveys, which refuses beyond your own limit.
    ///
    /// The state directory has all that must not be lost. It is as private as your values are.
    Respond(RespondArgs),

    /// Make a release: what an epoch says, with its errors and its guarantee
    ///
    /// Of the batches that `throng serve analyzer` keeps sealed: the epoch is booked in the ledger of the population, for the
    /// crowd that really took part, and only then opened. Without the batch of an instance the values that only it holds are
    /// missing, and others have wider errors; one that comes late refines the same release.
    Release(release::ReleaseArgs),

    /// Check a published release: its signatures, crowd, guarantee, errors and spending, all computed again
    ///
    /// Needs nothing but the published files, and says what cannot be checked from outside.
    Verify(verify::VerifyArgs),

    /// Check a client that somebody else wrote: opens what it sends, and says what is wrong
    ///
    /// Plays the first hops of a tiny survey on this machine, with keys that are all known. It waits for one answer, opens
    /// every layer of it down to the fragments, and says in words what is not as docs/wire-format.md has it.
    Conform(conform::ConformArgs),
}

/// The arguments of `throng demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng demo
      3,000 respondents hold the pixels of a drawing; under a minute
  throng demo --respondents 10000
      more of them see finer: says first how long it takes
  throng demo --image drawing.png --out drawing
      a picture of your own, best a line drawing; it is shrunk to 28 pixels
  throng demo --keep
      all parties stay, with their files and the dashboard, until Ctrl-C
  throng demo --json | jq .rmse")]
pub struct DemoArgs {
    /// How many respondents answer
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub respondents: u64,

    /// A PNG; each unit of light is as many respondents as any other [default: a drawing of a cat]
    #[arg(long, value_name = "FILE.png")]
    pub image: Option<PathBuf>,

    /// Keep all parties, the dashboard and the files until Ctrl-C
    #[arg(long)]
    pub keep: bool,

    /// Where to write truth.png, estimate.png, side-by-side.png, commands.sh and result.json
    #[arg(long, value_name = "DIR", default_value = "throng-demo")]
    pub out: PathBuf,
}

/// The arguments of `throng simulate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng simulate --data flights --epsilon-central 1 --delta 1e-8
      which flight routes are flown most, from seven million flights
  throng simulate --image photo.png --epsilon-central 0.5 --out result
      a picture: each unit of luminosity is a respondent; files go to the directory result
  throng simulate --csv names.csv.gz --epsilon-local 8 --top 50
      value,count lines; what does this epsilon_local guarantee centrally?
  throng simulate --csv people.csv --column Education --epsilon-central 1
      one line per respondent
  throng simulate --generator heavy-hitters --epsilon-central 1 --delta 5e-10 --mode respondent
      200 million respondents one by one (a billion fragments: under a minute)
  throng simulate --survey survey.toml --seed 7 --json
      a planned survey, answered by a power law of its size; the same seed gives the same bytes",
    group = clap::ArgGroup::new("source").args(["image", "csv", "generator", "data"]))]
pub struct SimulateArgs {
    /// Data: a PNG, whose pixels are the values
    #[arg(long, value_name = "FILE.png", help_heading = "Data")]
    pub image: Option<PathBuf>,

    /// How many respondents each unit of luminosity stands for, rounded down per pixel
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        conflicts_with_all = ["csv", "data", "generator"],
        allow_negative_numbers = true,
        help_heading = "Data"
    )]
    pub respondents_per_unit: f64,

    /// Data: value,count lines, or one count per line, or with --column one line per respondent; also gzipped
    #[arg(long, value_name = "FILE.csv", help_heading = "Data")]
    pub csv: Option<PathBuf>,

    /// The column of --csv that holds each respondent's value
    #[arg(long, value_name = "NAME", requires = "csv", conflicts_with_all = ["image", "generator", "data"], help_heading = "Data")]
    pub column: Option<String>,

    /// Data: a formula [default with --survey: zipf]
    #[arg(long, value_enum, help_heading = "Data")]
    pub generator: Option<GeneratorArg>,

    /// Data that comes with the program: horse, portrait, map or flights
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub data: Option<String>,

    /// The crowd of a generator [default: the survey's, or the paper's 203950512]
    #[arg(long, value_name = "N", conflicts_with_all = ["image", "csv", "data"], help_heading = "Data", allow_negative_numbers = true)]
    pub respondents: Option<u64>,

    /// The number of values of a generator [default: the survey's, or the paper's 1778120]
    #[arg(long, value_name = "K", conflicts_with_all = ["image", "csv", "data"], help_heading = "Data", allow_negative_numbers = true)]
    pub domain: Option<u64>,

    /// The exponent of zipf [default: 1.35]
    #[arg(long, value_name = "S", conflicts_with_all = ["image", "csv", "data"], allow_negative_numbers = true, help_heading = "Data")]
    pub exponent: Option<f64>,

    /// The share of heavy-hitters' hundred heavy hitters [default: 0.5]
    #[arg(long, value_name = "X", conflicts_with_all = ["image", "csv", "data"], allow_negative_numbers = true, help_heading = "Data")]
    pub share: Option<f64>,

    /// Scale a larger crowd down to this, every count rounded down
    #[arg(long, value_name = "N", help_heading = "Data", allow_negative_numbers = true)]
    pub respondents_max: Option<u64>,

    /// A survey file, as `throng plan` writes it, instead of the flags below
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = [
        "epsilon_central", "delta", "epsilon_local", "encoding", "report_fragments", "epsilon_fragment",
        "sketch_rows", "sketch_cells", "hash_seed", "honest_fraction", "instances", "hops",
    ])]
    pub survey: Option<PathBuf>,

    /// What a release should guarantee (removal neighbors)
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_central: Option<f64>,

    /// The allowance beside epsilon_central
    #[arg(long, help = DELTA, value_name = "D", default_value_t = 1e-9, allow_negative_numbers = true)]
    pub delta: f64,

    /// What each report guarantees by itself; with report fragments, the backstop [default: from --epsilon-central]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_local: Option<f64>,

    /// How a value is written as bits
    #[arg(long, value_enum, default_value_t = EncodingArg::OneHot)]
    pub encoding: EncodingArg,

    /// How many report fragments each bit is sent in, behind a backstop; 1 means none
    #[arg(long, value_name = "T", default_value_t = 1)]
    pub report_fragments: u32,

    /// What each report fragment is randomized with [default: equal variance]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_fragment: Option<f64>,

    /// The hash functions of a sketch
    #[arg(long, value_name = "H", default_value_t = 1024)]
    pub sketch_rows: u32,

    /// The cells of each of them
    #[arg(long, value_name = "M", default_value_t = 65_536)]
    pub sketch_cells: u32,

    /// What the public hash functions of a sketch are made from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub hash_seed: u64,

    /// The bound that proves the central guarantee: exact, fmt23, clones21, blanket, lemma or theorem [default: exact]
    #[arg(long, value_name = "NAME")]
    pub bound: Option<String>,

    /// The share of the respondents that may be relied on
    #[arg(long, value_name = "H", default_value_t = 1.0, allow_negative_numbers = true)]
    pub honest_fraction: f64,

    /// How many independent shuffler instances would carry the fragments
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub instances: u32,

    /// How many hops each instance would be a cascade of
    #[arg(long, value_name = "M", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub hops: u32,

    /// Draw the analyzer's counts at once, or every respondent's fragments
    #[arg(long, value_enum, default_value_t = Mode::Aggregate, help_heading = "Simulation")]
    pub mode: Mode,

    /// What all randomness comes from; the same seed gives the same bytes [default: random]
    #[arg(long, value_name = "S", help_heading = "Simulation", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// How many threads to use [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Simulation", allow_negative_numbers = true)]
    pub threads: Option<NonZeroUsize>,

    /// How many of the largest estimates to list [default: 20, or none of a picture]
    #[arg(long, value_name = "N", help_heading = "Result", allow_negative_numbers = true)]
    pub top: Option<usize>,

    /// The confidence of the intervals
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.95,
        allow_negative_numbers = true,
        help_heading = "Result"
    )]
    pub confidence: f64,

    /// Write estimates.csv, result.json and pictures (or a rank plot) to this directory
    #[arg(long, value_name = "DIR", help_heading = "Result")]
    pub out: Option<PathBuf>,
}

/// The arguments of `throng experiment`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng experiment list
      what there is
  throng experiment horse --out horse
      one table of the paper, with its pictures, as a page: horse/report.html
  throng experiment all --out results
      everything but learning, in a few minutes
  throng experiment learning --quick
      whether training works, in seconds; without --quick and with --data DIR --out DIR it takes hours, and goes on
      where it was stopped
  throng experiment learning --only convex,targets --data DIR --out learning
      some parts
  throng experiment unified --json | jq '.rows[] | select(.agrees | not)'
      cells that do not agree as they should")]
pub struct ExperimentArgs {
    /// The experiment, or all, or list
    #[arg(value_name = "NAME|all|list")]
    pub name: String,

    /// What all randomness comes from
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// How many threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Where data is that does not come with the program (names, words, pictures; see the README)
    #[arg(long, value_name = "DIR", env = "THRONG_DATASETS")]
    pub data: Option<PathBuf>,

    /// Write report.html, report.md, rows.csv and all pictures to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What to measure; several with commas [default: all but tuning and pretrain]
    #[arg(long, value_name = "PART", value_delimiter = ',', help_heading = "Learning")]
    pub only: Vec<Part>,

    /// How many runs each mean is over [default: 10 for curves, 3 for the rest; with --quick 2]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub runs: Option<u64>,

    /// How many examples simulate a batch for the paper's network; it has 2,000 [default: 500]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub examples: Option<u64>,

    /// A few steps on small drawn pictures, to see that everything works
    #[arg(long, help_heading = "Learning")]
    pub quick: bool,
}

/// How a value is written as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodingArg {
    /// One bit per value
    OneHot,
    /// A count-mean sketch
    Sketch,
}

/// The arguments of `throng account`.
#[derive(Args, Debug)]
#[command(after_help = account_help())]
pub struct AccountArgs {
    /// How many respondents; with --epsilon-deletion how many every instance keeps, not how many upload
    #[arg(long, value_name = "N", conflicts_with = "rows")]
    pub respondents: Option<u64>,

    /// The allowance beside epsilon_central
    #[arg(long, help = DELTA, value_name = "D", allow_negative_numbers = true, conflicts_with = "rows")]
    pub delta: Option<f64>,

    /// What each respondent's report guarantees by itself: what does the crowd add?
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with_all = ["rows", "epsilon_central"])]
    pub epsilon_local: Option<f64>,

    /// What a release should guarantee: what may epsilon_local be?
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "rows")]
    pub epsilon_central: Option<f64>,

    /// The share of the respondents that may be relied on
    #[arg(long, value_name = "H", default_value_t = 1.0, allow_negative_numbers = true)]
    pub honest_fraction: f64,

    /// How many report fragments each bit is sent in; epsilon_local is then that of the backstop
    #[arg(long, value_name = "T", default_value_t = 1)]
    pub report_fragments: u32,

    /// What each report fragment is randomized with [default: equal variance]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_fragment: Option<f64>,

    /// How many independent shuffler instances
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub instances: u32,

    /// A labelled crowd, of which each instance deletes some at random with this, and keeps --respondents: what is it worth
    /// that somebody took part?
    #[arg(long, value_name = "E", allow_negative_numbers = true, requires = "delta_deletion")]
    pub epsilon_deletion: Option<f64>,

    /// The delta of that deletion
    #[arg(long, value_name = "D", allow_negative_numbers = true, requires = "epsilon_deletion")]
    pub delta_deletion: Option<f64>,

    /// Answer the questions of a file of JSON lines, or of standard input for -
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,

    /// Draw the trade-off under all bounds
    #[arg(long, value_name = "FILE.svg|png", conflicts_with = "rows")]
    pub plot: Option<PathBuf>,

    /// What the plot shows epsilon_central against
    #[arg(long, value_enum, default_value_t = Against::EpsilonLocal)]
    pub against: Against,
}

/// The horizontal axis of the trade-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Against {
    /// What each report guarantees by itself
    EpsilonLocal,
    /// The standard deviation of a count
    Error,
}

fn account_help() -> String {
    let mut help = String::from(
        "\
Examples:
  throng account --respondents 1914589 --delta 5e-8 --epsilon-local 8.55
      what the paper's Horse setting guarantees, under all bounds
  throng account --respondents 1914589 --delta 5e-8 --epsilon-central 1
      how large epsilon_local may be for epsilon_central 1
  throng account --respondents 1914589 --delta 5e-8 --epsilon-local 8.55 --plot trade-off.svg
      the whole curve as a picture
  echo '{\"bound\": \"exact_eps_a0\", \"params\": {\"n\": 200000000, \"eps_l\": 12.99, \"delta\": 5e-10}}' \\
    | throng account --rows -
      one of thousands of questions, as a line of JSON

Questions for --rows, with their parameters:
",
    );
    for question in questions::all() {
        help += &format!("  {} ({})\n      {}\n", question.name, question.params.join(", "), question.about);
    }
    help
}

/// What a delta is, wherever one is asked for.
pub(crate) const DELTA: &str = "The allowance beside epsilon_central: whatever is seen is at most e^epsilon times as probable with an answer as without, plus D";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
