//! `throng conform`, over sockets: our own client passes, and nobody coming is no verdict.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use throng_host::clock::{Clock, SystemClock};
use throng_testing::program::{Program, text};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// The command, over sockets, with our own client as another process: without TLS and with it.
#[test]
fn the_command_takes_our_own_client_and_tells_it_when_its_clock_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let clock = dir.path().join("clock");
    let real_s = SystemClock.now_s();
    // An epoch is an hour here; this is a minute after one began.
    let begun_s = real_s - real_s % 3600;
    let step_to = |second: u64| {
        fs::write(
            &clock,
            (i64::try_from(second).unwrap() - i64::try_from(SystemClock.now_s()).unwrap()).to_string(),
        )
        .unwrap();
    };
    step_to(begun_s + 60);
    let program = |arguments: &str| {
        let mut command = THRONG.command();
        command.args(arguments.split(' ')).current_dir(dir.path()).env("THRONG_TEST_CLOCK_FILE", &clock);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let respond = |state: &str, more: &str| {
        let output = program(&format!("respond --state {state} {more}")).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let answer = "--survey out/survey.toml --credential out/credential --value 5 --epoch current --no-wait \
                  --epsilon-limit 10";
    let start = |scheme: &str| {
        let tls = if scheme == "https" { " --tls" } else { "" };
        let mut stub = program(&format!("conform --out out --epoch-s 3600 --json{tls}")).spawn().unwrap();
        let mut said = BufReader::new(stub.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready: ") && line.contains(&format!("{scheme}://127.0.0.1:")), "{line}");
        // It is read to its end, or it would wait for a reader.
        std::thread::spawn(move || {
            let mut rest = String::new();
            said.read_to_string(&mut rest).unwrap();
        });
        stub
    };
    let end = |stub: Child| {
        let output = stub.wait_with_output().unwrap();
        let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), verdict)
    };

    for scheme in ["http", "https"] {
        step_to(begun_s + 60);
        let stub = start(scheme);
        let pinned = fs::read_to_string(dir.path().join("out/survey.addresses")).unwrap();
        assert_eq!(pinned.matches(&format!("{scheme}://127.0.0.1:")).count(), 2, "both first hops: {pinned}");
        let (code, error) = respond(scheme, answer);
        assert_eq!(code, Some(0), "{error}");
        // All times are over, and a minute is left.
        step_to(begun_s + 3541);
        let (code, error) = respond(scheme, "--credential out/credential");
        assert_eq!(code, Some(0), "{error}");
        let (code, verdict) = end(stub);
        assert_eq!(code, Some(0), "{verdict:#}");
        let bodies = verdict["bodies"].as_array().unwrap().len();
        assert_eq!((verdict["right"].as_bool(), bodies), (Some(true), 2));
    }

    // Another one, whose clock is two hours behind when it answers and sends: a refusal for good, which says why.
    step_to(begun_s + 60);
    let mut stub = start("http");
    let late = dir.path().join("late");
    fs::write(&late, "").unwrap();
    let behind = |more: &str, second: u64| {
        let off = i64::try_from(second).unwrap() - i64::try_from(SystemClock.now_s()).unwrap();
        fs::write(&late, off.to_string()).unwrap();
        let output = program(&format!("respond --state other {more}"))
            .env("THRONG_TEST_CLOCK_FILE", &late)
            .output()
            .unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, error) = behind(answer, begun_s - 7200 + 60);
    assert_eq!(code, Some(0), "{error}");
    let (code, error) = behind("--credential out/credential", begun_s - 7200 + 3541);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("s behind the hop's") && error.contains("Set this machine's"), "{error}");
    stub.kill().unwrap();
    stub.wait().unwrap();
}

/// Nobody comes: that is no verdict, and another exit code.
#[test]
fn without_a_client_the_command_fails() {
    let dir = tempfile::tempdir().unwrap();
    let output = THRONG
        .run_in(&dir, &["conform", "--out", "out", "--wait-s", "0"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("waiting for a body to every instance") && said.contains("--wait-s"), "{said}");
    for name in [
        "survey.toml",
        "survey.signatures",
        "survey.addresses",
        "survey.keys",
        "survey.json",
        "layer-keys.json",
    ] {
        assert!(dir.path().join("out").join(name).is_file(), "{name}");
    }
}
