//! A full epoch of every kind of survey, from respondents to its release.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use throng_dp::{Tally, Value};
use throng_serve::analysis::TallyFiles;
use throng_testing::crowd::{ATTRIBUTE_FRAGMENTS, ONE_HOT, REPORT_FRAGMENTS, side_by_side, survey};
use throng_testing::town::{Town, sender};
use throng_wire::{Place, Route, Survey};

use crate::THRONG;

/// Everybody answers in one epoch, with what seeds say, and everything is released. Returns the epoch, and what encoders in
/// memory make of the same values and seeds, by label.
pub(crate) fn answered(town: &mut Town, people: u64, labels: u32) -> (u64, BTreeMap<u32, Tally>) {
    let domain = town.deployment.bundle.survey().survey().domain();
    // One of them has nothing to say.
    answered_with(town, people, labels, |person| (person > 0).then_some((person % domain).into()))
}

/// The same with other values.
pub(crate) fn answered_with(
    town: &mut Town,
    people: u64,
    labels: u32,
    value: impl Fn(u64) -> Option<Value>,
) -> (u64, BTreeMap<u32, Tally>) {
    let survey = town.deployment.bundle.survey().survey().clone();
    let sender = sender();
    // On a machine that has much else to do an epoch may end too early; then the next one is as good.
    loop {
        let epoch = town.next_epoch();
        let mut memory: BTreeMap<u32, Tally> = BTreeMap::new();
        let all = (0..people).try_for_each(|person| {
            let label = if labels == 0 { 0 } else { 1 + person as u32 % labels };
            let seed = 1000 * epoch + person;
            let fragments = town.answer(&sender, person as usize, (label, epoch), value(person), seed)?;
            let tally = memory.entry(label).or_insert_with(|| survey.mechanism().unwrap().tally().unwrap());
            tally.add_fragments(fragments.attributes()).unwrap();
            tally.add_respondents(1);
            Ok::<(), throng_host::net::client::SendError>(())
        });
        if all.is_ok() {
            return (epoch, memory);
        }
    }
}

/// The estimates of a release, as its table has them.
pub(crate) fn estimates(release: &serde_json::Value) -> Vec<String> {
    let text = fs::read_to_string(directory(release).join("estimates.csv")).unwrap();
    text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect()
}

/// Where the files of a release are.
fn directory(release: &serde_json::Value) -> &Path {
    Path::new(release["directory"].as_str().unwrap())
}

/// Anyone who has its files finds that it holds.
fn verified(release: &serde_json::Value) {
    let verdict = throng_serve::verify::verify(directory(release), None).unwrap();
    assert!(verdict.holds, "{verdict}");
}

/// The same of a tally in memory.
pub(crate) fn in_memory(survey: &Survey, tally: &Tally) -> Vec<String> {
    let estimates = survey.mechanism().unwrap().estimate(tally).unwrap();
    estimates.counts().iter().map(|count| format!("{count:.3}")).collect()
}

fn a_full_epoch(survey: &Survey) {
    let mut town = Town::of(THRONG, survey, true, 8);
    town.start_all();
    town.start(Place::Analyzer, None);
    let (epoch, memory) = answered(&mut town, 8, 0);
    let epoch_text = epoch.to_string();
    let release = town.release(&["--epoch", &epoch_text, "--wait-s", "30"]).unwrap();
    assert_eq!(release["instances_present"], serde_json::json!([1, 2]), "{release}");
    assert_eq!((release["respondents"].as_u64(), release["epoch"].as_u64()), (Some(8), Some(epoch)));
    assert_eq!(estimates(&release), in_memory(survey, &memory[&0]), "the same seeds, the same estimates");
    let number = |name: &str| release[name].as_f64().unwrap();
    assert!(number("epsilon_central") <= 8.0 && number("epsilon_local") >= number("epsilon_central"));
    assert!(number("epsilon_spent") <= number("epsilon_central") * 1.001, "{release}");
    assert!(number("noise_floor") > 0.0);
    for reason in ["length", "key", "seal", "content", "duplicates", "foreign", "chaff"] {
        assert_eq!(release["rejected"][reason], 0, "{reason}");
    }
    for file in release["files"].as_array().unwrap() {
        assert!(fs::metadata(directory(&release).join(file.as_str().unwrap())).unwrap().len() > 0);
    }
    verified(&release);
    // The same again costs nothing, and is the same.
    assert_eq!(town.release(&["--epoch", &epoch_text]).unwrap(), release);
    let ledger = fs::read_to_string(town.path(Place::Analyzer, "data/ledger")).unwrap();
    assert_eq!(ledger.lines().count(), 1, "{ledger}");
}

#[test]
fn every_kind_of_survey_is_released_as_in_memory() {
    let sketch = r#"{ kind = "sketch", domain = 100, rows = 2, cells = 16, seed = 5 }"#;
    side_by_side(&[
        ("one-hot", &|| a_full_epoch(&survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""))),
        ("report fragments", &|| a_full_epoch(&survey(ONE_HOT, REPORT_FRAGMENTS, 16, ""))),
        ("sketch", &|| a_full_epoch(&survey(sketch, ATTRIBUTE_FRAGMENTS, 12, ""))),
        ("records", &records),
    ]);
}

/// Several attributes under one budget: everybody reports on one of them, and nobody sees which.
fn records() {
    let record =
        r#"{ kind = "record", attributes = [{ name = "age", values = 5 }, { name = "sex", values = 3 }] }"#;
    let survey = survey(record, ATTRIBUTE_FRAGMENTS, 9, "");
    let mut town = Town::of(THRONG, &survey, true, 8);
    town.start_all();
    town.start(Place::Analyzer, None);
    let value =
        |person: u64| Value::Record(vec![Some(person as u32 % 5), person.is_multiple_of(2).then_some(2)]);
    let (epoch, memory) = answered_with(&mut town, 8, 0, |person| Some(value(person)));
    let release = town.release(&["--epoch", &epoch.to_string(), "--wait-s", "30"]).unwrap();
    assert_eq!(estimates(&release), in_memory(&survey, &memory[&0]));
    verified(&release);
    assert_eq!(release["domain"], 8);
    let names: Vec<&str> =
        release["top"].as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"age = 4") && names.contains(&"sex = 2"), "{names:?}");
}

/// Every label has a crowd of its own, of whom each instance deletes some. Fragments under `fr` go to instance 2 alone: instance
/// 1 counts the same crowd, and its last hop is left with nothing to hand on.
#[test]
fn labelled_crowds_are_released_one_by_one() {
    let labels = "[labels]\nnames = [\"de\", \"fr\"]\nepsilon_deletion = 4.0\ndelta_deletion = 1e-2\n\
                  profiles = { fr = [2] }\n";
    let draft = survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, labels);
    let claim = throng_wire::survey::Claim { epsilon_central: 9.0, delta: 0.5, ..draft.claim.clone() };
    let crowd = throng_wire::survey::Crowd { respondents_min: 30, ..draft.crowd.clone() };
    let mut town = Town::of(THRONG, &Survey { claim, crowd, ..draft }, true, 80);
    town.start_all();
    town.start(Place::Analyzer, None);
    let (number, _) = answered(&mut town, 80, 2);
    let epoch = number.to_string();
    let refused = town.release(&["--epoch", &epoch, "--wait-s", "30"]).unwrap_err();
    assert!(
        refused.0 == 2 && refused.1.contains("--label: choose one of the survey's labels: de, fr"),
        "{refused:?}"
    );
    let all_or_one = [("de", 2, json!([1, 2]), serde_json::Value::Null), ("fr", 1, json!([2]), json!([1]))];
    for (label, instances, present, outside) in all_or_one {
        let release = town.release(&["--epoch", &epoch, "--label", label, "--wait-s", "30"]).unwrap();
        assert_eq!((&release["label"], &release["instances"]), (&json!(label), &json!(instances)));
        assert_eq!((&release["instances_present"], &release["instances_outside"]), (&present, &outside));
        assert_eq!(release["epsilon_if_instances_compromised"].as_array().unwrap().len(), instances);
        let respondents = release["respondents"].as_u64().unwrap();
        assert!((30..=40).contains(&respondents), "{respondents} of 40 are left");
        verified(&release);
        assert!(release["honest_respondents"].as_u64().unwrap() < respondents);
        let counted_on = format!("leaves at least {} of the honest ones", release["honest_respondents"]);
        let assumed = release["assumptions"][0].as_str().unwrap();
        assert!(assumed.contains(&counted_on), "{assumed}");
    }
    let signed = town.deployment.bundle.survey();
    let tallies = TallyFiles::new(&town.path(Place::Analyzer, "data"), signed.hash());
    let counted = |label, instance| {
        let route = Route { survey: signed.hash(), label, epoch: number, instance };
        tallies.read(signed.survey(), &route).unwrap().unwrap().counted.unwrap()
    };
    assert_eq!((counted(2, 1).envelopes, counted(2, 1).tally.counts().sum::<u64>()), (0, 0));
    assert!(counted(2, 1).tally.respondents() >= 30);
    // Who answers under `de` holds an even value, and these belong to instance 1: all that instance 2 has are bits that were
    // flipped, and may be none.
    for (label, instance, some) in [(1, 1, true), (1, 2, false), (2, 2, true)] {
        let fragments = counted(label, instance).tally.counts().sum::<u64>();
        assert!(
            (fragments > 0 || !some) && counted(label, instance).envelopes == fragments,
            "{label}, {instance}: {fragments}"
        );
    }
    let ledger = fs::read_to_string(town.path(Place::Analyzer, "data/ledger")).unwrap();
    assert!(
        ledger.lines().count() <= 2 && ledger.contains("\"honest\"") && !ledger.contains("deletion"),
        "one entry, or a worse one: {ledger}"
    );
}

/// Below the crowd there is nothing, and the analyzer says so.
#[test]
fn a_crowd_that_is_too_small_is_destroyed_visibly() {
    let mut town = Town::of(THRONG, &survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""), true, 8);
    town.start_all();
    town.start(Place::Analyzer, None);
    let (epoch, _) = answered(&mut town, 5, 0);
    let refused = town.release(&["--epoch", &epoch.to_string(), "--wait-s", "30"]).unwrap_err();
    assert_eq!(refused.0, 1, "{}", refused.1);
    assert!(refused.1.contains("fewer than 6 respondents took part"), "{}", refused.1);
    let unknown = town.release(&["--epoch", "7"]).unwrap_err();
    assert!(unknown.0 == 2 && unknown.1.contains("no batch of epoch 7"), "{}", unknown.1);
}
