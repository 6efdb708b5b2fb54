//! What the terms of a survey guarantee for a crowd, and what a release under them spends.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use throng_account::bound::Bound;
use throng_account::deletion::Deletion;
use throng_account::ledger::{Entry, Ledger, Spending};
use throng_account::terms::{Kept, Terms};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Mechanism, OneHot, Removal, ReportFragments};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn guarantee(value: f64, delta: f64) -> CentralGuarantee<Removal> {
    CentralGuarantee::new(epsilon(value), Delta::new(delta).unwrap())
}

/// A survey like the README's: 784 values, three instances.
fn one_hot() -> Terms {
    let mechanism = Mechanism::OneHot(OneHot::new(784, epsilon(5.25)).unwrap());
    Terms {
        answers_kept: false,
        coins: mechanism.coins(),
        width: 784,
        rows: None,
        instances: 3,
        receiving: 3,
        envelopes: 24,
        honest_fraction: 0.9,
        deletion: None,
        claimed: guarantee(1.0, 1e-6),
        bound: Bound::named("exact").unwrap(),
    }
}

fn fragments() -> Terms {
    let backstop = OneHot::new(784, epsilon(5.25)).unwrap();
    let fragmented = ReportFragments::new(backstop, epsilon(4.0), 4).unwrap();
    let coins = Mechanism::FragmentedOneHot(fragmented).coins();
    Terms { coins, envelopes: 120, ..one_hot() }
}

fn labelled() -> Terms {
    let deletion = Deletion::new(epsilon(0.2), Delta::new(1e-9).unwrap()).unwrap();
    Terms { deletion: Some(deletion), claimed: guarantee(2.0, 1e-6), ..one_hot() }
}

fn all() -> [(&'static str, Terms); 3] {
    [("one-hot", one_hot()), ("report fragments", fragments()), ("labels", labelled())]
}

fn central(kept: &Kept) -> f64 {
    kept.central.epsilon().value()
}

#[test]
fn a_larger_crowd_hides_better() {
    for (name, terms) in all() {
        let of = |respondents| terms.guarantee(respondents).unwrap();
        let crowds = [3_000, 3_001, 4_000, 8_000, 30_000].map(of);
        for pair in crowds.windows(2) {
            assert!(pair[0].honest <= pair[1].honest, "{name}");
            assert!(central(&pair[0]) >= central(&pair[1]), "{name}: {pair:?}");
            // Where the claim does not hold, what overflows counts for more: e to the epsilon that was found.
            if central(&pair[0]) <= terms.claimed.epsilon().value() {
                assert!(
                    pair[0].overflow < pair[1].overflow,
                    "{name}: every body is one more that can overflow"
                );
            }
        }
        assert!(central(&crowds[4]) < 0.5 * central(&crowds[0]), "{name}: {crowds:?}");
        assert!(crowds.iter().all(|kept| kept.central.delta() == terms.claimed.delta()), "{name}");
    }
}

/// Those beyond the plan may be left out: so many more of them that bodies overflow take nothing away.
#[test]
fn a_crowd_above_the_plan_never_makes_the_guarantee_worse() {
    let planned = 3_000;
    for (name, terms) in all() {
        let plan = terms.guarantee(planned).unwrap();
        for respondents in [3_000, 3_500, 20_000, 1_000_000] {
            let kept = terms.guarantee_at_least(respondents, planned).unwrap();
            assert!(central(&kept) <= central(&plan), "{name}: {respondents}");
            assert!(kept.honest >= plan.honest.min(kept.honest), "{name}");
        }
        // Below the plan, nobody is counted who was not there.
        let below = terms.guarantee_at_least(2_000, planned).unwrap();
        assert_eq!(below, terms.guarantee(2_000).unwrap(), "{name}");
        assert!(central(&below) >= central(&plan), "{name}");
    }
    // Bodies that are just large enough for the plan.
    let tight = (1..24)
        .map(|envelopes| Terms { envelopes, ..one_hot() })
        .find(|terms| terms.guarantee(planned).is_ok())
        .unwrap();
    let many = (20..40).map(|bits| 1u64 << bits).find(|&many| tight.guarantee(many).is_err()).unwrap();
    assert_eq!(tight.guarantee_at_least(many, planned).unwrap(), tight.guarantee(planned).unwrap());
}

/// The ledger and the release say the same about one release.
#[test]
fn a_release_alone_spends_what_it_states_at_most() {
    for (name, terms) in all() {
        // Crowds of which the labelled one keeps its claim, too: what overflows is worked out at the claimed epsilon.
        for respondents in [6_000, 12_000] {
            let kept = terms.guarantee(respondents).unwrap();
            let spending = terms.spending(&kept);
            let mut ledger = Ledger::new(guarantee(100.0, terms.claimed.delta().value()));
            let entry = Entry { survey: "survey".into(), epoch: 7, spending };
            let spent = ledger.record("people", entry).unwrap().spent();
            let (spent, stated) = (spent.epsilon().value(), central(&kept));
            // The ledger counts up to half a percent fewer people.
            assert!(spent <= stated * 1.005, "{name}, {respondents}: {spent} of {stated}");
            assert!(spent > 0.5 * stated, "{name}, {respondents}: {spent} of {stated}");
        }
    }
}

/// Deletion looks at no value: a labelled crowd has the guarantee of a plain one of those who are kept, and a little less delta.
#[test]
fn deletion_takes_people_out_of_the_crowd_and_costs_nothing_else() {
    let (plain, labelled) = (Terms { claimed: guarantee(2.0, 1e-6), ..one_hot() }, labelled());
    let (without, with) = (plain.guarantee(3_000).unwrap(), labelled.guarantee(3_000).unwrap());
    assert!(with.honest < without.honest, "those that are deleted do not hide anyone");
    assert!(central(&with) > central(&without));
    let as_many = Terms { honest_fraction: 1.0, ..plain.clone() }.guarantee(with.honest).unwrap();
    assert!((central(&with) - central(&as_many)).abs() < 2e-3, "{with:?} {as_many:?}");
    let crowd = |terms: &Terms, kept| match terms.spending(kept) {
        Spending::Bits { crowd, .. } => crowd,
        other => panic!("{other:?}"),
    };
    let (without, with) = (crowd(&plain, &without), crowd(&labelled, &with));
    assert!(with.miss > without.miss, "more may be deleted than is counted on");
}

/// Bodies, and who is deleted out of the crowd, are those of the instances that get fragments.
#[test]
fn a_trust_profile_fills_few_bodies() {
    let over = |receiving, envelopes| Terms { receiving, envelopes, ..labelled() };
    let [all, two, one] = [3, 2, 1].map(|receiving| over(receiving, 40).guarantee(4_000).unwrap());
    assert!(all.overflow < two.overflow && two.overflow < one.overflow);
    assert!(all.honest < two.honest && two.honest < one.honest);
    // Bodies that are just large enough for three.
    let tight = (1..40).find(|&envelopes| over(3, envelopes).guarantee(4_000).is_ok()).unwrap();
    assert!(over(2, tight).guarantee(4_000).is_err() && over(1, tight).guarantee(4_000).is_err());
    // With all fragments of a bit in one place, the same people are behind all of them: the backstop's own bound holds.
    let behind = |receiving| Terms { receiving, envelopes: 200, ..fragments() }.guarantee(4_000).unwrap();
    let backstop = Terms { instances: 1, ..Terms { receiving: 1, envelopes: 200, ..fragments() } };
    assert_eq!(behind(1).central, backstop.guarantee(4_000).unwrap().central);
    assert!(central(&behind(1)) != central(&behind(2)));
}

#[test]
fn nothing_is_said_where_nothing_is_proved() {
    let few = Terms { envelopes: 1, ..one_hot() };
    let error = few.guarantee(3_000).unwrap_err().to_string();
    assert!(error.contains("1 envelopes to each instance are too few"), "{error}");
    assert!(one_hot().guarantee(0).is_err() || central(&one_hot().guarantee(0).unwrap()) >= 5.25);
}
