//! Plans that hold, that say why not, and what they would take.

use super::*;
use crate::TO_THE_END;
use crate::deletion::Deletion;
use crate::terms::Terms;

fn question(epsilon: f64, delta: f64, respondents: u64, domain: u64) -> Question {
    Question {
        epsilon_central: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        respondents,
        honest_fraction: 1.0,
        domain,
        report_fragments: 1,
        instances: 3,
        encoding: Choice::Recommend,
        distribution: Distribution::Uniform,
        labels: None,
    }
}

fn labelled(receiving: &[u32]) -> Option<PlanLabels> {
    let deletion = Deletion::new(Epsilon::new(0.1).unwrap(), Delta::new(1e-9).unwrap()).unwrap();
    Some(PlanLabels { deletion, receiving: receiving.iter().copied().collect() })
}

#[test]
fn horse_is_planned_as_the_accounting_notes_have_it() {
    let plan = plan(&question(1.0, 5e-8, 1_914_589, 87_680)).unwrap();
    assert_eq!(plan.encoding, Encoding::OneHot);
    // 10.682 certified at the full delta; a hundredth of delta is set aside.
    let floor = plan.exposure.epsilon_floor.value();
    assert!((10.675..=10.682).contains(&floor), "{floor}");
    assert!((plan.accuracy.standard_error - 6.63).abs() < 0.03, "{:?}", plan.accuracy);
    assert!((plan.fragments - 3.0).abs() < 0.1, "{}", plan.fragments);
    assert!(plan.overflow.value() <= 5e-10 && plan.overflow.value() > 0.0);
    assert!((15..30).contains(&plan.envelopes), "{}", plan.envelopes);
    assert_eq!(plan.accuracy.collision_error, 0.0);
    assert!(
        plan.reasons.iter().any(|reason| reason.contains("3 report fragments, one for each instance")),
        "{:?}",
        plan.reasons
    );
    assert!(plan.reasons.iter().any(|reason| reason.starts_with("3 instances")), "{:?}", plan.reasons);
}

/// The plan's guarantee is what the accountant certifies for its parameters, with the honest crowd only.
#[test]
fn what_is_planned_holds() {
    for (honest, tau) in [(1.0, 1), (0.5, 1), (0.8, 16)] {
        let mut question = question(0.5, 1e-7, 100_000, 500);
        (question.honest_fraction, question.report_fragments) = (honest, tau);
        let plan = plan(&question).unwrap();
        let floor = Bernoulli::flip(plan.exposure.epsilon_floor).unwrap().epsilon();
        let crowd = (100_000.0 * honest) as u64;
        let main = Delta::new(1e-7 - plan.overflow.value()).unwrap();
        let certified = exact::epsilon_certified(crowd, floor, main).unwrap();
        assert!(certified.epsilon().value() <= 0.5, "{certified}");
        assert!(certified.epsilon().value() > 0.48, "{certified}");
    }
}

/// What is planned for labels is what the accountant of a survey with them finds, under every one of them and nearly
/// exactly; with smaller bodies it would not hold under the smallest profile.
#[test]
fn what_is_planned_for_trust_profiles_holds_under_each_of_them() {
    for tau in [1, 4] {
        let mut question = question(1.0, 1e-6, 200_000, 500);
        (question.labels, question.report_fragments) = (labelled(&[3, 2, 1]), tau);
        let plan = plan(&question).unwrap();
        assert_eq!(plan.exposure.instances, 1);
        let coin = |epsilon| Bernoulli::flip(epsilon).unwrap();
        let floor = coin(plan.exposure.epsilon_floor);
        let coins = match plan.exposure.fragments {
            None => throng_dp::Coins::Runs { coin: floor, runs: 1 },
            Some((fragment, tau)) => {
                throng_dp::Coins::Fragments { backstop: floor, fragment: coin(fragment), tau }
            }
        };
        let kept = |receiving, envelopes| {
            Terms {
                answers_kept: false,
                coins,
                width: 500,
                rows: None,
                instances: 3,
                receiving,
                envelopes,
                honest_fraction: 1.0,
                deletion: question.labels.as_ref().map(|labels| labels.deletion),
                claimed: CentralGuarantee::new(question.epsilon_central, question.delta),
                bound: Bound::named("exact").unwrap(),
            }
            .guarantee(question.respondents)
            .unwrap()
        };
        for receiving in [3, 2, 1] {
            let kept = kept(receiving, plan.envelopes);
            let epsilon = kept.central.epsilon().value();
            assert!(epsilon <= 1.0, "{tau}, {receiving}: {epsilon}");
            assert!(tau > 1 || epsilon > 0.98, "{tau}, {receiving}: {epsilon}");
            assert!(kept.overflow <= plan.overflow);
        }
        assert!(kept(1, plan.envelopes).overflow.value() <= 1e-8);
        assert!(kept(1, plan.envelopes - 1).overflow.value() > 1e-8, "the fewest that do");
        let spread = plan_of(&question, &[3]);
        assert!(
            spread.envelopes < plan.envelopes && spread.exposure.epsilon_floor == plan.exposure.epsilon_floor
        );
        let one = plan_of(&question, &[1]);
        assert!(spread.envelopes < one.envelopes && one.envelopes <= plan.envelopes);
        assert!(one.exposure.epsilon_floor >= plan.exposure.epsilon_floor, "one instance deletes fewer");
        assert!(
            plan.reasons.iter().any(|reason| reason.contains("go to 1 of 3 instances")),
            "{:?}",
            plan.reasons
        );
    }
}

fn plan_of(question: &Question, receiving: &[u32]) -> Plan {
    plan(&Question { labels: labelled(receiving), ..question.clone() }).unwrap()
}

#[test]
fn labels_that_leave_nothing_are_refused_with_a_reason() {
    let mut question = question(1.0, 1e-6, 200_000, 500);
    for receiving in [&[][..], &[0], &[4], &[1, 4]] {
        question.labels = labelled(receiving);
        assert!(matches!(plan(&question), Err(Error::Parameter { .. })), "{receiving:?}");
    }
    question.labels = labelled(&[1]);
    let refused = |question: &Question| match plan(question) {
        Err(Error::Infeasible { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let small = Question { respondents: 500, ..question.clone() };
    assert!(refused(&small).contains("leaves nobody"));
    // What is deleted takes people out of the crowd, and nothing of epsilon_central or delta.
    let tight = Question { epsilon_central: Epsilon::new(0.1).unwrap(), ..question.clone() };
    assert!(
        plan(&tight)
            .unwrap()
            .reasons
            .iter()
            .any(|reason| reason.contains("costs nothing of epsilon_central"))
    );
    plan(&Question { delta: Delta::new(1e-9).unwrap(), ..question }).unwrap();
}

#[test]
fn more_fragments_expose_less_at_one_instance() {
    let mut question = question(1.0, 1e-6, 1_000_000, 1000);
    question.report_fragments = 4;
    let plan = plan(&question).unwrap();
    let exposed = |bad| match plan.exposure.left(Coalition::AnalyzerAndInstances(bad)).unwrap() {
        RemainingPrivacy::Local { exposed, .. } => exposed.epsilon(),
        other => panic!("{other:?}"),
    };
    assert!(exposed(1) < exposed(3) && exposed(3) <= plan.exposure.epsilon_floor);
    let cost = fragment_cost(&question, TO_THE_END).unwrap();
    assert_eq!(cost.envelopes.0, plan.envelopes);
    assert!((cost.standard_error.1 / cost.standard_error.0 - 1.0).abs() < 0.01, "{cost:?}");
}

/// Many report fragments over few instances: the bound on the envelopes has to stay within the range of a double.
#[test]
fn dozens_of_fragments_for_one_instance_can_be_planned() {
    let mut question = question(1.0, 1e-6, 1_000_000, 1000);
    (question.report_fragments, question.instances, question.encoding) = (64, 1, Choice::OneHot);
    let plan = plan(&question).unwrap();
    assert!((500..800).contains(&plan.envelopes) && plan.overflow.value() <= 1e-8, "{plan:?}");
}

#[test]
fn too_many_fragments_become_a_sketch() {
    // Four billion values, a modest crowd: one bit per value would send thousands of fragments.
    let mut question = question(1.0, 1e-6, 200_000, 1 << 32);
    question.distribution = Distribution::Zipf(1.2);
    let plan = plan(&question).unwrap();
    assert!(matches!(plan.encoding, Encoding::Sketch { .. }));
    assert!(plan.reasons[0].starts_with("A sketch, because"), "{:?}", plan.reasons);
    let a = plan.accuracy;
    let sum = (a.privacy_error.powi(2) + a.collision_error.powi(2)).sqrt();
    assert!((sum / a.standard_error - 1.0).abs() < 1e-9 && a.collision_error > 0.0);
    question.encoding = Choice::OneHot;
    match super::plan(&question) {
        Err(error @ Error::TooManyFragments { fragments, envelopes: Some(envelopes), limit, .. }) => {
            assert!(fragments > 2000.0 && f64::from(envelopes) > fragments / 3.0, "{error}");
            assert_eq!(limit, ENVELOPES_MAX);
            for part in [format!("about {fragments:.0}"), format!("{envelopes} envelopes"), "a sketch".into()]
            {
                assert!(error.to_string().contains(&part), "{part}: {error}");
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Where even the smallest sketch has too many, the refusal is about the smallest.
#[test]
fn too_many_report_fragments_are_refused_with_their_number() {
    let mut question = question(1.0, 1e-6, 1_000_000, 100);
    question.report_fragments = 20_000;
    for encoding in [Choice::Recommend, Choice::OneHot, Choice::Sketch, Choice::Record { attributes: 2 }] {
        question.encoding = encoding;
        match plan(&question) {
            Err(error @ Error::TooManyFragments { fragments, .. }) => {
                assert!(error.to_string().contains("fewer report fragments"), "{error}");
                let most = if encoding == Choice::Sketch { 2.7e6 } else { 1.1e6 };
                assert_eq!(error.to_string().contains("a sketch"), encoding == Choice::OneHot, "{error}");
                assert!((2e5..most).contains(&fragments), "{encoding:?}: {fragments}");
            }
            other => panic!("{encoding:?}: {other:?}"),
        }
    }
}

/// Guarantee and traffic of a record are those of one bit over the values of all attributes; its accuracy is not.
#[test]
fn records_are_planned_like_one_bit_and_scaled_up() {
    for tau in [1, 4] {
        let mut question = question(1.0, 1e-6, 100_000, 111);
        (question.encoding, question.report_fragments) = (Choice::OneHot, tau);
        let whole = plan(&question).unwrap();
        question.encoding = Choice::Record { attributes: 5 };
        let sampled = plan(&question).unwrap();
        assert_eq!(sampled.encoding, Encoding::Record { attributes: 5 });
        assert_eq!(sampled.exposure, whole.exposure);
        assert_eq!((sampled.envelopes, sampled.overflow), (whole.envelopes, whole.overflow));
        assert_eq!(sampled.fragments, whole.fragments);
        let (one, five) = (whole.accuracy, sampled.accuracy);
        let near = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-9, "{got} {expected}");
        near(five.standard_error, 5.0 * one.standard_error);
        near(five.privacy_error, 5.0 * one.privacy_error);
        near(five.sampling_error, (4.0 * 1e5_f64).sqrt());
        assert_eq!((one.sampling_error, five.collision_error), (0.0, 0.0));
        assert!(sampled.reasons[0].contains("one of 5 attributes"), "{:?}", sampled.reasons);

        // The smallest count that is told from zero exceeds the threshold by what it may itself be off, and no more.
        let noise = match sampled.exposure.fragments {
            None => BitNoise::single(Bernoulli::flip(sampled.exposure.epsilon_floor).unwrap()),
            Some((epsilon, tau)) => BitNoise::fragmented(
                Bernoulli::flip(sampled.exposure.epsilon_floor).unwrap(),
                Bernoulli::flip(epsilon).unwrap(),
                tau,
            ),
        };
        let spread = noise.spread(1e5, 5);
        let margin = five.detectable - five.threshold - spread.deviation(five.detectable, 0.05);
        assert!((0.0..1e-6 * five.detectable).contains(&margin), "{margin}");
        assert!(five.detectable > five.threshold + spread.deviation(0.0, 0.05));
        near(five.simultaneous_error, spread.deviation(1e5, 0.05 / 222.0));

        // One attribute is one question.
        question.encoding = Choice::Record { attributes: 1 };
        assert_eq!(plan(&question).unwrap().accuracy, one);
    }
}

#[test]
fn what_crowd_records_need_is_answered_too() {
    let mut question = question(1.0, 1e-6, 2, 111);
    question.encoding = Choice::Record { attributes: 5 };
    let needed = respondents_for_share(&question, 0.1, TO_THE_END).unwrap().unwrap();
    let enough = plan(&Question { respondents: needed, ..question.clone() }).unwrap();
    assert!(enough.accuracy.detectable <= 0.1 * needed as f64);
    let one =
        respondents_for_share(&Question { encoding: Choice::OneHot, ..question.clone() }, 0.1, TO_THE_END);
    assert!(needed > one.unwrap().unwrap());
    question.respondents = 100;
    assert!(matches!(plan(&question), Err(Error::Infeasible { .. })));
}

#[test]
fn what_cannot_be_seen_is_refused_with_what_could() {
    match plan(&question(0.01, 1e-9, 100, 1000)) {
        Err(Error::Infeasible { reason, alternatives }) => {
            assert!(reason.contains("told from zero"), "{reason}");
            assert_eq!(alternatives.len(), 2, "{alternatives:?}");
        }
        other => panic!("{other:?}"),
    }
    let needed = respondents_for_share(&question(1.0, 1e-6, 2, 1000), 0.01, TO_THE_END).unwrap().unwrap();
    let enough = plan(&question(1.0, 1e-6, needed, 1000)).unwrap();
    assert!(enough.accuracy.detectable <= 0.01 * needed as f64);
}

#[test]
fn nonsense_is_refused() {
    let good = question(1.0, 1e-6, 1000, 10);
    for bad in [
        Question { epsilon_central: Epsilon::ZERO, ..good.clone() },
        Question { delta: Delta::ZERO, ..good.clone() },
        Question { honest_fraction: 0.0, ..good.clone() },
        Question { honest_fraction: f64::NAN, ..good.clone() },
        Question { respondents: 1, ..good.clone() },
        Question { domain: 0, ..good.clone() },
        Question { report_fragments: 0, ..good.clone() },
        Question { instances: 0, ..good.clone() },
        Question { encoding: Choice::Record { attributes: 0 }, ..good.clone() },
        Question { encoding: Choice::Record { attributes: 6 }, ..good.clone() },
    ] {
        assert!(matches!(plan(&bad), Err(Error::Parameter { .. })), "{bad:?}");
    }
}
