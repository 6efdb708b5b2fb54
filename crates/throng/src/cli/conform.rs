//! The arguments of `throng conform`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `throng conform`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  throng conform --out rehearsal
      writes survey.toml, .signatures, .addresses and .keys, the credential, and layer-keys.json with all private
      keys; then waits for one answer on loopback. Let your client answer rehearsal/survey.toml with
      rehearsal/credential, a value from 0 to 7, in the current or the next epoch
  throng respond --survey rehearsal/survey.toml --credential rehearsal/credential --state s --epoch current
      the client of this program, as a client under test
  throng conform --out rehearsal --hops 1 --tls --json
      a single hop, over TLS, and the result for a program

A receipt says that a body is stored, not that it opens: here every layer is opened with keys that the stub knows, and
what is wrong is said in words. The first answer of a hop is a bad one (503, or a receipt for another body): the
same bytes have to come again. All keys are public: answer with no value that is anybody's.
Exit codes: 0 all is right, 1 something is wrong, 2 nobody came, or the stub could not run.")]
pub struct ConformArgs {
    /// Where to write the survey, its documents and the keys
    #[arg(long, value_name = "DIR", default_value = "throng-conform")]
    pub out: PathBuf,

    /// How many instances the survey has
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub instances: u32,

    /// How many hops each of them has
    #[arg(long, value_name = "M", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub hops: u32,

    /// How long an epoch is; a client may take up to two
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub epoch_s: u64,

    /// Use TLS, with certificates that the addresses name
    #[arg(long)]
    pub tls: bool,

    /// How long to wait for the first body [default: three epochs]
    #[arg(long, value_name = "S")]
    pub wait_s: Option<u64>,
}
