//! A survey with trust profiles, from respondents to its release, in memory.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::ledger::{Booking, Entry, Ledger};
use throng_account::terms::EpochGuarantee;
use throng_analyze::{CountedBatch, InstanceTally, Rejected, Release};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Value};
use throng_encode::Routing;
use throng_survey::{CheckedClaim, terms};
use throng_testing::survey::hourly::ONE_HOT;
use throng_testing::survey::with;
use throng_wire::{Digest, Route, Survey};

const EPOCH: u64 = 7;
const PEOPLE: u64 = 2_000;
const EPOCHS: u64 = 200;
const DOMAIN: u64 = 8;
const INSTANCES: u32 = 3;

/// Fragments of the second label go to instances 1 and 3 alone.
fn survey(randomizer: &str) -> Survey {
    let fields = [
        ("name", r#""numbers""#.to_owned()),
        ("question", r#""Which number?""#.to_owned()),
        ("encoding", format!("{{ kind = \"one-hot\", domain = {DOMAIN} }}")),
        ("randomizer", randomizer.to_owned()),
        (
            "crowd",
            format!("{{ respondents_min = {PEOPLE}, honest_fraction = 1.0, enrolment = \"credential\" }}"),
        ),
        (
            "claim",
            r#"{ epsilon_central = 4.0, delta = 1e-6, neighbors = "removal", bound = "exact" }"#.to_owned(),
        ),
        ("delivery", format!("{{ instances = {INSTANCES}, hops = 2, envelopes = 64, cover = \"chaff\" }}")),
    ];
    let labels =
        "[labels]\nnames = [\"anywhere\", \"not-2\"]\nepsilon_deletion = 0.5\ndelta_deletion = 1e-9\n";
    let text = with(ONE_HOT, &fields.each_ref().map(|(name, value)| (*name, value.as_str())));
    Survey::from_toml(&(text + labels + "profiles = { not-2 = [1, 3] }\n")).unwrap()
}

const ATTRIBUTE_FRAGMENTS: &str = r#"{ kind = "attribute-fragments", epsilon_local = 2.0 }"#;

/// What everybody's fragments came to at each instance. Person p holds the square root of p modulo the square of the domain.
fn answered(survey: &Survey, label: u32, seed: u64) -> Vec<InstanceTally> {
    let mechanism = survey.mechanism().unwrap();
    let routing = Routing::of(survey, label, mechanism.coins().draws()).unwrap();
    let mut tallies = vec![mechanism.tally().unwrap(); INSTANCES as usize];
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for person in 0..PEOPLE {
        let fragments = mechanism.randomize(Some(&Value::from(value(person))), &mut rng).unwrap();
        for (tally, routed) in tallies.iter_mut().zip(routing.route(fragments.attributes(), &mut rng)) {
            tally.add_fragments(&routed).unwrap();
        }
    }
    let survey = survey.hash().unwrap();
    (1..)
        .zip(tallies)
        .map(|(instance, mut tally)| {
            tally.add_respondents(PEOPLE);
            let route = Route { survey, label, epoch: EPOCH, instance };
            let (batch, envelopes) = (Digest::of(&[instance as u8]), tally.counts().sum());
            let counted = CountedBatch { batch, envelopes, rejected: Rejected::default(), tally };
            InstanceTally { route, counted: Some(counted) }
        })
        .collect()
}

fn value(person: u64) -> u64 {
    (person % (DOMAIN * DOMAIN)).isqrt()
}

fn recorded(survey: &Survey, label: u32) -> (EpochGuarantee, Booking) {
    let terms = terms(survey, label).unwrap();
    let kept = terms.guarantee(PEOPLE).unwrap();
    let budget = CentralGuarantee::new(Epsilon::new(50.0).unwrap(), Delta::new(1e-5).unwrap());
    let entry =
        Entry { survey: survey.hash().unwrap().to_string(), epoch: EPOCH, spending: terms.spending(&kept) };
    (kept, Ledger::new(budget).record("people", entry).unwrap())
}

/// Errors over their standard errors: the mean, and the mean of squares, over all values and many epochs.
fn errors(survey: &Survey, label: u32, instances: &[u32]) -> (f64, f64) {
    let (kept, entry) = recorded(survey, label);
    let truth = |number| (0..PEOPLE).filter(|&person| value(person) == number).count() as f64;
    let truth: Vec<f64> = (0..DOMAIN).map(truth).collect();
    let (mut sum, mut squares, mut all) = (0.0, 0.0, 0.0);
    for seed in 0..EPOCHS {
        let mut parts = answered(survey, label, seed);
        parts.retain(|part| instances.contains(&part.route.instance));
        let release = Release::new(survey, &parts, kept, &entry).unwrap();
        let estimates = release.estimates();
        for (value, truth) in truth.iter().enumerate() {
            // What is missing has no error.
            let Some(count) = estimates.count(value) else { continue };
            let error = (count - truth) / estimates.standard_error(value);
            sum += error;
            squares += error * error;
            all += 1.0;
        }
    }
    (sum / all, squares / all)
}

/// With 800 errors (half of the values may be missing) that are standard normal the mean is off by more than 0.21 (6 standard
/// deviations) with probability 2e-9, and the mean of squares by more than 0.3 (6) with 2e-9; the counts are sums over 2,000 people, near enough. Over the
/// four cases a correct system fails on fresh seeds with a chance below 1e-6.
#[test]
fn estimates_under_a_trust_profile_are_unbiased_with_the_stated_error() {
    let survey = survey(ATTRIBUTE_FRAGMENTS);
    for (label, instances) in [(2, &[1, 2, 3][..]), (2, &[1, 3]), (2, &[2, 3]), (1, &[1, 3])] {
        let (mean, squares) = errors(&survey, label, instances);
        assert!(mean.abs() < 0.21, "label {label} from {instances:?}: {mean}");
        assert!((squares - 1.0).abs() < 0.3, "label {label} from {instances:?}: {squares}");
    }
}

/// An instance outside the profile has nothing, and is missed by nobody. Without one inside, half of the values are missing where
/// each is sent once; with four fragments each, half of every value's are, and errors are wider.
#[test]
fn only_an_instance_of_the_trust_profile_is_missed() {
    let fragments =
        r#"{ kind = "report-fragments", epsilon_backstop = 2.0, epsilon_fragment = 1.5, fragments = 4 }"#;
    for (randomizer, missing) in [(ATTRIBUTE_FRAGMENTS, 4), (fragments, 0)] {
        let survey = survey(randomizer);
        let (kept, entry) = recorded(&survey, 2);
        let parts = answered(&survey, 2, 1);
        assert_eq!(parts[1].counted.as_ref().unwrap().tally.counts().sum::<u64>(), 0);
        let estimated = |instances: &[u32]| {
            let mut parts = parts.clone();
            parts.retain(|part| instances.contains(&part.route.instance));
            let estimates = Release::new(&survey, &parts, kept, &entry).unwrap().estimates().clone();
            (estimates.standard_error(1), estimates.missing())
        };
        assert_eq!(estimated(&[1, 2, 3]), estimated(&[1, 3]));
        assert_eq!(estimated(&[2, 3]), estimated(&[3]));
        assert_eq!((estimated(&[1, 3]).1, estimated(&[3]).1), (0, missing));
        assert!(estimated(&[3]).0 > 1.1 * estimated(&[1, 3]).0 || missing > 0);
    }
}

/// The guarantee of the profile is its own, and that of the claim holds under both labels.
#[test]
fn both_labels_keep_what_the_survey_claims() {
    let survey = survey(ATTRIBUTE_FRAGMENTS);
    for label in [1, 2] {
        let claim = CheckedClaim::under(&survey, label).unwrap();
        let (kept, _) = recorded(&survey, label);
        assert_eq!((kept.central, kept.honest), (claim.central, claim.promise.honest_respondents));
        assert!(claim.central.epsilon() <= claim.claimed.epsilon());
    }
}
