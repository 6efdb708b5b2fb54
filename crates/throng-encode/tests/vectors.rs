//! From values to fragments to instances, against what another implementation makes of docs/wire-format.md
//! (tests/vectors/make.py).

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde_json::{Value as Json, json};
use throng_dp::sampling::Bernoulli;
use throng_dp::{Epsilon, Value};
use throng_encode::{EpochChoice, Routing, Schedule, StoredBackstop, StoredCoins, label};
use throng_wire::Survey;

fn vectors() -> Json {
    serde_json::from_str(include_str!("vectors/draws.json")).expect("make.py writes JSON")
}

/// The randomness of one step.
fn rng(case: &Json, step: &str) -> ChaCha20Rng {
    let hex = case["keys"][step].as_str().unwrap();
    let key = std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap());
    ChaCha20Rng::from_seed(key)
}

fn value(case: &Json) -> Option<Value> {
    let number = |one: &Json| one.as_u64().map(|value| value as u32);
    match &case["value"] {
        Json::Null => None,
        Json::Array(record) => Some(record.iter().map(number).collect::<Vec<_>>().into()),
        one => Some(one.as_u64().unwrap().into()),
    }
}

/// Row and bits of a stored backstop: kind (1), threshold (16), for a sketch one row (4 + 4), and bits (4 + 4 each).
fn row_and_bits(backstop: &StoredBackstop, has_row: bool) -> (Option<u32>, Vec<u32>) {
    let bytes = backstop.to_bytes();
    let mut numbers = bytes[17..].as_chunks().0.iter().map(|four| u32::from_be_bytes(*four));
    let row = has_row.then(|| numbers.by_ref().nth(1).unwrap());
    (row, numbers.skip(1).collect())
}

#[test]
fn randomness_and_coins_are_those_of_another_implementation() {
    let vectors = vectors();
    let mut rng = ChaCha20Rng::from_seed(std::array::from_fn(|i| i as u8));
    let mut stream = Vec::new();
    for length in [8, 4, 8, 4, 8] {
        stream.push(if length == 8 { rng.next_u64() } else { u64::from(rng.next_u32()) });
    }
    assert_eq!(json!(stream), vectors["stream"]);
    for vector in vectors["thresholds"].as_array().unwrap() {
        let epsilon = Epsilon::new(vector["epsilon"].as_f64().unwrap()).unwrap();
        let threshold = Bernoulli::flip(epsilon).unwrap().threshold().to_string();
        assert_eq!(json!(threshold), vector["threshold"]);
    }
}

#[test]
fn values_become_the_fragments_of_another_implementation() {
    let vectors = vectors();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let what = &case["what"];
        let survey = Survey::from_toml(case["survey_toml"].as_str().unwrap()).unwrap();
        let mechanism = survey.mechanism().unwrap();
        let value = value(case);
        let fragments = match StoredCoins::draw(&mechanism, &mut rng(case, "report")).unwrap() {
            Some(coins) => {
                let backstop = coins.backstop(&mechanism, value.as_ref()).unwrap();
                let (_, silent) =
                    row_and_bits(&coins.backstop(&mechanism, None).unwrap(), case.get("row").is_some());
                let (row, bits) = row_and_bits(&backstop, case.get("row").is_some());
                let of_row = |bits: &[u32]| {
                    json!(bits.iter().map(|bit| bit - row.unwrap_or(0) * 24).collect::<Vec<_>>())
                };
                assert_eq!(of_row(&silent), case["silent"], "{what}");
                assert_eq!(of_row(&bits), case["bits"], "{what}");
                assert_eq!(json!(row), case["row"], "{what}");
                backstop.fragments(&mechanism, &mut rng(case, "fragments")).unwrap()
            }
            None => mechanism.randomize(value.as_ref(), &mut rng(case, "report")).unwrap(),
        };
        assert_eq!(json!(fragments.attributes()), case["fragments"], "{what}");

        let number = label::draw(&survey, case["label"].as_str(), &mut rng(case, "label")).unwrap();
        assert_eq!(json!(number), case["label_number"], "{what}");
        let routing = Routing::of(&survey, number, fragments.tau()).unwrap();
        let routed = routing.route(fragments.attributes(), &mut rng(case, "routing"));
        assert_eq!(json!(routed), case["instances"], "{what}");

        let when = if case["when"] == "next" { EpochChoice::NextEpoch } else { EpochChoice::CurrentEpoch };
        let schedule = Schedule::new(&survey, when, case["now_ms"].as_u64().unwrap()).unwrap();
        assert_eq!(json!(schedule.epoch()), case["epoch"], "{what}");
        let times = &mut rng(case, "times");
        let drawn: Vec<u64> = routed.iter().map(|_| schedule.draw_ms(times)).collect();
        assert_eq!(json!(drawn), case["send_at_ms"], "{what}");
    }
}
