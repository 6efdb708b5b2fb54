//! A hop whose files are lost, or come from an older copy: it never says a second thing about an epoch.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_batch::{EmbeddedEngine, Engine, Partition, PermuteJob};
use throng_dp::sampling::below;
use throng_shuffle::{Channel, Error, Hop, MemoryStore, Refusal, Upload, Volume};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day, deletion, name, refusal, seeds_of};
use throng_testing::wire::{EPOCH, Shape};
use throng_wire::peel::open_body;
use throng_wire::{Outcome, Place, Signed};

fn channel(epoch: u64) -> Channel {
    Channel { label: 0, epoch }
}

/// Every step of two epochs at both hops, with a copy of their stores before each.
fn states() -> (Cascade, Vec<[MemoryStore; 2]>) {
    let mut cascade = Cascade::new(SMALL);
    let mut states = Vec::new();
    let mut keep = |cascade: &Cascade| states.push([0, 1].map(|hop: usize| cascade.stores[hop].copy()));
    for epoch in [EPOCH, EPOCH + 1] {
        keep(&cascade);
        cascade.answer_all(channel(epoch), 6);
        keep(&cascade);
        cascade.hops[0].close_due(day(epoch + 1)).unwrap();
        keep(&cascade);
        cascade.hops[0].process(channel(epoch)).unwrap();
        keep(&cascade);
        let digest = cascade.pass(0, channel(epoch), day(epoch + 1)).unwrap();
        keep(&cascade);
        cascade.hops[0].acknowledge(channel(epoch), digest).unwrap();
        cascade.hops[1].process(channel(epoch)).unwrap();
    }
    keep(&cascade);
    (cascade, states)
}

/// Yesterday's data under today's mark: refused, whatever it was, and nothing in it is touched.
#[test]
fn a_journal_that_is_older_than_its_mark_is_refused() {
    let (cascade, states) = states();
    for hop in 0..2 {
        let today = &cascade.stores[hop];
        for (number, state) in states.iter().enumerate() {
            let restored = state[hop].copy();
            let same = restored.bytes("journal") == today.bytes("journal");
            restored.set_mark(Some(today));
            match cascade.open_on(hop as u32 + 1, &restored) {
                Ok(_) => assert!(same, "state {number} of hop {}", hop + 1),
                Err(error) => assert!(!same && matches!(error, Error::RolledBack), "{error}"),
            }
            // Without a journal, and without a mark, nobody knows.
            restored.remove("journal").unwrap();
            let lost = cascade.open_on(hop as u32 + 1, &restored);
            assert!(matches!(lost, Err(Error::NoJournal)));
            let unmarked = today.copy();
            unmarked.set_mark(None);
            assert!(matches!(cascade.open_on(hop as u32 + 1, &unmarked), Err(Error::NoMark)));
        }
    }
}

/// Where data and mark are restored together, the next hop has what shows it.
#[test]
fn a_neighbour_shows_that_everything_was_restored() {
    let (mut cascade, states) = states();
    let seen = cascade.hops[1].seen();
    assert_eq!(seen.len(), 2);
    assert!(cascade.hops[0].seen().is_empty(), "there is nobody before the first hop");
    cascade.hops[0].compare(&seen).unwrap();
    for [first, _] in &states {
        let restored = cascade.open_on(1, &first.copy()).unwrap();
        let known = [EPOCH, EPOCH + 1].map(|epoch| restored.statement(channel(epoch)).is_ok());
        // What others have signed or nobody has shows nothing.
        let own = cascade.hops[1].statement(FIRST).unwrap();
        let forged = Signed::new(*seen[0].claimed(), &cascade.signing_key(2)).unwrap();
        restored.compare(&[own, forged]).unwrap();
        match restored.compare(&seen) {
            Ok(()) => assert_eq!(known, [true; 2]),
            Err(Error::Contradicted { epoch }) => {
                assert!(!known[(epoch - EPOCH) as usize]);
                // It takes no further step, and no upload.
                assert!(restored.close_due(day(EPOCH + 5)).is_err());
                let mut undecided = restored.undecided().into_iter();
                assert!(undecided.all(|channel| restored.process(channel).is_err()));
                let now = day(EPOCH + 5);
                let upload = Upload::new(channel(EPOCH + 5), name(1), cascade.body(channel(EPOCH + 5), &[1]));
                let taken = restored.take(&[upload], now, &mut cascade.rng).remove(0);
                assert_eq!(taken.err(), Some(Refusal::Stopped));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The way out: reset, it never says anything about what it may have said something about, and goes on with the next epoch.
#[test]
fn a_hop_that_is_restored_and_reset_contradicts_nothing() {
    let (mut cascade, states) = states();
    let now = day(EPOCH + 2);
    let said = [0, 1].map(|hop: usize| {
        [EPOCH, EPOCH + 1].map(|epoch| cascade.hops[hop].statement(channel(epoch)).unwrap())
    });
    let seen = cascade.hops[1].seen();
    let today = cascade.stores.clone();
    for (number, state) in states.iter().enumerate() {
        for hop in 0..2_usize {
            // With today's mark, with its own, and with none; with its journal and without.
            for (mark, journal) in
                [(Some(&today[hop]), true), (Some(&state[hop]), true), (None, true), (None, false)]
            {
                let restored = state[hop].copy();
                restored.set_mark(mark);
                if !journal {
                    restored.remove("journal").unwrap();
                }
                cascade.stores = today.iter().map(MemoryStore::copy).collect();
                cascade.stores[hop] = restored;
                (1..=2).filter(|&one| one != hop as u32 + 1).for_each(|one| cascade.restart(one, 0));
                cascade.reset(hop as u32 + 1, now);
                cascade.restart(hop as u32 + 1, 0);
                cascade.hops[0].compare(&seen).unwrap();
                let next = channel(EPOCH + 3);
                cascade.answer_all(next, 6);
                cascade.run(day(EPOCH + 4));
                for epoch in [EPOCH, EPOCH + 1] {
                    let again = cascade.hops[hop].statement(channel(epoch)).ok();
                    let first = &said[hop][(epoch - EPOCH) as usize];
                    assert!(again.is_none_or(|again| again == *first), "state {number} of hop {}", hop + 1);
                }
                assert!(cascade.hops[hop].statement(channel(EPOCH + 2)).is_err() || hop == 1);
                assert_eq!(cascade.sorted_values(next), [0, 1, 2, 3, 4, 5]);
            }
        }
    }
}

/// Copies of one state that have the same input make the same batch of it, and sign the same.
#[test]
fn copies_of_one_state_sign_the_same() {
    for labels in [false, true] {
        let mut cascade = Cascade::new(Shape { labels, ..SMALL });
        let here = Channel { label: u32::from(labels), epoch: EPOCH };
        let bodies: Vec<Vec<u8>> = (0..60).map(|person| cascade.body(here, &[person])).collect();
        cascade
            .hops
            .iter()
            .for_each(|hop| hop.open_due(day(EPOCH), &mut ChaCha20Rng::from_seed([9; 32])).unwrap());
        for (person, body) in bodies[..30].iter().enumerate() {
            cascade.send(here, person as u32, body, day(EPOCH)).unwrap();
        }
        let snapshots = [0, 1].map(|hop: usize| cascade.stores[hop].copy());
        let batch = |hop: &Hop| {
            let (mut batch, mut bytes) = (hop.outgoing(here).unwrap(), Vec::new());
            batch.records.read_to_end(&mut bytes).unwrap();
            (batch.statements, batch.count, bytes)
        };
        let run = |seed: u8, people: std::ops::Range<usize>| {
            let rng = &mut ChaCha20Rng::from_seed([seed; 32]);
            let first = cascade.open_on(1, &snapshots[0].copy()).unwrap();
            for person in people {
                let upload = Upload::new(here, name(person as u32), bodies[person].clone());
                assert!(first.take(&[upload], day(EPOCH), rng)[0].is_ok());
            }
            first.close_due(NEXT_DAY).unwrap();
            first.process(here).unwrap();
            let (statements, count, bytes) = batch(&first);
            let second = cascade.open_on(2, &snapshots[1].copy()).unwrap();
            second.receive(here, statements, count, &mut &bytes[..], NEXT_DAY, rng).unwrap();
            second.process(here).unwrap();
            [(batch(&first).0, bytes), (batch(&second).0, batch(&second).2)]
        };
        let one = run(1, 30..40);
        assert!(one == run(2, 30..40) && one == run(3, 30..40), "labels {labels}");
        // With another input nothing of the order is the same.
        let other = run(1, 30..41);
        for hop in 0..2 {
            let length = if hop == 0 { throng_wire::Stop::Hop(2) } else { throng_wire::Stop::Analyzer };
            let length = cascade.hops[0].layout().envelope_len(length);
            let in_place = one[hop].1.chunks(length).zip(other[hop].1.chunks(length)).filter(|(a, b)| a == b);
            assert!(in_place.count() < 12, "hop {}", hop + 1);
        }
    }
}

/// Whom hop 1 deletes follows from one seed and the order from another, both as the secret on disk says.
#[test]
fn deletion_and_order_have_seeds_of_their_own() {
    let mut cascade = Cascade::new(Shape { labels: true, ..SMALL });
    let here = Channel { label: 1, epoch: EPOCH };
    cascade.answer_all(here, 40);
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    let bytes = |kind: &str| cascade.stores[0].bytes(&format!("{here}.{kind}")).unwrap();
    let (bodies, seed) = seeds_of(&bytes("draw"), &bytes("uploads"));
    assert_eq!(bodies.len(), 40);
    let noise = deletion(6).draw(&mut ChaCha20Rng::from_seed(seed("noise")));
    let drops = deletion(6).drops(40, noise);
    assert!(drops > 0, "otherwise this shows nothing");
    let (mut dropped, rng) = (Vec::new(), &mut ChaCha20Rng::from_seed(seed("deletion")));
    for last in 40 - drops..40 {
        let any = below(last + 1, rng);
        dropped.push(if dropped.contains(&any) { last } else { any });
    }
    let layout = *cascade.hops[0].layout();
    let route = throng_wire::Route { label: 1, ..cascade.world.route() };
    let keys = &cascade.world.layers[&Place::hop(1, 1)];
    let spool: Vec<u8> =
        bodies.iter().flat_map(|body| open_body(&route, &layout, keys, body).unwrap()).collect();
    let (store, length) = (MemoryStore::new(), layout.envelope_len(throng_wire::Stop::Hop(2)));
    store.create("spool").unwrap().write_all(&spool).unwrap();
    dropped.sort_unstable();
    let dropped: Vec<(u64, u64)> = dropped.iter().map(|body| (3 * body, 3 * body + 3)).collect();
    let job = PermuteJob {
        volume: &store,
        input: &[Partition::whole("spool")],
        records: 120,
        dropped: &dropped,
        added: &[],
        length,
        seed: &seed("shuffle"),
        output: "batch",
    };
    EmbeddedEngine::new(1 << 23).permute(&job).unwrap();
    cascade.hops[0].process(here).unwrap();
    let mut batch = Vec::new();
    cascade.hops[0].outgoing(here).unwrap().records.read_to_end(&mut batch).unwrap();
    assert!(Some(batch) == store.bytes("batch"));
}

/// A store that begins, for the first time or because all of it is lost, says nothing about what was before.
#[test]
fn nothing_before_the_first_epoch_of_a_store_is_stated() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.close_first();
    let late = day(EPOCH + 3);
    let begin = |hop: u32, store: &MemoryStore, now: u64| {
        Hop::open(cascade.config(hop), Box::new(store.clone()), Box::new(store.clone()), now).unwrap()
    };
    // By a clock that is not believed none begins: it would refuse everything until then.
    let far = MemoryStore::new();
    let config = cascade.config(1);
    let opened = Hop::open(config, Box::new(far.clone()), Box::new(far.clone()), day(100 * EPOCH));
    assert!(matches!(opened, Err(Error::Clock)));
    begin(1, &far, late);
    let store = MemoryStore::new();
    let lost = begin(1, &store, late);
    lost.close_due(day(EPOCH + 5)).unwrap();
    let stated = |hop: &Hop, epoch: u64| {
        hop.process(channel(epoch)).unwrap();
        hop.statement(channel(epoch)).ok().map(|one| one.claimed().outcome)
    };
    assert!((EPOCH - 1..EPOCH + 3).all(|epoch| stated(&lost, epoch).is_none()));
    assert!((EPOCH + 3..EPOCH + 5).all(|epoch| stated(&lost, epoch) == Some(Outcome::Destroyed)));
    // A later hop does not take what it may have taken before.
    let lost = begin(2, &MemoryStore::new(), late);
    let mut batch = cascade.hops[0].outgoing(FIRST).unwrap();
    let taken = lost.receive(
        FIRST,
        batch.statements,
        batch.count,
        &mut batch.records,
        late,
        &mut ChaCha20Rng::from_seed([9; 32]),
    );
    assert_eq!(taken.err().as_ref().and_then(refusal), Some(Refusal::Before));
    // A crash right after the first record, before the mark: it begins again, and not with the old epoch.
    store.set_mark(None);
    let journal = store.bytes("journal").unwrap();
    let begun = MemoryStore::new();
    begun.create("journal").unwrap().write_all(&journal[..4 + 13 + 32]).unwrap();
    let again = begin(1, &begun, day(EPOCH + 6));
    again.close_due(day(EPOCH + 7)).unwrap();
    assert!(again.statement(channel(EPOCH + 4)).is_err());
    assert_eq!(again.undecided(), [channel(EPOCH + 6)]);
}
