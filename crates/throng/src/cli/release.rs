//! The arguments of `throng release`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `throng release`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng release --survey survey.toml --epoch 20500
      what epoch 20500 says, by the analyzer whose analyzer.toml is here
  throng release --config /etc/throng/analyzer.toml --survey survey.toml --label de --out results
      the newest epoch of one label, as release.json, estimates.csv, a plot, and what `throng verify` needs, in results/
  throng release --survey survey.toml --epoch 20500 --width 28
      values are the pixels of a picture that is 28 wide
  throng release --survey survey.toml --epoch 20500 --wait-s 60
      wait for batches that are on their way, for a minute at most
  throng release --survey survey.toml --epoch 20500 --liars 3
      what still stands if three of the respondents lied

An epoch is written into the analyzer's ledger before its batches are opened. If the population's budget does not allow
it, it is refused (exit code 1), and nothing is opened. Made again, the same release costs nothing more.")]
pub struct ReleaseArgs {
    /// The analyzer's file, as `throng serve analyzer` reads it
    #[arg(long, value_name = "FILE.toml", default_value = "analyzer.toml")]
    pub config: PathBuf,

    /// The analyzer's data, instead of what its file says
    #[arg(long, env = "THRONG_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The survey file, where the analyzer has several
    #[arg(long, value_name = "FILE.toml")]
    pub survey: Option<PathBuf>,

    /// The epoch [default: the newest that was released]
    #[arg(long, value_name = "E")]
    pub epoch: Option<u64>,

    /// The label, in a survey that has some
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// Wait for batches of all instances, for so many seconds at most
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub wait_s: u64,

    /// How many of the largest estimates to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,

    /// The confidence of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.95, allow_negative_numbers = true)]
    pub confidence: f64,

    /// Allow for so many respondents who lie: intervals are wider by what they can do, and signal has to stand out of that, too
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub liars: u64,

    /// Draw the estimates as a picture of this width
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..))]
    pub width: Option<u32>,

    /// Write release.json, estimates.csv, a picture or plot, and what `throng verify` needs here too, all at once, in
    /// place of an older release; the analyzer keeps a copy in its data
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
