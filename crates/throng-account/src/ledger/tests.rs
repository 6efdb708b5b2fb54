//! What releases spend together, and which are refused.

use super::*;
use crate::amplification::exact;
use crate::epochs::{Answers, BackstopSeries};

fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
    CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
}

fn crowd(honest: u64, miss: f64) -> HonestCrowd {
    HonestCrowd { honest, miss: Delta::new(miss).unwrap() }
}

fn bits(epoch: u64) -> Entry {
    let epsilon_local = Epsilon::new(4.0).unwrap();
    let spending = Spending::Bits { crowd: crowd(5_000, 0.0), epsilon_local, moved: 1 };
    Entry { survey: "pixels".into(), epoch, spending }
}

#[test]
fn releases_compose_tighter_than_they_add() {
    let mut ledger = Ledger::new(guarantee(2.0, 1e-6));
    let one = ledger.record("people", bits(1)).unwrap().spent().epsilon().value();
    let exact =
        exact::epsilon_certified(5_000, Epsilon::new(4.0).unwrap(), Delta::new(1e-6).unwrap()).unwrap();
    assert!(one >= exact.epsilon().value() * 0.999 && one < exact.epsilon().value() * 1.02, "{one} {exact}");
    let mut spent = one;
    for epoch in 2..=9 {
        spent = ledger.record("people", bits(epoch)).unwrap().spent().epsilon().value();
    }
    assert!(spent < 0.5 * 9.0 * one && spent > 2.5 * one, "{spent} after nine of {one}");
    assert_eq!(ledger.entries("people").len(), 9);
    assert!((ledger.left("people").unwrap().value() - (2.0 - spent)).abs() < 1e-9);
    assert_eq!(ledger.spent("others").unwrap().epsilon(), Epsilon::ZERO, "kept per population");
}

#[test]
fn the_release_that_would_exceed_the_budget_is_refused_and_not_recorded() {
    let mut ledger = Ledger::new(guarantee(1.0, 1e-6));
    let entry =
        |epoch| Entry { survey: "s".into(), epoch, spending: Spending::Guarantee(guarantee(0.4, 1e-8)) };
    let one = ledger.record("p", entry(1)).unwrap().spent().epsilon().value();
    assert!((0.399..=0.4).contains(&one), "{one}");
    ledger.record("p", entry(2)).unwrap();
    assert!(matches!(ledger.record("p", entry(3)), Err(Error::Refused(_))));
    assert_eq!(ledger.entries("p").len(), 2);
    assert!(matches!(ledger.record("q", entry(3)), Err(Error::Refused(_))), "another name, the same people");
    let other = Entry { survey: "t".into(), ..entry(3) };
    assert!(ledger.record("q", other).is_ok());
}

/// A label more, or a batch that comes late: whoever is in one part is not in another, or is the same person.
#[test]
fn parts_of_a_release_are_one_entry_of_the_smallest_crowd() {
    let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
    let one = ledger.record("p", bits(1)).unwrap();
    assert_eq!(ledger.record("p", bits(1)).unwrap(), one);
    assert_eq!((one.survey(), one.epoch(), ledger.entries("p").len()), ("pixels", 1, 1));
    let part = |honest| {
        let mut entry = bits(1);
        if let Spending::Bits { crowd, .. } = &mut entry.spending {
            crowd.honest = honest;
        }
        entry
    };
    assert_eq!(ledger.record("p", part(6_000)).unwrap(), one, "a larger crowd costs nothing more");
    let smaller = ledger.record("p", part(2_000)).unwrap().spent().epsilon();
    assert!(smaller > one.spent().epsilon());
    let mut alone = Ledger::new(guarantee(5.0, 1e-6));
    assert_eq!(alone.record("p", part(2_000)).unwrap().spent().epsilon(), smaller);
    assert_eq!(ledger.entries("p").len(), 1);

    let mut other_terms = bits(1);
    other_terms.spending = Spending::Guarantee(guarantee(0.1, 1e-9));
    assert!(matches!(ledger.record("p", other_terms), Err(Error::Refused(_))));
    let mut tight = Ledger::new(guarantee(one.spent().epsilon().value() * 1.01, 1e-6));
    tight.record("p", bits(1)).unwrap();
    assert!(matches!(tight.record("p", part(2_000)), Err(Error::Refused(_))), "a part can be too much");
    assert_eq!(tight.entries("p"), [bits(1)]);
}

/// What a miss costs grows with the epsilon that it is set aside for: (1 + e^epsilon) of it.
#[test]
fn a_miss_counts_at_the_epsilon_that_is_stated() {
    let missing = |epoch, miss| {
        let mut entry = bits(epoch);
        if let Spending::Bits { crowd: hiding, .. } = &mut entry.spending {
            *hiding = crowd(5_000, miss);
        }
        entry
    };
    let spend = |miss, delta| {
        let mut ledger = Ledger::new(guarantee(9.0, delta));
        (1..=4).map(|epoch| ledger.record("p", missing(epoch, miss)).unwrap().spent().epsilon()).last()
    };
    let epsilon = spend(1e-8, 1e-6).unwrap();
    let rest = 1e-6 - 4e-8 * (1.0 + epsilon.value().exp());
    let (low, high) = (spend(0.0, rest * 1.001).unwrap(), spend(0.0, rest * 0.999).unwrap());
    assert!(low.value() <= epsilon.value() * (1.0 + 2e-6) && epsilon <= high, "{low} {epsilon} {high}");
}

#[test]
fn deltas_count_too() {
    let mut ledger = Ledger::new(guarantee(5.0, 1e-8));
    let entry = Entry { survey: "s".into(), epoch: 1, spending: Spending::Guarantee(guarantee(0.1, 1e-6)) };
    assert!(matches!(ledger.record("p", entry), Err(Error::Refused(_))));
    let mut costly = bits(1);
    if let Spending::Bits { crowd, .. } = &mut costly.spending {
        crowd.miss = Delta::new(1e-7).unwrap();
    }
    assert!(matches!(ledger.record("p", costly), Err(Error::Refused(_))));
}

fn epoch(epoch: u64, answers_kept: bool) -> Entry {
    let spending = Spending::Backstop {
        crowd: crowd(5_000, 1e-11),
        epsilon_backstop: Epsilon::new(4.0).unwrap(),
        epsilon_fragment: Epsilon::new(2.5).unwrap(),
        fragments: 2,
        answers_kept,
    };
    Entry { survey: "pixels".into(), epoch, spending }
}

/// Two epochs behind the same coins are no two fresh randomizations: their difference shows what those who left, or changed
/// their answer, had sent.
#[test]
fn coins_hide_nobody_twice() {
    let mut ledger = Ledger::new(guarantee(45.0, 1e-6));
    let one = ledger.record("p", epoch(1, false)).unwrap().spent().epsilon().value();
    let two = ledger.record("p", epoch(2, false)).unwrap().spent().epsilon().value();
    let series = BackstopSeries {
        honest: 5_000,
        epsilon_backstop: Epsilon::new(4.0).unwrap(),
        epsilon_fragment: Epsilon::new(2.5).unwrap(),
        fragments: 2,
        epochs: 2,
    };
    let at = Delta::new(1e-6 - 2e-10).unwrap();
    let by_series = series.guarantee(Answers::MayChange, at).unwrap().epsilon().value();
    assert!((two / by_series - 1.0).abs() < 0.01 && two > one, "{two} {by_series}");
    for number in 3..=40 {
        ledger.record("p", epoch(number, false)).unwrap();
    }
    assert!(ledger.spent("p").unwrap().epsilon().value() > 2.0 * two);
}

fn few(number: u64, answers_kept: bool) -> Entry {
    let mut entry = epoch(number, answers_kept);
    if let Spending::Backstop { crowd: hiding, .. } = &mut entry.spending {
        *hiding = crowd(30, 0.0);
    }
    entry
}

/// Too few to hide anyone. One epoch shows one backstop; of two, with answers that may change, that does not hold any more:
/// then it is the fragments that count, however many they are.
#[test]
fn a_single_epoch_never_costs_more_than_a_backstop_and_two_may_cost_more_than_two() {
    let mut ledger = Ledger::new(guarantee(500.0, 1e-6));
    let spent = |ledger: &mut Ledger, entry| ledger.record("p", entry).unwrap().spent().epsilon().value();
    let mut sharp = few(1, false);
    if let Spending::Backstop { epsilon_fragment, .. } = &mut sharp.spending {
        *epsilon_fragment = Epsilon::new(9.0).unwrap();
    }
    assert!(spent(&mut ledger, sharp.clone()) <= 4.001);
    sharp.epoch = 2;
    assert!(spent(&mut ledger, sharp) > 12.0, "more than three backstops");
}

/// Where the first report counts, all epochs together are one backstop; a single entry that does not say so ends that.
#[test]
fn kept_answers_cost_one_backstop_however_many_epochs() {
    let mut ledger = Ledger::new(guarantee(500.0, 1e-6));
    for number in 1..30 {
        let spent = ledger.record("p", few(number, true)).unwrap().spent().epsilon().value();
        assert!(spent <= 4.001, "{spent} after {number}");
    }
    let spent = ledger.record("p", few(30, false)).unwrap().spent().epsilon().value();
    assert!(spent > 20.0, "{spent}");
}

#[test]
fn without_any_delta_the_local_guarantees_add_up() {
    let mut ledger = Ledger::new(guarantee(8.5, 0.0));
    ledger.record("p", bits(1)).unwrap();
    let two = ledger.record("p", bits(2)).unwrap().spent().epsilon().value();
    assert!((8.0..8.001).contains(&two), "{two}");
    assert!(matches!(ledger.record("p", bits(3)), Err(Error::Refused(_))));
}

#[test]
fn a_release_that_moves_nothing_is_refused() {
    let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
    let (mut none, mut empty) = (bits(1), epoch(1, false));
    if let Spending::Bits { moved, .. } = &mut none.spending {
        *moved = 0;
    }
    if let Spending::Backstop { fragments, .. } = &mut empty.spending {
        *fragments = 0;
    }
    for entry in [none, empty] {
        assert!(matches!(ledger.record("p", entry), Err(Error::Parameter { .. })));
    }
    assert!(ledger.entries("p").is_empty());
}
