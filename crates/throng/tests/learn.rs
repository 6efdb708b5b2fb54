//! `throng learn` as a user meets it: a table of their own, files, and a training that goes on after it was killed.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use throng_testing::program::{Program, names, text};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// A table of 400 people in which size says nearly always who is who.
fn pets() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut table = String::from("weight,colour,kind\n");
    for i in 0..400 {
        let kind = ["cat", "dog"][i % 2];
        let weight = if i % 2 == 0 { 3 + i % 3 } else { 20 + i % 7 };
        writeln!(table, "{weight},{},{kind}", ["black", "white", "brown"][i % 3]).unwrap();
    }
    fs::write(dir.path().join("pets.csv"), table).unwrap();
    dir
}

/// A training on it; few examples in a step and many steps, so that there is time to stop it.
fn learn(dir: &TempDir, arguments: &[&str]) -> Command {
    let small = ["learn", "csv", "--data", "pets.csv", "--target", "kind", "--epsilon-local", "4"];
    let mut command = THRONG.run_in(dir, &[&small, arguments].concat());
    command.env_remove("THRONG_DATASETS").stderr(Stdio::piped());
    command
}

fn done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Waits until a training says that it has made some steps.
fn under_way(child: &mut Child) {
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("accuracy")), "the training never said anything");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_table_is_learned_and_all_files_are_there() {
    let dir = pets();
    let output = learn(&dir, &["--seed", "1", "--seeds", "2", "--out", "model", "--json"]).output().unwrap();
    done(&output);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Noise could spoil one run; the seed is fixed, so this cannot change.
    assert!(json["accuracy"].as_f64().unwrap() > 0.9, "{json}");
    assert_eq!(json["accuracies"].as_array().unwrap().len(), 2);
    assert_eq!(json["statement"]["protocol"], "local");
    let epsilon = json["statement"]["epsilon_central"].as_f64().unwrap();
    assert_eq!(json["curves"][0][20]["epsilon_central"].as_f64().unwrap(), epsilon);

    let out = dir.path().join("model");
    assert_eq!(names(&out), ["card.md", "curve.csv", "curve.png", "model.safetensors", "result.json"]);
    assert_eq!(fs::read(out.join("result.json")).unwrap(), output.stdout);
    let card = fs::read_to_string(out.join("card.md")).unwrap();
    for part in
        ["simulation on data that the program could read", "mean of 2 runs", "cat, dog", "test examples"]
    {
        assert!(card.contains(part), "{part} is missing in:\n{card}");
    }
    assert_eq!(fs::read_to_string(out.join("curve.csv")).unwrap().lines().count(), 1 + 2 * 21);

    let again = learn(&dir, &["--seed", "1", "--seeds", "2", "--out", "again"]).output().unwrap();
    done(&again);
    let model = |name: &str| fs::read(dir.path().join(name).join("model.safetensors")).unwrap();
    assert_eq!(model("model"), model("again"), "the same seed gives the same bytes");
}

#[test]
fn a_training_goes_on_as_if_it_had_never_been_killed() {
    let dir = pets();
    let long = ["--steps", "4000", "--seeds", "2", "--seed", "7", "--checkpoint-every", "50", "--out"];
    let with = |name: &'static str| [&long[..], &[name]].concat();
    done(&learn(&dir, &with("whole")).output().unwrap());

    for kind in ["-KILL", "-INT"] {
        let mut child = learn(&dir, &with("parts")).spawn().unwrap();
        under_way(&mut child);
        signal(&child, kind);
        let output = child.wait_with_output().unwrap();
        if kind == "-INT" {
            assert_eq!(output.status.code(), Some(2));
            let stderr = text(&output.stderr);
            assert!(stderr.contains("run the same command again to go on from parts/checkpoint"), "{stderr}");
        } else {
            assert_eq!(output.status.code(), None, "it was killed");
        }
        assert!(dir.path().join("parts/checkpoint").exists(), "{kind}");
    }

    // Other settings do not go on from there.
    let other = learn(&dir, &[&with("parts")[..], &["--clip", "2"]].concat()).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("clip was 1.0, is 2.0"), "{}", text(&other.stderr));

    // A checkpoint that was changed is noticed.
    let path = dir.path().join("parts/checkpoint");
    let good = fs::read(&path).unwrap();
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    for (bytes, place) in
        [(&bad[..], format!("at byte {}", good.len() - 32)), (&good[..20], "at byte 0".into())]
    {
        fs::write(&path, bytes).unwrap();
        let output = learn(&dir, &with("parts")).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = text(&output.stderr);
        assert!(stderr.contains("parts/checkpoint") && stderr.contains(&place), "{stderr}");
    }

    fs::write(&path, good).unwrap();
    let output = learn(&dir, &with("parts")).output().unwrap();
    done(&output);
    assert!(text(&output.stderr).contains("goes on after step"), "{}", text(&output.stderr));
    for file in ["model.safetensors", "card.md", "curve.csv", "curve.png"] {
        let bytes = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(bytes("whole") == bytes("parts"), "{file} differs");
    }
    assert!(!path.exists(), "the seed is gone");
}

/// A trusted server's training and one without privacy: what they promise, and that a shown seed repeats a run.
#[test]
fn trusted_servers_and_no_privacy_are_there_to_compare_with() {
    let dir = pets();
    let json = |arguments: &[&str]| -> Value {
        let few = ["--seeds", "1", "--steps", "20", "--json"];
        let output = learn(&dir, &[arguments, &few].concat()).output().unwrap();
        done(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let central = ["--protocol", "central", "--epsilon-central", "2", "--batch", "80"];
    let trusted = json(&[&central[..], &["--out", "trusted"]].concat());
    let statement = &trusted["statement"];
    assert_eq!((statement["protocol"].as_str(), statement["steps"].as_u64()), (Some("central"), Some(20)));
    assert!((1.98..=2.0).contains(&statement["epsilon_central"].as_f64().unwrap()), "{statement}");
    assert!(trusted["seed"].is_null(), "whoever knows it can undo the noise");
    let card = |name: &str| fs::read_to_string(dir.path().join(name).join("card.md")).unwrap();
    assert!(card("trusted").contains("no local guarantee") && card("trusted").contains("| seed | secret |"));
    let told = json(&[&central[..], &["--seed", "5", "--out", "told"]].concat());
    assert_eq!(told["seed"], 5);
    assert!(card("told").contains("can take the noise out") && card("told").contains("| seed | 5 |"));

    let plain = json(&["--protocol", "plain", "--out", "plain"]);
    assert!(plain["accuracy"].as_f64().unwrap() > 0.95, "{plain}");
    assert!(plain["curves"][0].as_array().unwrap().iter().all(|point| point["epsilon_central"].is_null()));
    assert!(card("plain").contains("No guarantee"));
    let seed = plain["seed"].as_u64().unwrap().to_string();
    assert!(card("plain").contains(&format!("| seed | {seed} |")));

    // The seed that a simulation drew gives it back.
    let drawn = json(&["--out", "drawn"]);
    let seed = drawn["seed"].as_u64().unwrap().to_string();
    let again = json(&["--seed", &seed, "--out", "again"]);
    assert_eq!((&drawn["curves"], &drawn["seed"]), (&again["curves"], &again["seed"]));
    assert!(card("drawn") == card("again"));

    let dear = ["--protocol", "central", "--noise", "0.5", "--epsilon-central", "0.1"];
    let output = learn(&dir, &dear).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("more --noise, a smaller --batch"), "{}", text(&output.stderr));
}

#[test]
fn a_deployment_asks_people_and_a_budget_ends_it() {
    let dir = pets();
    let arguments = ["--mode", "deploy", "--batch", "100", "--steps", "3", "--json"];
    let bare: Value = serde_json::from_slice(&learn(&dir, &arguments).output().unwrap().stdout).unwrap();
    let covered = learn(&dir, &[&arguments[..], &["--cover"]].concat()).output().unwrap();
    let covered: Value = serde_json::from_slice(&covered.stdout).unwrap();
    assert!(bare["seed"].is_null(), "nobody may know it");
    let epsilon = |json: &Value| json["statement"]["epsilon_central"].as_f64().unwrap();
    assert!(epsilon(&bare) > epsilon(&covered));
    assert_eq!(
        (bare["settings"]["simulation"].as_str(), bare["accuracies"].as_array().unwrap().len()),
        (Some("literal"), 1)
    );

    let budget = format!("{}", epsilon(&bare) * 0.9);
    let less = learn(&dir, &[&arguments[..], &["--epsilon-central", &budget]].concat()).output().unwrap();
    done(&less);
    let less: Value = serde_json::from_slice(&less.stdout).unwrap();
    assert!(less["statement"]["steps"].as_u64().unwrap() < 3 && epsilon(&less) <= epsilon(&bare) * 0.9);

    let nothing = learn(&dir, &[&arguments[..], &["--epsilon-central", "0.001"]].concat()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing.stderr).contains("refused: one step alone costs"), "{}", text(&nothing.stderr));
}

/// What is not a number any more is not given out as a model, and a network is asked for where one is needed.
#[test]
fn what_cannot_be_trained_is_refused() {
    let dir = pets();
    let refused = |arguments: &[&str]| {
        let output = learn(&dir, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    let diverged = refused(&["--steps", "3", "--clip", "1e-300", "--out", "diverged"]);
    assert!(diverged.contains("diverged in step 1") && diverged.contains("--rate"), "{diverged}");
    assert!(!dir.path().join("diverged/model.safetensors").exists());
    let elsewhere = refused(&["--pretrained", "network.bin"]);
    assert!(elsewhere.contains("--pretrained is for cifar-10"), "{elsewhere}");
    let without = refused(&["--model", "pretrained"]);
    assert!(without.contains("--pretrained FILE"), "{without}");
}
