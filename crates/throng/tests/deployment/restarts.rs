//! Processes that are killed in the middle of their work, and started again.

use hyper::Method;
use throng_testing::crowd::{
    everyone, ledger, one_instance, release, side_by_side, table, tally, tick, waiting,
};
use throng_testing::patience::until;
use throng_testing::town::Town;
use throng_wire::{Digest, Place};

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const LAST: Place = Place::Hop { instance: 1, hop: 2 };

/// Where in an epoch a hop is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Intake,
    Tick,
    HandOn,
    Pull,
    Acknowledgement,
}

/// Whatever is killed, and when: everybody is counted once, with the same result.
fn killed_at(stage: Stage) {
    let mut town = Town::of(THRONG, &one_instance(), true, 8);
    town.start_all();
    match stage {
        Stage::Intake | Stage::Tick => town.start(Place::Analyzer, None),
        // The last hop is away, so the first one keeps its batch.
        Stage::HandOn => town.kill(LAST),
        Stage::Pull | Stage::Acknowledgement => {}
    }
    let answered = everyone(&mut town, 8, |town, _| {
        if stage == Stage::Intake {
            town.restart(FIRST);
            town.restart(LAST);
        }
    });
    let (epoch, route) = (answered.epoch, town.route(1, answered.epoch));
    let decided = |town: &Town, place| town.call(None, place, Method::GET, route, "statement", &[]).0 == 200;
    match stage {
        Stage::Intake => {}
        Stage::Tick => {
            town.kill(FIRST);
            tick(&town, epoch);
            town.start(FIRST, None);
        }
        Stage::HandOn => {
            until("the first hop has decided", || decided(&town, FIRST));
            town.restart(FIRST);
            town.start(LAST, None);
            town.start(Place::Analyzer, None);
        }
        Stage::Pull => {
            until("the last hop has decided", || decided(&town, LAST));
            town.restart(LAST);
            town.start(Place::Analyzer, None);
        }
        Stage::Acknowledgement => {
            until("the last hop has decided", || decided(&town, LAST));
            town.environment.insert(Place::Analyzer, ("THRONG_TEST_ABORT_AT", "sealed"));
            town.start(Place::Analyzer, None);
            town.wait_for_end(Place::Analyzer);
            town.restart(LAST);
            town.environment.clear();
            town.start(Place::Analyzer, None);
        }
    }
    until("the batch is taken", || {
        town.call(Some(Place::Analyzer), LAST, Method::GET, route, "batch", &[]).0 == 410
    });
    let released = release(&town, epoch);
    assert_eq!(released["respondents"], 8, "{stage:?}");
    assert_eq!(table(&released), answered.in_memory(&[1]), "{stage:?}");
    assert_eq!(ledger(&town).len(), 1);
}

#[test]
fn a_hop_that_is_killed_at_any_stage_changes_nothing() {
    side_by_side(&[
        ("during intake", &|| killed_at(Stage::Intake)),
        ("at the tick", &|| killed_at(Stage::Tick)),
        ("before it hands on", &|| killed_at(Stage::HandOn)),
        ("before the pull", &|| killed_at(Stage::Pull)),
        ("before the acknowledgement", &|| killed_at(Stage::Acknowledgement)),
    ]);
}

/// The analyzer ends where its environment says, and after the next start everything is there once.
fn analyzer_ends_when(place: &'static str) {
    let mut town = Town::of(THRONG, &one_instance(), true, 8);
    town.start_all();
    let answered = everyone(&mut town, 8, |_, _| {});
    let (epoch, route) = (answered.epoch, town.route(1, answered.epoch));
    let batch = |town: &Town| town.call(Some(Place::Analyzer), LAST, Method::GET, route, "batch", &[]).0;
    until("the batch is there", || batch(&town) == 200);
    // Epochs in which nobody had answered yet were destroyed; they are not what the analyzer should end at.
    for earlier in epoch - 100..epoch {
        town.acknowledge(town.route(1, earlier), Digest::of(&[]));
    }
    town.environment.insert(Place::Analyzer, ("THRONG_TEST_ABORT_AT", place));
    town.start(Place::Analyzer, None);
    town.wait_for_end(Place::Analyzer);
    assert_eq!(waiting(&town, 1, epoch).is_some(), place != "pulled", "{place}");
    assert_eq!(batch(&town), if place == "acknowledged" { 410 } else { 200 }, "{place}");
    let before = waiting(&town, 1, epoch);
    town.environment.clear();
    town.start(Place::Analyzer, None);
    until("the batch is taken", || batch(&town) == 410);
    let sealed = waiting(&town, 1, epoch).expect("it was stored before it was acknowledged");
    assert!(before.is_none_or(|before| before == sealed));
    assert!(tally(&town, 1, epoch).is_none() && ledger(&town).is_empty(), "nothing is opened");
    assert_eq!(table(&release(&town, epoch)), answered.in_memory(&[1]), "{place}");
    let stored = tally(&town, 1, epoch).expect("it is open now");
    assert_eq!(town.acknowledge(route, stored.counted.as_ref().unwrap().batch), 204, "that very batch");
    // Another start counts nothing again.
    let ledger_before = ledger(&town);
    town.restart(Place::Analyzer);
    assert_eq!((tally(&town, 1, epoch), ledger(&town)), (Some(stored), ledger_before));
}

#[test]
fn an_analyzer_that_ends_between_pull_and_acknowledgement_counts_once() {
    side_by_side(&[
        ("pulled", &|| analyzer_ends_when("pulled")),
        ("sealed", &|| analyzer_ends_when("sealed")),
        ("acknowledged", &|| analyzer_ends_when("acknowledged")),
    ]);
}
