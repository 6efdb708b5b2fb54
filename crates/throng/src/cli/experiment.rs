//! `throng experiment` as typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use throng_lab::experiments::learning::Part;

use super::choice::choice;

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
    #[arg(long, value_parser = choice::<Part>(), value_name = "PART", value_delimiter = ',', help_heading = "Learning")]
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
