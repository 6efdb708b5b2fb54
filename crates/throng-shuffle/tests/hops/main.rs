//! Attacks on one instance, in memory. docs/threat-model.md lists them by the names of these tests.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};

use throng_shuffle::{Channel, Cut, Error, Hop, MemoryStore, Refusal};
use throng_testing::any_store::released;
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day};
use throng_testing::wire::{EPOCH, Shape};

throng_testing::any_store_tests!(MemoryStore);

/// Attack 24: whatever operation of the store a hop dies in, the order that leaves it is the one that it had begun.
#[test]
fn a_crash_never_makes_a_second_order_or_noise() {
    for labels in [false, true] {
        let channel = Channel { label: u32::from(labels), epoch: EPOCH };
        for hop in 1..=2_u32 {
            let mut begun = 0;
            for operations in 0.. {
                let mut cascade = Cascade::new(Shape { labels, ..SMALL });
                cascade.answer_all(channel, 30);
                if hop == 2 {
                    cascade.hops[0].close_due(NEXT_DAY).unwrap();
                    cascade.hops[0].process(channel).unwrap();
                }
                let store = cascade.stores[hop as usize - 1].clone();
                store.fail_after(operations);
                let died = step(&mut cascade, hop, channel).is_err();
                let before = store.bytes(&format!("{channel}.batch")).unwrap_or_default();
                begun += u32::from(!before.is_empty());
                cascade.restart(hop, (operations % 3) as usize * 7);
                step(&mut cascade, hop, channel).unwrap();
                let mut after = Vec::new();
                let mut batch = cascade.hops[hop as usize - 1].outgoing(channel).unwrap();
                batch.records.read_to_end(&mut after).unwrap();
                assert!(after.starts_with(&before), "operation {operations} of hop {hop}");
                if !died {
                    assert!(operations > 10 && begun > 3, "{operations} operations, {begun} in the batch");
                    break;
                }
            }
        }
    }
}

fn step(cascade: &mut Cascade, hop: u32, channel: Channel) -> Result<(), Error> {
    if hop == 1 {
        cascade.hops[0].close_due(NEXT_DAY)?;
    } else {
        cascade.pass(0, channel, NEXT_DAY)?;
    }
    let hop = &cascade.hops[hop as usize - 1];
    hop.undecided().into_iter().try_for_each(|channel| hop.process(channel))
}

/// Promise 5 at the other end: a full disk takes nothing, says so, and loses nothing.
#[test]
fn a_full_disk_refuses_and_keeps_what_it_has() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let used: usize = throng_shuffle::Store::names(&cascade.stores[0])
        .unwrap()
        .iter()
        .filter_map(|name| cascade.stores[0].bytes(name))
        .map(|bytes| bytes.len())
        .sum();
    cascade.stores[0].limit(Some(used + 50));
    let body = cascade.body(FIRST, &[42]);
    assert_eq!(cascade.send(FIRST, 42, &body, day(EPOCH)), Err(Refusal::Full));
    assert!(cascade.hops[0].close_due(NEXT_DAY).is_err());
    cascade.stores[0].limit(None);
    assert!(cascade.send(FIRST, 42, &body, day(EPOCH)).is_ok());
    cascade.stores[0].limit(Some(used + 300));
    cascade.restart(1, 0);
    cascade.stores[0].limit(None);
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 4, 5, 42]);
}

/// Uploads that were acknowledged and are damaged are not passed over: what is behind them was acknowledged, too.
#[test]
fn damaged_uploads_are_not_passed_over() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let name = "0-100.uploads";
    let bytes = cascade.stores[0].bytes(name).unwrap();
    let group = bytes.len() / 6;
    for at in [0, 30, 200, group, group + 60, 3 * group - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let store = cascade.stores[0].copy();
        throng_shuffle::Volume::create(&store, name).unwrap().write_all(&damaged).unwrap();
        let opened = cascade.open_on(1, &store);
        assert!(matches!(opened, Err(Error::Damaged { file: "uploads", .. })), "byte {at}");
    }
    // Nor is the end of the last one, as long as it is noted that it was synced.
    for at in [5 * group, 5 * group + 70, bytes.len() - 1] {
        let store = cascade.stores[0].copy();
        throng_shuffle::Volume::create(&store, name).unwrap().write_all(&bytes[..at]).unwrap();
        let opened = cascade.open_on(1, &store);
        assert!(matches!(opened, Err(Error::Damaged { file: "uploads", .. })), "cut at {at}");
        // Where a power failure has taken the note along, it may be unfinished: it was not acknowledged then. It is said.
        throng_shuffle::Volume::remove(&store, "0-100.noted").unwrap();
        let hop = cascade.open_on(1, &store).unwrap();
        let cut = if at == 5 * group { vec![] } else { vec![Cut::Uploads(FIRST)] };
        assert_eq!(hop.cuts(), cut);
        hop.close_due(NEXT_DAY).unwrap();
        hop.process(FIRST).unwrap();
        assert_eq!(released(hop.statement(FIRST).unwrap().claimed().outcome).0, 5);
    }
}

#[test]
fn a_hop_runs_only_with_the_key_that_the_survey_pins() {
    let cascade = Cascade::new(SMALL);
    let config = throng_shuffle::HopConfig { hop: 2, ..cascade.config(1) };
    let store = MemoryStore::new();
    let opened = Hop::open(config, Box::new(store.clone()), Box::new(store), day(EPOCH));
    assert!(matches!(opened, Err(Error::Wire(_))));
}
