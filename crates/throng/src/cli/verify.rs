//! The arguments of `throng verify`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `throng verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng verify results
      check release.json and the files beside it, as `throng release --out results` wrote them
  throng verify results --survey my/survey.toml
      the same, and that it is the survey whose files you have from elsewhere
  throng verify results --survey-hash 5f0c...
      the same with the hash alone, as `throng respond` printed it
  throng verify results --json
      every check as JSON, for a program

Every line begins with ok, FAILED, or ? for what the files do not show. Then it says what cannot be checked from outside.
Exit codes: 0 all checks hold, 1 one of them does not, 2 there is no release to read.")]
pub struct VerifyArgs {
    /// The directory of a published release
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// The survey file that you trust, with its signatures beside it
    #[arg(long, value_name = "FILE.toml", conflicts_with = "survey_hash")]
    pub survey: Option<PathBuf>,

    /// The hash of the survey that you trust
    #[arg(long, value_name = "HEX")]
    pub survey_hash: Option<String>,
}
