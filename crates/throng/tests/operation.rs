//! What an operator sees and does: the port of its own, limits, the end of a process, settings from the environment.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use hyper::Method;
use throng_host::net::client::SendError;
use throng_testing::logs;
use throng_testing::program::Program;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::receipt::RECEIPT_LEN;
use throng_wire::receipt_tree::SIGNED_RECEIPT_LEN;
use throng_wire::{Place, Route};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };

/// An epoch that does not end during these tests: it is the first one, until the year 2096.
const SHAPE: Shape = Shape { instances: 1, hops: 1, epoch_s: 4_000_000_000, tls: false, labels: false };
const EPOCH: u64 = 0;

/// The numbers, but for those that time alone changes.
fn numbers(town: &Town) -> String {
    let (status, text) = town.ask(FIRST, "/metrics");
    assert!(status == 200 && text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with("throng_worker_round_age_seconds{"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_millis(20));
    }
}

/// Attack 14: with one respondent more or less, whatever they send, an operator's numbers are the same.
#[test]
fn numbers_tell_nothing_of_respondents() {
    let mut town = Town::new(THRONG, SHAPE, 6);
    town.start_all();
    let (sender, route) = (sender(), town.route(1, EPOCH));
    let bodies: Vec<Vec<u8>> = (0..6).map(|person| town.body(route, person)).collect();
    let send = |person: usize| town.send(&sender, route, person, &bodies[person]).unwrap();
    let none = numbers(&town);
    for person in 0..5 {
        send(person);
    }
    let five = numbers(&town);
    send(5);
    let six = numbers(&town);
    assert_eq!((&none, &none), (&five, &six));
    // Nor does what is refused, asked again or asked for: another body, no token, no such survey, a statement.
    assert!(town.send(&sender, route, 5, &town.body(route, 60)).is_err());
    send(5);
    assert_eq!(town.call(None, FIRST, Method::POST, route, "body", &[1]).0, 401);
    assert_eq!(town.call(None, FIRST, Method::GET, Route { label: 9, ..route }, "statement", &[]).0, 404);
    assert_eq!(town.call(None, FIRST, Method::GET, route, "statement", &[]).0, 404);
    assert_eq!(town.call(None, FIRST, Method::DELETE, route, "body", &[]).0, 405);
    assert_eq!(numbers(&town), none);
    let survey = format!("test@{:.8}", route.survey.to_string());
    for line in [
        "throng_epochs_total{party=\"instance-1-hop-1\",survey=\"SURVEY\",outcome=\"released\"} 0",
        "throng_batches_handed_on_total{party=\"instance-1-hop-1\",survey=\"SURVEY\"} 0",
        "throng_failures_total{party=\"instance-1-hop-1\",survey=\"SURVEY\",work=\"shuffle\"} 0",
        "throng_key_epochs_left{party=\"instance-1-hop-1\",survey=\"SURVEY\"} 2",
        "throng_memory_limit_bytes 16777216",
        "throng_overloaded 0",
        "throng_ready{condition=\"keys of instance-1-hop-1 in SURVEY\"} 1",
    ] {
        let line = line.replace("SURVEY", &survey);
        assert!(none.lines().any(|one| one == line), "{line} in {none}");
    }
    for name in ["127.0.0.1", "request", "upload", "connection"] {
        let samples = none.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.clone().all(|line| !line.contains(name)), "{none}");
    }
}

#[test]
fn a_hop_without_its_disk_is_not_ready() {
    let mut town = Town::new(THRONG, SHAPE, 1);
    town.start_all();
    assert_eq!(town.ask(FIRST, "/healthz").0, 200);
    assert_eq!(town.ask(FIRST, "/readyz").0, 200);
    let (data, away) = (town.path(FIRST, "data"), town.path(FIRST, "away"));
    fs::rename(&data, &away).unwrap();
    let (status, text) = town.ask(FIRST, "/readyz");
    assert!(status == 503 && text.contains("urn:throng:error:not-ready"), "{text}");
    assert!(text.contains("the data directory cannot be written") && !text.contains("127.0.0.1"), "{text}");
    assert_eq!(town.ask(FIRST, "/healthz").0, 200, "it lives");
    fs::rename(&away, &data).unwrap();
    assert_eq!(town.ask(FIRST, "/readyz").0, 200);
    // Nor is one whose keys cannot be read.
    let list = fs::read_to_string(town.path(FIRST, "key-list")).unwrap();
    fs::write(town.path(FIRST, "key-list"), "damaged").unwrap();
    wait_until(|| town.ask(FIRST, "/readyz").1.contains("instance-1-hop-1 fails at keys"));
    fs::write(town.path(FIRST, "key-list"), list).unwrap();
    wait_until(|| town.ask(FIRST, "/readyz").0 == 200);
    // A party of the survey has no such paths, and the operator's port has no others.
    let path = throng_host::net::paths::path(&town.route(1, EPOCH), "statement");
    assert_eq!(town.ask(FIRST, &path).0, 404);
}

/// A next hop that is away is named by its place, and is no reason to send respondents away.
#[test]
fn a_next_hop_that_is_away_is_logged_and_waited_for() {
    let mut town = Town::new(THRONG, Shape { epoch_s: 3, hops: 2, ..SHAPE }, 0);
    town.start(FIRST, None);
    logs::wait_for(&town, FIRST, |event| {
        event["work"] == "hand-on"
            && event["reason"].as_str().unwrap().starts_with("instance-1-hop-2 cannot be")
    });
    assert_eq!(town.ask(FIRST, "/readyz").0, 200);
    town.start(Place::hop(1, 2), None);
    logs::wait_for(&town, FIRST, |event| event["event"] == "batch-handed-on");
}

#[test]
fn released_and_destroyed_epochs_are_counted() {
    let mut town = Town::new(THRONG, Shape { epoch_s: 3, hops: 2, ..SHAPE }, 0);
    town.start_all();
    let route = town.route(1, town.next_epoch());
    let digest = town.pull(route).digest();
    assert_eq!(town.acknowledge(route, digest), 204);
    let survey = format!("test@{:.8}", route.survey.to_string());
    for place in town.hops() {
        logs::wait_for(&town, place, |event| {
            event["event"] == "batch-handed-on" && event["epoch"] == route.epoch
        });
        let (_, text) = town.ask(place, "/metrics");
        for (name, outcome) in [("throng_epochs", ",outcome=\"destroyed\""), ("throng_batches_handed_on", "")]
        {
            let sample = format!("{name}_total{{party=\"{place}\",survey=\"{survey}\"{outcome}}} ");
            let count = text.lines().find_map(|line| line.strip_prefix(&*sample)).unwrap();
            assert!(count.parse::<u64>().unwrap() >= 1, "{text}");
        }
    }
}

#[test]
fn an_analyzer_is_watched_in_the_same_way() {
    let mut town = Town::new(THRONG, Shape { epoch_s: 3, ..SHAPE }, 0);
    // Its hop is away at first.
    town.start(Place::Analyzer, None);
    logs::wait_for(&town, Place::Analyzer, |event| event["work"] == "take" && event["instance"] == 1);
    assert_eq!(town.ask(Place::Analyzer, "/readyz").0, 200);
    town.start(FIRST, None);
    logs::wait_for(&town, Place::Analyzer, |event| {
        event["event"] == "batch-taken" && event["outcome"] == "destroyed"
    });
    let (_, text) = town.ask(Place::Analyzer, "/metrics");
    let taken =
        text.lines().find(|line| line.starts_with("throng_batches_taken_total{party=\"analyzer\"")).unwrap();
    assert!(taken.contains(",survey=\"test@") && text.contains("throng_key_epochs_left{"), "{text}");
    town.terminate(Place::Analyzer);
    assert_eq!(town.ended(Place::Analyzer), Some(0));
}

#[test]
fn too_many_requests_are_told_to_come_again_and_nothing_is_lost() {
    let mut town = Town::new(THRONG, SHAPE, 6);
    let config = fs::read_to_string(town.config(FIRST)).unwrap();
    fs::write(town.config(FIRST), format!("requests_per_s_max = 25\n{config}")).unwrap();
    town.start_all();
    let (sender, route) = (sender(), town.route(1, EPOCH));
    let mut refused = 0;
    let bodies: Vec<Vec<u8>> = (0..6).map(|person| town.body(route, person)).collect();
    // One connection has five requests in a second, so that this comes to an end.
    while refused == 0 {
        for (person, body) in bodies.iter().enumerate() {
            // As a respondent does: the same bytes again, for as long as the answer may change.
            loop {
                match town.send(&sender, route, person, body) {
                    Ok(_) => break,
                    Err(SendError::Later { reason, after_s: 1.. }) if reason.contains("429 rate") => {
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    logs::events(&town, FIRST);
}

/// An upload that is on its way when the process is told to end is finished and durable; or else it is not acknowledged.
#[test]
fn a_hop_that_is_told_to_end_finishes_what_it_has_begun() {
    let mut town = Town::new(THRONG, SHAPE, 1);
    town.start_all();
    let (sender, route) = (sender(), town.route(1, EPOCH));
    let (body, token) = (town.body(route, 5), town.credentials[0].token(&route.survey, FIRST));
    let address = town.address(FIRST).url.strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        throng_host::net::paths::path(&route, "body"),
        *token.to_text(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It says that it wants the body: the request has begun.
    let mut wanted = [0; 25];
    stream.read_exact(&mut wanted).unwrap();
    assert_eq!(&wanted, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(&body[..body.len() / 2]).unwrap();
    town.terminate(FIRST);
    while TcpStream::connect(&address).is_ok() {}
    let (status, text) = town.ask(FIRST, "/readyz");
    assert!(status == 503 && text.contains("about to stop"), "{text}");
    stream.write_all(&body[body.len() / 2..]).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(town.ended(FIRST), Some(0));
    let events: Vec<String> =
        logs::events(&town, FIRST).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert!(events.ends_with(&["stopping".into(), "stopped".into()]), "{events:?}");
    // Acknowledged, it is there: the same bytes get the same receipt, and others are refused.
    town.start(FIRST, None);
    let receipt = town.send(&sender, route, 0, &body).unwrap();
    let proof_len = SIGNED_RECEIPT_LEN - RECEIPT_LEN;
    assert!(answer[..answer.len() - proof_len].ends_with(&receipt.to_bytes()));
    let other = town.send(&sender, route, 0, &town.body(route, 5));
    assert!(matches!(other, Err(SendError::Refused(text)) if text.contains("conflict")));
}

#[test]
fn the_environment_overrides_the_file() {
    let town = Town::new(THRONG, SHAPE, 1);
    let config = fs::read_to_string(town.config(FIRST)).unwrap();
    let home = town.path(FIRST, "");
    // As systemd hands keys over: in a directory that the file does not know. Layer keys are elsewhere, and change.
    let credentials = home.join("run");
    fs::create_dir(&credentials).unwrap();
    for file in ["signing.key", "tls.key", "tls.crt"] {
        fs::rename(home.join(file), credentials.join(file)).unwrap();
    }
    fs::write(town.config(FIRST), config + "keys = \".\"\n").unwrap();
    let check = |identity: Option<&std::path::Path>| {
        let mut command = THRONG.shuffler(&town.config(FIRST));
        if let Some(path) = identity {
            command.env("THRONG_IDENTITY", path);
        }
        command.arg("--check").output().unwrap().status.code()
    };
    assert_eq!((check(None), check(Some(&credentials))), (Some(2), Some(0)));
    let data = home.join("elsewhere");
    let mut command = THRONG.shuffler(&town.config(FIRST));
    command
        .env("THRONG_IDENTITY", &credentials)
        .env("THRONG_DATA", &data)
        .env("THRONG_LISTEN", "127.0.0.1:0");
    command.env("THRONG_LOG_FORMAT", "text").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim_end().rsplit_once(' ').unwrap().1;
    assert!(url.starts_with("http://127.0.0.1:") && url != town.address(FIRST).url, "{line}");
    assert!(data.exists() && !home.join("data").exists());
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.lines().any(|line| line.ends_with("Z info shuffler serving")), "{log}");
}
