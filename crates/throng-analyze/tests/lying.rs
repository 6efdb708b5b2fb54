//! One respondent who lies, from sealed envelopes to a release.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::bound::Bound;
use throng_account::ledger::{Entry, Ledger};
use throng_account::terms::Terms;
use throng_analyze::plausible::Mark;
use throng_analyze::{BatchCounter, BatchHead, CountedBatch, InstanceTally, Rejected, Release};
use throng_batch::{EmbeddedEngine, MemoryStore, Partition, Partitions, Volume};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Tally, Value};
use throng_testing::survey::{SURVEY, with};
use throng_testing::wire::{EPOCH, World};
use throng_wire::peel::{open_body, peel};
use throng_wire::{
    BatchCount, Digest, EpochStatement, ForwardedCount, Fragment, HopContent, Layout, Outcome, Place, Route,
    Signed, Stop, Survey,
};

fn survey(encoding: &str, epsilon_local: f64, instances: u32, envelopes: u32) -> Survey {
    let randomizer = format!("{{ kind = \"attribute-fragments\", epsilon_local = {epsilon_local} }}");
    let delivery =
        format!("{{ instances = {instances}, hops = 2, envelopes = {envelopes}, cover = \"chaff\" }}");
    let fields = [
        ("name", r#""numbers""#),
        ("question", r#""Which number?""#),
        ("encoding", encoding),
        ("randomizer", &randomizer),
        ("crowd", r#"{ respondents_min = 20, honest_fraction = 0.9, enrolment = "credential" }"#),
        ("delivery", &delivery),
        ("claim", r#"{ epsilon_central = 8.0, delta = 1e-2, neighbors = "removal", bound = "exact" }"#),
    ];
    Survey::from_toml(&with(SURVEY, &fields)).unwrap()
}

/// What one instance's analyzer gets of a body with these attributes in it.
fn delivered(world: &World, instance: u32, attributes: &[u32], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let fragments: Vec<Fragment> = attributes.iter().map(|&attribute| Fragment::new(attribute)).collect();
    let (path, layout) = (world.path(0, EPOCH, instance), Layout::of(world.survey.survey()));
    let body = path.body(&fragments, rng).unwrap();
    let opened = open_body(path.route(), &layout, world.keys(instance, 1), &body).unwrap();
    let peeled = opened.chunks_exact(layout.envelope_len(Stop::Hop(2))).filter_map(|envelope| {
        match peel(path.route(), &layout, 2, world.keys(instance, 2), envelope).unwrap() {
            HopContent::Envelope(inner) => Some(inner),
            HopContent::Chaff => None,
        }
    });
    peeled.flatten().collect()
}

/// The tallies of all instances: of honest people who hold `value(person)`, and of a last one who sends `lies(instance)`.
fn counted(
    world: &World,
    honest: u64,
    value: impl Fn(u64) -> u64,
    lies: impl Fn(u32) -> Vec<u32>,
) -> Vec<InstanceTally> {
    let survey = world.survey.survey();
    let (mechanism, rng) = (survey.mechanism().unwrap(), &mut ChaCha20Rng::from_seed([3; 32]));
    let seals = &mut ChaCha20Rng::from_seed([1; 32]);
    let (instances, envelopes) = (survey.delivery.instances, u64::from(survey.delivery.envelopes));
    let mut batches = vec![Vec::new(); instances as usize];
    for person in 0..honest {
        let report = mechanism.randomize(Some(&Value::from(value(person))), rng).unwrap();
        for (instance, batch) in (1..).zip(&mut batches) {
            // A fragment of attribute j goes to instance j mod K, from 0.
            let here =
                report.attributes().iter().copied().filter(|attribute| attribute % instances == instance - 1);
            batch.extend(delivered(world, instance, &here.collect::<Vec<_>>(), seals));
        }
    }
    for (instance, batch) in (1..).zip(&mut batches) {
        assert_eq!(lies(instance).len() as u64, envelopes, "as many as a body holds");
        batch.extend(delivered(world, instance, &lies(instance), seals));
    }
    let respondents = honest + 1;
    let count = |(instance, batch): (u32, &Vec<u8>)| {
        let route = Route { instance, ..world.route() };
        let length = Layout::of(survey).envelope_len(Stop::Analyzer);
        let (received, forwarded) = (respondents * envelopes, (batch.len() / length) as u64);
        let statement = |hop, forwarded, batch| {
            let outcome = Outcome::Released { respondents, received: Some(received), forwarded, batch };
            let lists = (Digest::of(b"list"), Digest::of(b"analyzer's"));
            let one = EpochStatement { route, hop, outcome, key_list: lists.0, analyzer_key_list: lists.1 };
            Signed::new(one, &world.signing[&Place::hop(instance, hop)]).unwrap()
        };
        let committed = BatchCount::salted([8; 32], forwarded);
        let statements = [
            statement(1, ForwardedCount::Told(received), Digest::of(b"hop 1")),
            statement(2, ForwardedCount::Committed(committed.commitment()), Digest::of(batch)),
        ];
        let head = BatchHead::check(&world.survey, route, &statements, committed).unwrap();
        let keys = &world.layers[&Place::Analyzer];
        let files = MemoryStore::new();
        files.create("batch").unwrap().write_all(batch).unwrap();
        let counter = BatchCounter::new(survey, head, keys).unwrap();
        let input = (&files as &dyn Partitions, &[Partition::whole("batch")][..]);
        counter.count(&EmbeddedEngine::new(1 << 24), input, &mut |_| ()).unwrap()
    };
    (1..).zip(&batches).map(count).collect()
}

fn release(world: &World, parts: &[InstanceTally]) -> Release {
    let survey = world.survey.survey();
    let mechanism = survey.mechanism().unwrap();
    let claimed = CentralGuarantee::new(Epsilon::new(8.0).unwrap(), Delta::new(1e-2).unwrap());
    let terms = Terms {
        coins: mechanism.coins(),
        // Of a sketch one row is sent.
        width: mechanism.sketch().map_or(mechanism.domain(), |sketch| sketch.shape().cells.into()),
        rows: None,
        instances: survey.delivery.instances,
        receiving: survey.delivery.instances,
        envelopes: survey.delivery.envelopes,
        honest_fraction: 0.9,
        deletion: None,
        answers_kept: false,
        claimed,
        bound: Bound::named("exact").unwrap(),
    };
    let kept = terms.guarantee(20).unwrap();
    let survey_name = world.survey.hash().to_string();
    let entry = Entry { survey: survey_name, epoch: EPOCH, spending: terms.spending(&kept) };
    let recorded = Ledger::new(claimed).record("people", entry).unwrap();
    Release::new(survey, parts, kept, &recorded).unwrap()
}

const BETA: f64 = 0.001;

/// A crowd of 25, of whom nobody holds value 3. One fills all envelopes of both instances with it. Those of one instance are
/// not counted; the others make 14 people of nobody, which by the noise alone is signal. What is said of one liar covers it.
#[test]
fn one_liar_in_a_crowd_of_25_is_known_for_one() {
    let world = World::of(survey(r#"{ kind = "one-hot", domain = 8 }"#, 2.0, 2, 11));
    let parts = counted(&world, 24, |person| [0, 1, 2, 4][person as usize % 4], |_| vec![3; 11]);
    // Position of value 3: 3 mod 2, which is instance 2.
    let foreign = |part: &InstanceTally| part.counted.as_ref().unwrap().rejected.foreign;
    assert_eq!((foreign(&parts[0]), foreign(&parts[1])), (11, 0));
    let tally = &parts[0].counted.as_ref().unwrap().tally;
    assert_eq!(tally.count(3), Some(0), "not counted where it does not belong");
    let release = release(&world, &parts);
    let (estimates, liar) = (release.estimates(), release.one_liar());
    assert_eq!(liar.envelopes, 11);
    // The control: what was said before. The estimate stands out of the noise, and its range knows of nobody who lies.
    let hitters = estimates.heavy_hitters(BETA).unwrap();
    let (estimate, noise) = (estimates.counts()[3], hitters.threshold);
    assert!((13.0..18.0).contains(&estimate) && estimate > noise, "{estimate} {noise}");
    assert!(hitters.values.contains(&3) && !estimates.interval(3, 0.95).unwrap().contains(&0.0));
    // With the envelopes of both instances it would have been twice as much.
    assert!(22.0 * mechanism_gain_inverse() > 1.7 * estimate, "{estimate}");
    // What is said now.
    assert!(estimate <= liar.threshold(noise, 1), "not signal, if one may lie");
    let range = liar.interval(estimates, 3, 0.95, 1).unwrap();
    assert!(range.contains(&0.0), "{range:?}");
    assert!(liar.up > 14.0 && liar.up < 14.5, "{liar:?}");
    assert!(
        release.given(3).is_some() && release.plausibility().doubts.is_empty(),
        "an honest crowd can look like this"
    );
}

/// 1/(1 - 2p) at epsilon_local 2.
fn mechanism_gain_inverse() -> f64 {
    let p = 1.0 / (1.0 + 2f64.exp());
    1.0 / (1.0 - 2.0 * p)
}

/// A sketch of 22 people, one of whom fills every envelope of every instance with the cells of value 777, those that the
/// instance counts: hundreds of people, who are not there.
#[test]
fn a_sketch_of_22_people_has_no_hundreds_who_hold_a_value() {
    const ROWS: u32 = 64;
    const CELLS: u32 = 32;
    let world = World::of(survey(
        &format!(r#"{{ kind = "sketch", domain = 1000, rows = {ROWS}, cells = {CELLS}, seed = 5 }}"#),
        3.0,
        3,
        30,
    ));
    let mechanism = world.survey.survey().mechanism().unwrap();
    let sketch = mechanism.sketch().unwrap();
    let cells: Vec<u32> = (0..ROWS).map(|row| row * CELLS + sketch.cell(row, 777).unwrap()).collect();
    let lies = |instance: u32| {
        let own: Vec<u32> = cells.iter().copied().filter(|cell| cell % 3 == instance - 1).collect();
        own.iter().copied().cycle().take(30).collect()
    };
    let parts = counted(&world, 21, |person| person, lies);
    assert!(parts.iter().all(|part| part.counted.as_ref().unwrap().rejected.foreign == 0));
    let release = release(&world, &parts);
    assert!(release.estimates().counts()[777] > 80.0, "what it would have said");
    let withheld = &release.plausibility().withheld;
    assert_eq!(withheld[&777].mark, Mark::Impossible);
    assert_eq!((withheld[&777].at_most, withheld[&777].respondents), (22, 22));
    assert!(release.given(777).is_none() && release.given(3).is_some());
    assert_eq!(release.one_liar().envelopes, 90);
}

/// The tallies of instances that counted a crowd, as they are stored.
fn stored(world: &World, tallies: Vec<Tally>) -> Vec<InstanceTally> {
    let part = |(instance, tally): (u32, Tally)| {
        let (batch, envelopes) = (Digest::of(b"batch"), tally.counts().sum());
        let counted = CountedBatch { batch, envelopes, rejected: Rejected::default(), tally };
        InstanceTally { route: Route { instance, ..world.route() }, counted: Some(counted) }
    };
    (1..).zip(tallies).map(part).collect()
}

/// As large as it was reported: 22 people, of whom one sends cells of value 777 in all of 341 envelopes to each of three
/// instances. By the sketch alone that is 1,130 people, give or take a few, and signal.
#[test]
fn one_of_22_people_is_not_taken_for_1130() {
    const ROWS: u32 = 256;
    const CELLS: u32 = 1024;
    let world = World::of(survey(
        &format!(r#"{{ kind = "sketch", domain = 5000, rows = {ROWS}, cells = {CELLS}, seed = 5 }}"#),
        3.0,
        3,
        341,
    ));
    let mechanism = world.survey.survey().mechanism().unwrap();
    let sketch = mechanism.sketch().unwrap();
    let mut tallies: Vec<Tally> = (0..3).map(|_| mechanism.tally().unwrap()).collect();
    let rng = &mut ChaCha20Rng::from_seed([4; 32]);
    for person in 0..21 {
        let report = mechanism.randomize(Some(&Value::from(person)), rng).unwrap();
        report.attributes().iter().for_each(|&cell| tallies[cell as usize % 3].add_fragment(cell).unwrap());
    }
    let cells: Vec<u32> = (0..ROWS).map(|row| row * CELLS + sketch.cell(row, 777).unwrap()).collect();
    for (instance, tally) in (0..).zip(&mut tallies) {
        let own: Vec<u32> = cells.iter().copied().filter(|cell| cell % 3 == instance).collect();
        own.iter().cycle().take(341).for_each(|&cell| tally.add_fragment(cell).unwrap());
        tally.add_respondents(22);
    }
    let release = release(&world, &stored(&world, tallies));
    // The control: what the estimators say, with nobody to doubt it.
    let estimates = release.estimates();
    assert!((1100.0..1160.0).contains(&estimates.counts()[777]), "{}", estimates.counts()[777]);
    assert!(*estimates.interval(777, 0.95).unwrap().start() > 1000.0);
    assert_eq!(estimates.heavy_hitters(BETA).unwrap().values[0], 777);
    // What is said.
    assert!(release.given(777).is_none() && release.given(3).is_some());
    let why = release.plausibility().withheld[&777];
    assert_eq!((why.mark, why.at_most, why.respondents), (Mark::Impossible, 22, 22));
    assert!(why.fragments >= 1023, "{why:?}");
    assert_eq!(release.one_liar().envelopes, 1023);
    assert!((1130.0..1131.0).contains(&release.one_liar().up), "{:?}", release.one_liar());
}
