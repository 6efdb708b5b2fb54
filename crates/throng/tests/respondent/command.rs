//! `throng respond`, as it is typed.

use std::fs;

use throng_respondent::Respondent;
use throng_testing::world::{ONE_HOT, RECORD};

use crate::{Desk, NOW_MS, THRONG, rng};

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
        (
            output.status.code().unwrap(),
            throng_testing::program::text(&output.stdout),
            String::from_utf8(output.stderr).unwrap(),
        )
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
    let mut respondent = Respondent::open_with(&desk.state(), &mut rng(1)).unwrap();
    respondent.use_credential(&desk.folder.path().join("credential")).unwrap();
    assert_eq!((respondent.ledger().epsilon_limit(), respondent.ledger().left().unwrap()), (None, 0.0));
    let refused = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err();
    assert_eq!(throng::exit::code(&refused), throng::exit::REFUSED);
    let said = refused.to_string();
    assert!(said.contains("5.2500") && said.contains("--epsilon-limit"), "{said}");
    assert!(
        respondent.ledger().entries().is_empty()
            && throng_testing::program::names(&desk.state().join("outbox")).is_empty()
    );
    drop(respondent);
    let run = |more: &[&str]| {
        let flags = ["respond", "--state", "state", "--survey", "survey.toml", "--credential", "credential"];
        let output = THRONG.run_in(&desk.folder, &[&flags, more].concat()).output().unwrap();
        (output.status.code().unwrap(), throng_testing::program::text(&output.stderr))
    };
    let (code, error) = run(&["--absent", "--no-wait"]);
    assert!(code == 1 && error.contains("--epsilon-limit"), "{error}");
    // One that is said is kept, and is not asked for again.
    let (code, error) = run(&["--absent", "--no-wait", "--epsilon-limit", "8"]);
    assert!(code == 2 && error.contains("no layer key"), "{error}");
    let mut respondent = desk.open();
    assert_eq!(respondent.ledger().epsilon_limit(), Some(8.0));
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let refused = desk.answer(&mut respondent, Some(7), NOW_MS + crate::EPOCH_MS, 3).unwrap_err().to_string();
    assert!(refused.contains("of your limit of 8 only 2.75"), "{refused}");
}
