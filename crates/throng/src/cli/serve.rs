//! The arguments of `throng serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use throng_serve::LogFormat;

/// Which party.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Which party to run.
    #[command(subcommand)]
    pub party: ServeParty,
}

/// The parties.
#[derive(Debug, Subcommand)]
pub enum ServeParty {
    /// Run a shuffler: a hop of the surveys that its file lists
    ///
    /// Killed at any moment it goes on where it was: what it acknowledged is not lost, and nothing is released twice or
    /// in a second order. Stops at Ctrl-C or SIGTERM.
    Shuffler(ShufflerArgs),

    /// Run an analyzer: takes batches of its surveys, and keeps them sealed until they are booked
    ///
    /// A batch is acknowledged, and erased where it came from, once it is stored, sealed, and cannot be lost. It is booked and
    /// opened by `throng release`. Killed at any moment it goes on where it was. Stops at Ctrl-C or SIGTERM.
    Analyzer(AnalyzerArgs),
}

/// The arguments of `throng serve analyzer`.
#[derive(Args, Debug)]
#[command(after_help = "\
The file, with every setting:
  identity = \"keys\"                # the directory of `throng keygen --out keys`
  data = \"data\"                    # what must not be lost; made if it is not there
  memory_mib = 512                 # about how much memory it may use, besides the sums themselves
  operator_listen = \"127.0.0.1:9444\"   # the dashboard, /healthz, /readyz and /metrics; default: none
  ledger_mark = \"keys/ledger.mark\"    # how long the ledger is, apart from data; default: beside the first survey's keys
  operator_token = \"operator.token\"  # what the dashboard asks for; default: operator.token in data, made if not there
  late_epochs = 8                  # for how many epochs layer keys are kept for batches that come late
  open = \"when-released\"           # or \"at-once\": book and open every epoch as soon as it is there

  [budget]                         # what all releases about one population may spend together
  epsilon_central = 10
  delta = 1e-5

  [[surveys]]                      # once for each survey that it analyzes
  survey = \"survey.toml\"           # with survey.signatures, .addresses and .keys beside it
  keys = \"keys\"                    # where `throng keygen sign` put its layer keys; default: the identity's
  population = \"everyone\"          # surveys that ask the same people name the same population

Examples:
  throng serve analyzer --config analyzer.toml --check
      read everything, say what is wrong, change nothing
  throng serve analyzer --config analyzer.toml
      run until Ctrl-C")]
pub struct AnalyzerArgs {
    /// The file that says which surveys, and what may be spent
    #[arg(long, value_name = "FILE.toml")]
    pub config: PathBuf,

    /// Only check the file and everything that it names
    #[arg(long, conflicts_with = "accept_ledger")]
    pub check: bool,

    /// Take the ledger as it is for the whole one, where its mark is lost or knows of more, and end
    ///
    /// Every line is still checked, and everything that was published has to be in it. What it lacks would be spent a second time.
    #[arg(long)]
    pub accept_ledger: bool,

    /// How it tells what it does.
    #[command(flatten)]
    pub log: LogArgs,

    /// What the file says otherwise.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// The arguments of `throng serve shuffler`.
#[derive(Args, Debug)]
#[command(after_help = "\
The file, with every setting:
  listen = \"0.0.0.0:8443\"          # where it answers
  identity = \"keys\"                # the directory of `throng keygen --out keys`
  data = \"data\"                    # what must not be lost; made if it is not there
  memory_mib = 512                 # about how much memory it may use
  connections_max = 1024           # how many connections are open at once
  requests_per_s_max = 5000        # requests answered in a second; one connection has a fifth
  operator_listen = \"127.0.0.1:9443\"   # /healthz, /readyz and /metrics; default: none
  neighbours_wait_s = 10           # how long a start waits for what the next hop knows of this one's statements
  plain_http = false               # true: no TLS, on 127.0.0.1 only, where hops then do not prove who they are

  [[surveys]]                      # once for each survey that it is a hop of
  survey = \"survey.toml\"           # with survey.signatures, .addresses and .keys beside it
  place = \"instance-1-hop-1\"
  keys = \"keys\"                    # where `throng keygen sign` put its layer keys; default: the identity's
  mark = \"/var/marks\"              # how far its journal has come; default: beside its keys
  credentials = \"instance-1-hop-1.credentials\"   # for a first hop, unless enrolment is open

Examples:
  throng serve shuffler --config shuffler.toml --check
      read everything, say what is wrong, change nothing
  throng serve shuffler --config shuffler.toml
      run until Ctrl-C
  throng serve shuffler --config shuffler.toml --reset --survey lunch
      after restoring from a copy: give up what is not released, and begin with new layer keys")]
pub struct ShufflerArgs {
    /// The file that says where to listen and for which surveys
    #[arg(long, value_name = "FILE.toml")]
    pub config: PathBuf,

    /// Only check the file and everything that it names
    #[arg(long, conflicts_with = "reset")]
    pub check: bool,

    /// Give up what was not released, forget all layer keys, make new ones from the next epoch on, and end
    #[arg(long)]
    pub reset: bool,

    /// Reset the survey of this name alone
    #[arg(long, value_name = "NAME", requires = "reset")]
    pub survey: Option<String>,

    /// How it tells what it does.
    #[command(flatten)]
    pub log: LogArgs,

    /// Where it answers
    #[arg(long, env = "THRONG_LISTEN", value_name = "ADDRESS:PORT", help_heading = OVERRIDES)]
    pub listen: Option<SocketAddr>,

    /// What the file says otherwise.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// What a container or a service manager sets without writing a file. Paths are relative to where the program was started.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = OVERRIDES)]
pub struct Overrides {
    /// Where its operator asks for health and metrics
    #[arg(long, env = "THRONG_OPERATOR_LISTEN", value_name = "ADDRESS:PORT")]
    pub operator_listen: Option<SocketAddr>,

    /// The directory with its identity, for example systemd's $CREDENTIALS_DIRECTORY
    #[arg(long, env = "THRONG_IDENTITY", value_name = "DIR")]
    pub identity: Option<PathBuf>,

    /// The directory for what must not be lost
    #[arg(long, env = "THRONG_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl Overrides {
    /// Puts them in the place of what a file said.
    pub fn apply(self, operator_listen: &mut Option<SocketAddr>, identity: &mut PathBuf, data: &mut PathBuf) {
        *operator_listen = self.operator_listen.or(*operator_listen);
        self.identity.into_iter().for_each(|path| *identity = path);
        self.data.into_iter().for_each(|path| *data = path);
    }
}

/// The log of a server, on standard error.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// How a line of the log is written
    #[arg(long, env = "THRONG_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormatArg,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormatArg {
    /// Words for people
    Text,
    /// One JSON object with the same fields
    Json,
}

impl From<LogFormatArg> for LogFormat {
    fn from(format: LogFormatArg) -> Self {
        match format {
            LogFormatArg::Text => Self::Text,
            LogFormatArg::Json => Self::Json,
        }
    }
}

const OVERRIDES: &str = "Instead of what the file says";
