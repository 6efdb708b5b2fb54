//! The program as an analyzer with a finished epoch: it releases, and serves.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::process::{Child, Stdio};

use tempfile::TempDir;
use throng_wire::Survey;
use throng_wire::survey::Values;

use crate::finished_epoch::FinishedEpoch;
pub use crate::finished_epoch::{EPOCHS_BEFORE, WIDTH};
use crate::program::Program;

/// A survey of pixels, an epoch of it that is over, and its analyzer.
pub struct Analyst {
    program: Program,
    finished: FinishedEpoch,
    server: Option<Server>,
}

/// Its files.
impl Deref for Analyst {
    type Target = FinishedEpoch;

    fn deref(&self) -> &FinishedEpoch {
        &self.finished
    }
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
        Self { program, finished: FinishedEpoch::of(dir, draft, label, population, people), server: None }
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
