//! What answers spend: the person's own limit, and what epochs share.

use throng_dp::Epsilon;
use throng_respondent::{AnswerOptions, ErrorKind, Origin, Refusal, Respondent};
use throng_testing::desk::{Desk, rng};
use throng_testing::world::{EPOCH_MS, FRAGMENTED, ONE_HOT};

use crate::files;

#[test]
fn the_persons_limit_holds_over_all_surveys() {
    let (one, two) = (Desk::new(ONE_HOT), Desk::new(FRAGMENTED));
    let mut respondent = one.open();
    respondent.set_epsilon_limit(Epsilon::new(16.0).unwrap()).unwrap();
    let mut answer = |desk: &Desk, value, epoch: u64| {
        desk.answer(&mut respondent, value, epoch * EPOCH_MS, 2)
            .map(|_| respondent.ledger().spent().unwrap().value())
    };
    let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got} for {expected}");
    near(answer(&one, Some(7), 10).unwrap(), 5.25);
    near(answer(&one, Some(7), 11).unwrap(), 10.5);
    // A constant answer is paid once ...
    near(answer(&two, Some(7), 10).unwrap(), 15.75);
    near(answer(&two, Some(7), 11).unwrap(), 15.75);
    // ... and another one, or none, would show that it was there before, as would another report.
    for refused in [answer(&two, Some(8), 12), answer(&two, None, 12), answer(&one, Some(7), 12)] {
        let error = refused.unwrap_err();
        let Some(&Refusal::Limit { epsilon_added, epsilon_limit, epsilon_left, epsilon_needed }) =
            error.refusal()
        else {
            panic!("{error:#}")
        };
        near(epsilon_left, 0.25);
        assert!(epsilon_limit == 16.0 && epsilon_added > 5.0 && epsilon_needed >= 15.75 + epsilon_added);
        assert!(error.to_string().contains("only 0.2500 is left"), "{error}");
    }
    near(answer(&two, Some(7), 12).unwrap(), 15.75);
    drop(respondent);
    let mut respondent = one.open();
    assert_eq!(respondent.ledger().epsilon_limit(), Some(16.0));
    assert!(one.answer(&mut respondent, Some(7), 12 * EPOCH_MS, 2).is_err());
    assert_eq!(files(&one.state()).keys().filter(|name| name.starts_with("permanent")).count(), 1);
    respondent.set_epsilon_limit(Epsilon::new(30.0).unwrap()).unwrap();
    one.answer(&mut respondent, Some(7), 12 * EPOCH_MS, 2).unwrap();
}

/// What is refused is told as the rule that refused it, with what would have to change.
#[test]
fn without_a_limit_nothing_is_answered() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = Respondent::open(desk.state()).unwrap();
    respondent.use_credential(desk.folder.path().join("credential")).unwrap();
    for value in [Some(7), None] {
        let error = desk.answer(&mut respondent, value, 10 * EPOCH_MS, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.refusal(), Some(&Refusal::NoLimit { epsilon_added: 5.25 }));
        assert!(error.to_string().contains("refused: you have set no limit"), "{error}");
    }
    assert!(respondent.ledger().entries().is_empty());
    respondent.set_epsilon_limit(Epsilon::new(5.25).unwrap()).unwrap();
    desk.answer(&mut respondent, None, 10 * EPOCH_MS, 2).unwrap();
}

/// Four fragments of 4 in each epoch, a backstop of 5.25: an answer in m of T epochs is min(16 m, 5.25 + 16 (T - m)). The
/// ledger books what each epoch adds, and it is shown before it is sent.
#[test]
fn an_answer_that_changes_is_booked_and_told() {
    let desk = Desk::new(FRAGMENTED);
    let mut respondent = desk.open();
    respondent.set_epsilon_limit(Epsilon::new(80.0).unwrap()).unwrap();
    let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got} for {expected}");
    for (epoch, value, added, next) in [
        (10, None, 0.0, (0.0, 16.0, 0.0)),
        (11, Some(7), 16.0, (5.25, 16.0, 0.0)),
        (12, Some(7), 5.25, (0.0, 26.75, 10.75)),
        (13, Some(8), 26.75, (16.0, 16.0, 0.0)),
    ] {
        let answer = desk.answer(&mut respondent, value, epoch * EPOCH_MS, epoch as u8).unwrap();
        let shown = respondent.show_answer(&answer, epoch * EPOCH_MS).unwrap();
        near(shown.epsilon_added, added);
        let told = shown.next_epoch.unwrap();
        near(told.epsilon_same, next.0);
        near(told.epsilon_another, next.1);
        near(told.epsilon_nothing, next.2);
        let words = shown.guarantee.join(" ");
        assert!(words.contains(&format!("One more adds epsilon {:.4}", next.0)), "{words}");
    }
    near(respondent.ledger().spent().unwrap().value(), 48.0);
    // What would be too much is refused, and nothing of it is kept.
    respondent.set_epsilon_limit(Epsilon::new(60.0).unwrap()).unwrap();
    let before = files(&desk.state());
    let refused = desk.answer(&mut respondent, Some(9), 14 * EPOCH_MS, 14).unwrap_err();
    assert!(refused.refusal().is_some(), "{refused:#}");
    assert!(refused.to_string().contains("spends epsilon 16.0000"), "{refused}");
    assert_eq!(files(&desk.state()), before);
    let permanent = before.keys().filter(|name| name.starts_with("permanent")).count();
    assert_eq!(permanent, 1, "coins are drawn once, whatever is answered");
}

/// With `answer_changes = "never"`: the first report, also of having nothing to say, is what all epochs are drawn from; it
/// is paid for once, and what is kept does not tell which answer it was.
#[test]
fn the_first_report_counts_where_answers_may_not_change() {
    let never = FRAGMENTED.replace("fragments = 4", "fragments = 4, answer_changes = \"never\"");
    assert_ne!(never, FRAGMENTED);
    for first in [Some(7), None] {
        let desk = Desk::new(&never);
        let mut respondent = desk.open();
        let mut kept: Option<Vec<u8>> = None;
        let mut seven = Vec::new();
        for (epoch, value) in [(10, first), (11, Some(8)), (12, None), (13, Some(7))] {
            let answer = desk.answer(&mut respondent, value, epoch * EPOCH_MS, epoch as u8).unwrap();
            assert_eq!(answer.origin, if epoch > 10 { Origin::First } else { Origin::Now });
            let spent = respondent.ledger().spent().unwrap().value();
            assert!((spent - 5.25).abs() < 1e-9, "{spent}");
            let all = files(&desk.state());
            let mut permanent = all.iter().filter(|(name, _)| name.starts_with("permanent"));
            let (_, bytes) = permanent.next().unwrap();
            assert!(permanent.next().is_none());
            assert_eq!(kept.get_or_insert_with(|| bytes.clone()), bytes, "nothing is drawn again");
            let opened = answer.bodies.iter().map(|body| desk.world.open(&answer.route(body), body.bytes()));
            let fragments: Vec<u32> = opened.flatten().collect();
            seven.push(fragments.iter().filter(|&&bit| bit == 7).count() >= 3);
            assert!(fragments.iter().filter(|&&bit| bit == 8).count() < 3, "later answers are in nothing");
        }
        // But with a probability of half a percent a bit is kept as it is, and then shows in every epoch.
        assert_eq!(seven, [first.is_some(); 4]);
        let shown = respondent.show(14 * EPOCH_MS).unwrap();
        assert!(shown[0].guarantee[0].contains("your first report"), "{:?}", shown[0].guarantee);
        let ledger = std::str::from_utf8(&files(&desk.state())["ledger"]).unwrap().to_owned();
        assert!(ledger.contains("\"given\": null"), "which answer was given is not written down: {ledger}");
    }
}

/// The coins stay; the fragments are drawn from their backstop anew in every epoch.
#[test]
fn epochs_share_their_coins_and_differ_in_their_fragments() {
    let desk = Desk::new(FRAGMENTED);
    let mut drawn = Vec::new();
    let mut backstops = Vec::new();
    for epoch in 0..6_u8 {
        let mut respondent = desk.open();
        let answer = desk.answer(&mut respondent, Some(7), u64::from(epoch) * EPOCH_MS, 20 + epoch).unwrap();
        let opened = answer.bodies.iter().map(|body| desk.world.open(&answer.route(body), body.bytes()));
        let mut fragments: Vec<u32> = opened.flatten().collect();
        fragments.sort_unstable();
        drawn.push(fragments);
        drop(respondent);
        backstops.push(
            files(&desk.state())
                .into_iter()
                .filter(|(name, _)| name.starts_with("permanent"))
                .collect::<Vec<_>>(),
        );
    }
    assert!(backstops.iter().all(|all| all.len() == 1 && *all == backstops[0]));
    let mut different = drawn.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), drawn.len(), "every epoch draws fresh fragments");
    // An attribute of the backstop has four fragments in each epoch, of which 98 % are set at
    // epsilon_fragment 4: it comes up in far more than half of 24; any other in 2 % of them. The same
    // attributes stand out in every epoch.
    let standing_out = |fragments: &[u32]| -> Vec<u32> {
        let bits = fragments.chunk_by(|one, other| one == other);
        bits.filter(|bit| bit.len() >= 3).map(|bit| bit[0]).collect()
    };
    let first = standing_out(&drawn[0]);
    assert!(!first.is_empty());
    for fragments in &drawn[1..] {
        let other = standing_out(fragments);
        let common = first.iter().filter(|attribute| other.contains(attribute)).count();
        assert!(2 * common > first.len(), "{first:?} {other:?}");
    }
}

/// A label that is not public is randomized once for a survey: every epoch has the same one, and it is paid
/// once.
#[test]
fn a_randomized_label_stays_and_is_paid_once() {
    let labels = "[labels]\nnames = [\"de\", \"fr\", \"it\"]\nepsilon_label = 0.5\n\
                  epsilon_deletion = 0.2\ndelta_deletion = 1e-9\n";
    let desk = Desk::new(&(ONE_HOT.replace("epsilon_central = 1.0", "epsilon_central = 1.5") + labels));
    let options = AnswerOptions { label: Some("fr".into()), ..AnswerOptions::default() };
    let mut sent = Vec::new();
    for epoch in 0..8_u8 {
        let mut respondent = desk.open();
        let now_ms = u64::from(epoch) * EPOCH_MS;
        let answer = respondent.answer_with(&desk.bundle(), 7, &options, now_ms, &mut rng(epoch)).unwrap();
        sent.push(answer.label);
        let spent = respondent.ledger().spent().unwrap().value();
        assert!((spent - (0.5 + 5.25 * f64::from(epoch + 1))).abs() < 1e-9, "{spent}");
    }
    assert!(sent.iter().all(|label| *label == sent[0] && (1..=3).contains(label)), "{sent:?}");
}
