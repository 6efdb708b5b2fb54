//! What releases spend together, and which are refused.

use super::*;
use crate::amplification::exact;

fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
    CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
}

fn crowd(honest: u64, miss: f64) -> Hiding {
    Hiding { honest, miss: Delta::new(miss).unwrap(), deletion: NOTHING }
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
fn deletions_are_composed_beside_the_counts() {
    let deletion = guarantee(0.3, 1e-9);
    let mut labelled = bits(1);
    if let Spending::Bits { crowd, .. } = &mut labelled.spending {
        crowd.deletion = deletion;
    }
    let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
    let plain = ledger.record("p", bits(1)).unwrap().spent().epsilon().value();
    labelled.survey = "labelled".into();
    let more = ledger.record("q", labelled).unwrap().spent().epsilon().value() - plain;
    assert!((0.2..0.301).contains(&more), "{more}");
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

fn epoch(epoch: u64, membership: Membership) -> Entry {
    let spending = Spending::Backstop {
        crowd: crowd(5_000, 1e-11),
        epsilon_backstop: Epsilon::new(4.0).unwrap(),
        epsilon_fragment: Epsilon::new(2.5).unwrap(),
        fragments: 2,
        membership,
    };
    Entry { survey: "pixels".into(), epoch, spending }
}

/// Two epochs behind one backstop with other respondents are no two fresh randomizations: their difference shows
/// what those who left had sent.
#[test]
fn a_backstop_hides_nobody_twice() {
    let budget = guarantee(45.0, 1e-6);
    let (mut changing, mut identical) = (Ledger::new(budget), Ledger::new(budget));
    let one = changing.record("p", epoch(1, Membership::Changing)).unwrap().spent().epsilon().value();
    let once = identical.record("p", epoch(1, Membership::Identical)).unwrap().spent().epsilon().value();
    let two = changing.record("p", epoch(2, Membership::Changing)).unwrap().spent().epsilon().value();
    let series = crate::epochs::BackstopSeries {
        honest: 5_000,
        epsilon_backstop: Epsilon::new(4.0).unwrap(),
        epsilon_fragment: Epsilon::new(2.5).unwrap(),
        fragments: 2,
        epochs: 2,
    };
    let at = Delta::new(1e-6 - 2e-10).unwrap();
    let by_series = series.guarantee(Membership::Changing, at).unwrap().epsilon().value();
    assert!((two / by_series - 1.0).abs() < 0.01, "{two} {by_series}");
    for number in 3..=40 {
        changing.record("p", epoch(number, Membership::Changing)).unwrap();
        identical.record("p", epoch(number, Membership::Identical)).unwrap();
    }
    assert!(changing.spent("p").unwrap().epsilon().value() > 2.0 * two);
    // The same people pay once, but for what overflows.
    let paid = identical.spent("p").unwrap().epsilon().value();
    assert!(paid >= once && paid < 1.001 * once, "{paid} {once}");
    // One epoch of others, and the series is no longer free.
    identical.record("p", epoch(41, Membership::Changing)).unwrap();
    assert!(identical.spent("p").unwrap().epsilon().value() > 2.0 * one);
}

/// Too few to hide anyone: each epoch shows a backstop, and whoever changed their answer had another one each time.
#[test]
fn an_epoch_never_costs_more_than_a_backstop() {
    let mut ledger = Ledger::new(guarantee(50.0, 1e-6));
    for number in 1..6 {
        let mut entry = epoch(number, Membership::Changing);
        if let Spending::Backstop { crowd: hiding, .. } = &mut entry.spending {
            *hiding = crowd(30, 0.0);
        }
        let spent = ledger.record("p", entry).unwrap().spent().epsilon().value();
        assert!(spent <= 4.001 * number as f64, "{spent} after {number}");
    }
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
    let (mut none, mut empty) = (bits(1), epoch(1, Membership::Changing));
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
