use super::*;
use throng_account::attacker::{Coalition, RemainingPrivacy};
use throng_testing::survey::{FRAGMENTED, PROFILES, RECORD, SURVEY};

fn survey(text: &str) -> Survey {
    Survey::from_toml(text).unwrap()
}

fn refused(survey: &Survey) -> String {
    match CheckedClaim::check(survey) {
        Err(Error::Claim(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bound_is_never_shown_below_itself() {
    for (epsilon, shown) in
        [(1.0, 1.0), (0.1, 0.1), (1.1, 1.1), (0.9999991, 1.0), (0.1234561, 0.123457), (0.0, 0.0)]
    {
        assert_eq!(rounded_up(epsilon), shown);
    }
    for step in 1..1000 {
        let epsilon = f64::from(step) * 0.001_234_567_89;
        assert!(rounded_up(epsilon) >= epsilon && rounded_up(epsilon) - epsilon < 1.1e-6);
    }
}

#[test]
fn a_claim_that_holds_says_what_is_left_whatever_fails() {
    let claim = CheckedClaim::check(&survey(SURVEY)).unwrap();
    assert_eq!(claim.promise.honest_respondents, 90_000);
    assert!((claim.floor.epsilon().value() - 5.25).abs() < 1e-9);
    assert!(claim.central.epsilon() < claim.claimed.epsilon() && claim.overflow.value() < 1e-8);
    let sentences = claim.sentences().join("\n");
    for part in [
        "epsilon_local 5.25",
        "epsilon_central 1, delta 1e-6",
        "90000 honest",
        "1 or more of the 3 instances",
        "yours: epsilon 5.25 (removal)",
        "(replacement) are told apart by at most epsilon 10.5 whatever fails",
        // 1 + e is 3.7183.
        "by at most epsilon_central 2, delta 3.72e-6",
        "(absence) is not hidden: the first hop of each instance signs how many took part",
    ] {
        assert!(sentences.contains(part), "{part}: {sentences}");
    }
    assert!(!claim.number_is_visible() && !sentences.contains("no cover") && !sentences.contains("Anyone"));
    let claim = CheckedClaim::check(&survey(FRAGMENTED)).unwrap();
    assert!(claim.fragment.epsilon() < claim.floor.epsilon());
    let sentences = claim.sentences().join("\n");
    for part in [
        "epsilon_backstop 5.25",
        "as long as your answer is the same",
        "m times 16",
        "A single fragment",
        "Anyone may answer",
        "up to 2 of the fragments",
    ] {
        assert!(sentences.contains(part), "{part}: {sentences}");
    }
    let mut never = survey(FRAGMENTED);
    if let crate::survey::Randomizer::ReportFragments { answer_changes, .. } = &mut never.randomizer {
        *answer_changes = Some(AnswerChanges::Never);
    }
    let first = CheckedClaim::check(&never).unwrap().sentences().join("\n");
    assert!(first.contains("your first report") && first.contains("epsilon_backstop 5.25"), "{first}");
    assert!(!first.contains("If it changes"), "{first}");
    // Whoever ties fragments to a respondent has the release as well, so all that is left is the floor.
    let colluding: Vec<&str> = sentences.lines().filter(|line| line.contains("work together")).collect();
    assert!(colluding.len() > 1);
    for (line, collusion) in colluding.into_iter().zip(claim.exposure.collusions().unwrap()) {
        let left = format!("known to be yours: epsilon {} (removal) is left", claim.floor.epsilon());
        assert!(line.contains(&left), "{line}");
        let alone = format!("by themselves those fragments say epsilon {}", collusion.exposed);
        assert!(collusion.exposed < claim.floor.epsilon() && line.contains(&alone), "{line}");
    }
}

/// The floor is of one epoch, or of all while the answer is the same, or where the first one counts. Every sentence that has its
/// number, or the double for two answers, says which. (With epsilon_backstop 1 and epsilon_fragment 4, one answer and then the
/// other against the other way round is 16, and not 2.)
#[test]
fn every_sentence_with_the_floor_says_for_how_long_it_holds() {
    let changing = |changes: AnswerChanges| {
        let mut survey = survey(FRAGMENTED);
        if let crate::survey::Randomizer::ReportFragments { answer_changes, .. } = &mut survey.randomizer {
            *answer_changes = Some(changes);
        }
        survey
    };
    let about_floor = |survey: &Survey| -> Vec<String> {
        let claim = CheckedClaim::check(survey).unwrap();
        let numbers =
            [claim.floor.epsilon(), claim.replacement().0.epsilon()].map(|epsilon| epsilon.to_string());
        let has = |sentence: &String| {
            let mut words = sentence.split([' ', ',', ';', ':']).map(|word| word.trim_end_matches('.'));
            words.any(|word| numbers.iter().any(|number| word == number))
        };
        claim.sentences().into_iter().filter(has).collect()
    };
    for (survey, condition) in [
        (survey(SURVEY), &["in an epoch", "in one epoch"][..]),
        (changing(AnswerChanges::Allowed), &["answer is the same in every epoch", "in m of T epochs"]),
    ] {
        let sentences = about_floor(&survey);
        assert!(sentences.len() >= 3, "the floor, instances that work together, two answers: {sentences:?}");
        for sentence in sentences {
            assert!(condition.iter().any(|part| sentence.contains(part)), "{sentence}");
        }
    }
    let kept = about_floor(&changing(AnswerChanges::Never));
    assert!(kept.len() >= 3 && kept.iter().all(|sentence| !sentence.contains("same")), "{kept:?}");
}

/// One bit or none of a record differs from the reference, over the values of all attributes: what holds for one
/// question with as many values holds for it, and nothing less.
#[test]
fn a_record_has_the_claim_of_one_question_with_all_its_values() {
    for randomizer in [survey(SURVEY).randomizer, survey(FRAGMENTED).randomizer] {
        let (mut one, mut record) = (survey(SURVEY), survey(RECORD));
        (one.randomizer, record.randomizer) = (randomizer.clone(), randomizer);
        (one.delivery.envelopes, record.delivery.envelopes) = (80, 80);
        let (one, found) = (CheckedClaim::check(&one).unwrap(), CheckedClaim::check(&record).unwrap());
        assert_eq!(found, one);
        assert!(found.overflow.value() > 0.0);
        // An attribute less is less traffic, and the same bits.
        let mut narrow = record.clone();
        narrow.encoding = crate::survey::Encoding::Record {
            attributes: vec![crate::survey::Attribute { name: "age".into(), values: 9, names: None }],
        };
        assert!(CheckedClaim::check(&narrow).unwrap().overflow < found.overflow);
        record.claim.epsilon_central = found.central.epsilon().value() * 0.99;
        refused(&record);
        record.claim.epsilon_central = 1.0;
        record.delivery.envelopes = 8;
        assert!(refused(&record).contains("8 envelopes to each instance are too few"));
    }
}

/// Everything that the guarantee rests on, made a little worse than it may be.
#[test]
fn a_claim_that_does_not_hold_is_refused() {
    let good = survey(SURVEY);
    let found = CheckedClaim::check(&good).unwrap().central.epsilon().value();
    let mut tight = good.clone();
    tight.claim.epsilon_central = found * (1.0 + 1e-9);
    CheckedClaim::check(&tight).unwrap();
    let mut lower = good.clone();
    lower.claim.epsilon_central = found * 0.99;
    assert!(refused(&lower).contains("with 90000 honest respondents the bound exact gives"));
    let mut smaller = tight.clone();
    smaller.crowd.respondents_min = 99_000;
    refused(&smaller);
    let mut fewer_honest = tight.clone();
    fewer_honest.crowd.honest_fraction = Some(0.89);
    refused(&fewer_honest);
    let mut less_delta = tight.clone();
    less_delta.claim.delta = 0.9e-6;
    refused(&less_delta);
    let mut louder = tight;
    louder.randomizer = crate::survey::Randomizer::AttributeFragments { epsilon_local: 5.26 };
    refused(&louder);
    let mut narrow = good.clone();
    narrow.delivery.envelopes = 8;
    assert!(refused(&narrow).contains("8 envelopes to each instance are too few"));
    let mut nobody = good;
    nobody.crowd.respondents_min = 2;
    nobody.crowd.honest_fraction = Some(0.1);
    refused(&nobody);
}

#[test]
fn a_bound_outside_its_conditions_proves_nothing() {
    let mut sketch = survey(SURVEY);
    sketch.encoding = crate::survey::Encoding::Sketch { domain: 1 << 40, rows: 16, cells: 784, seed: 1 };
    sketch.claim.epsilon_central = 4.0;
    CheckedClaim::check(&sketch).unwrap();
    sketch.claim.bound = "fmt23".into();
    assert!(refused(&sketch).contains("says nothing about sketches"));
    for bound in ["fmt23", "clones21", "blanket", "lemma", "theorem"] {
        let mut other = survey(SURVEY);
        other.claim.bound = bound.into();
        other.claim.epsilon_central = 5.3;
        match CheckedClaim::check(&other) {
            Ok(claim) => assert!(claim.central.epsilon() <= claim.claimed.epsilon()),
            Err(Error::Claim(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Deletion takes people out of the crowd and costs nothing under removal; what it hides is stated under absence.
#[test]
fn labels_cost_the_people_whom_instances_delete() {
    let plain = CheckedClaim::check(&survey(SURVEY)).unwrap();
    let mut labelled = survey(SURVEY);
    labelled.labels = Some(Labels {
        names: vec!["de".into(), "fr".into()],
        epsilon_deletion: 0.2,
        delta_deletion: 1e-9,
        epsilon_label: Some(1.5),
        profiles: None,
    });
    labelled.claim.epsilon_central = 1.5;
    let claim = CheckedClaim::check(&labelled).unwrap();
    let more = claim.central.epsilon().value() - plain.central.epsilon().value();
    assert!(more > 0.0 && more < 0.02, "{more}");
    // Up to four counts move, and three deletions of a tenth are paid for.
    let absence = claim.absence.clone().unwrap().epsilon().value();
    assert!(absence > 2.0 * claim.central.epsilon().value() && absence < 4.4, "{absence}");
    let said = claim.absence_in_words();
    assert!(said.contains("(absence) is epsilon_central ") && said.contains("delta 1e-6"), "{said}");
    assert!(plain.absence.is_err());
    // Each instance loses at most 420 respondents: the shift is 207, and noise with a scale of 10 is beyond 213
    // with a probability of 1e-8/5.5/3. A count is in the crowd of one instance, so they are lost once.
    assert_eq!(plain.promise.honest_respondents - claim.promise.honest_respondents, 420);
    assert!((claim.floor.epsilon().value() - 6.75).abs() < 1e-9);
    assert!(claim.sentences().iter().any(|sentence| sentence.contains("epsilon_label 1.5")));
    labelled.claim.epsilon_central = claim.central.epsilon().value() - 0.001;
    refused(&labelled);
}

/// Under a profile of two of three instances, and of one: who may work against you are those instances.
#[test]
fn a_trust_profile_is_accounted_for_by_itself() {
    let profiles = survey(PROFILES);
    let [all, two, one] = [1, 2, 3].map(|label| CheckedClaim::under(&profiles, label).unwrap());
    assert_eq!([&all, &two, &one].map(|claim| claim.exposure.instances), [3, 2, 1]);
    assert_eq!([&all, &two, &one].map(|claim| claim.label), [1, 2, 3]);
    // The noise of a single instance is beyond its bound a little less often than that of any of three.
    let lost = [&all, &two, &one].map(|claim| 90_000 - claim.promise.honest_respondents);
    assert!(lost[2] < lost[1] && lost[1] < lost[0] && lost[2] > 350 && lost[0] < 430, "{lost:?}");
    assert!(two.overflow > all.overflow && one.overflow > two.overflow);
    // A plain survey has a little less: its crowd is larger.
    let plain = CheckedClaim::check(&survey(SURVEY)).unwrap().central.epsilon().value();
    for claim in [&all, &two, &one] {
        let more = claim.central.epsilon().value() - plain;
        assert!(more > 0.0 && more < 0.02, "{more}");
    }
    // Fewer counts of others move with somebody's absence where fewer instances get fragments.
    let absent = [&all, &two, &one].map(|claim| claim.absence.clone().unwrap().epsilon().value());
    assert!(absent[0] > absent[1] && absent[1] > absent[2], "{absent:?}");
    // Of all labels together each number is the worst: what one instance sees under the label of one, and absence under that of
    // three.
    let worst = CheckedClaim::check(&profiles).unwrap();
    assert_eq!((worst.label, &worst.exposure, worst.overflow), (3, &one.exposure, one.overflow));
    assert_eq!(worst.absence, all.absence);
    let central = [&all, &two, &one].map(|claim| claim.central.epsilon().value());
    assert_eq!(worst.central.epsilon().value(), central.into_iter().fold(0.0, f64::max));
    assert_eq!(
        worst.promise.honest_respondents, all.promise.honest_respondents,
        "the most instances delete the most"
    );

    let sentences = two.sentences().join("\n");
    for part in [
        "Under the label two your fragments go to instances 1 and 3 alone.",
        "To instance 2 you send as many bytes of chaff",
        "1 or more of the 2 instances that get your fragments",
        "sees under which label",
    ] {
        assert!(sentences.contains(part), "{part}: {sentences}");
    }
    assert!(one.sentences().join("\n").contains("go to instance 2 alone"));
    let sentences = all.sentences().join("\n");
    assert!(!sentences.contains("alone") && sentences.contains("1 or more of the 3 instances work"));
    assert!(matches!(CheckedClaim::under(&profiles, 0), Err(Error::Label(_))));
    assert!(matches!(CheckedClaim::under(&profiles, 4), Err(Error::Label(_))));
}

/// Bodies that are large enough for fragments that are spread over three instances are too small for those that all
/// go to one; whoever answers under another label is told, too.
#[test]
fn a_claim_that_only_holds_for_all_instances_is_refused() {
    let mut narrow = survey(PROFILES);
    narrow.delivery.envelopes = 24;
    let mut without = narrow.clone();
    without.labels.as_mut().unwrap().profiles = None;
    let spread = CheckedClaim::check(&without).unwrap();
    let fitting = (24..60).find(|&envelopes| {
        narrow.delivery.envelopes = envelopes;
        CheckedClaim::check(&narrow).is_ok()
    });
    assert!(
        fitting.is_some_and(|envelopes| (26..36).contains(&envelopes)),
        "{fitting:?}: {:?}",
        spread.overflow
    );
    narrow.delivery.envelopes = 24;
    for reason in (1..=3).map(|label| match CheckedClaim::under(&narrow, label) {
        Err(Error::Claim(reason)) => reason,
        other => panic!("{other:?}"),
    }) {
        assert!(reason.contains("24 envelopes to each instance are too few"), "{reason}");
        assert!(reason.contains("under the label "), "{reason}");
    }
}

/// Of four report fragments an instance sees two of a bit if three instances get some or two do, and all if it is alone.
#[test]
fn a_trust_profile_of_fewer_instances_shows_each_of_them_more_fragments() {
    let mut profiles = survey(PROFILES);
    profiles.randomizer = survey(FRAGMENTED).randomizer;
    profiles.delivery.envelopes = 200;
    let seen = [1, 2, 3].map(|label| {
        let claim = CheckedClaim::under(&profiles, label).unwrap();
        match claim.exposure.left(Coalition::AnalyzerAndInstances(1)).unwrap() {
            RemainingPrivacy::Local { fragments, .. } => fragments,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen, [2, 2, 4]);
}

#[test]
fn without_cover_the_number_of_fragments_is_visible() {
    let mut bare = survey(SURVEY);
    bare.delivery.cover = Cover::None;
    let claim = CheckedClaim::check(&bare).unwrap();
    assert!(claim.number_is_visible());
    assert!(claim.sentences().iter().any(|sentence| sentence.contains("how many fragments you send")));
}
