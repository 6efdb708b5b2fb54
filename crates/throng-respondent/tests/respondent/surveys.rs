//! What is asked: surveys that are answered, and those that are refused.

use std::fs;

use throng_host::bundle::Bundle;
use throng_respondent::{AnswerOptions, Body, EpochChoice, Error, Refusal, Respondent};
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::parsing::check_bytes;
use throng_testing::world::ONE_HOT;
use throng_wire::{Digest, KeyList, Place, Signed};

use crate::files;

/// Each of what a guarantee rests on, signed by everyone and still wrong.
#[test]
fn a_survey_that_does_not_hold_is_refused_before_anything_is_kept() {
    for (from, to) in [
        ("epsilon_central = 1.0", "epsilon_central = 0.01"),
        ("respondents_min = 100000", "respondents_min = 100"),
        ("honest_fraction = 0.9", "honest_fraction = 0.0001"),
        ("envelopes = 40", "envelopes = 8"),
        ("epsilon_local = 5.25", "epsilon_local = 12.0"),
        ("delta = 1e-6", "delta = 1e-300"),
        ("bound = \"exact\"", "bound = \"theorem\""),
    ] {
        assert!(ONE_HOT.contains(from));
        let desk = Desk::new(&ONE_HOT.replace(from, to));
        let mut respondent = desk.open();
        let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::Claim(_))), "{to}: {error:#}");
        assert!(error.to_string().contains("claim does not hold"), "{to}: {error:#}");
        drop(respondent);
        assert_eq!(files(&desk.state()).len(), 2, "{to}: ledger and secret");
    }
}

#[test]
fn files_that_nobody_signed_are_refused() {
    for (extension, from, to) in [
        ("toml", "domain = 784", "domain = 785"),
        ("signatures", "\"party\":\"analyzer\"", "\"party\":\"instance-1-hop-1\""),
        ("addresses", "hop-1.test", "hop-2.test"),
        ("keys", "\"last_epoch\":99", "\"last_epoch\":98"),
    ] {
        let desk = Desk::new(ONE_HOT);
        let path = desk.world.file.with_extension(extension);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{extension}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert!(Bundle::read(&desk.world.file).is_err(), "{extension}");
    }
}

/// A key list that was replaced by another with the same serial, or an older one, is not answered by.
#[test]
fn files_that_take_something_back_are_refused() {
    let desk = Desk::new(ONE_HOT);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let place = Place::hop(1, 1);
    let list = |serial: u64, last_epoch: u64| {
        let mut list: KeyList =
            desk.bundle().key_lists().iter().find(|list| list.party == place).unwrap().clone();
        (list.serial, list.keys[0].lifetime.last_epoch) = (serial, last_epoch);
        Signed::new(list, &desk.world.signing[&place]).unwrap().to_text()
    };
    let path = desk.world.file.with_extension("keys");
    let others: String =
        desk.world.lists.iter().filter(|list| list.claimed_party() != place).map(Signed::to_text).collect();
    for (serial, last_epoch, holds) in [(1, 98, false), (0, 99, false), (2, 98, true), (1, 99, false)] {
        fs::write(&path, others.clone() + &list(serial, last_epoch)).unwrap();
        let answered = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2);
        assert_eq!(answered.is_ok(), holds, "{serial} {last_epoch}: {answered:?}");
    }
}

#[test]
fn labels_and_credentials_are_asked_for() {
    let labels = "[labels]\nnames = [\"de\", \"fr\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\n\
                  profiles = { fr = [2] }\n";
    let desk = Desk::new(&(ONE_HOT.replace("epsilon_central = 1.0", "epsilon_central = 1.5") + labels));
    let mut respondent = desk.open();
    let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err().to_string();
    assert!(error.contains("de, fr"), "{error}");
    let options = AnswerOptions { label: Some("fr".into()), when: EpochChoice::CurrentEpoch };
    let answer = respondent.answer_with(&desk.bundle(), 7, &options, NOW_MS, &mut rng(2)).unwrap();
    assert_eq!((answer.label, answer.epoch), (2, 10));
    assert!(answer.bodies.iter().all(|body| body.send_at_ms >= NOW_MS));
    let shown = respondent.show(NOW_MS).unwrap().remove(0);
    assert_eq!(shown.label.as_deref(), Some("fr"));
    // What is shown is about this label's trust profile, and so is what is sent.
    let guarantee = shown.guarantee.join("\n");
    for part in ["go to instance 2 alone", "To instances 1 and 3 you send as many bytes of chaff"] {
        assert!(guarantee.contains(part), "{guarantee}");
    }
    let opened = |body: &Body| desk.world.open(&answer.route(body), body.bytes()).len();
    let fragments: Vec<usize> = answer.bodies.iter().map(opened).collect();
    assert_eq!((fragments[0], fragments[2]), (0, 0), "{fragments:?}");
    assert!(answer.bodies.iter().all(|body| body.length == answer.bodies[0].length));

    let desk = Desk::new(ONE_HOT);
    let mut respondent = Respondent::open(desk.state()).unwrap();
    let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err();
    assert!(matches!(error, Error::NotEnrolled) && error.to_string().contains("--credential"), "{error}");
    let options = AnswerOptions { label: Some("fr".into()), ..AnswerOptions::default() };
    let mut respondent = desk.open_at(desk.folder.path().join("other")).unwrap();
    let error = respondent.answer_with(&desk.bundle(), 7, &options, NOW_MS, &mut rng(2)).unwrap_err();
    assert!(error.to_string().contains("no labels"), "{error:#}");
}

/// Attack 22: whatever is changed in one of a survey's four files, it is refused, or it is the same survey with documents
/// that its parties signed.
#[test]
fn any_changed_file_of_a_survey_is_refused_or_says_the_same() {
    let desk = Desk::new(ONE_HOT);
    let bundle = desk.bundle();
    for (extension, text) in bundle.files_after(None).unwrap() {
        let path = desk.world.file.with_extension(extension);
        check_bytes(text.as_bytes(), |bytes| {
            fs::write(&path, bytes).unwrap();
            let read = Bundle::read(&desk.world.file).ok()?;
            assert_eq!(read.survey().hash(), bundle.survey().hash());
            // A document may be missing, which is found out before anything is spent. None can be another.
            assert!(read.key_lists().iter().all(|list| bundle.key_lists().contains(list)));
            for place in bundle.survey().survey().places() {
                assert!(
                    read.address(place).is_err()
                        || read.address(place).unwrap() == bundle.address(place).unwrap()
                );
            }
            Some(bytes.to_vec())
        });
        fs::write(&path, text).unwrap();
    }
}

/// Names in a file are part of what was agreed on, by its hash, and are kept with what was answered.
#[test]
fn names_of_values_come_from_the_file_that_the_survey_has_the_hash_of() {
    let names: String = (0..784).map(|value| format!("dish {value}\n")).collect();
    let values =
        format!("\n[values]\nfile = \"dishes.txt\"\nsha256 = \"{}\"\n", Digest::of(names.as_bytes()));
    let desk = Desk::new(&(ONE_HOT.to_owned() + &values));
    let file = desk.world.file.with_file_name("dishes.txt");
    let error = format!("{:#}", Bundle::read(&desk.world.file).unwrap_err());
    assert!(error.contains("dishes.txt"), "{error}");
    fs::write(&file, names.replace("dish 7\n", "dish seven\n")).unwrap();
    let error = format!("{:#}", Bundle::read(&desk.world.file).unwrap_err());
    assert!(error.contains("values.sha256"), "{error}");
    fs::write(&file, &names).unwrap();
    let bundle = Bundle::read(&desk.world.file).unwrap();
    assert_eq!(bundle.survey().survey().value_name(783), "dish 783");
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    // What was answered can be shown when the files that it was read from are gone.
    fs::remove_file(&file).unwrap();
    let kept = desk.open().bundle(&desk.world.survey.hash()).unwrap();
    assert_eq!(
        (kept.survey().survey().value_name(7), kept.names_text()),
        ("dish 7".to_owned(), Some(&*names))
    );
}
