//! Instances that are away when an epoch is released, and come back or do not.

use std::fs;

use hyper::Method;
use serde_json::json;
use throng_host::clock::{Clock, SystemClock};
use throng_testing::crowd::{
    ATTRIBUTE_FRAGMENTS, ONE_HOT, REPORT_FRAGMENTS, Turnout, everyone, ledger, release, side_by_side, survey,
    table, tally, tick, until_taken, waiting,
};
use throng_testing::patience::until;
use throng_testing::town::Town;
use throng_wire::{Place, Survey};

use crate::THRONG;

/// Three instances of two hops.
fn three_instances(randomizer: &str, envelopes: u32) -> Survey {
    let mut survey = survey(ONE_HOT, randomizer, envelopes, "");
    survey.delivery.instances = 3;
    survey
}

/// Everybody answers, a hop of instance 2 is killed before the tick, and the other two are released.
fn without(killed: Place, survey: &Survey) -> (Town, Turnout) {
    let mut town = Town::of(THRONG, survey, true, 9);
    town.start_all();
    town.start(Place::Analyzer, None);
    let answered = loop {
        let answered = everyone(&mut town, 9, |_, _| {});
        town.kill(killed);
        if SystemClock.now_s() < (answered.epoch + 1) * town.shape.epoch_s {
            break answered;
        }
        // The tick was faster than the kill; there is another epoch.
        town.start(killed, None);
    };
    let epoch = answered.epoch;
    until_taken(&town, &[1, 3], epoch);

    let released = release(&town, epoch);
    assert_eq!((&released["instances_present"], &released["instances"]), (&json!([1, 3]), &json!(3)));
    assert_eq!((&released["respondents"], &released["instances_destroyed"]), (&json!(9), &json!([])));
    let (part, whole) = (answered.in_memory(&[1, 3]), answered.in_memory(&[1, 2, 3]));
    assert_eq!(table(&released), part, "two of three");
    // One fragment of each bit: the values of instance 2 are missing, and all others as they would be with it. With four,
    // every value has one at least, and errors are wider.
    let missing = part.iter().filter(|(estimate, _)| estimate.is_empty()).count() as u64;
    assert_eq!(released["missing"], json!(missing));
    if survey.mechanism().unwrap().coins().draws() == 1 {
        let of_two = (0..survey.domain()).filter(|value| value % 3 == 1).count() as u64;
        assert_eq!(missing, of_two);
        assert!(part.iter().zip(&whole).all(|(part, whole)| part == whole || part.0.is_empty()));
        assert!(released["assumptions"].to_string().contains("instance 2"), "{released}");
    } else {
        let error = |lines: &[(String, String)]| lines[0].1.parse::<f64>().unwrap();
        assert!(missing == 0 && error(&part) > error(&whole), "{part:?} {whole:?}");
    }
    assert_eq!(ledger(&town).len(), 1);

    // No batch of the dead instance exists.
    assert!(waiting(&town, 2, epoch).is_none() && tally(&town, 2, epoch).is_none());
    tick(&town, epoch);
    let batch = |name: &String| name.contains(&epoch.to_string()) && name.contains("batch");
    assert!(!files(&town, Place::hop(2, 2)).iter().any(batch), "{:?}", files(&town, Place::hop(2, 2)));
    (town, answered)
}

/// The hop comes back, and with it the batch: the same release, finer, at no cost.
fn refined(killed: Place, survey: &Survey) {
    let (mut town, answered) = without(killed, survey);
    let (epoch, before) = (answered.epoch, ledger(&town));
    let first = release(&town, epoch);
    town.start(killed, None);
    until_taken(&town, &[2], epoch);
    let released = release(&town, epoch);
    assert_eq!(released["instances_present"], json!([1, 2, 3]));
    assert_eq!(table(&released), answered.in_memory(&[1, 2, 3]), "as if nothing had been late");
    assert_eq!(ledger(&town), before, "one entry, and the same");
    for same in ["epsilon_spent", "epsilon_central", "respondents"] {
        assert_eq!(released[same], first[same], "{same}");
    }
    assert_eq!(released["missing"], json!(0));
    assert!(released["noise_floor"].as_f64() <= first["noise_floor"].as_f64());
}

#[test]
fn a_release_is_made_without_an_instance_and_refined_when_it_is_back() {
    side_by_side(&[
        ("without a last hop", &|| refined(Place::hop(2, 2), &three_instances(ATTRIBUTE_FRAGMENTS, 9))),
        ("without a first hop", &|| refined(Place::hop(2, 1), &three_instances(REPORT_FRAGMENTS, 16))),
        ("with a hop that is reset", &given_up),
    ]);
}

/// A hop that its operator resets states nothing about what it gave up: its instance stays away, and the release stays as it is.
fn given_up() {
    let killed = Place::hop(2, 1);
    let (mut town, answered) = without(killed, &three_instances(ATTRIBUTE_FRAGMENTS, 9));
    let before = ledger(&town);
    let reset = THRONG.shuffler(&town.config(killed)).arg("--reset").output().unwrap();
    assert!(reset.status.success(), "{}", String::from_utf8_lossy(&reset.stderr));
    town.start(killed, None);
    // It goes on with the next epoch, which it closes and states.
    let next = answered.epoch + 1;
    let stated = |epoch| town.call(None, killed, Method::GET, town.route(2, epoch), "statement", &[]).0;
    until("a statement after the reset", || {
        (next..SystemClock.now_s() / town.shape.epoch_s).any(|epoch| stated(epoch) == 200)
    });
    assert_ne!(stated(answered.epoch), 200, "nothing is said of what was given up");
    let released = release(&town, answered.epoch);
    assert_eq!(released["instances_present"], json!([1, 3]));
    assert_eq!(released["instances_destroyed"], json!([]));
    assert_eq!(table(&released), answered.in_memory(&[1, 3]));
    assert_eq!(ledger(&town), before);
    let kept = files(&town, killed);
    assert!(kept.contains(&"journal".to_owned()), "{kept:?}");
}

/// What a hop has on disk.
fn files(town: &Town, place: Place) -> Vec<String> {
    let files = fs::read_dir(town.data(place)).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}
