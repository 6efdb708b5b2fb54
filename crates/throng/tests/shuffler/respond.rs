//! The way of a newcomer, with the commands that they would use: plan, deploy, respond, check.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use throng_host::entropy::system_rng;
use throng_respondent::{
    AnswerOptions, Bundle, Clock, EpochChoice, Epsilon, Origin, Respondent, SystemClock,
};
use throng_testing::town::Town;
use throng_wire::statement::check_cascade;
use throng_wire::{Place, Survey};

use crate::THRONG;

pub(crate) fn throng(arguments: &[&str]) -> Command {
    let mut command = THRONG.command();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A survey that `throng plan` wrote, with an epoch that a test can wait for.
pub(crate) fn planned() -> Survey {
    planned_for(6, 1)
}

/// The same for so many respondents and report fragments.
pub(crate) fn planned_for(respondents: u32, fragments: u32) -> Survey {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("survey.toml");
    let plan = format!(
        "plan --epsilon-central 3 --delta 1e-3 --respondents {respondents} --report-fragments {fragments} --domain 8 \
         --instances 2 --hops 2 --honest-fraction 1 --out"
    );
    let arguments: Vec<&str> = plan.split(' ').chain([path.to_str().unwrap()]).collect();
    let output = throng(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Survey { epoch_s: 10, ..Survey::from_toml(&fs::read_to_string(path).unwrap()).unwrap() }
}

#[test]
fn respondents_answer_through_real_hops_and_check_their_receipts() {
    let mut town = Town::of(THRONG, &planned(), true, 7);
    town.start_all();
    let dir = town.deployment.survey.parent().unwrap().to_owned();
    let survey = town.deployment.survey.to_str().unwrap().to_owned();
    let state = |person: usize| dir.join(format!("state-{person}")).to_str().unwrap().to_owned();
    let epoch = town.next_epoch();
    let credential = |person: usize| dir.join(format!("{person}.credential"));
    (0..7).for_each(|person| secret(&credential(person), &town.credentials[person].to_file()));
    let sending: Vec<Child> = (0..6)
        .map(|person| {
            let credential = credential(person);
            let value = (person % 8).to_string();
            let mut command = throng(&["respond", "--survey", &survey, "--epoch", "current", "--json"]);
            command.args(["--state", &state(person)]).arg("--credential").arg(&credential);
            command.args(["--epsilon-limit", "20"]);
            // One has nothing to say, and takes part like everyone.
            match person {
                5 => command.arg("--absent"),
                _ => command.args(["--value", &value]),
            };
            command.spawn().unwrap()
        })
        .collect();
    // The last one has an app of their own.
    let mut respondent = Respondent::open(state(6)).unwrap();
    respondent.set_epsilon_limit(Epsilon::new(20.0).unwrap()).unwrap();
    respondent.use_credential(credential(6)).unwrap();
    let options = AnswerOptions { when: EpochChoice::CurrentEpoch, ..AnswerOptions::default() };
    let (bundle, rng) = (Bundle::read(&survey).unwrap(), &mut system_rng().unwrap());
    let answer = respondent.answer_with(&bundle, 6, &options, SystemClock.now_ms(), rng).unwrap();
    assert_eq!((answer.epoch, answer.origin), (epoch, Origin::Now));
    respondent.send().unwrap();
    drop(respondent);
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
    for person in [0, 5, 6] {
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

/// Attack 20: copies of one person's machine, forked, cloned or restored from a backup, share everything but randomness. Eight
/// of them answer the same at the same moment, from the same state. The generator has no memory of its own that could be
/// copied: every draw asks the system. (The ephemeral keys of seals are drawn by AWS-LC, and differ as well.)
#[test]
fn copies_of_a_respondent_never_share_randomness() {
    assert_eq!(size_of_val(&system_rng().unwrap()), 0);
    const COPIES: usize = 8;
    let town = Town::of(THRONG, &planned(), true, 1);
    let dir = town.deployment.survey.parent().unwrap();
    let credential = dir.join("credential");
    secret(&credential, &town.credentials[0].to_file());
    let original = dir.join("original");
    let started =
        throng(&["respond", "--epsilon-limit", "60"]).arg("--state").arg(&original).output().unwrap();
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let copies: Vec<_> = (0..COPIES).map(|copy| dir.join(format!("copy-{copy}"))).collect();
    for copy in &copies {
        let copied = Command::new("cp").arg("-a").arg(&original).arg(copy).status().unwrap();
        assert!(copied.success());
    }
    let answering: Vec<Child> = copies
        .iter()
        .map(|state| {
            let mut command = throng(&["respond", "--value", "3", "--no-wait", "--json"]);
            command.arg("--survey").arg(&town.deployment.survey).arg("--credential").arg(&credential);
            command.arg("--state").arg(state).spawn().unwrap()
        })
        .collect();
    let (mut bodies, mut seals, mut times) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for child in answering {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        let sent = shown["answers"][0]["bodies"].as_array().unwrap();
        for body in sent {
            bodies.insert(body["sha256"].to_string());
            // After the key's number comes the ephemeral key.
            seals.insert(body["first_bytes"].as_str().unwrap()[2..].to_owned());
        }
        // Seconds of an epoch of ten: two copies may well have one in common, but not all of them all.
        times.insert(sent.iter().map(|body| body["send_at"].to_string()).collect::<Vec<_>>());
    }
    assert_eq!((bodies.len(), seals.len()), (2 * COPIES, 2 * COPIES));
    assert!(times.len() > COPIES / 2, "{times:?}");
}

/// A file that only its owner can read.
fn secret(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
