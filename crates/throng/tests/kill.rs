//! Attacks 6 and 24 on real processes: a hop is ended without a word in every single operation of its store.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[path = "support/town.rs"]
mod town;

use std::thread;
use std::time::Duration;

use hyper::Method;
use throng::net::client::SendError;
use throng_wire::{Place, Route};

use town::{Shape, Town, sender};

/// Ends hop 1, or hop 2, in operation `number` of its store, for every number there is. Towns run side by side, as most of
/// their time is waiting for the end of an epoch.
fn in_every_operation(hop: u32) {
    const SIDE_BY_SIDE: u64 = 24;
    for start in (0..).step_by(SIDE_BY_SIDE as usize) {
        let died: Vec<bool> = thread::scope(|scope| {
            let towns: Vec<_> = (start..start + SIDE_BY_SIDE)
                .map(|number| scope.spawn(move || a_day_with_an_end(hop, number)))
                .collect();
            towns.into_iter().map(|town| town.join().unwrap()).collect()
        });
        if !died.contains(&true) {
            assert!(start > 0, "no hop ended at all");
            return;
        }
    }
}

/// Eight people answer; whatever happens to a hop, each is counted once and the batch is one. Says whether it ended.
fn a_day_with_an_end(hop: u32, number: u64) -> bool {
    let hops = 2;
    let mut town = Town::new(Shape { instances: 1, hops, epoch_s: 3, tls: false, labels: false }, 8);
    let victim = Place::hop(1, hop);
    for place in town.hops() {
        town.start(place, (place == victim).then_some(number));
    }
    let mut died = town.revive(victim);
    // On a machine that has much else to do an epoch may end too early; then the next one is as good.
    let route = loop {
        let route = town.route(1, town.next_epoch());
        if everyone_answers(&mut town, victim, route, &mut died).is_some() {
            break route;
        }
    };
    let first = loop {
        let last = Place::hop(1, hops);
        let (status, _) = town.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]);
        died |= town.revive(victim);
        if status == 200 {
            break town.pull(route);
        }
        thread::sleep(Duration::from_millis(30));
    };
    assert_eq!(first.sorted(), (0..8).collect::<Vec<_>>(), "operation {number} of hop {hop}");
    town.kill(Place::hop(1, hops));
    town.start(Place::hop(1, hops), None);
    let again = town.pull(route);
    assert_eq!(again.envelopes, first.envelopes, "operation {number} of hop {hop}");
    assert_eq!(town.acknowledge(route, again.digest()), 204);
    died
}

/// Eight people answer and have their receipts, twice the same; or the epoch is over before.
fn everyone_answers(town: &mut Town, victim: Place, route: Route, died: &mut bool) -> Option<()> {
    let sender = sender();
    let bodies: Vec<Vec<u8>> = (0..8).map(|value| town.body(route, value)).collect();
    let mut receipts = Vec::new();
    // The second time whoever was acknowledged gets the same receipt, whatever happened since.
    for (person, body) in bodies.iter().enumerate().chain(bodies.iter().enumerate()) {
        let receipt = loop {
            match town.send(&sender, route, person, body) {
                Ok(receipt) => break receipt,
                Err(SendError::Refused(text)) if text.contains("closed") => return None,
                Err(_) => *died |= town.revive(victim),
            }
            thread::sleep(Duration::from_millis(10));
        };
        receipts.push(receipt);
    }
    *died |= town.revive(victim);
    assert_eq!(receipts[..8], receipts[8..], "the same receipts");
    Some(())
}

#[test]
fn hop_1_is_ended_in_every_operation() {
    in_every_operation(1);
}

#[test]
fn hop_2_is_ended_in_every_operation() {
    in_every_operation(2);
}
