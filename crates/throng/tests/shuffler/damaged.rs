//! One survey of several whose files are damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use hyper::Method;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::{Place, Survey};

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const SHAPE: Shape = Shape { instances: 1, hops: 1, epoch_s: 6, tls: false, labels: false };

/// Two surveys of the same parties.
fn two() -> (Town, Town) {
    let one = Town::new(THRONG, SHAPE, 8);
    let survey = one.deployment.bundle.survey().survey();
    let two = one.second(&Survey { name: "another".into(), parties: None, ..survey.clone() });
    (one, two)
}

/// All files below a directory, with their bytes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut files(&path));
        } else {
            all.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    all
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = at.min(bytes.len() - 1);
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The exit code of a command, and what it says.
fn said(mut command: std::process::Command, argument: &str) -> (Option<i32>, String) {
    let output = command.arg(argument).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_damaged_survey_does_not_stop_its_neighbour() {
    let (mut one, two) = two();
    one.start_all();
    let epoch = one.next_epoch();
    for town in [&one, &two] {
        for person in 0..8 {
            let route = town.route(1, epoch);
            town.send(&sender(), route, person, &town.body(route, person as u32)).unwrap();
        }
    }
    // A check reads what a server that runs has, and changes nothing.
    assert_eq!(said(THRONG.shuffler(&one.config(FIRST)), "--check").0, Some(0));
    one.kill(FIRST);
    flip(&two.data(FIRST).join(format!("0-{epoch}.uploads")), 70);
    let before = files(&one.path(FIRST, "data"));
    let (code, text) = said(THRONG.shuffler(&one.config(FIRST)), "--check");
    assert!(
        code == Some(2) && text.contains("uploads file is damaged") && text.contains("second.toml"),
        "{text}"
    );
    assert_eq!(files(&one.path(FIRST, "data")), before);

    one.start(FIRST, None);
    let (status, text) = one.ask(FIRST, "/readyz");
    assert!(status == 200 && text.contains("second.toml is not served"), "{status} {text}");
    let numbers = one.ask(FIRST, "/metrics").1;
    assert!(
        numbers.lines().any(|line| line.contains("second.toml\"} 0") && line.contains("files of")),
        "{numbers}"
    );
    let log = one.log(FIRST);
    assert!(log.contains("survey-not-served") && log.contains("the uploads file is damaged"), "{log}");
    let (status, text) = one.call(None, FIRST, Method::GET, two.route(1, epoch), "statement", &[]);
    assert!(status == 503 && String::from_utf8_lossy(&text).contains("urn:throng:error:damaged"));
    let unknown = throng_wire::Route { instance: 7, ..two.route(1, epoch) };
    assert_eq!(one.call(None, FIRST, Method::GET, unknown, "statement", &[]).0, 404);
    assert_eq!(
        one.pull(one.route(1, epoch)).sorted(),
        (0..8).collect::<Vec<_>>(),
        "its neighbour is released"
    );

    // The same of files that are read before anything is opened; and of a survey file that cannot be read, any may be meant.
    one.kill(FIRST);
    fs::write(one.path(FIRST, "second").join("key-list"), "damaged").unwrap();
    fs::write(&two.deployment.survey, "damaged").unwrap();
    one.start(FIRST, None);
    assert_eq!(one.call(None, FIRST, Method::GET, two.route(1, epoch), "statement", &[]).0, 503);
    assert_eq!(one.call(None, FIRST, Method::GET, one.route(1, epoch), "statement", &[]).0, 200);
    // Where no survey is left to serve, there is no server.
    one.kill(FIRST);
    flip(&one.data(FIRST).join("journal"), 20);
    let (code, text) = said(THRONG.shuffler(&one.config(FIRST)), "--log-format=json");
    assert!(code == Some(2) && text.contains("journal file is damaged"), "{text}");
}

#[test]
fn an_analyzer_goes_on_with_what_is_whole() {
    let (mut one, two) = two();
    one.start_all();
    let epoch = one.next_epoch();
    for person in 0..8 {
        let route = one.route(1, epoch);
        one.send(&sender(), route, person, &one.body(route, person as u32)).unwrap();
    }
    let list = one.path(Place::Analyzer, "second").join("key-list");
    let whole = fs::read(&list).unwrap();
    fs::write(&list, "damaged").unwrap();
    let config = one.config(Place::Analyzer);
    let (code, text) = said(THRONG.analyzer(&config), "--check");
    assert!(code == Some(2) && text.contains("second.toml"), "{text}");
    one.start(Place::Analyzer, None);
    let (status, text) = one.ask(Place::Analyzer, "/readyz");
    assert!(status == 200 && text.contains("second.toml is not served"), "{status} {text}");
    assert!(one.log(Place::Analyzer).contains("survey-not-served"));
    let hash = one.deployment.bundle.survey().hash();
    let sealed = one.path(Place::Analyzer, "data").join(format!("sealed/{hash}/0-{epoch}-1.sealed"));
    while !sealed.exists() {
        thread::sleep(Duration::from_millis(50));
    }
    // A sealed batch that the disk has changed is found before anybody asks for it.
    fs::write(&list, whole).unwrap();
    assert_eq!(said(THRONG.analyzer(&config), "--check").0, Some(0));
    flip(&sealed, usize::MAX);
    let (code, text) = said(THRONG.analyzer(&config), "--check");
    assert!(code == Some(2) && text.contains(".sealed"), "{text}");
    drop(two);
}
