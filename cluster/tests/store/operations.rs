//! Any sequence of operations, as in throng-shuffle/tests/operations.rs: here every case has two databases.

use throng_shuffle::Channel;
use throng_testing::operations::{Operation, WatchOn, promises_hold_on};
use throng_testing::wire::EPOCH;

use crate::disk::PgDisk;

const CASES: u32 = 8;

#[test]
fn promises_hold_whatever_happens() {
    let seen = promises_hold_on::<PgDisk>(false, CASES);
    assert!(seen.whole > 2 && seen.thinned == 0 && seen.destroyed == 0, "{seen:?}");
}

#[test]
fn promises_hold_for_labelled_crowds_whatever_happens() {
    let seen = promises_hold_on::<PgDisk>(true, CASES);
    assert!(seen.thinned + seen.whole + seen.destroyed > 2, "{seen:?}");
}

/// A process that ends in any operation of its store while an epoch opens, is taken or closes.
#[test]
fn what_a_process_has_begun_counts_for_nobody_or_for_all() {
    for after in 0..16 {
        let mut watch = WatchOn::<PgDisk>::new(after % 2 == 1);
        let upload = |person| Operation::Upload { person, other: false };
        let cut = |after| Operation::Cut { hop: 1, after };
        watch.apply(&cut(after));
        (0..3).for_each(|person| watch.apply(&upload(person)));
        watch.apply(&Operation::Restart { hop: 1, kept: 0 });
        watch.apply(&Operation::Crowd);
        for operation in [cut(after), Operation::Clock(2), Operation::Tick, Operation::Work { hop: 1 }] {
            watch.apply(&operation);
        }
        watch.settle();
        watch.check();
    }
}

#[test]
fn a_day_without_trouble_is_a_release() {
    let mut watch = WatchOn::<PgDisk>::new(false);
    for person in 0..7 {
        watch.apply(&Operation::Upload { person, other: false });
        watch.apply(&Operation::Upload { person, other: person % 2 == 0 });
    }
    watch.settle();
    watch.check();
    let mut counted = watch.counted[&Channel { label: 0, epoch: EPOCH }].clone();
    counted.sort_unstable();
    assert_eq!(counted, [0, 1, 2, 3, 4, 5, 6]);
}
