//! From the tallies of instances to a release: which belong together, and what they say.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use throng_account::ledger::{Booking, Entry, Ledger};
use throng_account::terms::EpochGuarantee;
use throng_analyze::plausible::Doubt;
use throng_analyze::{CountedBatch, Crowd, Error, InstanceTally, Rejected, Release};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_testing::wire::{SHAPE, Shape, draft};
use throng_wire::survey::{Encoding, Labels, Randomizer};
use throng_wire::{Digest, Route, Survey, SurveyHash};

const EPOCH: u64 = 9;

fn survey() -> Survey {
    draft(Shape { envelopes: 24, ..SHAPE })
}

fn route(instance: u32) -> Route {
    Route { survey: survey().hash().unwrap(), label: 0, epoch: EPOCH, instance }
}

/// An instance that counted so many respondents, of whom `held` hold value 5.
fn part(instance: u32, respondents: u64, held: u64) -> InstanceTally {
    let mut tally = survey().mechanism().unwrap().tally().unwrap();
    tally.add_respondents(respondents);
    tally.add_count(5, held).unwrap();
    let rejected = Rejected { seal: u64::from(instance), ..Rejected::default() };
    let batch = Digest::of(&instance.to_be_bytes());
    InstanceTally {
        route: route(instance),
        counted: Some(CountedBatch { batch, envelopes: held + 1, rejected, tally }),
    }
}

fn destroyed(instance: u32) -> InstanceTally {
    InstanceTally { route: route(instance), counted: None }
}

fn budget() -> CentralGuarantee<Removal> {
    CentralGuarantee::new(Epsilon::new(5.0).unwrap(), Delta::new(1e-5).unwrap())
}

/// What the survey guarantees for a crowd, and its entry in a ledger.
fn recorded(respondents: u64, survey_hash: &str, epoch: u64) -> (EpochGuarantee, Booking) {
    let terms = throng_survey::terms(&survey(), 0).unwrap();
    let kept = terms.guarantee(respondents).unwrap();
    let entry = Entry { survey: survey_hash.to_owned(), epoch, spending: terms.spending(&kept) };
    (kept, Ledger::new(budget()).record("people", entry).unwrap())
}

#[test]
fn a_crowd_is_the_smallest_of_its_instances() {
    let crowd = Crowd::of(&survey(), &[part(3, 3_002, 7), destroyed(2), part(1, 3_001, 9)]).unwrap();
    assert_eq!(crowd.respondents, 3_001);
    assert_eq!((crowd.present, crowd.destroyed), (vec![1, 3], vec![2]));
    assert_eq!(crowd.route, route(1));
    assert_eq!(crowd.rejected, Rejected { seal: 4, ..Rejected::default() });
}

#[test]
fn parts_of_different_releases_are_refused() {
    let change = |change: fn(&mut Route)| {
        let mut other = part(2, 3_000, 1);
        change(&mut other.route);
        Crowd::of(&survey(), &[part(1, 3_000, 1), other]).unwrap_err()
    };
    let different = Error::Parts("they are of different surveys, labels or epochs");
    assert_eq!(change(|route| route.epoch += 1), different);
    assert_eq!(change(|route| route.label += 1), different);
    assert_eq!(change(|route| route.survey = SurveyHash::new([1; 32])), different);
    assert_eq!(change(|route| route.instance = 1), Error::Parts("two are of one instance"));
    assert_eq!(Crowd::of(&survey(), &[]).unwrap_err(), Error::Nothing);
    assert_eq!(Crowd::of(&survey(), &[destroyed(1), destroyed(2)]).unwrap_err(), Error::Nothing);
}

/// Two of three instances, which counted 3,000 and 3,005. Value 5 belongs to instance 3: what another has of it nobody sent who
/// keeps to the routing. Values 1, 4, 7 ... belong to instance 2, and are missing.
#[test]
fn a_release_of_some_instances_lacks_the_values_of_the_others() {
    let survey = survey();
    let hash = survey.hash().unwrap().to_string();
    let parts = [part(1, 3_000, 600), destroyed(2), part(3, 3_005, 650)];
    let (kept, entry) = recorded(3_000, &hash, EPOCH);
    let release = Release::new(&survey, &parts, kept, &entry).unwrap();
    let mechanism = survey.mechanism().unwrap();
    let expected = |count: u64, respondents: u64| {
        let mut sums = mechanism.tally().unwrap();
        sums.add_count(5, count).unwrap();
        sums.add_respondents(respondents);
        mechanism.estimate(&sums).unwrap()
    };
    let estimates = release.estimates();
    let near = |value: usize, of: f64| (estimates.count(value).unwrap() - of).abs() < 1e-9;
    assert!(near(5, expected(650, 3_005).counts()[5]), "each count is debiased by its own crowd");
    assert!(near(0, expected(0, 3_000).counts()[0]) && near(2, expected(0, 3_005).counts()[2]));
    for value in 0..estimates.counts().len() {
        assert_eq!(estimates.count(value).is_none(), value % 3 == 1, "{value}");
    }
    assert_eq!((estimates.respondents(), estimates.missing()), (3_005, 261));
    // What is here has no wider error for that.
    assert_eq!(estimates.standard_error(0), expected(0, 3_005).standard_error(0));
    // The guarantee is that of the smallest crowd, and the floor is beside it.
    assert_eq!((release.central(), release.honest()), (kept.central, 2_700));
    assert_eq!(release.floor(), mechanism.floor());
    assert_eq!((release.spent(), release.survey()), (entry.spent(), survey.hash().unwrap()));
}

/// A sketch is not released without all its cells, and says whom to wait for.
#[test]
fn a_sketch_waits_for_its_instances() {
    let encoding = Encoding::Sketch { domain: 784, rows: 4, cells: 32, seed: 1 };
    let sketch = Survey { encoding, ..survey() };
    let tally = |instance| {
        let mut tally = sketch.mechanism().unwrap().tally().unwrap();
        tally.add_respondents(3_000);
        let mut part = part(instance, 3_000, 0);
        part.route.survey = sketch.hash().unwrap();
        part.counted.as_mut().unwrap().tally = tally;
        part
    };
    let refused = Crowd::of(&sketch, &[tally(1), tally(3)]).unwrap_err();
    assert_eq!(refused, Error::Waiting("2".into()));
    assert!(refused.to_string().contains("wait for the batch of instance 2"), "{refused}");
    assert_eq!(Crowd::of(&sketch, &[tally(1), tally(2), tally(3)]).unwrap().present, [1, 2, 3]);
}

/// Under a profile of instances 1 and 3 nothing is missing of instance 2: not in the estimates, not in their errors. Only its
/// crowd counts, which is the smallest; what somebody sent there all the same does not.
#[test]
fn a_trust_profile_is_a_whole_of_its_own() {
    let profiles = Survey {
        labels: Some(Labels {
            names: vec!["all".into(), "two".into()],
            epsilon_deletion: 0.2,
            delta_deletion: 1e-9,
            epsilon_label: None,
            profiles: Some([("two".to_owned(), vec![1, 3])].into()),
        }),
        ..survey()
    };
    let hash = profiles.hash().unwrap();
    let under = |label: u32, mut tally: InstanceTally| {
        (tally.route.survey, tally.route.label) = (hash, label);
        tally
    };
    let two =
        [part(1, 3_000, 600), part(2, 2_999, 1_000_000), part(3, 3_004, 650)].map(|part| under(2, part));
    let crowd = Crowd::of(&profiles, &two).unwrap();
    assert_eq!(
        (crowd.respondents, &crowd.present, &crowd.counted),
        (2_999, &vec![1, 3], &vec![3_000, 3_004])
    );
    assert_eq!((&crowd.outside, &crowd.destroyed), (&vec![2], &vec![]));

    let (kept, entry) = recorded(2_999, &hash.to_string(), EPOCH);
    let release = |parts: &[InstanceTally]| Release::new(&profiles, parts, kept, &entry).unwrap();
    let mechanism = profiles.mechanism().unwrap();
    let expected = |count: u64, respondents: u64| {
        let mut sums = mechanism.tally().unwrap();
        sums.add_count(5, count).unwrap();
        sums.add_respondents(respondents);
        mechanism.estimate(&sums).unwrap()
    };
    // Value 5 is at position 1 of the profile, instance 3; value 4 at instance 1.
    let whole = release(&two);
    let near = |release: &Release, value: usize, of: f64| {
        (release.estimates().count(value).unwrap() - of).abs() < 1e-9
    };
    assert!(near(&whole, 5, expected(650, 3_004).counts()[5]));
    assert!(near(&whole, 4, expected(0, 3_000).counts()[4]));
    assert_eq!(whole.estimates().missing(), 0, "nothing is missing");
    assert_eq!(whole.estimates().standard_error(0), expected(0, 3_004).standard_error(0));
    // Without instance 2 it is the same; without instance 3, its values are missing.
    let without = [two[0].clone(), two[2].clone()];
    assert_eq!(release(&without).estimates().counts(), whole.estimates().counts());
    let half = release(&[two[0].clone(), two[1].clone()]);
    assert_eq!((half.estimates().count(5), half.estimates().missing()), (None, 392));
    assert!(near(&half, 4, expected(0, 3_000).counts()[4]));
    // Under the other label all three count.
    let all = two.clone().map(|part| under(1, part));
    assert_eq!(Crowd::of(&profiles, &all).unwrap().present, [1, 2, 3]);
    // Instance 2 alone has nothing to release.
    assert_eq!(Crowd::of(&profiles, &two[1..2]).unwrap_err(), Error::Nothing);
    let destroyed = [under(2, destroyed(1)), two[1].clone(), under(2, destroyed(3))];
    assert_eq!(Crowd::of(&profiles, &destroyed).unwrap_err(), Error::Nothing);
}

#[test]
fn a_release_needs_its_own_entry_in_a_ledger() {
    let survey = survey();
    let hash = survey.hash().unwrap().to_string();
    let parts = [part(1, 3_000, 600)];
    for (of, epoch) in [(hash.as_str(), EPOCH + 1), ("another", EPOCH)] {
        let (kept, entry) = recorded(3_000, of, epoch);
        let refused = Release::new(&survey, &parts, kept, &entry).map(drop).unwrap_err();
        assert_eq!(refused, Error::Parts("the entry of the ledger is of another survey or epoch"));
    }
    let (kept, entry) = recorded(3_000, &hash, EPOCH);
    assert_eq!(Release::new(&survey, &[destroyed(1)], kept, &entry).map(drop).unwrap_err(), Error::Nothing);
}

/// What an instance counted of 3,000 respondents of another survey, under a label.
fn tallied(survey: &Survey, label: u32, instance: u32, count: impl Fn(u32) -> u64) -> InstanceTally {
    let mut tally = survey.mechanism().unwrap().tally().unwrap();
    tally.add_respondents(3_000);
    (0..tally.attributes() as u32)
        .for_each(|attribute| tally.add_count(attribute, count(attribute)).unwrap());
    let mut part = part(instance, 3_000, 0);
    (part.route.survey, part.route.label) = (survey.hash().unwrap(), label);
    part.counted.as_mut().unwrap().tally = tally;
    part
}

fn release_of(survey: &Survey, parts: &[InstanceTally]) -> Release {
    let (kept, entry) = recorded(3_000, &survey.hash().unwrap().to_string(), EPOCH);
    Release::new(survey, parts, kept, &entry).unwrap()
}

/// Instances 1 and 2 each have a value that nearly all of 3,000 hold. The same 3,000 people cannot hold both; of a labelled crowd
/// each instance deletes others, so these may be different people. A label that is randomized adds to the floor.
#[test]
fn labelled_crowds_are_not_taken_for_the_same_people() {
    let counts = |instance: u32| {
        move |attribute: u32| match attribute {
            // 3,000 flips with probability 0.0052 are 16.
            _ if attribute % 3 != instance - 1 => 0,
            held if held < 2 => 3_000,
            _ => 16,
        }
    };
    let parts = |survey: &Survey, label: u32| {
        [1, 2, 3].map(|instance| tallied(survey, label, instance, counts(instance)))
    };
    let plain = survey();
    let one_crowd = release_of(&plain, &parts(&plain, 0));
    let together = |release: &Release| {
        let all = |doubt: &Doubt| matches!(doubt, Doubt::TotalAbove { instance: None, .. });
        release.plausibility().doubts.iter().any(all)
    };
    assert!(together(&one_crowd), "{:?}", one_crowd.plausibility());
    let labels = Labels {
        names: vec!["de".into(), "fr".into()],
        epsilon_deletion: 0.2,
        delta_deletion: 1e-9,
        epsilon_label: Some(1.5),
        profiles: None,
    };
    let labelled = Survey { labels: Some(labels), ..survey() };
    let release = release_of(&labelled, &parts(&labelled, 1));
    assert!(!together(&release), "{:?}", release.plausibility());
    let floor = one_crowd.floor().epsilon().value();
    assert!((floor - 5.25).abs() < 1e-9);
    assert!((release.floor().epsilon().value() - 6.75).abs() < 1e-9, "{:?}", release.floor());
}

/// Of four fragments of a bit over three instances, one of which has come: a liar's envelopes to the others are not counted.
#[test]
fn a_liar_is_bounded_by_the_instances_that_came() {
    let randomizer = Randomizer::ReportFragments {
        epsilon_backstop: 5.25,
        epsilon_fragment: 3.0,
        fragments: 4,
        answer_changes: None,
    };
    let fragments = Survey { randomizer, ..survey() };
    let of = |instances: &[u32]| {
        let parts: Vec<InstanceTally> =
            instances.iter().map(|&instance| tallied(&fragments, 0, instance, |_| 0)).collect();
        release_of(&fragments, &parts).one_liar()
    };
    let (all, one) = (of(&[1, 2, 3]), of(&[2]));
    assert_eq!((all.envelopes, one.envelopes), (72, 24));
    // 72 envelopes of four fragments are 18 people and some for their noise; 24 of one fragment are 24.
    assert!(one.up > 1.3 * all.up, "{all:?} {one:?}");
}
