//! Clocks that are stepped while everything runs.

use std::fs;

use hyper::Method;
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::client::SendError;
use throng_testing::crowd::{
    Turnout, everyone, ledger, one_instance, release, side_by_side, table, tally, tick, until_taken,
};
use throng_testing::patience::until;
use throng_testing::town::{Town, sender};
use throng_wire::Place;

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const LAST: Place = Place::Hop { instance: 1, hop: 2 };
const DAY: i64 = 86_400;

fn town() -> Town {
    let mut town = Town::of(THRONG, &one_instance(), true, 8);
    town.start_all();
    town.start(Place::Analyzer, None);
    town
}

fn is_decided(town: &Town, place: Place, epoch: u64) -> bool {
    town.call(None, place, Method::GET, town.route(1, epoch), "statement", &[]).0 == 200
}

fn batch(town: &Town, epoch: u64) -> u16 {
    town.call(Some(Place::Analyzer), LAST, Method::GET, town.route(1, epoch), "batch", &[]).0
}

/// An epoch whose result is as it should be, whatever has happened before.
fn goes_on(town: &mut Town) {
    let answered = everyone(town, 8, |_, _| {});
    is_released(town, &answered);
}

fn is_released(town: &Town, answered: &Turnout) {
    until_taken(town, &[1], answered.epoch);
    assert_eq!(table(&release(town, answered.epoch)), answered.in_memory(&[1]));
}

/// A first hop that is an epoch ahead closes early, but those behind it wait until the epoch is over for them, too.
fn ahead_by_an_epoch() {
    let mut town = Town::of(THRONG, &one_instance(), true, 8);
    town.start_all();
    // The hop behind and the analyzer are far back, so that what they refuse does not depend on how fast this test is.
    let answered = everyone(&mut town, 8, |town, _| town.step_clock(LAST, -DAY));
    let epoch = answered.epoch;
    town.step_clock(FIRST, town.shape.epoch_s as i64);
    until("the first hop has closed", || is_decided(&town, FIRST, epoch));
    let names = |line: &str| line.contains(&epoch.to_string()) && line.contains("early");
    until("the last hop refuses", || town.log(FIRST).lines().any(names));
    assert!(!is_decided(&town, LAST, epoch), "nothing is released early");
    town.step_clock(FIRST, 0);

    // Nobody answers in an epoch that was closed, though by the clock it may last.
    let (route, body) = (town.route(1, epoch), town.body(town.route(1, epoch), 1));
    match town.send(&sender(), route, 0, &body) {
        Err(SendError::WrongTime { reason, over: true, .. }) => {
            assert!(reason.contains("closed"), "{reason}");
        }
        other => panic!("{other:?}"),
    }

    town.step_clock(LAST, 0);
    until("the last hop has it, once it is over", || is_decided(&town, LAST, epoch));
    assert!(SystemClock.now_s() >= (epoch + 1) * town.shape.epoch_s, "not before");
    town.step_clock(Place::Analyzer, -DAY);
    town.start(Place::Analyzer, None);
    until("the analyzer does not take it", || {
        town.log(Place::Analyzer).contains("before it is over by the clock of this machine")
    });
    assert!(tally(&town, 1, epoch).is_none());
    assert_eq!(batch(&town, epoch), 200, "it is kept for it");
    // Set right by a day, it has jumped as far as the process can tell; whoever sets it starts it again.
    town.step_clock(Place::Analyzer, 0);
    town.restart(Place::Analyzer);
    is_released(&town, &answered);
    goes_on(&mut town);
}

/// A clock that jumps far ahead is not believed: nothing is closed, taken or erased until it is right again.
fn ahead_by_a_year() {
    let mut town = town();
    let answered = everyone(&mut town, 8, |_, _| {});
    let epoch = answered.epoch;
    let keys = |place| fs::read_to_string(town.path(place, "layer.keys")).unwrap();
    let before: Vec<String> = [FIRST, LAST, Place::Analyzer].map(keys).into();
    for place in [FIRST, LAST, Place::Analyzer] {
        town.step_clock(place, 400 * DAY);
    }
    for place in [FIRST, LAST, Place::Analyzer] {
        until("it is noticed", || town.log(place).contains("the clock has jumped ahead"));
    }
    // Respondents are told to come again, not that it is too late.
    let route = town.route(1, epoch);
    match town.send(&sender(), route, 0, &town.body(route, 1)) {
        Err(SendError::Unreachable(text)) => assert!(text.contains("503 clock"), "{text}"),
        other => panic!("{other:?}"),
    }
    tick(&town, epoch);
    assert!([FIRST, LAST, Place::Analyzer].map(keys).to_vec() == before, "no key is erased");
    for place in [FIRST, LAST, Place::Analyzer] {
        town.step_clock(place, 0);
    }
    is_released(&town, &answered);
    goes_on(&mut town);
}

/// Clocks that go back by an epoch or a day open nothing again, and release nothing twice.
fn back(seconds: i64) {
    let mut town = town();
    let answered = everyone(&mut town, 8, |_, _| {});
    is_released(&town, &answered);
    let (epoch, stored, spent) = (answered.epoch, tally(&town, 1, answered.epoch), ledger(&town));
    until("the batch is gone", || batch(&town, epoch) == 410);
    for place in [FIRST, LAST, Place::Analyzer] {
        town.step_clock(place, -seconds);
    }
    let (sender, route) = (sender(), town.route(1, epoch));
    match town.send(&sender, route, 0, &town.body(route, 1)) {
        Err(SendError::WrongTime { reason, over: true, .. }) => {
            assert!(reason.contains("closed"), "{reason}");
        }
        // By its clock the epoch has not begun.
        Err(SendError::WrongTime { reason, over: false, .. }) => {
            assert!(reason.contains("early"), "{reason}");
        }
        other => panic!("the epoch is open again: {other:?}"),
    }
    // A start changes nothing about that.
    for place in [FIRST, LAST, Place::Analyzer] {
        town.restart(place);
    }
    assert_eq!(batch(&town, epoch), 410);
    for place in [FIRST, LAST, Place::Analyzer] {
        town.step_clock(place, 0);
        // Ahead of where it began, by as much as it was back: whoever sets a clock right starts again.
        town.restart(place);
    }
    goes_on(&mut town);
    assert_eq!((tally(&town, 1, epoch), batch(&town, epoch)), (stored, 410));
    assert_eq!(ledger(&town)[..1], spent, "the first release is as it was");
    assert_eq!(table(&release(&town, epoch)), answered.in_memory(&[1]));
}

#[test]
fn clocks_that_are_stepped_release_nothing_early_and_nothing_twice() {
    side_by_side(&[
        ("ahead by an epoch", &ahead_by_an_epoch),
        ("ahead by a year", &ahead_by_a_year),
        ("back by an epoch", &|| back(4)),
        ("back by a day", &|| back(DAY)),
    ]);
}
