//! `throng-cluster`: the roles of one party on many machines.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use throng_cluster::bridge::Bridge;
use throng_cluster::config::{ExecutorFile, check_listen, scheduler_address};
use throng_cluster::executor::{self, ExecutorConfig};
use throng_cluster::function::Bench;
use throng_cluster::keys::KeyFiles;
use throng_cluster::objects::Objects;
use throng_cluster::scheduler::{self, Timing};
use throng_cluster::serve;
use throng_cluster::size::Load;
use throng_cluster::tls::{self, Tls, TlsFiles};
use throng_serve::ReleaseOptions;
use throng_shuffle::Channel;
use tokio::runtime::Runtime;

/// The roles of one party on many machines.
#[derive(Parser)]
#[command(version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Make the certificates of a cluster: `throng-cluster certificates --out tls driver scheduler executor-1 executor-2`
    Certificates(CertificatesArgs),
    /// Run the scheduler: `throng-cluster scheduler --listen 10.0.0.7:50050 --tls tls/scheduler`
    Scheduler(SchedulerArgs),
    /// Run a party on the cluster
    #[command(subcommand)]
    Serve(Serve),
    /// Make the ratchets of a shuffler's hops, once, and copy them to its other replicas
    Ratchets(PartyArgs),
    /// Publish an epoch, opened by executors: `throng-cluster release --config analyzer.toml --survey survey.toml --epoch 20000`
    Release(ReleaseArgs),
    /// Say what a first hop needs for so many people: `throng-cluster size --respondents 1e8 --envelopes 10`
    Size(SizeArgs),
    /// Run an executor: `throng-cluster executor executor.toml`
    Executor(ExecutorArgs),
}

#[derive(Subcommand)]
enum Serve {
    /// A replica of a shuffler: `throng-cluster serve shuffler --config shuffler.toml`
    Shuffler(PartyArgs),
    /// An analyzer: `throng-cluster serve analyzer --config analyzer.toml`
    Analyzer(PartyArgs),
}

#[derive(Args)]
struct PartyArgs {
    /// The party's file, as on one machine, with store, objects and engine
    #[arg(long)]
    config: PathBuf,
    /// How the log is written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Read all that the party would, change nothing, and fail on what is not right
    #[arg(long)]
    check: bool,
    /// A shuffler: give up everything that is not released, after its data was restored. Stop all replicas first
    #[arg(long, conflicts_with = "check")]
    reset: bool,
    /// With --reset: this survey alone
    #[arg(long, requires = "reset")]
    survey: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Args)]
struct SizeArgs {
    /// Respondents a day
    #[arg(long)]
    respondents: f64,
    /// Envelopes of each body, as the plan says
    #[arg(long, default_value_t = 10.0)]
    envelopes: f64,
    /// How many times the average the busiest second has
    #[arg(long, default_value_t = 10.0)]
    peak: f64,
    /// In how many hours a batch has to be done
    #[arg(long, default_value_t = 4.0)]
    hours: f64,
}

#[derive(Args)]
struct ReleaseArgs {
    /// The analyzer's file
    #[arg(long)]
    config: PathBuf,
    /// The survey, where the analyzer has several
    #[arg(long)]
    survey: Option<PathBuf>,
    /// The epoch
    #[arg(long)]
    epoch: u64,
    /// The label of the crowd, in a survey with labels
    #[arg(long)]
    label: Option<String>,
    /// A directory for a copy
    #[arg(long)]
    out: Option<PathBuf>,
    /// The result is JSON in any case
    #[arg(long, hide = true)]
    json: bool,
}

#[derive(Args)]
struct CertificatesArgs {
    /// The directory for them
    #[arg(long)]
    out: PathBuf,
    /// A name for each role and machine
    #[arg(required = true)]
    roles: Vec<String>,
}

#[derive(Args)]
struct SchedulerArgs {
    /// Where drivers and executors reach it
    #[arg(long)]
    listen: SocketAddr,
    /// Its certificate and key, without .pem and .key; authority.pem is beside them
    #[arg(long)]
    tls: Option<PathBuf>,
    /// An executor that is silent for so many seconds is given up
    #[arg(long, default_value_t = 20)]
    executor_timeout_s: u64,
}

#[derive(Args)]
struct ExecutorArgs {
    /// Its file
    file: PathBuf,
}

fn main() -> ExitCode {
    throng_host::secrecy::keep_memory_off_the_disk();
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            let refused =
                error.downcast_ref::<throng_serve::Error>().is_some_and(|error| error.refusal().is_some());
            ExitCode::from(if refused { 1 } else { 2 })
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.role {
        Role::Certificates(CertificatesArgs { out, roles }) => Ok(tls::make(&out, &roles)?),
        Role::Scheduler(args) => Ok(run_scheduler(args)?),
        Role::Executor(args) => Ok(run_executor(&args)?),
        Role::Serve(Serve::Shuffler(args)) => run_shuffler(&args),
        Role::Serve(Serve::Analyzer(args)) => run_analyzer(&args),
        Role::Size(SizeArgs { respondents, envelopes, peak, hours }) => {
            anyhow::ensure!(
                [respondents, envelopes, peak, hours]
                    .iter()
                    .all(|number| number.is_finite() && *number > 0.0),
                "give numbers above 0"
            );
            println!("{}", Load { respondents, envelopes, peak, hours }.need());
            Ok(())
        }
        Role::Ratchets(args) => {
            for path in serve::make_ratchets(&args.config)? {
                println!("{}", path.display());
            }
            Ok(())
        }
        Role::Release(args) => {
            let analyzer = serve::analyzer_releases(&args.config)?;
            let mut surveys = analyzer.surveys()?;
            let survey = match (&args.survey, surveys.pop()) {
                (Some(survey), _) => throng_host::bundle::Bundle::read(survey)?,
                (None, Some(only)) if surveys.is_empty() => only,
                _ => anyhow::bail!("the analyzer has several surveys: say which with --survey FILE"),
            };
            let label = survey.survey().survey().label_number(args.label.as_deref())?;
            let options = ReleaseOptions { out: args.out.as_deref(), ..ReleaseOptions::default() };
            let channel = Channel { label, epoch: args.epoch };
            let (released, _) = analyzer.release_with(&survey, channel, &options, &mut |_, _| ())?;
            println!("{}", serde_json::to_string_pretty(&released)?);
            Ok(())
        }
    }
}

fn run_shuffler(args: &PartyArgs) -> anyhow::Result<()> {
    let mut shuffler = serve::shuffler(&args.config, args.reset)?;
    if let Some(name) = &args.survey {
        shuffler.select(name)?;
    }
    if args.check {
        return Ok(shuffler.check()?);
    }
    if args.reset {
        shuffler.reset()?;
        println!(
            "reset: give the signed key-list to everyone, and the layer keys to all replicas and executors"
        );
        return Ok(());
    }
    let log = serve::log("shuffler", matches!(args.log_format, LogFormat::Json));
    let ready = |url: &str| println!("listening on {url}");
    Runtime::new()?.block_on(shuffler.serve(&log, stopped(), ready))?;
    Ok(())
}

fn run_analyzer(args: &PartyArgs) -> anyhow::Result<()> {
    let analyzer = serve::analyzer(&args.config)?;
    anyhow::ensure!(!args.reset, "an analyzer has nothing to reset");
    if args.check {
        return Ok(analyzer.check()?);
    }
    let log = serve::log("analyzer", matches!(args.log_format, LogFormat::Json));
    let ready = |dashboard: Option<&str>| println!("ready {}", dashboard.unwrap_or_default());
    Runtime::new()?.block_on(analyzer.serve(&log, None, stopped(), ready))?;
    Ok(())
}

fn run_scheduler(args: SchedulerArgs) -> io::Result<()> {
    check_listen(args.listen, args.tls.is_some())?;
    let tls = args.tls.map(|path| Tls::read(&beside(&path))).transpose()?;
    let timing = Timing { executor_timeout_s: args.executor_timeout_s, ..Timing::default() };
    Runtime::new()?.block_on(scheduler::serve(args.listen, tls, timing, stopped(), |address| {
        println!("scheduler df://{address}");
    }))
}

fn run_executor(args: &ExecutorArgs) -> io::Result<()> {
    let file = ExecutorFile::read(&args.file)?;
    let objects = Objects::open(&file.objects, Bridge::new()?)?;
    objects.claim(&file.owner)?;
    let mut keys = KeyFiles::default();
    for one in &file.surveys {
        keys.add(&one.survey, one.place, &one.keys)?;
    }
    let tls = file.tls.as_ref().map(Tls::read).transpose()?;
    let config = ExecutorConfig {
        listen: file.listen,
        scheduler: scheduler_address(&file.scheduler)?,
        cores: file.cores.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        work: file.work,
        tls,
        bench: Arc::new(Bench { objects, keys: Box::new(keys) }),
    };
    println!("executor {}", file.listen);
    Runtime::new()?.block_on(executor::serve(config))
}

/// The files of a role, by the name that they share.
fn beside(path: &Path) -> TlsFiles {
    TlsFiles {
        authority: path.with_file_name("authority.pem"),
        certificate: path.with_extension("pem"),
        key: path.with_extension("key"),
    }
}

/// Over once the process is told to end.
async fn stopped() {
    let mut terminated = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminated) => terminated,
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
