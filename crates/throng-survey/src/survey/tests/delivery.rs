//! Epochs, payloads, and how long batches are kept.

use super::*;

#[test]
fn epochs_follow_the_clock() {
    let survey = Survey::from_toml(&sample()).unwrap();
    assert_eq!((survey.epoch_at(0), survey.epoch_at(86399), survey.epoch_at(86400)), (0, 0, 1));
    assert_eq!(survey.epoch_end_s(survey.epoch_at(1_700_000_000)) % 86400, 0);
    assert_eq!(survey.epoch_at(survey.epoch_end_s(7)), 8);
}

/// How long a payload is follows from the survey; in version 1 it is the same for all.
#[test]
fn a_payload_is_as_long_as_the_survey_has_it() {
    let survey = Survey::from_toml(&sample()).unwrap();
    assert_eq!(survey.payload_len(), 8);
    let delivery = &survey.delivery;
    assert_eq!(survey.body_len(), crate::lengths::body_len(8, delivery.hops, delivery.envelopes));
    assert_eq!((survey.issuer(), survey.hop_noise()), (Issuer::FirstHops, HopNoise::None));
}

#[test]
fn sealed_batches_are_kept_for_a_month_or_as_long_as_the_survey_says() {
    let sample = Survey::from_toml(&sample()).unwrap();
    assert_eq!(sample.keep_sealed_s(), 30 * 86400);
    assert!(!sample.canonical().unwrap().contains("keep_sealed_s"), "older surveys keep their hash");
    let keep = |seconds: u64| {
        let mut survey = sample.clone();
        survey.delivery.keep_sealed_s = Some(seconds);
        survey.to_toml().and_then(|text| Survey::from_toml(&text)).map(|read| read.keep_sealed_s())
    };
    assert_eq!(keep(sample.epoch_s), Ok(sample.epoch_s));
    assert!(keep(sample.epoch_s - 1).is_err() && keep(u64::MAX).is_err());
    let long = Survey { epoch_s: 40 * 86400, ..sample.clone() };
    assert_eq!(long.keep_sealed_s(), 40 * 86400, "no less than an epoch");
}

#[test]
fn batches_wait_for_a_month_or_as_long_as_the_survey_says() {
    let sample = Survey::from_toml(&sample()).unwrap();
    assert_eq!(sample.keep_batches_s(), 30 * 86400);
    assert!(!sample.canonical().unwrap().contains("keep_batches_s"));
    let keep = |seconds: u64| {
        let mut survey = sample.clone();
        survey.delivery.keep_batches_s = Some(seconds);
        survey.to_toml().and_then(|text| Survey::from_toml(&text)).map(|read| read.keep_batches_s())
    };
    assert_eq!(keep(sample.epoch_s), Ok(sample.epoch_s));
    let mut stated = sample.clone();
    stated.delivery.keep_batches_s = Some(86400);
    assert!(
        stated.canonical().unwrap().contains("\"instances\":3,\"keep_batches_s\":86400"),
        "its place in JSON"
    );
    let refused = keep(sample.epoch_s - 1).unwrap_err().to_string();
    assert!(refused.contains("delivery.keep_batches_s") && keep(u64::MAX).is_err(), "{refused}");
    let long = Survey { epoch_s: 40 * 86400, ..sample.clone() };
    assert_eq!(long.keep_batches_s(), 40 * 86400, "no less than an epoch");
}
