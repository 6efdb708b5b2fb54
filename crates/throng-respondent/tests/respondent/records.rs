//! Records of several attributes.

use throng_dp::Epsilon;
use throng_respondent::{AnswerOptions, Respondent, Value};
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::{EPOCH_MS, ONE_HOT, RECORD};

use crate::files;

/// A record is one answer: in all epochs, whatever else is answered, it is about one attribute.
#[test]
fn records_are_answered_about_one_attribute_in_all_epochs() {
    let desk = Desk::new(RECORD);
    let mut respondent = desk.open();
    respondent.set_epsilon_limit(Epsilon::new(200.0).unwrap()).unwrap();
    let mut answer = |record: Option<Vec<Option<u32>>>, epoch: u64| {
        let (bundle, options, now_ms) = (desk.bundle(), AnswerOptions::default(), epoch * EPOCH_MS);
        let rng = &mut rng(20 + epoch as u8);
        let answer = match record {
            Some(record) => respondent.answer_with(&bundle, record, &options, now_ms, rng).unwrap(),
            None => respondent.abstain_with(&bundle, &options, now_ms, rng).unwrap(),
        };
        let opened = answer.bodies.iter().map(|body| desk.world.open(&answer.route(body), body.bytes()));
        let mut fragments: Vec<u32> = opened.flatten().collect();
        fragments.sort_unstable();
        (fragments, respondent.ledger().spent().unwrap().value())
    };
    let record = vec![Some(4), Some(1), Some(700)];
    // Of the four fragments of a bit that the backstop has, three are set but with probability 2e-3; of any other
    // bit but with 3e-5.
    let own = |fragments: &[u32], bit: u32| fragments.iter().filter(|&&other| other == bit).count() >= 3;
    let first = answer(Some(record.clone()), 10);
    let sampled: Vec<u32> = [4, 9 + 1, 11 + 700].into_iter().filter(|&bit| own(&first.0, bit)).collect();
    assert_eq!(sampled.len(), 1, "one attribute was sampled: {sampled:?}");
    for epoch in 11..16 {
        let next = answer(Some(record.clone()), epoch);
        assert!(own(&next.0, sampled[0]) && next.0 != first.0, "{epoch}");
        assert!((next.1 - 5.25).abs() < 1e-9, "a constant answer is paid once, not {}", next.1);
    }
    // Another record is another answer, about the same attribute: six and one of seven epochs. One without any value is
    // having nothing to say.
    let other = answer(Some(vec![Some(5), Some(0), Some(701)]), 16);
    let place = [4, 10, 711].iter().position(|&bit| bit == sampled[0]).unwrap();
    assert!(own(&other.0, [5, 9, 712][place]) && !own(&other.0, sampled[0]));
    assert!((other.1 - (5.25 + 16.0 + 16.0)).abs() < 1e-9, "{}", other.1);
    let silent = answer(Some(vec![None; 3]), 17);
    assert!(!own(&silent.0, sampled[0]));
    assert!((silent.1 - (5.25 + 2.0 * 16.0 + 16.0)).abs() < 1e-9, "{}", silent.1);
    assert!((answer(None, 18).1 - (5.25 + 3.0 * 16.0 + 16.0)).abs() < 1e-9);
    assert_eq!(files(&desk.state()).keys().filter(|name| name.starts_with("permanent")).count(), 1);
}

/// From records to estimates of all attributes: 90 answers without a backstop, each with a sample of its own. Noise ends
/// at 21 at this beta; a value that 60 hold is sampled 20 times, give or take 3.7, and counted three times as often.
#[test]
fn what_records_say_is_estimated_attribute_by_attribute() {
    let backstop =
        "{ kind = \"report-fragments\", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4 }";
    let plain = "{ kind = \"attribute-fragments\", epsilon_local = 5.25 }";
    let desk = Desk::new(&RECORD.replace(backstop, plain).replace("envelopes = 80", "envelopes = 40"));
    let mut respondent = desk.open();
    respondent.set_epsilon_limit(Epsilon::new(1000.0).unwrap()).unwrap();
    let mechanism = desk.world.survey.survey().mechanism().unwrap();
    let mut tally = mechanism.tally().unwrap();
    for epoch in 0..90_u8 {
        let record = vec![Some(4), Some(1), if epoch < 60 { Some(700) } else { None }];
        let now_ms = u64::from(epoch) * EPOCH_MS;
        let (options, rng) = (AnswerOptions::default(), &mut rng(epoch));
        let answer = respondent.answer_with(&desk.bundle(), record, &options, now_ms, rng).unwrap();
        for body in &answer.bodies {
            let fragments = desk.world.open(&answer.route(body), body.bytes());
            tally.add_fragments(&fragments).unwrap();
        }
        tally.add_respondents(1);
    }
    let estimates = mechanism.estimate(&tally).unwrap();
    assert_eq!(estimates.counts().len(), 9 + 2 + 773);
    let mut found = estimates.heavy_hitters(0.001).unwrap().values;
    found.sort_unstable();
    assert_eq!(found, [4, 9 + 1, 9 + 2 + 700]);
    for (value, truth) in [(4, 90.0), (10, 90.0), (711, 60.0), (9, 0.0), (710, 0.0)] {
        let off = (estimates.counts()[value] - truth).abs();
        assert!(off < 5.0 * estimates.spread().variance(truth).sqrt(), "{value}: off by {off}");
    }
}

#[test]
fn a_record_that_does_not_fit_spends_nothing_and_is_not_repeated() {
    let desk = Desk::new(RECORD);
    let mut respondent = desk.open();
    let now = |respondent: &mut Respondent, value: Value| {
        respondent.answer_with(&desk.bundle(), value, &AnswerOptions::default(), NOW_MS, &mut rng(2))
    };
    for (value, part) in [
        (Value::from(vec![Some(4), Some(1)]), "2 attributes where the survey has 3"),
        (vec![Some(777_777), Some(1), None].into(), "the domain of 9 values"),
        (vec![None, Some(777_777), None].into(), "the domain of 2 values"),
        (Value::from(777_777), "asks for a record"),
    ] {
        let error = now(&mut respondent, value).unwrap_err();
        let (shown, debug) = (format!("{error:#}"), format!("{error:?}"));
        assert!(shown.contains(part), "{shown}");
        assert!(!shown.contains("777777") && !debug.contains("777777"), "{shown} {debug}");
    }
    assert_eq!(respondent.ledger().spent().unwrap(), Epsilon::ZERO);
    assert!(!files(&desk.state()).keys().any(|name| name.starts_with("permanent")));
    let one_hot = Desk::new(ONE_HOT);
    let (record, options) = (vec![Some(7)], AnswerOptions::default());
    let mut respondent = one_hot.open();
    let refused = respondent.answer_with(&one_hot.bundle(), record, &options, NOW_MS, &mut rng(2));
    assert!(format!("{:#}", refused.unwrap_err()).contains("asks for a single value"));
}
