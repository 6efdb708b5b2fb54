//! The command line as typed. Each command checks its own arguments before any work starts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Statistics from a crowd of people without data about any of them.
#[derive(Debug, Parser)]
#[command(
    name = "throng",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  throng demo                  a survey in memory, with a picture as its result
  throng demo --json           the same, as JSON
  throng demo --help           what can be changed

Results go to stdout, progress and notes to stderr.
Exit codes: 0 done, 1 refused by a privacy or crowd rule, 2 failed."
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
    /// Run one survey in memory and draw its result
    ///
    /// Every unit of luminosity of a gray picture is one respondent, and the pixel is the value that
    /// respondent holds. Each of them randomizes that value with the code that a real respondent runs; what
    /// they send is counted, and the picture is estimated from the counts alone.
    ///
    /// Respondents are simulated in this process: there is no encryption, no network and no shuffler yet.
    Demo(DemoArgs),
}

/// The arguments of `throng demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng demo
      the built-in horse, at the epsilon_local that the paper uses for it
  throng demo --epsilon-local 6
      more privacy for each respondent, more noise in the picture
  throng demo --image portrait.png --out portrait
      another picture; the result goes to the directory portrait
  throng demo --json | jq .rmse
      one number of the result")]
pub struct DemoArgs {
    /// A PNG of at most 2^26 pixels; colors become gray, transparent is black [default: a horse]
    #[arg(long, value_name = "FILE.png")]
    pub image: Option<PathBuf>,

    /// The privacy loss of each report, whatever happens to it later (removal neighbors)
    #[arg(long, value_name = "E", default_value_t = 8.55, allow_negative_numbers = true)]
    pub epsilon_local: f64,

    /// Where to write truth.png, estimate.png, side-by-side.png and result.json
    #[arg(long, value_name = "DIR", default_value = "throng-demo")]
    pub out: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
