//! An analyzer with a finished epoch, made in a moment: its tallies are those of a crowd in memory, and no hop ran.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_analyze::{Counted, InstanceTally, Rejected};
use throng_dp::Value;
use throng_encode::Routing;
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::{self, Deployment};
use throng_serve::analysis::TallyFiles;
use throng_wire::survey::Values;
use throng_wire::{Digest, EpochStatement, Forwarded, Outcome, Place, Route, Signed, Survey};

use crate::program::Program;

/// A survey of pixels, an epoch of it that is over, and its analyzer.
pub struct Analyst {
    program: Program,
    /// Where all files are.
    pub dir: TempDir,
    /// All parties, their keys and files.
    pub deployment: Deployment,
    /// The epoch that people answered in.
    pub epoch: u64,
    /// The label that they answered under; 0 without labels.
    pub label: u32,
    server: Option<Server>,
}

/// The analyzer's process.
struct Server {
    child: Child,
    address: String,
    token: String,
}

/// An answer over HTTP.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Status line and headers, in small letters.
    pub head: String,
    /// What follows them.
    pub body: Vec<u8>,
}

/// So many epochs before the one that people answered in there were keys already, and nobody answered.
pub const EPOCHS_BEFORE: u64 = 3;

/// The width of the picture that people hold pixels of.
pub const WIDTH: u32 = 16;

impl Analyst {
    /// A release, and a server that shows it.
    pub fn with_release(program: Program) -> Self {
        let mut analyst = Self::with_tallies(program, 3000);
        analyst.release();
        analyst.serve();
        analyst
    }

    /// So many people have answered, and all instances were counted; nothing is released, and nobody serves.
    pub fn with_tallies(program: Program, people: u64) -> Self {
        Self::planned(program, &["--question", "Which pixel do you hold?"], 0, "artists", people)
    }

    /// The same with further arguments of `throng plan`, under a label, about another population.
    pub fn planned(program: Program, arguments: &[&str], label: u32, population: &str, people: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let draft = draft(program, &dir, arguments);
        Self::of_draft(program, dir, &draft, label, population, people)
    }

    /// The same, with names of values in a file beside the survey.
    pub fn with_names(program: Program, arguments: &[&str], names: &str, people: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut draft = draft(program, &dir, arguments);
        fs::write(dir.path().join("names.txt"), names).unwrap();
        draft.values = Some(Values::of_file("names.txt", names));
        Self::of_draft(program, dir, &draft, 0, "artists", people)
    }

    fn of_draft(
        program: Program,
        dir: TempDir,
        draft: &Survey,
        label: u32,
        population: &str,
        people: u64,
    ) -> Self {
        let epoch = SystemClock.now_s() / draft.epoch_s - 1;
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let url = |_| "https://127.0.0.1:1".to_owned();
        let deployment = keygen::deployment(draft, dir.path(), url, epoch - EPOCHS_BEFORE, &mut rng).unwrap();
        let analyst = Self { program, dir, deployment, epoch, label, server: None };
        analyst.count("data", people);
        let config = format!(
            "operator_listen = \"127.0.0.1:0\"\nidentity = \".\"\ndata = \"data\"\nmemory_mib = 16\n[budget]\n\
                      epsilon_central = 10\ndelta = 1e-5\n[[surveys]]\nsurvey = \"../survey.toml\"\npopulation = {population:?}\n"
        );
        fs::write(analyst.config(), config).unwrap();
        analyst
    }

    /// Puts what a crowd of so many came to into a data directory.
    pub fn count(&self, data: &str, people: u64) {
        let signed = self.deployment.bundle.survey();
        let survey = signed.survey();
        let mechanism = survey.mechanism().unwrap();
        let (delivery, tau) = (&survey.delivery, mechanism.coins().draws());
        let routing = Routing::of(survey, self.label, tau).unwrap();
        let mut tallies: Vec<_> = (0..delivery.instances).map(|_| mechanism.tally().unwrap()).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(people);
        for person in 0..people {
            let fragments = mechanism.randomize(Some(&pixel(person)), &mut rng).unwrap();
            for (tally, routed) in tallies.iter_mut().zip(routing.route(fragments.attributes(), &mut rng)) {
                tally.add_fragments(&routed).unwrap();
            }
        }
        let files = TallyFiles::new(&self.path(data), signed.hash());
        files.create().unwrap();
        for (instance, mut tally) in (1..).zip(tallies) {
            tally.add_respondents(people);
            let route = Route { survey: signed.hash(), label: self.label, epoch: self.epoch, instance };
            let envelopes = people * u64::from(delivery.envelopes);
            let counted = Counted {
                batch: Digest::of(&[instance as u8]),
                envelopes,
                rejected: Rejected::default(),
                tally,
            };
            files.store_statements(&route, &self.statements(instance, self.epoch, people)).unwrap();
            files.store(&InstanceTally { route, counted: Some(counted) }).unwrap();
        }
    }

    /// What the hops of an instance sign about a crowd that all of them agree on.
    pub fn statements(&self, instance: u32, epoch: u64, people: u64) -> Vec<Signed<EpochStatement>> {
        let bundle = &self.deployment.bundle;
        let (survey, delivery) = (bundle.survey(), &bundle.survey().survey().delivery);
        let envelopes = people * u64::from(delivery.envelopes);
        let batch = Digest::of(&[instance as u8]);
        let outcome = |hop| Outcome::Released {
            respondents: people,
            received: Some(envelopes),
            // The last hop tells nobody but the analyzer.
            forwarded: match hop == delivery.hops {
                true => Forwarded::Committed(Digest::of(b"salt and number")),
                false => Forwarded::Told(envelopes),
            },
            batch,
        };
        let route = Route { survey: survey.hash(), label: self.label, epoch, instance };
        let analyzer_key_list = bundle.key_list_digest(Place::Analyzer).unwrap();
        let sign = |hop| {
            let place = Place::hop(instance, hop);
            let key_list = bundle.key_list_digest(place).unwrap();
            let outcome = outcome(hop);
            let statement = EpochStatement { route, hop, outcome, key_list, analyzer_key_list };
            let party = keygen::Party::read(&self.deployment.dirs[&place]).unwrap();
            Signed::new(statement, party.signing_key()).unwrap()
        };
        (1..=delivery.hops).map(sign).collect()
    }

    /// Makes the release, with `throng release`; what it prints.
    pub fn release(&self) -> serde_json::Value {
        let mut command = self.program.command();
        command.args(["release", "--json", "--width", &WIDTH.to_string(), "--config"]).arg(self.config());
        if let Some(name) = self.survey().labels.as_ref().and_then(|labels| labels.name(self.label)) {
            command.args(["--label", name]);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Starts the analyzer.
    pub fn serve(&mut self) {
        self.serve_from("data");
    }

    /// The same with another data directory.
    pub fn serve_from(&mut self, data: &str) {
        self.server = None;
        let mut command = self.program.command();
        command.args(["serve", "analyzer", "--json", "--config"]).arg(self.config());
        command.arg("--data").arg(self.path(data));
        let log = fs::File::create(self.path("log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line}{}", fs::read_to_string(self.path("log")).unwrap()));
        let address = said["dashboard"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let token = fs::read_to_string(said["operator_token"].as_str().unwrap()).unwrap();
        self.server = Some(Server { child, address, token });
    }

    /// The survey.
    pub fn survey(&self) -> &Survey {
        self.deployment.bundle.survey().survey()
    }

    /// Its hash, as text.
    pub fn hash(&self) -> String {
        self.deployment.bundle.survey().hash().to_string()
    }

    /// Where the analyzer's file is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.deployment.dirs[&Place::Analyzer].join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("analyzer.toml")
    }

    /// Where a browser finds it, for example `http://127.0.0.1:4000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server().address)
    }

    /// The number of the analyzer's process.
    pub fn pid(&self) -> u32 {
        self.server().child.id()
    }

    /// The token that the operator shows.
    pub fn token(&self) -> &str {
        &self.server().token
    }

    /// The path of the release below `/api/`.
    pub fn release_path(&self) -> String {
        format!("/api/releases/{}/{}/{}", self.hash(), self.label, self.epoch)
    }

    /// What the operator gets.
    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Some(self.token()))
    }

    /// The same, as JSON.
    pub fn json(&self, path: &str) -> serde_json::Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Any request.
    pub fn call(&self, method: &str, path: &str, token: Option<&str>) -> Answer {
        self.call_as(&self.server().address, method, path, token)
    }

    /// The same, under another name of the server.
    pub fn call_as(&self, host: &str, method: &str, path: &str, token: Option<&str>) -> Answer {
        let mut stream = TcpStream::connect(&self.server().address).unwrap();
        let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: bytes[end + 4..].to_vec() }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("call serve first")
    }
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header, in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everybody holds a pixel of a cross.
fn pixel(person: u64) -> Value {
    let (width, at) = (u64::from(WIDTH), person / 2 % u64::from(WIDTH));
    Value::from(if person.is_multiple_of(2) { 7 * width + at } else { at * width + 7 })
}

/// As `throng plan` writes it.
fn draft(program: Program, dir: &TempDir, arguments: &[&str]) -> Survey {
    let path = dir.path().join("draft.toml");
    let domain = (WIDTH * WIDTH).to_string();
    let mut command = program.command();
    command.args([
        "plan",
        "--epsilon-central",
        "1",
        "--delta",
        "1e-6",
        "--respondents",
        "2900",
        "--domain",
        &domain,
    ]);
    if !arguments.contains(&"--report-fragments") {
        command.args(["--report-fragments", "4"]);
    }
    command.args(["--epoch-s", "3600", "--name", "drawing"]);
    command.args(["--honest-fraction", "0.995"]).args(arguments).arg("--out").arg(&path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Survey::from_toml(&fs::read_to_string(path).unwrap()).unwrap()
}
