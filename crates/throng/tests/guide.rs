//! docs/operating.md, followed to the letter.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const GUIDE: &str = include_str!("../../../docs/operating.md");
const EPOCH_S: u64 = 10;

/// The commands of the first section, block by block.
fn blocks() -> Vec<String> {
    let section = GUIDE.split("\n## ").find(|section| section.starts_with("From nothing")).unwrap();
    section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The same on this machine: other ports, and an epoch that a test can wait for.
fn on_this_machine(text: &str, ports: &[u16]) -> String {
    let [north_1, south_1, south_2, north_2, analyst, operator] = ports.try_into().unwrap();
    let mut text = text.replace("86400", &EPOCH_S.to_string());
    for (host, port) in [
        ("north.example:8443", north_1),
        ("south.example:8443", south_1),
        ("south.example:8444", south_2),
        ("north.example:8444", north_2),
        ("analyst.example:8443", analyst),
    ] {
        text = text.replace(host, &format!("127.0.0.1:{port}"));
    }
    text = text.replace("127.0.0.1:9443", &format!("127.0.0.1:{operator}"));
    // Each file has its own address; they stand in this order.
    let mut listens = [north_1, south_1, south_2, north_2].into_iter();
    let mut parts = text.split("0.0.0.0:844");
    let mut replaced = parts.next().unwrap().to_owned();
    for part in parts {
        replaced += &format!("127.0.0.1:{}{}", listens.next().unwrap(), &part[1..]);
    }
    replaced
}

#[test]
fn the_steps_of_the_guide_lead_to_a_release() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 13, "a block for each step, two for the sixth and the eighth");
    let listeners: Vec<TcpListener> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
    drop(listeners);
    // Twenty-five people begin at once, early in an epoch, so that all of them answer in the same next one.
    let early = format!("while [ $(($(date +%s) % {EPOCH_S})) -gt 1 ]; do sleep 0.1; done\n");
    let script: String = blocks
        .iter()
        .map(|block| format!("{}{block}", if block.contains("--value -") { &early } else { "" }))
        .collect();
    let script =
        format!("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}", on_this_machine(&script, &ports));

    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_throng")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(dir.path())
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{log}");
    assert_eq!(said.matches("Everything is there for").count(), 5, "{said}");
    let release: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("lunch/release.json")).unwrap()).unwrap();
    assert_eq!(release["respondents"], 25, "{release}\n{log}");
    assert_eq!(release["instances_present"], serde_json::json!([1, 2]));
    assert!(release["epsilon_central"].as_f64().unwrap() <= 3.0);
    assert!(dir.path().join("lunch/estimates.csv").exists());
    // A plot is passed on alone: what it guarantees, and the floor, are in its title.
    let plot = fs::read_to_string(dir.path().join("lunch/ranks.svg")).unwrap();
    assert!(plot.contains("epsilon_central ") && plot.contains("whatever fails epsilon "), "{plot}");
    // Nobody but a respondent has ever had a respondent's secret.
    assert!(said.contains("25 respondents are enrolled at instance-2-hop-1"), "{said}");
    for number in 1..=25 {
        assert!(dir.path().join(format!("respondent-{number}/credential")).exists());
    }
    let keys = fs::read_to_string(dir.path().join("north-1/key-list")).unwrap();
    assert!(keys.contains("\"serial\":2"), "rotated: {keys}");
}
