//! The first command that a newcomer runs: every party as a process, and nothing left of them afterwards.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;
use throng_analyze::Picture;
use throng_plot::Png;
use throng_testing::program::{Program, names, text};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// A demo that is small enough for a test, with temporary files in a place of its own.
fn demo(dir: &TempDir, arguments: &[&str]) -> Command {
    small_demo(dir, THRONG.run_in(dir, &[&SMALL, arguments].concat()))
}

/// The same for somebody who ignores Ctrl-C, which is inherited.
fn deaf_demo(dir: &TempDir, arguments: &[&str]) -> Command {
    small_demo(dir, THRONG.run_deaf_in(dir, &[&SMALL, arguments].concat()))
}

fn small_demo(dir: &TempDir, mut command: Command) -> Command {
    fs::create_dir_all(dir.path().join("tmp")).unwrap();
    let cross = (0..SIDE * SIDE).map(|at| if at % SIDE == 7 || at / SIDE == 7 { 255 } else { 0 });
    let cross = Picture::new(SIDE, SIDE, cross.collect()).unwrap();
    fs::write(dir.path().join("cross.png"), cross.to_png().unwrap()).unwrap();
    command.env("TMPDIR", dir.path().join("tmp")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

const SIDE: u32 = 16;
const SMALL: [&str; 5] = ["demo", "--respondents", "150", "--image", "cross.png"];

/// Reads what a demo says until a line that begins like this; returns the processes that it has named.
fn read_until(child: &mut Child, beginning: &str) -> Vec<(String, u32)> {
    read_until_with_dashboard(child, beginning).0
}

/// The same, with the address of the dashboard if it was named.
fn read_until_with_dashboard(child: &mut Child, beginning: &str) -> (Vec<(String, u32)>, Option<String>) {
    let (mut processes, mut dashboard, mut said) = (Vec::new(), None, String::new());
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["process", role, "pid", pid, ..] = words[..] {
            processes.push((role.to_owned(), pid.parse().unwrap()));
        }
        if let ["dashboard", url] = words[..] {
            dashboard = Some(url.to_owned());
        }
        if line.starts_with(beginning) {
            return (processes, dashboard);
        }
        said += &format!("{line}\n");
    }
    panic!("the demo never said {beginning}, but:\n{said}");
}

/// What the dashboard answers.
fn ask(address: &str, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("Host: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_picture_comes_back_through_real_processes() {
    let dir = tempfile::tempdir().unwrap();
    let output = demo(&dir, &["--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON and nothing else");
    let number = |name: &str| json[name].as_f64().unwrap_or_else(|| panic!("{name} in {json}"));
    assert_eq!((number("respondents"), number("instances"), number("hops")), (150.0, 3.0, 2.0));
    assert!(number("envelopes") >= 1.0 && number("seconds") > 0.0);
    assert!(number("epsilon_central") <= 1.0 && number("delta") <= 1e-6);
    assert!(number("epsilon_local") > number("epsilon_central"));
    // The RMSE over 256 pixels has a relative deviation of about 1/sqrt(2 * 256) = 4.4 %: it is off by 8 of them with a chance
    // below 1e-14.
    let ratio = number("rmse") / number("rmse_expected");
    assert!((ratio - 1.0).abs() < 0.36, "{json}");
    let processes = json["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 7);
    for process in processes {
        assert!(process["role"].is_string() && process["address"].is_string());
        assert!(!is_alive(process["pid"].as_u64().unwrap() as u32), "it has ended");
    }
    let saw = json["seen"].as_array().unwrap();
    assert_eq!(saw.len(), 7);
    assert!(saw[0]["saw"].as_str().unwrap().starts_with("150 people"), "{saw:?}");

    let out = dir.path().join("throng-demo");
    assert_eq!(names(&out), ["commands.sh", "estimate.png", "result.json", "side-by-side.png", "truth.png"]);
    assert_eq!(fs::read(out.join("result.json")).unwrap(), output.stdout);
    let truth = Picture::open(&out.join("truth.png")).unwrap();
    assert_eq!((truth.width(), truth.height()), (SIDE * 12, SIDE * 12));
    let commands = fs::read_to_string(out.join("commands.sh")).unwrap();
    for part in [
        "throng plan",
        "throng keygen sign",
        "throng serve shuffler",
        "throng serve analyzer",
        "throng release",
    ] {
        assert!(commands.contains(part), "{commands}");
    }
    assert_eq!(names(&dir.path().join("tmp")), [""; 0], "no temporary file");
}

/// One hop dies while people answer: nothing comes from its instance, and the others make the release.
#[test]
fn an_instance_without_one_of_its_hops_delivers_nothing() {
    thread::scope(|scope| {
        for victim in ["instance-2-hop-1", "instance-2-hop-2"] {
            scope.spawn(move || without(victim));
        }
    });
}

fn without(victim: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut child = demo(&dir, &[]).spawn().unwrap();
    let (mut pid, mut said) = (None, String::new());
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["process", role, "pid", number, ..] if role == victim => pid = Some(number.parse().unwrap()),
            // Once more if this machine is so busy that the demo begins again.
            ["epoch", ..] => signal(pid.take().unwrap(), "-KILL"),
            _ => {}
        }
        said += &format!("{line}\n");
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let stdout = text(&output.stdout);
    for part in
        ["only batches of instance 1, 3 came", "RMSE", "epsilon_central", "whatever fails", "it is gone"]
    {
        assert!(stdout.contains(part), "{part} is missing in:\n{stdout}");
    }
    assert!(stdout.is_ascii(), "a pipe gets plain text");
    let json = fs::read(dir.path().join("throng-demo/result.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["instances_present"], serde_json::json!([1, 3]));
    let ratio = json["rmse"].as_f64().unwrap() / json["rmse_expected"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.36, "{json}");
}

/// With --keep everything stays as it is until Ctrl-C, and the files beyond that.
#[test]
fn the_curious_keep_the_deployment() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = demo(&dir, &["--keep", "--out", "kept/here"]).spawn().unwrap();
    let (processes, dashboard) = read_until_with_dashboard(&mut child, "all parties go on");
    assert!(processes.len() == 7 && processes.iter().all(|(_, pid)| is_alive(*pid)));
    // The dashboard shows the release to whoever has the address, and to nobody else.
    let dashboard = dashboard.unwrap();
    let (url, token) = dashboard.split_once("/#token=").unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let shown = ask(address, token, "/api/releases");
    assert!(shown.starts_with("HTTP/1.1 200 ") && shown.contains("\"respondents\":150"), "{shown}");
    assert!(ask(address, "x", "/api/releases").starts_with("HTTP/1.1 401 "));
    // Every hop is asked whether it answers, the first as well as the last; this waits for ever if one is not.
    let states = || -> Vec<Value> {
        let answer = ask(address, token, "/api/surveys");
        let page: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let paths = page["surveys"][0]["paths"].as_array().unwrap();
        let hops = paths.iter().flat_map(|path| path["hops"].as_array().unwrap());
        hops.map(|hop| hop["state"].clone()).collect()
    };
    while states() != ["answers"; 6] {
        thread::sleep(std::time::Duration::from_millis(100));
    }
    signal(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(processes.iter().all(|(_, pid)| !is_alive(*pid)));
    let kept = dir.path().join("kept/here/deployment");
    for file in ["survey.toml", "analyzer/analyzer.toml", "instance-3-hop-2/log", "release/release.json"] {
        assert!(kept.join(file).exists(), "{file}");
    }
    assert_eq!(names(&dir.path().join("tmp")), [""; 0], "no temporary file");
}

/// Also with --keep before there is anything to keep, and where whoever started it ignores Ctrl-C.
#[test]
fn ctrl_c_leaves_no_process_and_no_file() {
    for (moment, arguments) in [("keys", &[][..]), ("epoch", &["--keep"])] {
        for start in [demo, deaf_demo] {
            let dir = tempfile::tempdir().unwrap();
            let mut child = start(&dir, arguments).spawn().unwrap();
            let processes = read_until(&mut child, moment);
            signal(child.id(), "-INT");
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains("stopped"), "{}", text(&output.stderr));
            assert!(processes.iter().all(|(_, pid)| !is_alive(*pid)), "{moment}");
            assert_eq!(names(&dir.path().join("tmp")), [""; 0], "{moment}");
            assert_eq!(names(&dir.path().join("throng-demo")), [""; 0], "{moment}");
        }
    }
}

/// What a demo that was killed has left does not keep the next from being kept.
#[test]
fn what_a_killed_demo_left_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = demo(&dir, &["--keep"]).spawn().unwrap();
    read_until(&mut child, "keys");
    signal(child.id(), "-KILL");
    child.wait().unwrap();
    let out = dir.path().join("throng-demo");
    assert_eq!(names(&out), ["deployment", "deployment.unfinished"]);
    let mut child = demo(&dir, &["--keep"]).spawn().unwrap();
    read_until(&mut child, "keys");
    signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(names(&out), [""; 0]);
}

/// Loops that take whatever this machine gives, until they are dropped.
struct BusyLoops(Arc<AtomicBool>);

impl BusyLoops {
    fn start(loops: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        for _ in 0..loops {
            let ended = Arc::clone(&ended);
            thread::spawn(move || while !ended.load(Ordering::Relaxed) {});
        }
        Self(ended)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_busy_machine_takes_longer_and_gets_there() {
    let dir = tempfile::tempdir().unwrap();
    let _loops = BusyLoops::start(6);
    let output = demo(&dir, &["--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["respondents"].as_u64() >= json["respondents_min"].as_u64(), "{json}");
}

/// A clock that goes ahead is what a machine looks like that stands still: answers are late for their epoch, or uploads are.
#[test]
fn a_demo_that_was_late_tries_again() {
    thread::scope(|scope| {
        for (moment, what) in [("sealing", "sealed again for a later one"), ("epoch", "from the beginning")] {
            scope.spawn(move || late_at(moment, what));
        }
    });
}

fn late_at(moment: &str, what: &str) {
    let dir = tempfile::tempdir().unwrap();
    let clock = dir.path().join("clock");
    fs::write(&clock, "0").unwrap();
    let mut child = demo(&dir, &["--json"]).env("THRONG_TEST_CLOCK_FILE", &clock).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with(moment) && !said.contains(&format!("\n{moment}")) {
            // Whole, or not there.
            fs::write(dir.path().join("later"), "200").unwrap();
            fs::rename(dir.path().join("later"), &clock).unwrap();
        }
        said += &format!("{line}\n");
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(what), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["respondents"].as_u64() >= json["respondents_min"].as_u64(), "{json}");
    // Only what led to the result is said to have been run.
    let commands = fs::read_to_string(dir.path().join("throng-demo/commands.sh")).unwrap();
    assert_eq!(commands.matches("throng plan").count(), 1, "{commands}");
    assert_eq!(commands.matches("throng keygen credentials").count(), 1, "{commands}");
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    write("text.png", b"not a picture");
    write("black.png", &Picture::new(2, 2, vec![0; 4]).unwrap().to_png().unwrap());
    for (arguments, message) in [
        (&["--image", "missing.png"][..], "cannot open missing.png"),
        (&["--image", "text.png"], "convert the picture to PNG"),
        (&["--image", "black.png"], "the picture is black"),
        (&["--respondents", "5"], "give at least 100"),
        (&["--out", "text.png"], "choose another directory"),
    ] {
        let output = THRONG.run_in(&dir, &[&["demo"], arguments].concat()).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(message), "{message} is missing in: {stderr}");
        assert!(!Path::new(&dir.path().join("throng-demo")).exists(), "{arguments:?} left something behind");
    }
}
