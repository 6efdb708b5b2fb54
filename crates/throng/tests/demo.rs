//! The first command that a newcomer runs: every party as a process, and nothing left of them afterwards.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;

use serde_json::Value;
use throng_analyze::Picture;
use throng_plot::Png;
use throng_testing::program::{Program, names, text};
use throng_testing::small_demo::{SIDE, SmallDemo, is_alive, read_until_with_dashboard, signal};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
const DEMO: SmallDemo = SmallDemo(THRONG);

/// What the dashboard answers.
fn ask(address: &str, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("Host: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_picture_comes_back_through_real_processes() {
    let dir = tempfile::tempdir().unwrap();
    let output = DEMO.command(&dir, &["--json"]).output().unwrap();
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
    let mut child = DEMO.command(&dir, &[]).spawn().unwrap();
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
    let mut child = DEMO.command(&dir, &["--keep", "--out", "kept/here"]).spawn().unwrap();
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
