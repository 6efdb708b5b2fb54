//! A demo on a busy machine, or late: load never looks like a refusal.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::io::{BufRead, BufReader};
use std::thread;

use serde_json::Value;
use throng_testing::program::{Program, text};
use throng_testing::small_demo::{BusyLoops, SmallDemo};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
const DEMO: SmallDemo = SmallDemo(THRONG);

#[test]
fn a_busy_machine_takes_longer_and_gets_there() {
    let dir = tempfile::tempdir().unwrap();
    let _loops = BusyLoops::start(6);
    let output = DEMO.command(&dir, &["--json"]).output().unwrap();
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
    let mut child = DEMO.command(&dir, &["--json"]).env("THRONG_TEST_CLOCK_FILE", &clock).spawn().unwrap();
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
