//! The DevTools protocol over two pipes: JSON that ends with a NUL byte, commands one way, answers and events the other.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser process, and what it says.
pub(super) struct Connection {
    process: Child,
    commands: Option<File>,
    messages: Receiver<Value>,
    last_id: u64,
    /// Events that nobody has looked at yet, by session; those of the browser itself are under "".
    events: BTreeMap<String, VecDeque<Value>>,
    log: std::path::PathBuf,
}

impl Connection {
    /// Starts the browser with its files in a directory.
    pub(super) fn start(program: &Path, folder: &Path) -> Self {
        let (commands, messages, log) =
            (folder.join("commands"), folder.join("messages"), folder.join("log"));
        let made = Command::new("mkfifo").args([&commands, &messages]).status().unwrap();
        assert!(made.success(), "mkfifo cannot make pipes in {}", folder.display());
        // The browser reads commands from descriptor 3 and writes to 4. The shell opens them, in the order in which they
        // are opened here: a pipe waits until both of its ends are.
        let process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$COMMANDS" 4>"$MESSAGES""#])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .env("COMMANDS", &commands)
            .env("MESSAGES", &messages)
            // What it keeps for a user is not this user's.
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let commands = OpenOptions::new().write(true).open(&commands).unwrap();
        let mut output = BufReader::new(File::open(&messages).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                if message.pop() != Some(0) || sender.send(serde_json::from_slice(&message).unwrap()).is_err()
                {
                    return;
                }
                message.clear();
            }
        });
        let events = BTreeMap::new();
        Self { process, commands: Some(commands), messages, last_id: 0, events, log }
    }

    /// Sends a command and waits for its result. An error of the protocol is an `Err`.
    pub(super) fn call(&mut self, session: &str, method: &str, params: &Value) -> Result<Value, String> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if !session.is_empty() {
            command["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        let written = self.commands.as_mut().unwrap().write_all(&bytes);
        assert!(written.is_ok(), "the browser has ended: {}", self.said());
        let until = Instant::now() + DEADLINE;
        loop {
            let mut message = self.receive(until, method);
            if message["id"] == json!(self.last_id) {
                return match message.get("error") {
                    None => Ok(message["result"].take()),
                    Some(error) => {
                        Err(format!("{method}: {}", error["message"].as_str().unwrap_or("an error")))
                    }
                };
            }
            self.keep(message);
        }
    }

    /// The next event of a session, if one has come.
    pub(super) fn event(&mut self, session: &str) -> Option<Value> {
        while let Ok(message) = self.messages.try_recv() {
            self.keep(message);
        }
        self.events.get_mut(session)?.pop_front()
    }

    /// Waits for the next event of a session.
    pub(super) fn wait_for_event(&mut self, session: &str, until: Instant, what: &str) -> Value {
        loop {
            if let Some(event) = self.event(session) {
                return event;
            }
            let message = self.receive(until, what);
            self.keep(message);
        }
    }

    fn receive(&mut self, until: Instant, what: &str) -> Value {
        match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                panic!("the browser does not answer to {what}: {}", self.said())
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the browser has ended during {what}: {}", self.said())
            }
        }
    }

    fn keep(&mut self, message: Value) {
        if message.get("method").is_some() {
            let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
            self.events.entry(session).or_default().push_back(message);
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Without its pipe a browser ends by itself; one that does not is killed.
impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.commands.take());
        let until = Instant::now() + ENDING;
        while Instant::now() < until && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// No window, no sandbox (which root has not), and no calls of its own: no name is resolved but this machine's.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/// How long anything may take. Far more than it does, on a machine that is busy with other tests.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);
const ENDING: Duration = Duration::from_secs(10);
