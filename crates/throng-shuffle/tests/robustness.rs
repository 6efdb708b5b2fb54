//! What a hop makes of a wrong clock, of time that it was away, of damage, and of more than it can hold.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use throng_shuffle::{Channel, Error, MemoryStore, Refusal, Store, Volume};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day, refusal};
use throng_testing::wire::{EPOCH, Shape};
use throng_wire::statement::check_cascade;
use throng_wire::survey::Cover;
use throng_wire::{BatchCount, Digest, EpochStatement, ForwardedCount, Outcome, Place, Signed, Stop};

/// All keys of this world have ended by then.
const FAR: u64 = 100 * EPOCH;

fn channel(epoch: u64) -> Channel {
    Channel { label: 0, epoch }
}

fn write(store: &MemoryStore, name: &str, bytes: &[u8]) {
    store.create(name).unwrap().write_all(bytes).unwrap();
}

/// A hop that starts with a clock far in the future has lost nothing once the clock is right.
#[test]
fn a_clock_past_all_keys_closes_and_erases_nothing() {
    let mut cascade = Cascade::new(SMALL);
    assert_eq!([0, 1].map(|hop| cascade.hops[hop].is_past_keys(day(EPOCH), 0)), [false; 2]);
    cascade.run(day(FAR));
    assert!(cascade.hops[0].is_past_keys(day(FAR), 2));
    assert_eq!([0, 1].map(|hop| cascade.hops[hop].oldest_epoch(day(FAR), 2)), [0; 2], "all keys are needed");
    assert!(cascade.hops[0].statement(channel(FAR - 1)).is_err());
    // The clock is right again.
    cascade.answer_all(FIRST, 6);
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 4, 5]);
    // What was taken is closed by any clock: it is acknowledged, and its time may really be over.
    cascade.answer_all(channel(EPOCH + 1), 6);
    cascade.run(day(FAR));
    assert_eq!(cascade.sorted_values(channel(EPOCH + 1)).len(), 6);
    cascade.answer_all(channel(EPOCH + 2), 6);
}

/// In time all keys are erased all the same: the clock is believed where the journal has come as far.
#[test]
fn keys_are_erased_after_the_last_of_their_epochs() {
    let mut cascade = Cascade::new(SMALL);
    let last = cascade.world.layers[&Place::hop(1, 1)].last_epoch().unwrap();
    cascade.answer_all(channel(last), 6);
    cascade.run(day(last + 1));
    for now in [day(last + 1), day(FAR)] {
        for hop in &cascade.hops {
            assert_eq!(hop.oldest_epoch(now, 0), now / 86400);
        }
    }
}

/// Epochs in which hop 1 was away are destroyed as visibly as those in which nobody came.
#[test]
fn epochs_that_a_hop_was_away_for_are_stated() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.run(NEXT_DAY);
    cascade.restart(1, 0);
    cascade.run(day(EPOCH + 6));
    for hop in 1..=2 {
        assert!(matches!(cascade.outcome(hop, FIRST), Outcome::Released { .. }));
        for epoch in EPOCH + 1..EPOCH + 6 {
            assert_eq!(cascade.outcome(hop, channel(epoch)), Outcome::Destroyed, "epoch {epoch}");
        }
        assert!(cascade.hops[hop as usize - 1].statement(channel(EPOCH + 6)).is_err(), "it still lasts");
    }
    // Also from the beginning on, as far as its keys reach back and not further.
    let mut cascade = Cascade::new(SMALL);
    cascade.run(day(EPOCH + 3));
    assert!((EPOCH..EPOCH + 3).all(|epoch| cascade.outcome(2, channel(epoch)) == Outcome::Destroyed));
    assert!(cascade.hops[0].statement(channel(EPOCH - 1)).is_err());
}

/// Whatever is damaged, the journal's end included, a reset leads out of it, leaves nothing of it, and states nothing about it.
#[test]
fn a_reset_needs_nothing_but_the_journal() {
    let mut cascade = Cascade::new(Shape { labels: true, ..SMALL });
    let open = Channel { label: 1, epoch: EPOCH + 1 };
    let closed = Channel { label: 1, epoch: EPOCH };
    cascade.answer_all(closed, 40);
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    cascade.answer_all(open, 6);
    let whole = cascade.stores[0].copy();
    let files =
        ["1-101.uploads", "0-101.key", "1-101.draw", "1-100.uploads", "1-100.draw", "2-101.draw", "journal"];
    for file in files {
        let store = whole.copy();
        let mut bytes = store.bytes(file).unwrap();
        let at = bytes.len() - 1;
        bytes[at] ^= 1;
        write(&store, file, &bytes);
        write(&store, "1-100.batch", b"what a crash left");
        let fails = match cascade.open_on(1, &store.copy()) {
            Ok(hop) => hop.process(closed).err(),
            Err(error) => Some(error),
        };
        assert!(matches!(fails, Some(Error::Damaged { .. })), "{file}: {fails:?}");

        cascade.stores[0] = store.clone();
        cascade.reset(1, day(EPOCH + 1));
        assert_eq!(store.names().unwrap(), ["journal"], "{file}");
        // It runs on, and what was given up stays so.
        cascade.restart(1, 0);
        let body = cascade.body(open, &[1]);
        assert_eq!(cascade.send(open, 1, &body, day(EPOCH + 1)), Err(Refusal::Closed));
        cascade.hops[0].close_due(day(EPOCH + 3)).unwrap();
        cascade.hops[0].undecided().into_iter().for_each(|channel| cascade.hops[0].process(channel).unwrap());
        for label in 1..=2 {
            for epoch in [EPOCH, EPOCH + 1] {
                assert!(cascade.hops[0].statement(Channel { label, epoch }).is_err());
            }
            let later = cascade.hops[0].statement(Channel { label, epoch: EPOCH + 2 }).unwrap();
            assert_eq!(later.verify(&cascade.world.survey).unwrap().outcome, Outcome::Destroyed);
        }
    }
}

/// A crowd of people who repeat one another's envelopes is no crowd, and hop 1 says so itself.
#[test]
fn a_crowd_that_repeats_itself_is_destroyed() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 4);
    let body = cascade.body(FIRST, &[77]);
    for person in 10..15 {
        cascade.send(FIRST, person, &body, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    // Nine bodies, and five different ones: this is just enough.
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 77]);
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 3);
    let body = cascade.body(FIRST, &[77]);
    for person in 10..15 {
        cascade.send(FIRST, person, &body, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    let pulled = cascade.pull(FIRST).unwrap();
    let said: Vec<EpochStatement> = pulled.statements.iter().map(|one| *one.claimed()).collect();
    assert_eq!(check_cascade(cascade.world.survey.survey(), &said), Ok(None));
    assert!(pulled.bytes.is_empty() && said.iter().all(|one| one.outcome == Outcome::Destroyed));
}

/// Promise 3 at the next hop: a hop 1 that states a crowd and passes on one person's envelopes is refused.
#[test]
fn one_persons_envelopes_are_not_taken_for_a_crowd() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let (honest, bytes, key) = cascade.handed_on();
    let said = *honest.claimed();
    let length = cascade.hops[0].layout().envelope_len(Stop::Hop(2));
    for (forwarded, expected) in [(3, Some(Refusal::Statements)), (14, Some(Refusal::Statements)), (15, None)]
    {
        let some = &bytes[..forwarded as usize * length];
        let (told, batch) = (ForwardedCount::Told(forwarded), Digest::of(some));
        let outcome = Outcome::Released { respondents: 6, received: Some(18), forwarded: told, batch };
        let count = BatchCount::told(forwarded);
        let signed = Signed::new(EpochStatement { outcome, ..said }, &key).unwrap();
        let received =
            cascade.hops[1].receive(FIRST, vec![signed], count, &mut &some[..], NEXT_DAY, &mut cascade.rng);
        assert_eq!(received.err().as_ref().and_then(refusal), expected, "{forwarded}");
    }
}

/// A batch that a hop could never shuffle stays where it is, and is taken when there is memory for it.
#[test]
fn a_batch_beyond_the_memory_is_not_acknowledged() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 60);
    cascade.close_first();
    cascade.memory = 1 << 13;
    cascade.restart(2, 0);
    let refused = cascade.pass(0, FIRST, NEXT_DAY).unwrap_err();
    assert_eq!(refusal(&refused), Some(Refusal::Full));
    assert!(cascade.hops[1].undecided().is_empty());
    cascade.memory = 1 << 24;
    cascade.restart(2, 0);
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.sorted_values(FIRST).len(), 60);
}

/// Hop 1 says how many people it counted, and each of them sends b envelopes: any other number is not gone on with.
#[test]
fn hop_2_checks_that_there_are_as_many_envelopes_as_its_respondents_send() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let (honest, bytes, key) = cascade.handed_on();
    let length = bytes.len() / 18;
    for (respondents, received) in [(7, 18), (5, 18), (6, 17), (6, 19), (6, 15), (12, 18), (u64::MAX, 18)] {
        let forwarded = 18.min(received);
        let records = &bytes[..length * forwarded as usize];
        let outcome = Outcome::Released {
            respondents,
            received: Some(received),
            forwarded: ForwardedCount::Told(forwarded),
            batch: Digest::of(records),
        };
        let stated = Signed::new(EpochStatement { outcome, ..*honest.claimed() }, &key).unwrap();
        let (count, mut records) = (BatchCount::told(forwarded), records);
        let taken =
            cascade.hops[1].receive(FIRST, vec![stated], count, &mut records, NEXT_DAY, &mut cascade.rng);
        let refused = taken.err().as_ref().and_then(refusal);
        assert_eq!(refused, Some(Refusal::Statements), "{received} of {respondents}");
    }
    let count = BatchCount::told(18);
    cascade.hops[1].receive(FIRST, vec![honest], count, &mut &bytes[..], NEXT_DAY, &mut cascade.rng).unwrap();
}

/// Without cover people send fewer, and never more.
#[test]
fn hop_2_takes_no_more_envelopes_than_its_respondents_can_have_sent_without_cover() {
    let mut cascade = Cascade::new(Shape { cover: Cover::None, ..SMALL });
    cascade.answer_all(FIRST, 6);
    let (honest, bytes, key) = cascade.handed_on();
    let length = bytes.len() / 6;
    for (envelopes, expected) in [(19, Some(Refusal::Statements)), (18, None)] {
        let records = bytes[..length].repeat(envelopes);
        let count = BatchCount::salted([3; 32], envelopes as u64);
        let outcome = Outcome::Released {
            respondents: 6,
            received: None,
            forwarded: ForwardedCount::Committed(count.commitment()),
            batch: Digest::of(&records),
        };
        let stated = Signed::new(EpochStatement { outcome, ..*honest.claimed() }, &key).unwrap();
        let taken = cascade.hops[1].receive(
            FIRST,
            vec![stated],
            count,
            &mut &records[..],
            NEXT_DAY,
            &mut cascade.rng,
        );
        assert_eq!(taken.err().as_ref().and_then(refusal), expected, "{envelopes}");
    }
}

/// An analyzer that stays away does not fill the disk, and what was said about a batch stays what it was.
#[test]
fn a_batch_that_nobody_takes_in_time_is_erased_for_good() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.run(NEXT_DAY);
    let keep_s = cascade.world.survey.survey().keep_batches_s();
    let (said, bytes) = (cascade.hops[1].statement(FIRST).unwrap(), cascade.pull(FIRST).unwrap().bytes);
    let names = cascade.stores[1].names().unwrap();
    let files: Vec<_> = names.iter().map(|name| (name, cascade.stores[1].bytes(name).unwrap())).collect();
    // Neither in time, nor by a clock that is past all keys.
    for now_s in [NEXT_DAY + keep_s, day(FAR)] {
        assert_eq!(cascade.hops[1].expire_due(now_s).unwrap(), []);
    }
    assert_eq!(cascade.pull(FIRST).unwrap().bytes, bytes);
    assert_eq!(cascade.hops[1].expire_due(NEXT_DAY + keep_s + 1).unwrap(), [FIRST]);
    for round in 0..3 {
        assert_eq!(cascade.hops[1].expire_due(NEXT_DAY + keep_s + 1).unwrap(), []);
        assert_eq!(cascade.pull(FIRST).err().as_ref().and_then(refusal), Some(Refusal::Expired));
        assert_eq!(cascade.hops[1].statement(FIRST), Ok(said.clone()), "what was said is still said");
        assert!(cascade.hops[1].waiting().is_empty() && cascade.hops[1].undecided().is_empty());
        assert_eq!(cascade.stores[1].names().unwrap(), ["journal"], "round {round}");
        // Whoever took it before may say so late; nobody took another.
        cascade.hops[1].acknowledge(FIRST, Digest::of(&bytes)).unwrap();
        let other = cascade.hops[1].acknowledge(FIRST, Digest::of(b"another")).unwrap_err();
        assert_eq!(refusal(&other), Some(Refusal::Expired));
        // A crash before the files were erased: they are at the next start.
        for (name, bytes) in files.iter().filter(|(name, _)| *name != "journal") {
            write(&cascade.stores[1], name, bytes);
        }
        cascade.restart(2, 0);
    }
}

/// A check reads what waits, and says what was changed.
#[test]
fn a_check_finds_what_was_changed_in_files_that_wait() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    cascade.hops[0].check_files().unwrap();
    damaged_when_changed(&cascade, 0, &format!("0-{EPOCH}.uploads"));
    damaged_when_changed(&cascade, 0, &format!("0-{EPOCH}.draw"));
    cascade.hops[0].process(FIRST).unwrap();
    cascade.hops[0].check_files().unwrap();
    damaged_when_changed(&cascade, 0, &format!("0-{EPOCH}.batch"));
    cascade.pass(0, FIRST, NEXT_DAY).unwrap();
    cascade.hops[1].check_files().unwrap();
    damaged_when_changed(&cascade, 1, &format!("0-{EPOCH}.incoming"));
    cascade.hops[1].process(FIRST).unwrap();
    cascade.hops[1].check_files().unwrap();
    damaged_when_changed(&cascade, 1, &format!("0-{EPOCH}.batch"));
    damaged_when_changed(&cascade, 1, &format!("0-{EPOCH}.count"));
}

/// Takes the end of a file away, looks, and puts it back; then all of it.
fn damaged_when_changed(cascade: &Cascade, hop: usize, name: &str) {
    let (store, whole) = (&cascade.stores[hop], cascade.stores[hop].bytes(name).unwrap());
    let mut changed = whole.clone();
    changed[70.min(whole.len() / 2)] ^= 1;
    for bytes in [&changed[..], &[]] {
        write(store, name, bytes);
        let checked = cascade.hops[hop].check_files();
        // Uploads that are not there at all are those of nobody.
        let is_empty_epoch = bytes.is_empty() && name.ends_with("uploads");
        assert!(is_empty_epoch || checked.is_err(), "{name} of {} bytes", bytes.len());
    }
    write(store, name, &whole);
    cascade.hops[hop].check_files().unwrap();
}
