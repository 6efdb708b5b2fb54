//! What answers spend: the person's own limit, and what epochs share.

use throng::exit;
use throng::respondent::How;
use throng_dp::Epsilon;

use crate::world::{EPOCH_MS, FRAGMENTED, ONE_HOT};
use crate::{Desk, files, rng};

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
    // A backstop is paid once for a value ...
    near(answer(&two, Some(7), 10).unwrap(), 15.75);
    near(answer(&two, Some(7), 11).unwrap(), 15.75);
    // ... and another value would be another one, as would another report.
    for refused in [answer(&two, Some(8), 12), answer(&two, None, 12), answer(&one, Some(7), 12)] {
        let error = refused.unwrap_err();
        assert_eq!(exit::code(&error), exit::REFUSED, "{error:#}");
        assert!(error.to_string().contains("only 0.2500 is left"), "{error}");
    }
    near(answer(&two, Some(7), 12).unwrap(), 15.75);
    drop(respondent);
    let mut respondent = one.open();
    assert_eq!(respondent.ledger().epsilon_limit(), 16.0);
    assert!(one.answer(&mut respondent, Some(7), 12 * EPOCH_MS, 2).is_err());
    assert_eq!(files(&one.state()).keys().filter(|name| name.starts_with("permanent")).count(), 1);
    respondent.set_epsilon_limit(Epsilon::new(30.0).unwrap()).unwrap();
    one.answer(&mut respondent, Some(7), 12 * EPOCH_MS, 2).unwrap();
}

/// The backstop stays; the fragments are drawn from it anew in every epoch.
#[test]
fn epochs_share_a_backstop_and_differ_in_their_fragments() {
    let desk = Desk::new(FRAGMENTED);
    let mut drawn = Vec::new();
    let mut backstops = Vec::new();
    for epoch in 0..6_u8 {
        let mut respondent = desk.open();
        let answered =
            desk.answer(&mut respondent, Some(7), u64::from(epoch) * EPOCH_MS, 20 + epoch).unwrap();
        let answer = answered.answer();
        let opened =
            answer.bodies.iter().map(|body| desk.world.open(&answer.route(body), body.bytes().unwrap()));
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
    let how = How { label: Some("fr".into()), ..How::default() };
    let mut sent = Vec::new();
    for epoch in 0..8_u8 {
        let mut respondent = desk.open();
        let now_ms = u64::from(epoch) * EPOCH_MS;
        let answered =
            respondent.answer_with(&desk.bundle(), Some(7), &how, now_ms, &mut rng(epoch)).unwrap();
        sent.push(answered.answer().label);
        let spent = respondent.ledger().spent().unwrap().value();
        assert!((spent - (0.5 + 5.25 * f64::from(epoch + 1))).abs() < 1e-9, "{spent}");
    }
    assert!(sent.iter().all(|label| *label == sent[0] && (1..=3).contains(label)), "{sent:?}");
}
