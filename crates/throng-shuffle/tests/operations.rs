//! Any sequence of operations on an instance in memory: uploads, replays, clock steps, crashes, key rotation, lost
//! acknowledgements. What is checked after each is in `throng_testing::operations`, which the fuzzer uses, too.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use throng_shuffle::Channel;
use throng_testing::cascade::day;
use throng_testing::operations::{Operation, Watch, promises_hold, run};
use throng_testing::wire::EPOCH;

/// The property is worth something only if crowds are reached in it.
#[test]
fn promises_hold_whatever_happens() {
    let seen = promises_hold(false, 200);
    assert!(seen.whole > 100 && seen.thinned == 0 && seen.destroyed == 0, "{seen:?}");
}

/// The same where crowds have labels: here releases are thinned by noise, kept whole by noise above the shift, and destroyed
/// by noise far below it, and all of these occur.
#[test]
fn promises_hold_for_labelled_crowds_whatever_happens() {
    let seen = promises_hold(true, 200);
    assert!(seen.thinned > 50 && seen.whole > 5 && seen.destroyed > 2, "{seen:?}");
}

/// What fuzzers have found worth keeping, and the corpus that they began with.
#[test]
fn promises_hold_over_the_corpus_of_the_fuzzer() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/hop_operations");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        run(&bytes);
        // And what is near: each half by itself, and backwards.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        run(first);
        run(&[&[1], second].concat());
        run(&bytes.iter().rev().copied().collect::<Vec<u8>>());
        files += 1;
    }
    assert!(files > 2, "the corpus was not found");
}

/// A disk that fails while an epoch is opened leaves an empty draw, and one that fails while a body is taken leaves bytes behind the
/// last that are safe. Nobody was taken by either, and the next epoch goes on.
#[test]
fn what_a_failing_disk_has_begun_counts_for_nobody() {
    for labels in [false, true] {
        for after in 0..40 {
            let mut watch = Watch::new(labels);
            let upload = Operation::Upload { person: 0, other: false };
            let cut = |after| Operation::Cut { hop: 1, after };
            for operation in
                [cut(after), upload.clone(), cut(3), Operation::Clock(2), Operation::Tick, upload]
            {
                watch.apply(&operation);
            }
            watch.settle();
            watch.check();
        }
    }
}

/// A disk that fails while an epoch is closed may have its end in the journal, and the hop does not know. If the clock is then set back into
/// that epoch, nobody is taken behind this end: they would be acknowledged and lost.
#[test]
fn nobody_is_taken_behind_an_end_that_may_be_on_disk() {
    for after in 0..40 {
        let mut watch = Watch::new(false);
        let upload = |person| Operation::Upload { person, other: false };
        let cut = |after| Operation::Cut { hop: 1, after };
        let answers = [Operation::Clock(2), upload(0), upload(1), Operation::Clock(1), upload(0)];
        let trouble = [cut(after), Operation::Tick, cut(60), Operation::Clock(-2), Operation::Crowd];
        answers.iter().chain(&trouble).for_each(|operation| watch.apply(operation));
        watch.settle();
        watch.check();
    }
}

#[test]
fn a_day_without_trouble_is_a_release() {
    let mut watch = Watch::new(false);
    for person in 0..7 {
        watch.apply(&Operation::Upload { person, other: false });
        watch.apply(&Operation::Upload { person, other: person % 2 == 0 });
    }
    watch.settle();
    watch.check();
    let channel = Channel { label: 0, epoch: EPOCH };
    assert_eq!(day(EPOCH) / 86400, EPOCH);
    let mut counted = watch.counted[&channel].clone();
    counted.sort_unstable();
    assert_eq!(counted, [0, 1, 2, 3, 4, 5, 6]);
}

/// The same under a label, ten times: whoever answers is released, but for those whom the noise on disk deletes.
#[test]
fn ten_days_without_trouble_are_thinned_by_the_noise_of_each() {
    let mut watch = Watch::new(true);
    for _ in 0..10 {
        watch.apply(&Operation::Crowd);
        watch.apply(&Operation::Clock(2));
        watch.apply(&Operation::Tick);
    }
    watch.settle();
    let seen = watch.check();
    assert!(seen.whole + seen.thinned + seen.destroyed == 10 && seen.thinned >= 5, "{seen:?}");
    let crowds: BTreeSet<usize> = watch.counted.values().map(Vec::len).collect();
    assert!(crowds.len() > 2, "every epoch has noise of its own: {crowds:?}");
}
