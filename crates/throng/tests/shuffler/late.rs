//! Batches that nobody comes for: a store does not grow for ever.

use std::fs;

use hyper::Method;
use throng_testing::logs;
use throng_testing::town::{Shape, Town};
use throng_wire::{EpochStatement, Place, Signed};

use crate::THRONG;

/// The sizes of a survey whose batches wait for one epoch.
fn short(hops: u32) -> Town {
    let shape = Shape { instances: 1, hops, epoch_s: 3, tls: true, labels: false };
    let mut survey = Town::new(THRONG, shape, 0).deployment.bundle.survey().survey().clone();
    survey.parties = None;
    (survey.epoch_s, survey.delivery.keep_batches_s) = (shape.epoch_s, Some(shape.epoch_s));
    Town::of(THRONG, &survey, true, 6)
}

fn erased(town: &Town, place: Place) -> Option<u64> {
    let events = logs::events(town, place);
    events.iter().find(|event| event["event"] == "batch-erased").map(|event| event["epoch"].as_u64().unwrap())
}

#[test]
fn a_batch_that_the_analyzer_does_not_take_is_erased_and_its_statement_stays() {
    let (mut town, last) = (short(1), Place::hop(1, 1));
    town.start_all();
    let epoch = town.next_epoch();
    let (route, sender) = (town.route(1, epoch), throng_testing::town::sender());
    for person in 0..6 {
        town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
    }
    let stated = town.pull(route).statements[0];
    logs::wait_for(&town, last, |event| event["event"] == "batch-erased" && event["epoch"] == epoch);
    assert!(!town.data(last).join(format!("0-{epoch}.batch")).exists());
    for again in [false, true] {
        if again {
            town.restart(last);
        }
        let (status, text) = town.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]);
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(status == 410 && text.contains("urn:throng:error:expired"), "{status} {text}");
        let (status, bytes) = town.call(None, last, Method::GET, route, "statement", &[]);
        let statement = Signed::<EpochStatement>::from_bytes(&bytes).unwrap();
        assert_eq!((status, *statement.claimed()), (200, stated));
    }
    let numbers = town.ask(last, "/metrics").1;
    assert!(numbers.contains("throng_batches_erased_total{party=\"instance-1-hop-1\""), "{numbers}");
    assert!(fs::read_dir(town.data(last)).unwrap().count() < 20, "the store does not grow");
}

/// Where the next hop stays away it is the same: that one has no keys for the batch any more.
#[test]
fn a_batch_that_the_next_hop_does_not_take_is_erased() {
    let (mut town, first) = (short(2), Place::hop(1, 1));
    town.start(first, None);
    logs::wait_for(&town, first, |event| event["event"] == "batch-erased");
    let epoch = erased(&town, first).unwrap();
    assert_eq!(town.call(None, first, Method::GET, town.route(1, epoch), "statement", &[]).0, 200);
}
