//! Attempts to break the promises, as a user runs them: nothing is found where all is well, and what is broken on purpose is
//! caught with exit code 1.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use serde_json::Value;
use throng_testing::program::{Program, text};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// Runs an audit; returns its exit code and what it found.
fn audit(arguments: &str) -> (Option<i32>, Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let line = format!("audit {arguments} --json");
    let arguments: Vec<&str> = line.split(' ').collect();
    let output = THRONG.run_in(&dir, &arguments).stderr(std::process::Stdio::piped()).output().unwrap();
    let (said, printed) = (text(&output.stderr), text(&output.stdout));
    let json = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {printed} {said}"));
    (output.status.code(), json, said)
}

/// With a fixed seed a right system that passes once passes always; on a fresh one it fails with a chance below 1e-3.
#[test]
fn randomizers_are_passed_if_right_and_caught_if_they_understate() {
    let (code, found, _) = audit("local --randomizer one-hot,sign --epsilon 1 --seed 4");
    assert_eq!((code, found["verdict"].as_str()), (Some(0), Some("kept")), "{found}");
    let one = &found["randomizers"][0];
    assert!(one["lower"].as_f64() < one["claimed"].as_f64() && one["resolved"] == true, "{found}");

    let (code, found, said) = audit("local --randomizer one-hot,sign --epsilon 1 --seed 4 --broken");
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("broken")), "{found}");
    assert!(found["randomizers"].as_array().unwrap().iter().all(|one| one["verdict"] == "broken"));
    assert!(said.contains("broken: a randomizer spends more than it claims"), "{said}");
}

#[test]
fn a_planned_survey_is_audited_at_its_own_epsilon() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let output = THRONG.run_in(&dir, &line.split(' ').collect::<Vec<_>>()).output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let plan = "plan --epsilon-central 1 --delta 1e-6 --respondents 3000 --domain 200 --out survey.toml";
    assert_eq!(run(plan).0, Some(0));
    let (code, printed) = run("audit local --survey survey.toml --seed 4");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("survey, one epoch") && printed.contains("verdict: kept"), "{printed}");
    let (code, printed) = run("audit central --survey survey.toml --games 300000 --seed 4");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("3,000 respondents") && printed.contains("at delta 0.000001"), "{printed}");
    assert!(printed.contains("the survey claims epsilon_central 1, delta 1e-6"), "{printed}");
    assert_eq!(run("audit central --survey survey.toml --games 300000 --seed 4 --broken").0, Some(1));

    // The same parameters, with a claim that they do not keep: no bound is exceeded, and the survey's own word is.
    let file = dir.path().join("survey.toml");
    let honest = std::fs::read_to_string(&file).unwrap();
    let claim = honest.lines().find(|line| line.starts_with("epsilon_central")).unwrap();
    std::fs::write(&file, honest.replace(claim, "epsilon_central = 0.3")).unwrap();
    let (code, printed) = run("audit central --survey survey.toml --games 300000 --seed 4 --json");
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("broken")), "{printed}");
    let all = found["found"].as_array().unwrap();
    assert!(all.iter().any(|one| one["claim"]["verdict"] == "broken"), "{printed}");
    let bounds = all.iter().flat_map(|one| one["bounds"].as_array().unwrap());
    assert!(bounds.clone().count() == 18 && bounds.clone().all(|one| one["verdict"] == "kept"), "{printed}");
}

/// What a survey can name beside one report with one bit per value.
#[test]
fn releases_of_fragments_sketches_and_records_are_audited() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let output = THRONG.run_in(&dir, &line.split(' ').collect::<Vec<_>>()).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for more in [
        "--domain 100 --report-fragments 2 --instances 1",
        "--domain 100 --report-fragments 3",
        "--domain 100000 --encoding sketch",
        "--attribute age=9 --attribute sex=2",
    ] {
        let plan =
            format!("plan --epsilon-central 1 --delta 1e-6 --respondents 20000 {more} --out survey.toml");
        let _ = std::fs::remove_file(dir.path().join("survey.toml"));
        let planned = run(&plan);
        assert_eq!(planned.0, Some(0), "{more}: {planned:?}");
        let (code, printed, said) = run("audit central --survey survey.toml --games 100000 --seed 4 --json");
        let found: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{more}: {said}"));
        assert_eq!((code, found["verdict"].as_str()), (Some(0), Some("kept")), "{more}: {printed}");
        let first = &found["found"][0];
        assert!(first["lower"].as_f64() > Some(0.0) && first["bounds"][0]["claimed"].is_f64(), "{printed}");
    }
}

#[test]
fn a_training_without_its_noise_is_caught() {
    let (code, found, said) = audit("membership --broken --steps 20 --seed 4");
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("broken")), "{found}");
    assert!(found["attack"]["epsilon_limit"].as_f64() > found["epsilon_central"].as_f64());
    // Those of the training that was attacked, and not of the one that is promised.
    assert_eq!(found["steps"], 200, "{found}");
    assert!(said.contains("members can be told from others"), "{said}");
    // What the confidence is of is said where the promise is called broken: not that a kept one would hardly ever be.
    let dir = tempfile::tempdir().unwrap();
    let line = "audit membership --broken --steps 20 --seed 4";
    let output = THRONG.run_in(&dir, &line.split(' ').collect::<Vec<_>>()).output().unwrap();
    let printed = text(&output.stdout);
    assert!(
        printed.contains("verdict: BROKEN") && printed.contains("no\ncertified lower bound"),
        "{printed}"
    );
    assert!(printed.contains("as if losses were independent: it is none of this verdict"), "{printed}");
    let (code, found, _) = audit("membership --batch 2000 --steps 3 --seed 4");
    assert_eq!((code, found["verdict"].as_str()), (Some(0), Some("kept")), "{found}");
    assert!(found["members"].as_u64() > Some(10_000));
}

/// Runs a live audit. A machine that stood still for an epoch, which is exit code 2, is given longer ones, twice.
fn audit_live(more: &str) -> (Option<i32>, Value, String) {
    let run = |epoch_s: u64| {
        let dir = tempfile::tempdir().unwrap();
        let line =
            format!("audit wire --respondents 12 --answers 100 --seed 4 --epoch-s {epoch_s} --json{more}");
        let mut command = THRONG.run_in(&dir, &line.split(' ').collect::<Vec<_>>());
        let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
        let found = serde_json::from_str(&text(&output.stdout)).unwrap_or(Value::Null);
        (output.status.code(), found, text(&output.stderr))
    };
    [40, 160]
        .into_iter()
        .fold(run(10), |found, epoch_s| if found.0 == Some(2) { run(epoch_s) } else { found })
}

/// Real processes, three epochs of ten seconds; and the same with respondents who save traffic when they have nothing to
/// say. Both at once: most of it is waiting.
#[test]
fn hops_and_network_cannot_tell_unless_respondents_save_traffic() {
    let broken = std::thread::spawn(|| audit_live(" --broken"));
    let (code, found, said) = audit_live("");
    assert_eq!((code, found["verdict"].as_str()), (Some(0), Some("kept")), "{found} {said}");
    let sights = found["sights"].as_array().unwrap();
    let shown =
        |what: &str| sights.iter().find(|one| one["what"] == what).unwrap()["shown"].as_str().unwrap();
    assert_eq!(shown("requests"), "1 for everyone");
    assert_eq!(shown("respondents in the epoch"), "12 for everyone");
    assert_eq!(shown("envelopes handed on"), shown("envelopes in the epoch"));
    let ruled = |what: &str, rule: &str| sights.iter().any(|one| one["what"] == what && one["rule"] == rule);
    for what in ["time in the epoch", "time in the epoch, as stored", "order of instances, as stored"] {
        assert!(ruled(what, "alike"), "{what}: {found}");
    }
    assert!(ruled("bytes sent, with TLS", "same"), "{found}");
    assert!(found["latency"][2]["median_ms"].as_f64() > Some(0.0));

    let (code, found, said) = broken.join().unwrap();
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("broken")), "{found} {said}");
    let sights = found["sights"].as_array().unwrap();
    let caught = |who: &str, what: &str| {
        sights.iter().any(|one| one["who"] == who && one["what"] == what && one["verdict"] == "broken")
    };
    assert!(
        caught("network, instance 2", "connections") && caught("instance 3, hop 1", "requests"),
        "{found}"
    );
    // Bodies that never came, and a crowd that was not reached, are seen by those who do not see connections.
    assert!(
        caught("instance 2, hop 2", "respondents in the epoch")
            && caught("instance 2, hop 1", "length of the body"),
        "{found}"
    );
    assert!(!caught("instance 1, hop 2", "respondents in the epoch"), "{found}");
    assert!(
        !caught("network, instance 1", "connections") && !caught("network", "order of instances"),
        "{found}"
    );
}
