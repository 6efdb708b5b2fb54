//! The way of a newcomer, with the commands that they would use: plan, deploy, respond, check.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use throng_wire::statement::check_cascade;
use throng_wire::{Place, Survey};

use crate::town::Town;

fn throng(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throng"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A survey that `throng plan` wrote, with an epoch that a test can wait for.
fn planned() -> Survey {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("survey.toml");
    let plan =
        "plan --epsilon-central 3 --delta 1e-3 --respondents 6 --domain 8 --instances 2 --hops 2 --out";
    let arguments: Vec<&str> = plan.split(' ').chain([path.to_str().unwrap()]).collect();
    let output = throng(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Survey { epoch_s: 10, ..Survey::from_toml(&fs::read_to_string(path).unwrap()).unwrap() }
}

#[test]
fn respondents_answer_through_real_hops_and_check_their_receipts() {
    let mut town = Town::of(&planned(), true, 7);
    town.start_all();
    let dir = town.deployment.survey.parent().unwrap().to_owned();
    let survey = town.deployment.survey.to_str().unwrap().to_owned();
    let state = |person: usize| dir.join(format!("state-{person}")).to_str().unwrap().to_owned();
    let epoch = town.next_epoch();
    let sending: Vec<Child> = (0..7)
        .map(|person| {
            let credential = dir.join(format!("{person}.credential"));
            fs::write(&credential, &*town.credentials[person].to_file()).unwrap();
            let value = (person % 8).to_string();
            let mut command = throng(&["respond", "--survey", &survey, "--epoch", "current", "--json"]);
            command.args(["--state", &state(person)]).arg("--credential").arg(&credential);
            // The last one has nothing to say, and takes part like everyone.
            match person {
                6 => command.arg("--absent"),
                _ => command.args(["--value", &value]),
            };
            command.spawn().unwrap()
        })
        .collect();
    for (person, child) in sending.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{person}: {said}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap();
    }
    for instance in 1..=2 {
        let route = town.route(instance, epoch);
        let pulled = town.pull(route);
        let survey = town.deployment.bundle.survey().survey();
        assert_eq!(check_cascade(survey, &pulled.statements).unwrap(), Some(7));
        assert!(pulled.values.iter().all(|&value| value < 8));
        let (status, statement) =
            town.call(None, Place::hop(instance, 1), hyper::Method::GET, route, "statement", &[]);
        assert_eq!(status, 200);
        fs::write(dir.join(format!("{instance}.statement")), statement).unwrap();
    }
    for person in [0, 6] {
        let mut check = throng(&["respond", "--check", "--show", "--state", &state(person)]);
        for statement in ["1.statement", "2.statement"] {
            check.arg("--statement").arg(dir.join(statement));
        }
        let output = check.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        for instance in 1..=2 {
            assert!(said.contains(&format!("instance {instance}: holds")), "{said}");
        }
        assert_eq!(said.matches("released the epoch, with 7 respondents").count(), 2, "{said}");
    }
}

/// Attack 20: nobody can choose a respondent's randomness.
#[test]
fn a_respondent_has_no_seed() {
    let output = throng(&["respond", "--state", "state", "--seed", "7"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unexpected argument '--seed'"));
}
