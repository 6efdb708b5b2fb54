//! The paper's tables, as a user measures them. The long ones (sketches, Map) are documented commands: see the README.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use throng_testing::program::Program;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

fn experiment(args: &[&str]) -> Output {
    THRONG.command().arg("experiment").args(args).output().unwrap()
}

fn rows(name: &str) -> Vec<Value> {
    let output = experiment(&[name, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON and nothing else");
    json["rows"].as_array().unwrap().clone()
}

fn cell<'a>(rows: &'a [Value], cell: &str) -> &'a Value {
    rows.iter().find(|row| row["cell"] == cell).unwrap_or_else(|| panic!("no cell {cell:?}"))
}

/// Every cell of the short experiments agrees as it should (the exit code), and says how.
#[test]
fn short_tables_agree_with_the_paper() {
    for name in ["datasets", "no-fragmenting", "horse", "child", "location"] {
        for row in rows(name) {
            for field in
                ["table", "cell", "paper", "paper_rule", "throng", "should_agree", "agrees", "tolerance"]
            {
                assert!(row.get(field).is_some(), "{field} is missing in {row}");
            }
            assert_eq!(row["agrees"], true, "{row}");
            let kind = row["should_agree"].as_str().unwrap();
            assert!(["exact", "scale", "order", "paper-error"].contains(&kind), "{row}");
        }
    }
}

/// A few numbers of the Horse table, from other sources: the paper, and the reference table of the accounting.
#[test]
fn horse_has_the_known_numbers() {
    let rows = rows("horse");
    assert_eq!(rows.len(), 65);
    let number = |name: &str, field: &str| cell(&rows, name)[field].as_f64().unwrap();
    let local = "epsilon_central 1, tau 1: epsilon_local";
    assert_eq!(number(local, "paper"), 8.55);
    assert!((number(local, "paper_rule") - 8.547).abs() < 0.001);
    assert!((number(local, "throng") - 10.682).abs() < 0.002);
    let sigma = "epsilon_central 0.25, trusted party: sigma";
    assert!((number(sigma, "paper_rule") - 16.18).abs() < 0.01);
    assert!((number(sigma, "gaussian") - 17.89).abs() < 0.01);
    // Exact accounting lowers the noise 2.8 to 4 times at equal guarantees.
    for central in ["0.05", "0.25", "0.5", "0.75", "1"] {
        let rmse = format!("epsilon_central {central}, tau 1: RMSE");
        let gain = number(&rmse, "paper_rule") / number(&rmse, "throng");
        assert!((2.0..4.5).contains(&gain), "{central}: {gain}");
        assert!(number(&rmse, "gaussian") < number(&rmse, "throng"));
    }
}

#[test]
fn a_report_is_written_with_its_pictures_and_the_same_seed_gives_the_same_cells() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("report");
    let output = experiment(&["horse", "--out", out.to_str().unwrap(), "--threads", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("report.html") && text.contains("65 cells, 65 agree") && !text.contains("DIFFERS"));
    for file in
        ["report.html", "report.md", "rows.csv", "horse-truth.png", "horse-rmse.svg", "horse-throng-1.png"]
    {
        assert!(out.join(file).is_file(), "{file} is missing");
    }
    let again = dir.path().join("again");
    assert!(experiment(&["horse", "--out", again.to_str().unwrap(), "--threads", "3"]).status.success());
    for file in ["rows.csv", "horse-throng-1.png", "horse-gaussian-0-05.png"] {
        assert_eq!(fs::read(out.join(file)).unwrap(), fs::read(again.join(file)).unwrap(), "{file}");
    }
    let other = dir.path().join("other");
    assert!(experiment(&["horse", "--out", other.to_str().unwrap(), "--seed", "2"]).status.success());
    assert_ne!(fs::read(out.join("rows.csv")).unwrap(), fs::read(other.join("rows.csv")).unwrap());
}

#[test]
fn experiments_are_listed_and_unknown_ones_named() {
    let output = experiment(&["list", "--json"]);
    let names: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    for name in [
        "datasets",
        "heavy-hitters",
        "tail",
        "unified",
        "horse",
        "horse-sketch",
        "runs",
        "hashes",
        "map",
        "child",
        "learning",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    let output = experiment(&["horses"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("horses") && message.contains("horse-sketch"), "{message}");
}

#[test]
fn learning_is_measured_in_parts_and_its_options_are_its_own() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("report");
    let output = experiment(&[
        "learning",
        "--quick",
        "--only",
        "curves,table",
        "--runs",
        "1",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("A SMOKE RUN") && text.contains("Learning curves") && text.contains("66.6"),
        "{text}"
    );
    assert!(!text.contains("Membership inference"), "{text}");
    for file in ["report.html", "report.md", "rows.csv", "learning-curves-mnist.svg", "runs.jsonl"] {
        assert!(out.join(file).exists(), "{file} is missing");
    }
    let output = experiment(&["horse", "--quick"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("are for the experiment learning"));
}
