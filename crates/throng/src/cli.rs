//! The command line as typed. Each command checks its own arguments before any work starts.

#[cfg(feature = "lab")]
pub mod audit;
#[cfg(feature = "lab")]
mod choice;
#[cfg(feature = "lab")]
pub mod conform;
#[cfg(feature = "lab")]
mod demo;
#[cfg(feature = "lab")]
mod experiment;
pub mod keygen;
#[cfg(feature = "lab")]
pub mod learn;
pub mod plan;
pub mod release;
mod respond;
pub mod serve;
#[cfg(feature = "lab")]
mod simulate;
pub mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::questions;
#[cfg(feature = "lab")]
pub use demo::DemoArgs;
#[cfg(feature = "lab")]
pub use experiment::ExperimentArgs;
pub use plan::{AnswerChangesArg, AttributeArg, LabelArg, PlanArgs};
pub use respond::{EpochArg, MadeArg, RespondArgs, ValueArg};
#[cfg(feature = "lab")]
pub use simulate::{GeneratorArg, SimulateArgs};

/// Statistics from a crowd of people without data about any of them.
#[derive(Debug, Parser)]
#[command(
    name = "throng",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = help()
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
    #[cfg(feature = "lab")]
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
    #[cfg(feature = "lab")]
    Simulate(SimulateArgs),

    /// Train a model on anonymous reports of 129 bits, simulated on labelled data
    ///
    /// Every example is one respondent. In each step some of them report on their gradient through a randomizer; the
    /// server sees the sum and makes a step. Accuracy and guarantee are shown on the way and at the end.
    #[cfg(feature = "lab")]
    Learn(learn::LearnArgs),

    /// Measure a table or figure of the paper, beside the paper's own numbers
    ///
    /// For each cell: what the paper printed, what its own accounting and post-processing give, what Throng gives at the
    /// same central guarantee, and what a trusted party with Gaussian noise would give. A cell that does not agree as
    /// it should makes the exit code 2.
    #[cfg(feature = "lab")]
    Experiment(ExperimentArgs),

    /// Try to break what is promised, and say with which confidence that failed
    ///
    /// A measurement can show that a promise is broken, and never that it is kept: what was found is a lower bound, beside
    /// the upper bound that is claimed.
    #[cfg(feature = "lab")]
    Audit(audit::AuditArgs),

    /// Make the keys of a party, and sign a survey with them
    ///
    /// Without a further step: an identity, that is a signing key and a TLS certificate, and the lines that name it in a
    /// survey. The steps then sign, publish and enrol.
    Keygen(keygen::KeygenArgs),

    /// Run a party of a survey
    ///
    /// A shuffler takes what respondents or the hop before send, makes it anonymous, and hands it on in crowds that are
    /// large enough. An analyzer takes the batches of the last hops, and keeps them sealed until they are booked.
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
    #[cfg(feature = "lab")]
    Conform(conform::ConformArgs),
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

    /// For a labelled crowd, of which each instance deletes some at random with this epsilon and keeps --respondents: how
    /// well does it hide that somebody took part?
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
    #[arg(long, value_enum, default_value_t = TradeoffAxis::EpsilonLocal)]
    pub against: TradeoffAxis,
}

/// The horizontal axis of the trade-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TradeoffAxis {
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

/// What stands below the list of commands.
fn help() -> String {
    let there = |of_the_lab: bool| !of_the_lab || cfg!(feature = "lab");
    let examples: Vec<&str> =
        EXAMPLES.iter().filter(|(of_the_lab, _)| there(*of_the_lab)).map(|(_, line)| *line).collect();
    format!(
        "Examples:\n{}\n\nResults go to stdout, progress and notes to stderr.\nExit codes: 0 done, 1 refused by a privacy or crowd \
         rule, or a promise found broken, 2 failed.",
        examples.join("\n")
    )
}

/// Whether a command is of the laboratory, and what it does.
const EXAMPLES: &[(bool, &str)] = &[
    (true, "  throng demo                  the whole system on this machine, with a picture as its result"),
    (true, "  throng demo --json           the same, as JSON"),
    (false, "  throng plan --help           from a target guarantee to a survey file"),
    (false, "  throng account --help        what parameters guarantee, under every bound"),
    (true, "  throng simulate --help       a survey on your own data, beside the truth"),
    (true, "  throng learn                 a model from anonymous reports of 129 bits"),
    (true, "  throng experiment list       the paper's tables, measured again"),
    (true, "  throng audit --help          attempts to break what is promised"),
    (false, "  throng keygen --help         the keys of a real deployment, step by step"),
    (false, "  throng serve --help          a shuffler or the analyzer of a real deployment"),
    (false, "  throng respond --help        answer a survey"),
    (false, "  throng release --help        what an epoch says, with its errors and its guarantee"),
    (false, "  throng verify --help         what anyone can check of a release"),
    (true, "  throng conform --help        a check of clients that other people write"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
