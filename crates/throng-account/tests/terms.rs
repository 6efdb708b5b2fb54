//! What the terms of a survey guarantee for a crowd, and what a release under them spends.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use throng_account::TO_THE_END;
use throng_account::bound::Bound;
use throng_account::deletion::Deletion;
use throng_account::ledger::{Entry, Ledger, Spending};
use throng_account::planner::{Choice, Distribution, Question, plan};
use throng_account::terms::{EpochGuarantee, Terms};
use throng_dp::{CentralGuarantee, Coins, Delta, Epsilon, Mechanism, OneHot, Removal};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn guarantee(value: f64, delta: f64) -> CentralGuarantee<Removal> {
    CentralGuarantee::new(epsilon(value), Delta::new(delta).unwrap())
}

/// A survey like the README's: 784 values, three instances.
fn one_hot() -> Terms {
    let mechanism = Mechanism::plain(OneHot::new(784, epsilon(5.25)).unwrap());
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
    let coins = Mechanism::fragments(backstop, epsilon(4.0), 4).unwrap().coins();
    Terms { coins, envelopes: 120, ..one_hot() }
}

fn labelled() -> Terms {
    let deletion = Deletion::new(epsilon(0.2), Delta::new(1e-9).unwrap()).unwrap();
    Terms { deletion: Some(deletion), claimed: guarantee(2.0, 1e-6), ..one_hot() }
}

fn all() -> [(&'static str, Terms); 3] {
    [("one-hot", one_hot()), ("report fragments", fragments()), ("labels", labelled())]
}

fn central(kept: &EpochGuarantee) -> f64 {
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
            let kept = terms.guarantee_at_least(respondents, planned, TO_THE_END).unwrap();
            assert!(central(&kept) <= central(&plan), "{name}: {respondents}");
            assert!(kept.honest >= plan.honest.min(kept.honest), "{name}");
        }
        // Below the plan, nobody is counted who was not there.
        let below = terms.guarantee_at_least(2_000, planned, TO_THE_END).unwrap();
        assert_eq!(below, terms.guarantee(2_000).unwrap(), "{name}");
        assert!(central(&below) >= central(&plan), "{name}");
    }
    // Bodies that are just large enough for the plan.
    let tight = (1..24)
        .map(|envelopes| Terms { envelopes, ..one_hot() })
        .find(|terms| terms.guarantee(planned).is_ok())
        .unwrap();
    let many = (20..40).map(|bits| 1u64 << bits).find(|&many| tight.guarantee(many).is_err()).unwrap();
    assert_eq!(
        tight.guarantee_at_least(many, planned, TO_THE_END).unwrap(),
        tight.guarantee(planned).unwrap()
    );
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

/// From the definition: of the K instances each gets `width`/K attributes, all independent coins of probability p, but for the
/// value's own, of 1 - p; the fullest body is that of the instance with the value. The chance that it has more than b.
fn fullest_body_exceeds(own_width: u64, p: f64, envelopes: u64) -> f64 {
    // Bin(own_width - 1, p) by its recurrence, and the value's coin.
    let others = own_width - 1;
    let mut mass = (1.0 - p).powi(others as i32);
    let mut exceeds = 0.0;
    for count in 0..=others {
        let with_value = if count + 1 > envelopes { 1.0 - p } else { 0.0 };
        let without = if count > envelopes { p } else { 0.0 };
        exceeds += mass * (with_value + without);
        mass *= (others - count) as f64 / (count + 1) as f64 * p / (1.0 - p);
    }
    exceeds
}

/// Everybody's body at every instance can overflow, in both worlds. With one envelope less than an instance has attributes
/// Chernoff's bound is no bound but the probability, and what is set aside is n K (1 + e^epsilon) (1 - p) p^b, nothing less.
#[test]
fn what_overflows_at_any_instance_is_set_aside() {
    for (instances, respondents) in [(1u32, 1_000), (2, 1_000), (3, 1_000), (7, 400), (7, 4_000)] {
        let (each, envelopes) = (7, 6);
        let width = each * u64::from(instances);
        let coins = Mechanism::plain(OneHot::new(width, epsilon(3.0)).unwrap()).coins();
        let (receiving, claimed) = (instances, guarantee(1.0, 0.01));
        let terms = Terms {
            coins,
            width,
            instances,
            receiving,
            envelopes,
            claimed,
            honest_fraction: 1.0,
            ..one_hot()
        };
        let kept = terms.guarantee(respondents).unwrap();
        assert!(central(&kept) <= 1.0, "{kept:?}");
        let p = 1.0 / (1.0 + 3f64.exp());
        let exceeds = fullest_body_exceeds(each, p, u64::from(envelopes));
        assert!((exceeds / ((1.0 - p) * p.powi(6)) - 1.0).abs() < 1e-9);
        let definition = respondents as f64 * f64::from(instances) * (1.0 + 1f64.exp()) * exceeds;
        let ratio = kept.overflow.value() / definition;
        assert!((0.999_99..1.000_01).contains(&ratio), "{instances}, {respondents}: {ratio}, {kept:?}");
    }
}

/// What overflows is taken from delta: of bodies that are nearly too small the counts have the rest, which is less, and say so
/// with a larger epsilon.
#[test]
fn what_overflows_is_not_spent_again_on_counts() {
    let Coins::Runs { coin, .. } = one_hot().coins else { panic!("one-hot reports have runs") };
    let mut looked = 0;
    let crowds = [2_000, 3_000, 4_500, 7_000, 10_000, 15_000u64];
    for (respondents, envelopes) in crowds.into_iter().flat_map(|crowd| (1..24).map(move |b| (crowd, b))) {
        let terms = Terms { envelopes, ..one_hot() };
        let Ok(kept) = terms.guarantee(respondents) else { continue };
        let claimed = terms.claimed.delta().value();
        // The 784 attributes over three instances: 262 at the fullest.
        let exceeds = fullest_body_exceeds(262, coin.probability(), u64::from(envelopes));
        let lost = respondents as f64 * 3.0 * (1.0 + central(&kept).exp()) * exceeds;
        let bound = |delta: f64| {
            let honest = (respondents as f64 * terms.honest_fraction) as u64;
            let delta = Delta::new(delta).unwrap();
            terms.bound.epsilon_central(honest, coin.epsilon(), delta, None).unwrap().value()
        };
        assert!(kept.overflow.value() >= lost * (1.0 - 1e-9), "{envelopes}: {lost} {kept:?}");
        assert!(central(&kept) >= bound(claimed - lost) * (1.0 - 1e-9), "{envelopes}: {kept:?}");
        let rest = claimed - kept.overflow.value();
        assert!((central(&kept) / bound(rest) - 1.0).abs() < 1e-6, "{envelopes}: {kept:?}");
        // Where a tenth of delta or more is lost it shows.
        if kept.overflow.value() > 0.1 * claimed {
            assert!(central(&kept) > bound(claimed) * (1.0 + 1e-4), "{envelopes}: {kept:?}");
            looked += 1;
        }
    }
    assert!(looked > 0, "no body was nearly too small");
}

/// Envelopes that a plan gives are enough for everybody at every instance: by exact tails, which share nothing with the planner.
#[test]
fn planned_bodies_are_large_enough_for_everybody_at_every_instance() {
    let mut tightest = 0.0f64;
    for instances in [1, 3, 16, 64] {
        for width_each in [20, 50, 125, 300] {
            for respondents in [3_000, 40_000] {
                let question = Question {
                    epsilon_central: epsilon(1.0),
                    delta: Delta::new(1e-6).unwrap(),
                    respondents,
                    honest_fraction: 1.0,
                    domain: width_each * u64::from(instances),
                    report_fragments: 1,
                    instances,
                    encoding: Choice::OneHot,
                    distribution: Distribution::Uniform,
                    labels: None,
                };
                let plan = plan(&question).unwrap();
                let p = 1.0 / (1.0 + plan.exposure.epsilon_floor.value().exp());
                let exceeds = fullest_body_exceeds(width_each, p, u64::from(plan.envelopes));
                let lost = respondents as f64 * f64::from(instances) * (1.0 + 1f64.exp()) * exceeds;
                assert!(lost <= 1e-8, "{instances} {width_each} {respondents}: {lost:e}, {}", plan.envelopes);
                assert!(lost <= plan.overflow.value() * (1.0 + 1e-9), "{instances} {width_each}: {lost:e}");
                tightest = tightest.max(lost);
            }
        }
    }
    // Not by far more than needed, or a factor of K that is forgotten would not show.
    assert!(tightest > 1e-8 / 10.0, "{tightest:e}");
}
