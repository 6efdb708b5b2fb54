//! A release that is written and read back.

use serde_json::Value;
use throng_survey::{CentralPromise, CollusionPromise, LocalPromise};

use super::*;
use crate::analysis::lies::{DoubtJson, OneLiarJson, WithheldValue};

/// A release with something in every field that is often empty, for tests.
pub(crate) fn sample() -> ReleaseSummary {
    ReleaseSummary {
        survey: "07".repeat(32),
        name: "colours".into(),
        question: "Which one?".into(),
        label: Some("north".into()),
        epoch: 7,
        domain: 16,
        respondents: 3000,
        respondents_estimated: 3001,
        instances: 3,
        instances_present: vec![1, 3],
        instances_respondents: vec![3000, 3002],
        instances_outside: vec![4],
        instances_destroyed: vec![2],
        instances_sealed: vec![5],
        promise: Promise {
            central: CentralPromise {
                epsilon_central: 0.1 + 0.2,
                delta: 1e-6,
                neighbors: "removal".into(),
                bound: "exact".into(),
            },
            honest_respondents: 2700,
            local: LocalPromise { epsilon_local: 4.0, backstop: true },
            collusion: CollusionPromise {
                epsilon_if_instances_compromised: vec![1.5, 3.0],
                epsilon_with_release_if_instances_compromised: vec![4.0, 4.0],
            },
        },
        assumptions: vec!["Some are honest.".into()],
        population: "people".into(),
        epsilon_spent: 0.5,
        epsilon_budget: 3.0,
        delta_budget: 1e-5,
        rejected: RejectedCounts {
            length: 1,
            key: 2,
            seal: 3,
            content: 4,
            duplicates: 5,
            foreign: 6,
            chaff: 7,
        },
        noise_floor: 3.0,
        noise_threshold: 12.25,
        significant: 1,
        missing: 2,
        beta: BETA,
        confidence: 0.95,
        lies: Lies {
            one_liar: OneLiarJson { envelopes: 9, estimate_up_max: 9.5, estimate_down_max: 1.25 },
            liars: 1,
            noise_threshold_with_liars: 21.75,
            significant_with_liars: 0,
            false_alarm: 1e-6,
            doubts: vec![DoubtJson { mark: "total-above".into(), reason: "Too many.".into() }],
            withheld_values: 1,
            withheld: vec![WithheldValue {
                value: 5,
                name: "red".into(),
                mark: Mark::Implausible,
                reason: "180 fragments".into(),
            }],
        },
        top: vec![ReleasedValue {
            value: 2,
            name: "blue".into(),
            estimate: 20.0,
            standard_error: 3.5,
            low: 13.0,
            high: 27.0,
            significant: true,
            low_with_liars: 3.5,
            high_with_liars: 28.25,
            significant_with_liars: false,
            mark: Some(Mark::Liars),
        }],
        files: vec!["release.json".into()],
        directory: Some("here".into()),
    }
}

/// What is published is read back as it was, and is written as it was read.
#[test]
fn a_release_is_read_by_the_type_that_wrote_it() {
    let full = sample();
    let mut sparse = sample();
    (sparse.label, sparse.directory, sparse.top[0].mark) = (None, None, None);
    (sparse.instances_outside, sparse.instances_sealed) = (Vec::new(), Vec::new());
    for released in [full, sparse] {
        let text = serde_json::to_string_pretty(&released).unwrap();
        let read: ReleaseSummary = serde_json::from_str(&text).unwrap();
        assert_eq!(read, released);
        assert_eq!(serde_json::to_string_pretty(&read).unwrap(), text);
    }
    let fields = serde_json::to_value(sample()).unwrap();
    assert_eq!(
        (&fields["top"][0]["mark"], &fields["withheld"][0]["mark"]),
        (&"liars".into(), &"implausible".into())
    );
}

/// A release that lacks a field of a promise, or any other that is always there, is none.
#[test]
fn a_release_without_one_of_its_fields_is_not_read() {
    let whole = serde_json::to_value(sample()).unwrap();
    let optional = ["label", "instances_outside", "instances_sealed", "directory"];
    for name in whole.as_object().unwrap().keys() {
        let mut fields = whole.clone();
        fields.as_object_mut().unwrap().remove(name);
        let read: Result<ReleaseSummary, _> = serde_json::from_value::<ReleaseSummary>(fields);
        assert_eq!(read.is_ok(), optional.contains(&name.as_str()), "{name}");
    }
    assert!(serde_json::from_value::<ReleaseSummary>(Value::Array(Vec::new())).is_err());
}
