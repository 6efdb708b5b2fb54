//! A deployment in a temporary directory: keys and files of all parties, and their processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use hyper::{HeaderMap, Method};
use tempfile::TempDir;
use throng_dp::{Fragments, Value};
use throng_encode::{EpochChoice, Schedule, seal};
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::{self, Deployment, Party};
use throng_host::net::client::{Client, Limits, SendError};
use throng_host::net::{OutgoingBody, Sender, paths};
use throng_wire::peel::open_fragment;
use throng_wire::statement::{STATEMENT_LEN, check_count};
use throng_wire::{
    Address, AnalyzerContent, BatchCount, Channel, Credential, CredentialList, Digest, EpochStatement,
    Fragment, LayerKeys, Layout, Path as Way, Place, Receipt, Route, Signed, SignedReceipt, Stop, Survey,
};

use crate::patience::{until, until_some};
use crate::program::Program;
use crate::survey::{SURVEY, with};

/// The sizes of a deployment.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Instances.
    pub instances: u32,
    /// Hops of each.
    pub hops: u32,
    /// The length of an epoch.
    pub epoch_s: u64,
    /// Whether parties talk over TLS.
    pub tls: bool,
    /// Whether the survey has a label.
    pub labels: bool,
}

/// Envelopes of a body.
pub const ENVELOPES: u32 = 3;
/// How many have to answer.
pub const CROWD: u64 = 5;

/// All parties, with their processes.
pub struct Town {
    program: Program,
    _dir: TempDir,
    /// All parties, their keys and files.
    pub deployment: Deployment,
    /// Of the respondents.
    pub credentials: Arc<Vec<Credential>>,
    /// The sizes.
    pub shape: Shape,
    processes: BTreeMap<Place, Process>,
    /// What processes are started with besides, by place.
    pub environment: BTreeMap<Place, (&'static str, &'static str)>,
    operator_ports: BTreeMap<Place, u16>,
}

struct Process {
    child: Child,
    config: PathBuf,
}

impl Town {
    /// Everybody's keys and files; nobody runs yet.
    pub fn new(program: Program, shape: Shape, respondents: usize) -> Self {
        Self::of(program, &draft(shape), shape.tls, respondents)
    }

    /// The same for any survey. What people do in a short epoch takes longer where much else is to do, so it is longer there.
    pub fn of(program: Program, survey: &Survey, tls: bool, respondents: usize) -> Self {
        let (mut survey, times) = (survey.clone(), longer_at_this_load(survey.epoch_s));
        survey.epoch_s *= times;
        let delivery = &mut survey.delivery;
        delivery.keep_sealed_s = delivery.keep_sealed_s.map(|kept_s| kept_s * times);
        delivery.keep_batches_s = delivery.keep_batches_s.map(|kept_s| kept_s * times);
        Self::exactly(program, &survey, tls, respondents)
    }

    /// Other parties, other keys and the same survey, but for its parties: its epochs are those of this one.
    pub fn elsewhere(&self) -> Self {
        let survey = Survey { parties: None, ..self.deployment.bundle.survey().survey().clone() };
        Self::exactly(self.program, &survey, self.shape.tls, self.credentials.len())
    }

    fn exactly(program: Program, survey: &Survey, tls: bool, respondents: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (delivery, labels) = (&survey.delivery, survey.labels.is_some());
        let (instances, hops, epoch_s) = (delivery.instances, delivery.hops, survey.epoch_s);
        let shape = Shape { instances, hops, epoch_s, tls, labels };
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let ports: BTreeMap<Place, u16> = survey.places().zip(free_ports(survey.places().count())).collect();
        let operator_ports = survey.places().zip(free_ports(survey.places().count())).collect();
        let scheme = if shape.tls { "https" } else { "http" };
        let url = |place: Place| format!("{scheme}://127.0.0.1:{}", ports[&place]);
        let first = SystemClock.now_s() / shape.epoch_s;
        let deployment = keygen::deployment(survey, dir.path(), url, first, &mut rng).unwrap();
        let credentials = Arc::new((0..respondents).map(|_| Credential::generate(&mut rng)).collect());
        let (processes, environment) = (BTreeMap::new(), BTreeMap::new());
        let town = Self {
            program,
            _dir: dir,
            deployment,
            credentials,
            shape,
            processes,
            environment,
            operator_ports,
        };
        for place in town.hops() {
            town.write_config(place, ports[&place]);
        }
        let analyzer = format!(
            "operator_listen = \"127.0.0.1:{}\"\nidentity = \".\"\ndata = \"data\"\nmemory_mib = 16\n[budget]\nepsilon_central = 20\n\
                        delta = 0.01\n[[surveys]]\nsurvey = \"../survey.toml\"\n",
            town.operator_ports[&Place::Analyzer]
        );
        fs::write(town.config(Place::Analyzer), analyzer).unwrap();
        town
    }

    /// A second survey of the same parties and respondents, answered through the returned town; the processes are those of
    /// this one, once they are started with what is then in their files.
    pub fn second(&self, draft: &Survey) -> Self {
        let first = &self.deployment;
        let parties = first.bundle.survey().survey().parties.clone();
        // Epochs as long as the first one's, which may have been made longer.
        let survey = Survey { parties, epoch_s: self.shape.epoch_s, ..draft.clone() };
        let path = first.survey.with_file_name("second.toml");
        fs::write(&path, survey.to_toml().unwrap()).unwrap();
        let (epoch, schedule) = (SystemClock.now_s() / survey.epoch_s, keygen::Schedule::of(&survey));
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let mut dirs = Vec::new();
        for (&place, dir) in &first.dirs {
            let (party, signed) = (Party::read(dir).unwrap(), dir.join("second"));
            fs::create_dir(&signed).unwrap();
            let signer = keygen::Signer::new(&party, &survey, place).unwrap();
            signer.sign(&signed, &self.address(place).url, epoch, schedule, &mut rng).unwrap();
            let mut more = "[[surveys]]\nsurvey = \"../second.toml\"\nkeys = \"second\"\n".to_owned();
            if let Place::Hop { hop, .. } = place {
                more += &format!("place = \"{place}\"\n");
                let list = CredentialList::new(self.credentials.iter(), &survey.hash().unwrap(), place);
                fs::write(dir.join("second.credentials"), list.to_file()).unwrap();
                more += if hop == 1 { "credentials = \"second.credentials\"\n" } else { "" };
            }
            let config = fs::read_to_string(self.config(place)).unwrap();
            fs::write(self.config(place), config + &more).unwrap();
            dirs.push(signed);
        }
        let bundle = keygen::bundle(&path, &dirs.iter().collect::<Vec<_>>(), epoch).unwrap();
        let deployment = Deployment { survey: path, bundle, dirs: first.dirs.clone() };
        let shape = Shape { epoch_s: survey.epoch_s, labels: survey.labels.is_some(), ..self.shape };
        let (processes, environment) = (BTreeMap::new(), BTreeMap::new());
        let credentials = Arc::clone(&self.credentials);
        let (dir, operator_ports) = (tempfile::tempdir().unwrap(), self.operator_ports.clone());
        let program = self.program;
        Self { program, _dir: dir, deployment, credentials, shape, processes, environment, operator_ports }
    }

    /// The places of all hops.
    pub fn hops(&self) -> Vec<Place> {
        let survey = self.deployment.bundle.survey().survey();
        survey.places().filter(|place| *place != Place::Analyzer).collect()
    }

    fn write_config(&self, place: Place, port: u16) {
        let hash = self.deployment.bundle.survey().hash();
        let first = matches!(place, Place::Hop { hop: 1, .. });
        let list = CredentialList::new(self.credentials.iter(), &hash, place);
        fs::write(self.path(place, "credentials"), list.to_file()).unwrap();
        let credentials = if first { "credentials = \"credentials\"" } else { "" };
        let text = format!(
            "listen = \"127.0.0.1:{port}\"\noperator_listen = \"127.0.0.1:{}\"\nplain_http = {}\nidentity = \".\"\ndata = \"data\"\nmemory_mib = 16\nneighbours_wait_s = 1\n\
             [[surveys]]\nsurvey = \"../survey.toml\"\nplace = \"{place}\"\n{credentials}\n",
            self.operator_ports[&place], !self.shape.tls
        );
        fs::write(self.config(place), text).unwrap();
    }

    /// Where a party's configuration is.
    pub fn config(&self, place: Place) -> PathBuf {
        self.path(place, if place == Place::Analyzer { "analyzer.toml" } else { "shuffler.toml" })
    }

    /// A file of a party.
    pub fn path(&self, place: Place, file: &str) -> PathBuf {
        self.deployment.dirs[&place].join(file)
    }

    /// The hop's own files.
    pub fn data(&self, place: Place) -> PathBuf {
        let hash = self.deployment.bundle.survey().hash();
        self.path(place, "data").join(format!("{hash}-{place}"))
    }

    /// Starts a hop, or the analyzer; it answers when this returns. With `abort_after`, it ends itself after that many
    /// operations of its store, which may be before it answers.
    pub fn start(&mut self, place: Place, abort_after: Option<u64>) {
        let config = self.config(place);
        let mut command = if place == Place::Analyzer {
            self.program.analyzer(&config)
        } else {
            self.program.shuffler(&config)
        };
        command.args(["--log-format", "json"]);
        if let Some(operations) = abort_after {
            command.env("THRONG_TEST_ABORT_AFTER", operations.to_string());
        }
        command
            .env("THRONG_TEST_CLOCK_FILE", self.path(place, "clock"))
            .envs(self.environment.get(&place).copied());
        let line = self.spawn(place, command);
        let ready = line.contains("listening on") || line.contains("ready");
        assert!(abort_after.is_some() || ready, "{line}{}", self.log(place));
    }

    /// Starts a hop whose files cannot grow beyond `blocks` blocks of the shell's (512 or 1024 bytes): writing more fails, as it
    /// does on a full disk.
    pub fn start_with_little_room(&mut self, place: Place, blocks: u32) {
        let program = self.program.shuffler(&self.config(place));
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"")).arg("sh");
        command.arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
        let line = self.spawn(place, command);
        assert!(line.contains("listening on"), "{line}{}", self.log(place));
    }

    /// Starts a hop's process; returns its first line.
    fn spawn(&mut self, place: Place, mut command: Command) -> String {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path(place, "log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.processes.insert(place, Process { child, config: self.config(place) });
        line
    }

    /// Asks a hop to end, as a service manager does.
    pub fn terminate(&self, place: Place) {
        let id = self.processes[&place].child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits until a hop has ended by itself; its exit code.
    pub fn ended(&mut self, place: Place) -> Option<i32> {
        self.processes.remove(&place).unwrap().child.wait().unwrap().code()
    }

    /// What a hop answers to its operator: status and body.
    pub fn ask(&self, place: Place, path: &str) -> (u16, String) {
        let port = self.operator_ports[&place];
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// What a hop has written to its log.
    pub fn log(&self, place: Place) -> String {
        fs::read_to_string(self.path(place, "log")).unwrap_or_default()
    }

    /// Starts all hops.
    pub fn start_all(&mut self) {
        for place in self.hops() {
            self.start(place, None);
        }
    }

    /// kill -9, and the same again.
    pub fn kill(&mut self, place: Place) {
        let mut process = self.processes.remove(&place).unwrap();
        process.child.kill().unwrap();
        process.child.wait().unwrap();
    }

    /// Kills a process and starts it again.
    pub fn restart(&mut self, place: Place) {
        self.kill(place);
        self.start(place, None);
    }

    /// Waits until a process has ended by itself.
    pub fn wait_for_end(&mut self, place: Place) {
        self.processes.remove(&place).unwrap().child.wait().unwrap();
    }

    /// Sets a running process's clock ahead by some seconds, or back.
    pub fn step_clock(&self, place: Place, seconds: i64) {
        // In one step: a file that is half written would be a third time.
        let (new, clock) = (self.path(place, "clock.new"), self.path(place, "clock"));
        fs::write(&new, seconds.to_string()).unwrap();
        fs::rename(new, clock).unwrap();
    }

    /// Sets the clocks of hops that are not started yet to the beginning of an epoch; says which.
    pub fn begin_epoch(&self) -> u64 {
        let epoch = SystemClock.now_s() / self.shape.epoch_s + 1;
        self.step_clocks_to(epoch * self.shape.epoch_s);
        epoch
    }

    /// Sets the clocks of hops to the end of an epoch. That is a jump of the clock unless epochs are shorter than one.
    pub fn end_epoch(&self, epoch: u64) {
        self.step_clocks_to((epoch + 1) * self.shape.epoch_s);
    }

    fn step_clocks_to(&self, time_s: u64) {
        let ahead_s = time_s.saturating_sub(SystemClock.now_s()) as i64;
        for place in self.hops() {
            self.step_clock(place, ahead_s);
        }
    }

    /// Whether a hop's process has ended by itself.
    pub fn has_ended(&mut self, place: Place) -> bool {
        self.processes.get_mut(&place).is_some_and(|one| one.child.try_wait().unwrap().is_some())
    }

    /// Starts a hop again if it has ended; says whether it had.
    pub fn revive(&mut self, place: Place) -> bool {
        let ended = self.has_ended(place);
        if ended {
            self.processes.remove(&place);
            self.start(place, None);
        }
        ended
    }

    /// Where a party can be reached.
    pub fn address(&self, place: Place) -> &Address {
        self.deployment.bundle.address(place).unwrap()
    }

    /// The route of an instance, under the label if there is one.
    pub fn route(&self, instance: u32, epoch: u64) -> Route {
        let label = u32::from(self.shape.labels);
        Route { survey: self.deployment.bundle.survey().hash(), label, epoch, instance }
    }

    /// The body for an instance of a respondent who holds this value.
    pub fn body(&self, route: Route, value: u32) -> Vec<u8> {
        self.body_of(route, &[value])
    }

    /// A body with fragments of these attributes.
    pub fn body_of(&self, route: Route, attributes: &[u32]) -> Vec<u8> {
        let bundle = &self.deployment.bundle;
        let way = Way::new(bundle.survey(), route.label, route.epoch, route.instance, bundle.key_lists());
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let fragments: Vec<Fragment> = attributes.iter().map(|&attribute| Fragment::new(attribute)).collect();
        way.unwrap().body(&fragments, &mut rng).unwrap()
    }

    /// A respondent's whole answer: randomized from a seed, sealed, and sent to every instance. Returns the fragments, as an
    /// encoder in memory makes them from the same seed.
    pub fn answer(
        &self,
        sender: &Sender,
        person: usize,
        (label, epoch): (u32, u64),
        value: Option<impl Into<Value>>,
        seed: u64,
    ) -> Result<Fragments, SendError> {
        let bundle = &self.deployment.bundle;
        let survey = bundle.survey().survey();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let value = value.map(Into::into);
        let fragments = survey.mechanism().unwrap().randomize(value.as_ref(), &mut rng).unwrap();
        let schedule =
            Schedule::new(survey, EpochChoice::CurrentEpoch, epoch * survey.epoch_s * 1000).unwrap();
        let bodies = seal(bundle.survey(), bundle.key_lists(), label, &schedule, &fragments, &mut rng);
        for body in bodies.unwrap() {
            let route = body.route(bundle.survey().hash(), Channel { label, epoch });
            self.send(sender, route, person, body.bytes())?;
        }
        Ok(fragments)
    }

    /// What `throng release` prints as JSON, or its exit code and what it says.
    pub fn release(&self, arguments: &[&str]) -> Result<serde_json::Value, (i32, String)> {
        self.release_until("", arguments)
    }

    /// The same, but it ends at this place as if it had been killed.
    pub fn release_until(&self, place: &str, arguments: &[&str]) -> Result<serde_json::Value, (i32, String)> {
        let mut command = self.program.command();
        command.args(["release", "--json", "--config"]).arg(self.config(Place::Analyzer)).args(arguments);
        command.env("THRONG_TEST_ABORT_AT", place);
        let output = command.stdin(Stdio::null()).output().unwrap();
        if output.status.success() {
            return Ok(serde_json::from_slice(&output.stdout).unwrap());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err((output.status.code().unwrap_or(-1), said + &self.log(Place::Analyzer)))
    }

    /// Sends a body with a respondent's credential, checks the receipt, and returns what it says.
    pub fn send(
        &self,
        sender: &Sender,
        route: Route,
        person: usize,
        body: &[u8],
    ) -> Result<Receipt, SendError> {
        let place = Place::hop(route.instance, 1);
        let token = self.credentials[person].token(&route.survey, place);
        let bytes = sender.post_body(self.address(place), &route, &token, body)?;
        let receipt = SignedReceipt::from_bytes(&bytes).unwrap();
        let receipt = receipt.verify(self.deployment.bundle.survey()).unwrap();
        assert_eq!((receipt.route, receipt.body), (route, Digest::of(body)));
        Ok(*receipt)
    }

    /// A request by one of the parties, or by nobody.
    pub fn call(
        &self,
        by: Option<Place>,
        to: Place,
        method: Method,
        route: Route,
        what: &str,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let identity = by.map(|place| Party::read(&self.deployment.dirs[&place]).unwrap().into_identity());
        let client = Client::new(identity, Limits { answer_len_max: 1 << 24, ..Limits::default() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let body = OutgoingBody::bytes(body.to_vec());
            let path = paths::path(&route, what);
            match client.request(self.address(to), method, &path, HeaderMap::new(), body).await {
                Ok(reply) => (reply.status.as_u16(), reply.bytes().await.unwrap_or_default()),
                Err(_) => (0, Vec::new()),
            }
        })
    }

    /// The batch that the analyzer gets, once it is there.
    pub fn pull(&mut self, route: Route) -> LastHopBatch {
        let last = Place::hop(route.instance, self.shape.hops);
        until_some("the batch is there", || {
            let (status, bytes) = self.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]);
            if status == 200 {
                return Some(LastHopBatch::new(self, route, &bytes));
            }
            assert!([0, 404].contains(&status), "{status}: {}", String::from_utf8_lossy(&bytes));
            for place in self.hops() {
                self.revive(place);
            }
            None
        })
    }

    /// The analyzer says that it has a batch; the status of the answer.
    pub fn acknowledge(&self, route: Route, digest: Digest) -> u16 {
        let last = Place::hop(route.instance, self.shape.hops);
        self.call(Some(Place::Analyzer), last, Method::POST, route, "ack", digest.as_bytes()).0
    }

    /// Waits for the beginning of an epoch; says which.
    pub fn next_epoch(&self) -> u64 {
        let epoch = SystemClock.now_s() / self.shape.epoch_s + 1;
        until("the epoch begins", || SystemClock.now_s() >= epoch * self.shape.epoch_s);
        epoch
    }
}

/// How many times as long an epoch has to be that a test waits for, since others work on this machine, too.
fn longer_at_this_load(epoch_s: u64) -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split([' ', '/']).collect();
    // The average over a minute, and how many run at this moment.
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(1.0);
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let times = (number(0).max(number(3)) / cores).clamp(1.0, 4.0) as u64;
    if epoch_s < 60 { times } else { 1 }
}

impl Drop for Town {
    fn drop(&mut self) {
        for process in self.processes.values_mut() {
            let _ = process.child.kill();
            let _ = process.child.wait();
            let _ = &process.config;
        }
    }
}

/// What an analyzer finds at a last hop.
pub struct LastHopBatch {
    /// What all hops signed.
    pub statements: Vec<EpochStatement>,
    /// The sealed fragments.
    pub envelopes: Vec<u8>,
    /// The values in them, in their order.
    pub values: Vec<u32>,
}

impl LastHopBatch {
    fn new(town: &Town, route: Route, bytes: &[u8]) -> Self {
        let (statements, rest) = bytes.split_at(STATEMENT_LEN * town.shape.hops as usize);
        let (count, envelopes) = rest.split_first_chunk().unwrap();
        let count = BatchCount::from_bytes(count);
        let survey = town.deployment.bundle.survey();
        let statements: Vec<EpochStatement> = statements
            .chunks_exact(STATEMENT_LEN)
            .map(|one| *Signed::<EpochStatement>::from_bytes(one).unwrap().verify(survey).unwrap())
            .collect();
        assert_eq!(check_count(survey.survey(), statements.last().unwrap(), &count), Ok(()));
        let (layout, attributes) = (Layout::of(survey.survey()), survey.survey().attributes());
        let text = fs::read_to_string(town.path(Place::Analyzer, "layer.keys")).unwrap();
        let keys = LayerKeys::from_file(&text).unwrap();
        let values = envelopes
            .chunks_exact(layout.envelope_len(Stop::Analyzer))
            .filter_map(|envelope| {
                match open_fragment(&route, &layout, attributes, &keys, envelope).unwrap() {
                    AnalyzerContent::Fragment(fragment) => Some(fragment.attribute()),
                    AnalyzerContent::Chaff => None,
                }
            })
            .collect();
        Self { statements, envelopes: envelopes.to_vec(), values }
    }

    /// The values, sorted.
    pub fn sorted(&self) -> Vec<u32> {
        let mut values = self.values.clone();
        values.sort_unstable();
        values
    }

    /// The digest of the envelopes.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.envelopes)
    }
}

/// A respondent's connection.
pub fn sender() -> Sender {
    Sender::new(Limits::default()).unwrap()
}

/// Ports that nobody listens on, below those that systems give to clients, each once. Processes that test at the same time
/// begin in different places.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: LazyLock<AtomicU16> =
        LazyLock::new(|| AtomicU16::new(12_000 + (std::process::id() % 160) as u16 * 100));
    let next = || NEXT.fetch_add(1, Ordering::SeqCst);
    std::iter::repeat_with(next)
        .filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .take(count)
        .collect()
}

fn draft(shape: Shape) -> Survey {
    let Shape { instances, hops, epoch_s, .. } = shape;
    let labels = "[labels]\nnames = [\"de\"]\nepsilon_deletion = 2.0\ndelta_deletion = 1e-2\n";
    let crowd = format!("{{ respondents_min = {CROWD}, honest_fraction = 1.0, enrolment = \"credential\" }}");
    let delivery =
        format!("{{ instances = {instances}, hops = {hops}, envelopes = {ENVELOPES}, cover = \"chaff\" }}");
    let fields = [
        ("name", r#""test""#),
        ("question", r#""Which number?""#),
        ("epoch_s", &epoch_s.to_string()),
        ("encoding", r#"{ kind = "one-hot", domain = 64 }"#),
        ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 4.0 }"#),
        ("crowd", &crowd),
        ("claim", r#"{ epsilon_central = 4.0, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
        ("delivery", &delivery),
    ];
    let text = with(SURVEY, &fields) + if shape.labels { labels } else { "" };
    Survey::from_toml(&text).unwrap()
}
