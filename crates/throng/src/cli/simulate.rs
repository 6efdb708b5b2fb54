//! `throng simulate` as typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use throng_simulate::simulation::Mode;

use super::choice::choice;
use super::{DELTA, EncodingArg};

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
    #[arg(long, value_parser = choice::<Mode>(), default_value = Mode::Aggregate.name(), help_heading = "Simulation")]
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

/// A generator by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GeneratorArg {
    /// A hundred heavy hitters and a power law below them
    HeavyHitters,
    /// A power law
    Zipf,
    /// All values alike
    Uniform,
}
