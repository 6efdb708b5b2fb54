//! Attacks on what one hop hands on to the next, in memory. docs/threat-model.md lists them by the names of these tests.

#![allow(clippy::unwrap_used)]

use throng_shuffle::{Channel, Refusal};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, refusal};
use throng_testing::wire::EPOCH;
use throng_wire::{BatchCount, Digest, EpochStatement, ForwardedCount, Outcome, Signed};

/// Attack 25, and promise 5: a batch is there until its hash is acknowledged, and then nowhere.
#[test]
fn a_batch_is_held_until_its_hash_is_acknowledged() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    assert_eq!(cascade.pull(FIRST).err().as_ref().and_then(refusal), Some(Refusal::Undecided));
    cascade.run(NEXT_DAY);
    let bytes = cascade.pull(FIRST).unwrap().bytes;
    assert_eq!(cascade.pull(FIRST).unwrap().bytes, bytes);
    let wrong = cascade.hops[1].acknowledge(FIRST, Digest::of(b"another")).unwrap_err();
    assert_eq!(refusal(&wrong), Some(Refusal::Batch));
    assert_eq!(cascade.pull(FIRST).unwrap().bytes, bytes);
    cascade.hops[1].acknowledge(FIRST, Digest::of(&bytes)).unwrap();
    cascade.hops[1].acknowledge(FIRST, Digest::of(&bytes)).unwrap();
    assert_eq!(cascade.pull(FIRST).err().as_ref().and_then(refusal), Some(Refusal::Gone));
    for store in &cascade.stores {
        let left: Vec<String> = throng_shuffle::Store::names(store).unwrap();
        assert_eq!(left, ["journal"], "everything else is erased");
    }
    cascade.restart(2, 0);
    assert_eq!(cascade.pull(FIRST).err().as_ref().and_then(refusal), Some(Refusal::Gone));
    assert!(cascade.hops[1].statement(FIRST).is_ok(), "what was said is still said");
}

/// An acknowledgement that got lost is given again, also when the batch has gone on since.
#[test]
fn a_batch_that_comes_again_is_acknowledged_again() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.close_first();
    let first = cascade.pass(0, FIRST, NEXT_DAY).unwrap();
    assert_eq!(cascade.pass(0, FIRST, NEXT_DAY).unwrap(), first);
    cascade.hops[1].process(FIRST).unwrap();
    let bytes = cascade.pull(FIRST).unwrap().bytes;
    cascade.hops[1].acknowledge(FIRST, Digest::of(&bytes)).unwrap();
    for _ in 0..2 {
        assert_eq!(cascade.pass(0, FIRST, NEXT_DAY).unwrap(), first);
        cascade.restart(2, 0);
    }
    assert_eq!(cascade.pull(FIRST).err().as_ref().and_then(refusal), Some(Refusal::Gone));
}

/// What a hop that lies could send to the next one.
#[test]
fn batches_that_are_not_as_stated_are_refused() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let (honest, bytes, key) = cascade.handed_on();
    let said = *honest.claimed();
    let sign = |statement: EpochStatement| vec![Signed::new(statement, &key).unwrap()];
    let with = |respondents, received, forwarded, batch| EpochStatement {
        outcome: Outcome::Released {
            respondents,
            received: Some(received),
            forwarded: ForwardedCount::Told(forwarded),
            batch,
        },
        ..said
    };
    let count = BatchCount::told(18);
    let (digest, mut changed) = (Digest::of(&bytes), bytes.clone());
    changed[100] ^= 1;
    let longer = [&bytes[..], &[0]].concat();
    let other_key = cascade.signing_key(2);
    for (statements, records, now, expected) in [
        (vec![honest.clone()], &changed[..], NEXT_DAY, Refusal::Batch),
        (vec![honest.clone()], &bytes[..bytes.len() - 1], NEXT_DAY, Refusal::Batch),
        (vec![honest.clone()], &longer, NEXT_DAY, Refusal::Batch),
        (vec![honest.clone()], &bytes, NEXT_DAY - 1, Refusal::Early),
        (vec![], &bytes, NEXT_DAY, Refusal::Statements),
        (vec![honest.clone(), honest.clone()], &bytes, NEXT_DAY, Refusal::Statements),
        (vec![Signed::new(said, &other_key).unwrap()], &bytes, NEXT_DAY, Refusal::Statements),
        (sign(with(4, 12, 12, digest)), &bytes, NEXT_DAY, Refusal::Statements),
        (sign(with(6, 19, 18, digest)), &bytes, NEXT_DAY, Refusal::Statements),
        (sign(with(6, 18, 19, digest)), &bytes, NEXT_DAY, Refusal::Statements),
        (sign(EpochStatement { hop: 2, ..said }), &bytes, NEXT_DAY, Refusal::Statements),
    ] {
        let mut records = records;
        let received = cascade.hops[1].receive(FIRST, statements, count, &mut records, now, &mut cascade.rng);
        assert_eq!(received.err().as_ref().and_then(refusal), Some(expected));
    }
    let other = Channel { label: 0, epoch: EPOCH + 1 };
    let moved = cascade.hops[1].receive(
        other,
        vec![honest.clone()],
        count,
        &mut &bytes[..],
        NEXT_DAY + 86400,
        &mut cascade.rng,
    );
    assert_eq!(moved.err().as_ref().and_then(refusal), Some(Refusal::Statements));
    // After all that the honest batch is taken; and then no other.
    assert_eq!(
        cascade.hops[1]
            .receive(FIRST, vec![honest], count, &mut &bytes[..], NEXT_DAY, &mut cascade.rng)
            .unwrap(),
        digest
    );
    let second = sign(with(6, 18, 17, Digest::of(&bytes[107..])));
    let count = BatchCount::told(17);
    let conflict =
        cascade.hops[1].receive(FIRST, second, count, &mut &bytes[107..], NEXT_DAY, &mut cascade.rng);
    assert_eq!(conflict.err().as_ref().and_then(refusal), Some(Refusal::Conflict));
}
