//! `throng demo` as typed.

use std::path::PathBuf;

use clap::Args;

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

    /// A PNG, whose pixels have respondents in proportion to their light [default: a drawing of a cat]
    #[arg(long, value_name = "FILE.png")]
    pub image: Option<PathBuf>,

    /// Keep all parties, the dashboard and the files until Ctrl-C
    #[arg(long)]
    pub keep: bool,

    /// Where to write truth.png, estimate.png, side-by-side.png, commands.sh and result.json
    #[arg(long, value_name = "DIR", default_value = "throng-demo")]
    pub out: PathBuf,
}
