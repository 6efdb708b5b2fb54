//! `throng respond`, as it is typed.

use std::fs;

use crate::world::{ONE_HOT, RECORD};
use crate::{Desk, NOW_MS, support};

#[test]
fn the_command_takes_records() {
    let desk = Desk::new(RECORD);
    let run = |value: &str, input: &str| {
        fs::write(desk.folder.path().join("input"), input).unwrap();
        let arguments =
            ["respond", "--state", "state", "--survey", "survey.toml", "--no-wait", "--value", value];
        let output = support::command(&desk.folder, &arguments)
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
        let output = support::command(&desk.folder, &[&["respond", "--state", "state"], arguments].concat())
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            support::text(&output.stdout),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // The keys of this survey ended long ago: an answer today is an error that says so, and spends nothing.
    let survey = ["--survey", "survey.toml", "--credential", "credential", "--no-wait"];
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
    assert!(code == 2 && error.contains("--value"), "{error}");
}
