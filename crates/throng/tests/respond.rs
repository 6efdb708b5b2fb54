//! `throng respond`, as it is typed, and surveys that `throng plan` wrote, as a respondent reads them.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::process::Stdio;

use throng_respondent::Respondent;
use throng_survey::CheckedClaim;
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::program::{Program, names, text};
use throng_testing::world::EPOCH_MS;
use throng_testing::world::{FRAGMENTED, ONE_HOT, RECORD};
use throng_wire::Survey;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

#[test]
fn the_command_takes_records() {
    let desk = Desk::new(RECORD);
    let run = |value: &str, input: &str| {
        fs::write(desk.folder.path().join("input"), input).unwrap();
        let arguments =
            ["respond", "--state", "state", "--survey", "survey.toml", "--no-wait", "--value", value];
        let output = THRONG
            .run_in(&desk.folder, &[&arguments[..], &["--epsilon-limit", "50"]].concat())
            .stdin(fs::File::open(desk.folder.path().join("input")).unwrap())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    // The keys of this survey ended long ago: what is encoded cannot be sealed.
    let long = " ".repeat(60_000) + "8,1,772\n";
    for (value, input) in [("3,1,-", ""), ("-,-,0", ""), ("-", "3,1,-\n"), ("-", &long)] {
        let (code, error) = run(value, input);
        assert!(code == 2 && error.contains("no layer key"), "{value}: {error}");
    }
    let too_long = "0".repeat(70_000) + ",1,5";
    for (value, input, part) in [
        ("7777", "", "for each of age,sex,county"),
        ("-", "7777,1", "for each of age,sex,county"),
        ("-", &too_long, "longer than any value"),
        ("7777,1,-", "", "the domain of 9 values"),
    ] {
        let (code, error) = run(value, input);
        assert!(code == 2 && error.contains(part) && !error.contains("7777"), "{value}: {error}");
    }
}

#[test]
fn the_command_answers_shows_and_checks() {
    let desk = Desk::new(ONE_HOT);
    let run = |arguments: &[&str]| {
        let output = THRONG
            .run_in(&desk.folder, &[&["respond", "--state", "state"], arguments].concat())
            .output()
            .unwrap();
        (output.status.code().unwrap(), text(&output.stdout), String::from_utf8(output.stderr).unwrap())
    };
    // The keys of this survey ended long ago: an answer today is an error that says so, and spends nothing.
    let survey =
        ["--survey", "survey.toml", "--credential", "credential", "--no-wait", "--epsilon-limit", "50"];
    let (code, _, error) = run(&[&survey[..], &["--value", "7"]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("no layer key"), "{error}");
    let (code, page, _) = run(&["--show"]);
    assert!(
        code == 0 && page.contains("Nothing was answered yet") && page.contains("epsilon 0.0000"),
        "{page}"
    );
    for (value, part) in [("seven", "takes a number"), ("784", "784"), ("", "takes a number")] {
        let (code, _, error) = run(&[&survey[..], &["--value", value]].concat());
        assert!(code == 2 && error.contains(part) && !error.contains("seven"), "{error}");
    }
    // Answered by the library in the survey's own time, the command shows and checks it.
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let (code, page, _) = run(&["--show"]);
    assert_eq!(code, 0);
    for part in [
        "which-pixel, epoch 11",
        "40 envelopes in 4329 bytes",
        "SHA-256",
        "epsilon_local 5.25",
        "of your limit of 50",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (code, json, _) = run(&["--show", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, json["answers"][0]["bodies"][2]["bytes"].as_u64()), (0, Some(4329)));
    assert_eq!(json["answers"][0]["epsilon_central"].as_f64(), Some(1.0));
    let (code, page, _) = run(&["--check"]);
    assert!(code == 0 && page.contains("there is no receipt"), "{page}");
    let (code, _, error) = run(&["--check", "--statement", "survey.toml"]);
    assert!(code == 2 && error.contains("261 bytes each"), "{error}");
    let (code, page, _) = run(&["--epsilon-limit", "12.5"]);
    assert!(code == 0 && page.contains("of your limit of 12.5"), "{page}");
    let (code, _, error) = run(&["--survey", "survey.toml"]);
    assert!(code == 2 && error.contains("no terminal") && error.contains("--value -"), "{error}");
}

/// There is no limit that somebody else chose: without one of their own, which nobody can be asked for here, nothing is made
/// or spent, and the refusal says what the answer would spend and what to do.
#[test]
fn nothing_is_answered_without_a_limit_of_ones_own() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = Respondent::open_with(desk.state(), &mut rng(1)).unwrap();
    respondent.use_credential(desk.folder.path().join("credential")).unwrap();
    assert_eq!((respondent.ledger().epsilon_limit(), respondent.ledger().left().unwrap()), (None, 0.0));
    let refused = anyhow::Error::from(desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err());
    assert_eq!(throng::exit::code(&refused), throng::exit::REFUSED);
    let said = refused.to_string();
    assert!(said.contains("5.2500") && said.contains("--epsilon-limit"), "{said}");
    assert!(respondent.ledger().entries().is_empty() && names(&desk.state().join("outbox")).is_empty());
    drop(respondent);
    let run = |more: &[&str]| {
        let flags = ["respond", "--state", "state", "--survey", "survey.toml", "--credential", "credential"];
        let output = THRONG.run_in(&desk.folder, &[&flags, more].concat()).output().unwrap();
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, error) = run(&["--absent", "--no-wait"]);
    assert!(code == 1 && error.contains("--epsilon-limit"), "{error}");
    // One that is said is kept, and is not asked for again.
    let (code, error) = run(&["--absent", "--no-wait", "--epsilon-limit", "8"]);
    assert!(code == 2 && error.contains("no layer key"), "{error}");
    let mut respondent = desk.open();
    assert_eq!(respondent.ledger().epsilon_limit(), Some(8.0));
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let refused = desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 3).unwrap_err().to_string();
    assert!(refused.contains("of your limit of 8 only 2.75"), "{refused}");
}

/// What `throng plan` writes is what a respondent's own accountant accepts.
#[test]
fn every_planned_survey_passes_the_respondents_check() {
    let folder = tempfile::tempdir().unwrap();
    for (number, flags) in [
        "--epsilon-central 1 --delta 1e-8 --respondents 2000000 --domain 87680",
        "--epsilon-central 0.5 --delta 1e-7 --respondents 100000 --domain 500 --report-fragments 16 \
         --instances 5 --hops 3",
        "--epsilon-central 1 --delta 1e-6 --respondents 200000 --domain 4000000000 --zipf 1.2",
        "--epsilon-central 2 --delta 1e-6 --respondents 50000 --domain 100 --honest-fraction 0.7 --instances \
         1 --hops 1",
        "--epsilon-central 1 --delta 1e-6 --respondents 300000 --domain 1000 --encoding sketch \
         --report-fragments 3",
        "--epsilon-central 0.25 --delta 1e-10 --respondents 5000000 --domain 2 --instances 7",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --attribute age=9 --attribute sex=2 --attribute \
         county=100",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --attribute age=9 --attribute sex=2 \
         --report-fragments 3 --honest-fraction 0.8",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 500 --label de --label fr",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 500 --label all --label two=3,1 --label one=2",
        "--epsilon-central 1 --delta 1e-6 --respondents 200000 --domain 200 --report-fragments 4 --instances 4 \
         --label all --label pair=2,4 --epsilon-deletion 0.1 --delta-deletion 1e-9",
        "--epsilon-central 2 --delta 1e-6 --respondents 200000 --domain 1000000 --encoding sketch --label one=2",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.toml");
        let arguments: Vec<&str> =
            ["plan"].into_iter().chain(flags.split(' ')).chain(["--out", &name]).collect();
        let output = THRONG.run_in(&folder, &arguments).output().unwrap();
        assert!(output.status.success(), "{flags}: {}", text(&output.stderr));
        let survey = Survey::from_toml(&fs::read_to_string(folder.path().join(&name)).unwrap()).unwrap();
        let claim = CheckedClaim::check(&survey).unwrap_or_else(|error| panic!("{flags}: {error}"));
        assert!(claim.central.epsilon() <= claim.claimed.epsilon());
        assert!(claim.overflow.value() <= 0.0101 * survey.claim.delta);
    }
}

/// A survey with epochs of ten years: its keys are those of today. In the first of them an answer was given.
fn answered_long_ago(survey: &str, value: u64) -> Desk {
    let desk = Desk::new(&survey.replace("epoch_s = 3600", "epoch_s = 315360000"));
    desk.answer(&mut desk.open(), Some(value), 1_234_567, 2).unwrap();
    desk
}

fn answer_today(desk: &Desk, value: &str) -> (String, String) {
    let arguments = ["respond", "--state", "state", "--survey", "survey.toml", "--no-wait", "--value", value];
    let output = THRONG.run_in(&desk.folder, &arguments).stderr(Stdio::piped()).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    (said, text(&output.stdout))
}

/// Four fragments of 4 in each epoch, a backstop of 5.25: the first epoch spent 5.25. The same again adds nothing, and another
/// answer makes it 2 x 16. That is said when the answer is made, on standard error, and again with the result.
#[test]
fn the_command_says_what_an_epoch_adds_once_it_is_made() {
    for (value, adds) in [("7", "0.0000"), ("8", "26.7500")] {
        let desk = answered_long_ago(FRAGMENTED, 7);
        let sentence = format!("This epoch adds epsilon {adds} (removal) to what you have spent.");
        let (said, result) = answer_today(&desk, value);
        assert!(said.contains(&sentence) && result.contains(&sentence), "{said}{result}");
        assert!(!said.contains("the first report counts"), "{said}");
    }
}

/// Sending may take hours: that the value is in nothing that is sent is said before.
#[test]
fn the_command_says_at_once_that_the_first_report_counts() {
    let never = FRAGMENTED.replace("fragments = 4", "fragments = 4, answer_changes = \"never\"");
    let desk = answered_long_ago(&never, 7);
    let (said, result) = answer_today(&desk, "8");
    for sentence in [
        "In this survey the first report counts: this epoch is drawn from it, whatever the value.",
        "This epoch adds epsilon 0.0000 (removal)",
    ] {
        assert!(said.contains(sentence) && result.contains(sentence), "{sentence}: {said}{result}");
    }
    let (said, result) = answer_today(&desk, "9");
    assert!(said.contains("was answered before") && result.contains("was answered before"), "{said}{result}");
    assert!(!said.contains("This epoch adds"), "{said}");
}

/// On a terminal a person reads what the next epoch adds before the answer is asked for, and can leave it at that. (The
/// terminal is one of script(1).)
#[test]
#[cfg(target_os = "linux")]
fn a_person_reads_what_an_epoch_adds_before_they_answer() {
    let never = FRAGMENTED.replace("fragments = 4", "fragments = 4, answer_changes = \"never\"");
    for (survey, costs) in [
        (
            FRAGMENTED,
            "One more adds epsilon 0.0000 (removal) with the answer that you gave last, 26.7500 with one that you never \
             gave, and 10.7500 with nothing to say.",
        ),
        (&never, "This survey spends epsilon 5.2500 once, for all that you ever send."),
        (ONE_HOT, "This survey spends epsilon 5.2500 each time that you answer."),
    ] {
        let desk = answered_long_ago(survey, 7);
        let ledger = || fs::read(desk.state().join("ledger")).unwrap();
        let before = ledger();
        let command =
            format!("{} respond --state state --survey survey.toml --no-wait", env!("CARGO_BIN_EXE_throng"));
        // Nothing is typed: the terminal ends.
        let output = std::process::Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "typescript"])
            .current_dir(desk.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = text(&output.stdout);
        let asked = said.find("Your answer, a number from 0 to 783").unwrap_or_else(|| panic!("{said}"));
        assert!(said[..asked].contains(costs), "{costs}: {said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("This epoch adds"), "{said}");
        assert_eq!(ledger(), before, "nothing was answered");
    }
}
