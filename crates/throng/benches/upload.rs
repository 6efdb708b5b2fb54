//! What an upload costs the first hop, in requests for each second of its processor time: `cargo bench -p throng --bench
//! upload`.
//!
//! Each server is a process of its own, so that its processor time can be told from that of the load. All get the same
//! requests over the same number of connections, in turns that alternate, and every turn starts from an empty store:
//!
//! | server | what it does |
//! |---|---|
//! | bare | an axum handler on hyper, with no time limit: reads the body, answers as many bytes as a receipt has |
//! | limited | the same handler on our server, with its time limits |
//! | durable | token, group commit and fdatasync; an empty answer |
//! | receipt | `throng serve shuffler` over plain HTTP: the same, and a signed receipt |
//! | tls | `throng serve shuffler` as it is deployed |
//!
//! Targets: durable at least 0.5 of bare, receipt at least 0.35 of bare. Processor time of the kernel's own threads
//! (writing back, interrupts) is nobody's, and not counted.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, Result, anyhow, bail, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::routing::post;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tempfile::TempDir;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::{self, Deployment, Party, read_layer_keys};
use throng_host::net::body::TimedBody;
use throng_host::net::server::{Limits, Server};
use throng_host::net::{Answer, OutgoingBody, Problem, Shortcut, Transport, Upload, Visitor, paths, tls};
use throng_serve::file_store::FileStore;
use throng_serve::shuffler::crowd_rule;
use throng_serve::shuffler::group_commit::GroupCommit;
use throng_shuffle::{Channel, Hop, HopConfig, Upload as HopUpload};
use throng_testing::survey::{SURVEY, with};
use throng_wire::envelope::{INDEX_LEN, body_len};
use throng_wire::receipt_tree::SIGNED_RECEIPT_LEN;
use throng_wire::{Credential, CredentialList, Place, Route, SigningKey, Survey, Token};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CHILD, kind, dir] => serve(kind, Path::new(dir)),
        // What cargo passes on says nothing here.
        _ => measure(&kinds(&args)),
    }
}

/// The servers that are named after `--`, or all of them. Nothing can be compared without the bare one.
fn kinds(args: &[String]) -> Vec<&'static str> {
    let named = |kind: &&str| *kind == "bare" || args.iter().any(|arg| arg == kind);
    let kinds: Vec<&str> = KINDS.into_iter().filter(named).collect();
    if kinds.len() > 1 { kinds } else { KINDS.to_vec() }
}

/// All turns, and the table.
fn measure(kinds: &[&'static str]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let plain = World::new("http")?;
    let secure = World::new("https")?;
    println!(
        "{REQUESTS} requests of {} bytes, medians of {TURNS} turns",
        body_len(INDEX_LEN, HOPS, ENVELOPES)
    );
    for connections in CONNECTIONS {
        let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for _ in 0..TURNS {
            for &kind in kinds {
                let world = if kind == "tls" { &secure } else { &plain };
                rates.entry(kind).or_default().push(world.turn(kind, connections, &runtime)?);
            }
        }
        print(kinds, connections, &rates);
    }
    println!("targets: durable / bare 0.50, receipt / bare 0.35");
    Ok(())
}

fn print(kinds: &[&str], connections: usize, rates: &BTreeMap<&str, Vec<f64>>) {
    println!("{connections} connections:");
    println!("{:<10}{:>16}{:>14}{:>8}   turns", "server", "requests/CPU-s", "us/request", "/ bare");
    for kind in kinds {
        let rate = median(&rates[kind]);
        let turns: Vec<String> = rates[kind].iter().map(|rate| format!("{rate:.0}")).collect();
        // Turn by turn: a machine that others use as well drifts.
        let shares: Vec<f64> = rates[kind].iter().zip(&rates["bare"]).map(|(own, bare)| own / bare).collect();
        let (us, share) = (1e6 / rate, median(&shares));
        println!("{kind:<10}{rate:>16.0}{us:>14.1}{share:>8.2}   {}", turns.join(", "));
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A deployment on disk, and what its respondents send.
struct World {
    dir: TempDir,
    deployment: Deployment,
    /// Whole requests, one of each respondent: head and body.
    requests: Arc<Vec<Vec<u8>>>,
}

impl World {
    fn new(scheme: &str) -> Result<Self> {
        // Beside what cargo builds, so that it is on a disk: in memory, a sync would cost nothing.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut rng = throng_host::entropy::system_rng()?;
        let url = |_| format!("{scheme}://127.0.0.1:1");
        let epoch = SystemClock.now_s() / EPOCH_S;
        let deployment =
            keygen::deployment(&Survey::from_toml(&survey_text())?, dir.path(), url, epoch, &mut rng)?;
        let survey = deployment.bundle.survey().hash();
        let respondents = WARM_UP + REQUESTS;
        let credentials: Vec<Credential> = (0..respondents).map(|_| Credential::generate(&mut rng)).collect();
        let home = &deployment.dirs[&FIRST];
        fs::write(home.join(CREDENTIALS), CredentialList::new(&credentials, &survey, FIRST).to_file())?;
        let config = format!(
            "listen = \"127.0.0.1:0\"\nplain_http = {}\nidentity = \".\"\ndata = \"{DATA}\"\n\
             requests_per_s_max = 4294967295\n[[surveys]]\n\
             survey = \"../survey.toml\"\nplace = \"{FIRST}\"\ncredentials = \"{CREDENTIALS}\"\n",
            scheme == "http"
        );
        fs::write(home.join(CONFIG), config)?;
        let path = paths::path(&Route { survey, label: 0, epoch, instance: 1 }, "body");
        fs::write(home.join(PATH), &path)?;
        // Bodies are not opened before the epoch ends, so any bytes do.
        let mut bytes = ChaCha20Rng::from_seed([1; 32]);
        let mut body = vec![0; body_len(INDEX_LEN, HOPS, ENVELOPES) as usize];
        let requests = credentials.iter().map(|credential| {
            bytes.fill_bytes(&mut body);
            let token = credential.token(&survey, FIRST);
            let mut request = format!(
                "POST {path} HTTP/1.1\r\nauthorization: Bearer {}\r\ncontent-type: application/octet-stream\r\n\
                 host: 127.0.0.1\r\ncontent-length: {}\r\n\r\n",
                *token.to_text(),
                body.len()
            )
            .into_bytes();
            request.extend(&body);
            request
        });
        let requests = Arc::new(requests.collect());
        Ok(Self { dir, deployment, requests })
    }

    /// Requests for each second of a server's processor time, from a fresh server on an empty store.
    fn turn(&self, kind: &str, connections: usize, runtime: &tokio::runtime::Runtime) -> Result<f64> {
        let home = &self.deployment.dirs[&FIRST];
        let data = home.join(DATA);
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        let mut command = if ["receipt", "tls"].contains(&kind) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_throng"));
            command.args(["serve", "shuffler", "--config"]).arg(home.join(CONFIG));
            command
        } else {
            let mut command = Command::new(env::current_exe()?);
            command.args([CHILD, kind]).arg(self.dir.path());
            command
        };
        let server = Process::start(&mut command)?;
        let connector = match (kind, &self.deployment.bundle.address(FIRST)?.certificate) {
            ("tls", Some(pinned)) => Some(TlsConnector::from(tls::client_config(*pinned, None)?)),
            _ => None,
        };
        let answer_len = if kind == "durable" { 0 } else { SIGNED_RECEIPT_LEN };
        let load = Load { address: server.address.clone(), connections, connector, answer_len };
        runtime.block_on(load.send(&self.requests, 0..WARM_UP))?;
        // Connections are made again: with TLS their handshakes are a part of what is measured.
        let before = server.cpu_s()?;
        runtime.block_on(load.send(&self.requests, WARM_UP..WARM_UP + REQUESTS))?;
        let spent = server.cpu_s()? - before;
        Ok(REQUESTS as f64 / spent)
    }
}

/// A server that is ended when this is dropped.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(command: &mut Command) -> Result<Self> {
        // All parties of this survey are on one machine, and each would warn of it.
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("it was asked for")?;
        let mut process = Self { child, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let (_, address) =
            line.trim_end().rsplit_once("://").ok_or_else(|| anyhow!("a server says: {line}"))?;
        process.address = address.to_owned();
        Ok(process)
    }

    /// What all its threads have used so far, in the kernel too. `/proc/PID/stat` counts in hundredths of a second;
    /// this counts in nanoseconds. No thread of these servers ends before they do.
    fn cpu_s(&self) -> Result<f64> {
        // What is on its way to the disk belongs to the turn.
        thread::sleep(Duration::from_millis(50));
        let mut sum_ns = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let running = text.split(' ').next().context("schedstat has three numbers")?;
            sum_ns += running.parse::<u64>()?;
        }
        ensure!(sum_ns > 0, "this kernel does not count the processor time of threads");
        Ok(sum_ns as f64 / 1e9)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who sends: as many connections as are usual, and one request at a time over each.
struct Load {
    address: String,
    connections: usize,
    connector: Option<TlsConnector>,
    answer_len: usize,
}

impl Load {
    async fn send(&self, requests: &Arc<Vec<Vec<u8>>>, range: std::ops::Range<usize>) -> Result<()> {
        let next = Arc::new(AtomicUsize::new(range.start));
        let mut senders = tokio::task::JoinSet::new();
        for _ in 0..self.connections {
            let stream = TcpStream::connect(&self.address).await?;
            stream.set_nodelay(true)?;
            let (requests, next, end) = (Arc::clone(requests), Arc::clone(&next), range.end);
            let answer_len = self.answer_len;
            match &self.connector {
                None => senders.spawn(exchange(stream, requests, next, end, answer_len)),
                Some(connector) => {
                    let stream = connector.connect(tls::server_name(), stream).await?;
                    senders.spawn(exchange(stream, requests, next, end, answer_len))
                }
            };
        }
        while let Some(sent) = senders.join_next().await {
            sent??;
        }
        Ok(())
    }
}

/// Sends one request after another, and reads each answer to its end.
async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    requests: Arc<Vec<Vec<u8>>>,
    next: Arc<AtomicUsize>,
    end: usize,
    answer_len: usize,
) -> Result<()> {
    let mut answer = Vec::with_capacity(4096);
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= end {
            return Ok(());
        }
        stream.write_all(&requests[index]).await?;
        stream.flush().await?;
        answer.clear();
        loop {
            ensure!(stream.read_buf(&mut answer).await? > 0, "the server has hung up");
            if let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n")
                && answer.len() >= head + 4 + answer_len
            {
                break;
            }
        }
        ensure!(answer.starts_with(b"HTTP/1.1 200"), "an answer is: {}", String::from_utf8_lossy(&answer));
    }
}

/// One of the servers that are made here, until it is ended from outside.
fn serve(kind: &str, dir: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let home = dir.join(FIRST.to_string());
    let path = fs::read_to_string(home.join(PATH))?;
    let bare = Router::new().route(&path, post(|body: Bytes| async move { bare(&body) }));
    runtime.block_on(async {
        if kind == "bare" {
            return serve_bare(bare).await;
        }
        let any = ([127, 0, 0, 1], 0).into();
        let unlimited = Limits { requests_per_s_max: u32::MAX, ..Limits::default() };
        let server = Server::bind(any, Transport::Plain, unlimited).await?;
        println!("http://{}", server.address()?);
        match kind {
            "limited" => Ok(server.serve(bare, std::future::pending()).await?),
            "durable" => {
                let intake = Arc::new(Intake::open(dir, &home)?);
                Ok(server.serve_with(Uploads(intake), Router::new(), std::future::pending()).await?)
            }
            _ => bail!("there is no server {kind}"),
        }
    })
}

/// axum as it is, on hyper as it is: what `axum::serve` does, without a choice of the HTTP version.
async fn serve_bare(router: Router) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn bare(body: &Bytes) -> Vec<u8> {
    assert_eq!(body.len() as u64, body_len(INDEX_LEN, HOPS, ENVELOPES));
    vec![7; SIGNED_RECEIPT_LEN]
}

/// The first hop without TLS and receipts.
struct Intake {
    hop: Arc<Hop>,
    intake: GroupCommit,
    credentials: CredentialList,
}

impl Intake {
    fn open(dir: &Path, home: &Path) -> Result<Self> {
        let bundle = Bundle::read(dir.join("survey.toml"))?;
        let party = Party::read(home)?;
        let survey = bundle.survey().clone();
        let config = HopConfig {
            instance: 1,
            hop: 1,
            rule: crowd_rule(survey.survey())?,
            signing: SigningKey::from_file(&party.signing_key().to_file())?,
            keys: read_layer_keys(home)?,
            key_list: bundle.key_list_digest(FIRST).context("every party has a list")?,
            memory: 512 << 20,
            survey,
        };
        let store = FileStore::open(&PathBuf::from(home).join(DATA))?;
        let mark = store.mark(home.join("mark"));
        let hop = Arc::new(Hop::open(config, Box::new(store), Box::new(mark), SystemClock.now_s())?);
        let credentials = CredentialList::from_file(&fs::read_to_string(home.join(CREDENTIALS))?)?;
        Ok(Self { intake: GroupCommit::start(Arc::clone(&hop))?, hop, credentials })
    }
}

/// Uploads as `throng serve shuffler` takes them, but for the receipt.
#[derive(Clone)]
struct Uploads(Arc<Intake>);

impl Shortcut for Uploads {
    fn takes<B>(&self, request: &Request<B>) -> bool {
        paths::upload(request.uri().path()).is_some()
    }

    async fn answer(&self, request: Request<TimedBody<Incoming>>, visitor: &Visitor) -> Response<Answer> {
        visitor.is_known();
        match durable(&self.0, request).await {
            Ok(empty) => Answer::short(empty),
            Err(problem) => Answer::routed(problem),
        }
    }
}

async fn durable(intake: &Intake, request: Request<TimedBody<Incoming>>) -> Result<OutgoingBody, Problem> {
    let refused = || Problem::new(StatusCode::BAD_REQUEST, "bench", "this bench sends no such thing");
    let route = paths::upload(request.uri().path()).ok_or_else(refused)?;
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer ")).and_then(Token::from_text);
    let id = token.map(|token| token.id()).filter(|id| intake.credentials.contains(id));
    let id = id.ok_or_else(refused)?;
    let upload = Upload::new(request, body_len(INDEX_LEN, HOPS, ENVELOPES))?;
    let channel = Channel { label: route.label, epoch: route.epoch };
    intake.hop.admits(channel, upload.len() as usize, SystemClock.now_s()).map_err(|_| refused())?;
    let body = upload.bytes_in(intake.intake.memory()).await?;
    let taken = HopUpload::new(channel, id, body);
    intake.intake.take(taken).await.map_err(|_| refused())?;
    Ok(OutgoingBody::empty())
}

const KINDS: [&str; 5] = ["bare", "limited", "durable", "receipt", "tls"];
const TURNS: usize = 5;
const REQUESTS: usize = 20_000;
const WARM_UP: usize = 2_000;

/// With few connections a server that waits for its disk is idle between groups, and pays for falling asleep and being
/// woken up; with many it always has something to do.
const CONNECTIONS: [usize; 2] = [64, 256];

/// The first argument of a process that this one starts.
const CHILD: &str = "serve-for-bench";

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const HOPS: u32 = 2;
const ENVELOPES: u32 = 19;

/// One epoch is enough for any run.
const EPOCH_S: u64 = 100 * 365 * 86_400;

const CONFIG: &str = "shuffler.toml";
const CREDENTIALS: &str = "credentials";
const DATA: &str = "data";
const PATH: &str = "path";

fn survey_text() -> String {
    let fields = [
        ("name", r#""bench""#),
        ("question", r#""Which number?""#),
        ("epoch_s", "3153600000"),
        ("encoding", r#"{ kind = "one-hot", domain = 87680 }"#),
        ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 10.6 }"#),
        ("crowd", r#"{ respondents_min = 1000, honest_fraction = 1.0, enrolment = "credential" }"#),
        ("delivery", r#"{ instances = 1, hops = 2, envelopes = 19, cover = "chaff" }"#),
    ];
    with(SURVEY, &fields)
}
