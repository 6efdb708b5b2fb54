//! A respondent, from the survey's files to receipts: what is sent, what is kept, and what a crash may not
//! change.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod support;
#[path = "support/world.rs"]
mod world;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng::bundle::Bundle;
use throng::exit;
use throng::respondent::{Answered, How, Respondent, SendError, StoredAnswer, Value, When};
use throng_analyze::Analyzer;
use throng_dp::Epsilon;
use throng_encode::CheckedClaim;
use throng_wire::{Digest, EpochStatement, KeyList, Outcome, Place, Receipt, Route, Signed, Survey};
use world::{EPOCH_MS, FRAGMENTED, Hops, ONE_HOT, RECORD, SKETCHED, TestClock, World};

/// In epoch 10; answers are for epoch 11.
const NOW_MS: u64 = 10 * EPOCH_MS + 1_234_567;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

struct Desk {
    folder: TempDir,
    world: World,
}

impl Desk {
    fn new(survey: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(survey, folder.path());
        Self { folder, world }
    }

    fn bundle(&self) -> Bundle {
        Bundle::read(&self.world.file).unwrap()
    }

    fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> Respondent {
        self.open_at(&self.state()).unwrap()
    }

    fn open_at(&self, state: &Path) -> anyhow::Result<Respondent> {
        let mut respondent = Respondent::open_with(state, &mut rng(1))?;
        respondent.use_credential(&self.folder.path().join("credential"))?;
        Ok(respondent)
    }

    fn answer(
        &self,
        respondent: &mut Respondent,
        value: Option<u64>,
        now_ms: u64,
        seed: u8,
    ) -> anyhow::Result<Answered> {
        respondent.answer_with(&self.bundle(), value, &How::default(), now_ms, &mut rng(seed))
    }
}

fn bytes(answer: &StoredAnswer) -> Vec<Vec<u8>> {
    answer.bodies.iter().map(|body| body.bytes().unwrap().to_vec()).collect()
}

/// All files below a directory, but for the lock.
fn files(state: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["", "outbox", "permanent", "surveys"] {
        for name in support::names(&state.join(folder)) {
            let path = state.join(folder).join(&name);
            if path.is_file() && name != "lock" {
                all.insert(
                    format!("{folder}/{name}").trim_start_matches('/').to_owned(),
                    fs::read(path).unwrap(),
                );
            }
        }
    }
    all
}

/// A state directory with exactly these files.
fn restore(state: &Path, all: &BTreeMap<String, Vec<u8>>) {
    fs::remove_dir_all(state).ok();
    drop(Respondent::open(state).unwrap());
    for name in ["ledger", "secret"] {
        fs::remove_file(state.join(name)).unwrap();
    }
    for (name, bytes) in all {
        fs::write(state.join(name), bytes).unwrap();
    }
}

#[test]
fn an_answer_is_sent_at_its_times_and_receipted() {
    for survey in [ONE_HOT, FRAGMENTED, SKETCHED] {
        let desk = Desk::new(survey);
        let mut respondent = desk.open();
        let answered = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
        let Answered::Now(answer) = &answered else { panic!("{answered:?}") };
        assert_eq!((answer.epoch, answer.bodies.len()), (11, 3));
        let clock = TestClock::at(NOW_MS);
        let hops = Hops::honest(&desk.world, &clock);
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
        let seen = hops.seen.borrow();
        assert_eq!(seen.len(), 3);
        for one in seen.iter() {
            let body = &answer.bodies[one.route.instance as usize - 1];
            assert_eq!((one.at_ms, &*one.body), (body.send_at_ms, body.bytes().unwrap()));
            assert_eq!(one.url, format!("http://instance-{}-hop-1.test", one.route.instance));
            assert_eq!(desk.world.survey.survey().epoch_at(one.at_ms / 1000), 11);
        }
        // Another hop, another token: none can answer in the respondent's name elsewhere.
        assert!(seen[0].token != seen[1].token && seen[1].token != seen[2].token);
        assert!(respondent.check(&[]).unwrap().iter().all(|body| body.receipt && !body.contradiction));
        let shown = respondent.show(clock.0.get()).unwrap();
        assert!(shown[0].bodies.iter().all(|body| body.fate == "acknowledged"));
        assert!(
            shown[0]
                .bodies
                .iter()
                .all(|body| body.envelopes == desk.world.survey.survey().delivery.envelopes)
        );
        assert!(!shown[0].guarantee.is_empty());
    }
}

/// Promise 4, at the door: what leaves the machine has one length and number for any value and for none.
#[test]
fn what_is_sent_is_alike_for_any_value_and_for_none() {
    for survey in [ONE_HOT, FRAGMENTED] {
        let desk = Desk::new(survey);
        let mut shapes = Vec::new();
        for (seed, value) in [(1, Some(0)), (2, Some(783)), (3, None), (4, Some(0))] {
            let state = desk.folder.path().join(format!("state-{seed}"));
            let mut respondent = desk.open_at(&state).unwrap();
            let answered = desk.answer(&mut respondent, value, NOW_MS, seed).unwrap();
            let bodies = answered.answer().bodies.iter();
            shapes.push(bodies.map(|body| (body.instance, body.length)).collect::<Vec<_>>());
            // The files say as little: the same names but for hashes, and the same lengths but for the
            // backstop's.
            let names: Vec<String> =
                files(&state).into_keys().filter(|name| !name.starts_with("permanent")).collect();
            assert_eq!(names.iter().filter(|name| name.starts_with("outbox")).count(), 1, "{names:?}");
        }
        assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{shapes:?}");
    }
}

#[test]
fn an_epoch_is_answered_once_whatever_the_value() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    let first = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let spent = respondent.ledger().spent().unwrap();
    for (value, now_ms) in [(Some(7), NOW_MS), (Some(8), NOW_MS + 1000), (None, NOW_MS + 5000)] {
        let again = desk.answer(&mut respondent, value, now_ms, 3).unwrap();
        assert!(matches!(again, Answered::Before(_)), "{again:?}");
        assert_eq!(bytes(again.answer()), bytes(first.answer()));
    }
    drop(respondent);
    let mut respondent = desk.open();
    assert_eq!(
        bytes(desk.answer(&mut respondent, Some(9), NOW_MS, 4).unwrap().answer()),
        bytes(first.answer())
    );
    assert_eq!(respondent.ledger().spent().unwrap(), spent);
    // In another epoch there is another answer, and what it spends.
    let next = desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 5).unwrap();
    assert!(matches!(next, Answered::Now(_)));
    assert!((respondent.ledger().spent().unwrap().value() - 10.5).abs() < 1e-9);
}

/// Crashes between any two steps of making an answer: drafted, recorded, named.
#[test]
fn a_crash_while_answering_never_sends_unrecorded_nor_spends_twice() {
    for survey in [ONE_HOT, FRAGMENTED] {
        let desk = Desk::new(survey);
        let before = {
            drop(desk.open());
            files(&desk.state())
        };
        let original = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
        let after = files(&desk.state());
        let (name, answer) = after.iter().find(|(name, _)| name.ends_with(".answer")).unwrap();
        let without = |list: &[&str]| {
            let mut all = after.clone();
            all.retain(|name, _| list.iter().all(|part| !name.contains(part)));
            all
        };

        // Recorded, not named yet: the same bytes.
        let mut drafted = without(&[".answer"]);
        drafted.insert(name.replace(".answer", ".draft"), answer.clone());
        restore(&desk.state(), &drafted);
        let mut respondent = desk.open();
        let again = desk.answer(&mut respondent, Some(7), NOW_MS, 3).unwrap();
        assert!(matches!(again, Answered::Before(_)));
        assert_eq!(bytes(again.answer()), bytes(original.answer()));
        assert_eq!(respondent.ledger().entries().len(), 1);
        drop(respondent);

        // Drafted, not recorded: nothing was spent and nothing is sent. A backstop that was stored is the
        // same still.
        drafted.insert("ledger".into(), before["ledger"].clone());
        restore(&desk.state(), &drafted);
        let mut respondent = desk.open();
        assert_eq!(respondent.ledger().spent().unwrap(), Epsilon::ZERO);
        let clock = TestClock::at(NOW_MS + EPOCH_MS);
        let hops = Hops::honest(&desk.world, &clock);
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
        assert!(hops.seen.borrow().is_empty());
        let again = desk.answer(&mut respondent, Some(7), NOW_MS, 3).unwrap();
        assert!(matches!(again, Answered::Now(_)));
        assert_eq!(respondent.ledger().entries().len(), 1);
        drop(respondent);
        let backstops = |all: &BTreeMap<String, Vec<u8>>| -> Vec<Vec<u8>> {
            all.iter()
                .filter(|(name, _)| name.starts_with("permanent"))
                .map(|(_, bytes)| bytes.clone())
                .collect()
        };
        assert_eq!(backstops(&files(&desk.state())), backstops(&after));

        // Recorded and lost: an error, never another answer.
        restore(&desk.state(), &without(&[".answer"]));
        let error = desk.answer(&mut desk.open(), Some(7), NOW_MS, 4).unwrap_err();
        assert!(error.to_string().contains("put back a copy"), "{error:#}");

        // Half-written files have no meaning.
        restore(&desk.state(), &after);
        fs::write(desk.state().join("outbox/.throng-abc.tmp"), "half").unwrap();
        let again = desk.answer(&mut desk.open(), Some(7), NOW_MS, 5).unwrap();
        assert_eq!(bytes(again.answer()), bytes(original.answer()));
        assert!(!desk.state().join("outbox/.throng-abc.tmp").exists());
    }
}

/// The hop has the body, but its answer is lost, and the respondent is started again each time.
#[test]
fn what_is_sent_again_has_the_same_bytes() {
    let desk = Desk::new(ONE_HOT);
    let original = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(12 * EPOCH_MS - 30_000);
    let lossy =
        Hops::with(&desk.world, &clock, |_, _, _| Err(SendError::Unreachable("the line is dead".into())));
    for seed in 0..4 {
        let pass = desk.open().send_due(&lossy, clock.0.get(), &mut rng(seed)).unwrap();
        assert_eq!((pass.waiting, pass.acknowledged, pass.retried.len()), (3, 0, 3));
    }
    assert_eq!(lossy.seen.borrow().len(), 12);
    let bodies: Vec<Vec<u8>> = lossy.bodies().into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, bytes(original.answer()), "three bodies, each four times");
    let honest = Hops::honest(&desk.world, &clock);
    desk.open().send_with(&honest, &clock, |_, _| (), &mut rng(9)).unwrap();
    assert_eq!(honest.bodies(), lossy.bodies());
    // Everything is acknowledged: nothing is sent again.
    desk.open().send_with(&honest, &clock, |_, _| (), &mut rng(9)).unwrap();
    assert_eq!(honest.seen.borrow().len(), 3);
}

#[test]
fn a_hop_that_was_away_gets_its_body_later() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let failures = Cell::new(0);
    let hops = Hops::with(&desk.world, &clock, |world, seen, _| {
        if seen.route.instance == 2 && failures.get() < 6 {
            failures.set(failures.get() + 1);
            return Err(SendError::Unreachable("away".into()));
        }
        Ok(world::receipt(world, seen))
    });
    let looks = Cell::new(0_u64);
    respondent.send_with(&hops, &clock, |_, _| looks.set(looks.get() + 1), &mut rng(3)).unwrap();
    assert!(looks.get() > 1000, "once a second: {}", looks.get());
    let seen = hops.seen.borrow();
    assert_eq!(seen.iter().filter(|seen| seen.route.instance == 2).count(), 7);
    assert_eq!(hops.bodies().len(), 3);
    let times: Vec<u64> =
        seen.iter().filter(|seen| seen.route.instance == 2).map(|seen| seen.at_ms).collect();
    assert!(times.windows(2).all(|pair| (500..=61_000).contains(&(pair[1] - pair[0]))), "{times:?}");
}

#[test]
fn when_the_epoch_is_over_it_is_dropped_and_said() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::with(&desk.world, &clock, |world, seen, _| match seen.route.instance {
        1 => Ok(world::receipt(world, seen)),
        2 => Err(SendError::Unreachable("away".into())),
        _ => Err(SendError::Refused("credential: unknown".into())),
    });
    let error = respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap_err().to_string();
    assert!(error.contains("instance 2: the epoch closed before"), "{error}");
    assert!(error.contains("instance 3: hop 1 will not take it: credential: unknown"), "{error}");
    assert!(clock.0.get() >= 12 * EPOCH_MS, "it tried until the end");
    let seen = hops.seen.borrow().len();
    // It is said once, and nothing is ever made anew: the bytes are gone, hashes and the receipt stay.
    respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
    assert_eq!(hops.seen.borrow().len(), seen);
    let shown = respondent.show(clock.0.get()).unwrap();
    let fates: Vec<&str> = shown[0].bodies.iter().map(|body| body.fate).collect();
    assert_eq!(fates, ["acknowledged", "late", "refused"]);
    assert!(shown[0].bodies.iter().all(|body| body.first_bytes.is_none()));
    assert_eq!(respondent.check(&[]).unwrap().iter().filter(|body| body.receipt).count(), 1);
}

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

/// Each of what a guarantee rests on, signed by everyone and still wrong.
#[test]
fn a_survey_that_does_not_hold_is_refused_before_anything_is_kept() {
    for (from, to) in [
        ("epsilon_central = 1.0", "epsilon_central = 0.01"),
        ("respondents_min = 100000", "respondents_min = 100"),
        ("honest_fraction = 0.9", "honest_fraction = 0.0001"),
        ("envelopes = 40", "envelopes = 8"),
        ("epsilon_local = 5.25", "epsilon_local = 12.0"),
        ("delta = 1e-6", "delta = 1e-300"),
        ("bound = \"exact\"", "bound = \"theorem\""),
    ] {
        assert!(ONE_HOT.contains(from));
        let desk = Desk::new(&ONE_HOT.replace(from, to));
        let mut respondent = desk.open();
        let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err();
        assert_eq!(exit::code(&error), exit::REFUSED, "{to}: {error:#}");
        assert!(error.to_string().contains("claim does not hold"), "{to}: {error:#}");
        drop(respondent);
        assert_eq!(files(&desk.state()).len(), 2, "{to}: ledger and secret");
    }
}

#[test]
fn files_that_nobody_signed_are_refused() {
    for (extension, from, to) in [
        ("toml", "domain = 784", "domain = 785"),
        ("signatures", "\"party\":\"analyzer\"", "\"party\":\"instance-1-hop-1\""),
        ("addresses", "hop-1.test", "hop-2.test"),
        ("keys", "\"last_epoch\":99", "\"last_epoch\":98"),
    ] {
        let desk = Desk::new(ONE_HOT);
        let path = desk.world.file.with_extension(extension);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{extension}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert!(Bundle::read(&desk.world.file).is_err(), "{extension}");
    }
}

/// A key list that was replaced by another with the same serial, or an older one, is not answered by.
#[test]
fn files_that_take_something_back_are_refused() {
    let desk = Desk::new(ONE_HOT);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let place = Place::hop(1, 1);
    let list = |serial: u64, last_epoch: u64| {
        let mut list: KeyList =
            desk.bundle().key_lists().iter().find(|list| list.party == place).unwrap().clone();
        (list.serial, list.keys[0].lifetime.last_epoch) = (serial, last_epoch);
        Signed::new(list, &desk.world.signing[&place]).unwrap().to_text()
    };
    let path = desk.world.file.with_extension("keys");
    let others: String =
        desk.world.lists.iter().filter(|list| list.claimed_party() != place).map(Signed::to_text).collect();
    for (serial, last_epoch, holds) in [(1, 98, false), (0, 99, false), (2, 98, true), (1, 99, false)] {
        fs::write(&path, others.clone() + &list(serial, last_epoch)).unwrap();
        let answered = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2);
        assert_eq!(answered.is_ok(), holds, "{serial} {last_epoch}: {answered:?}");
    }
}

/// A hop that signs something else for a body: none of it counts.
#[test]
fn receipts_of_another_body_key_or_route_are_refused() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(12 * EPOCH_MS - 30_000);
    type Forgery<'a> = &'a dyn Fn(&World, &world::Seen) -> Vec<u8>;
    let kinds: [Forgery<'_>; 8] = [
        &|world, seen| world.receipt(&seen.route, b"another body", seen.at_ms).to_bytes(),
        &|world, seen| world.receipt(&Route { epoch: 12, ..seen.route }, &seen.body, seen.at_ms).to_bytes(),
        &|world, seen| world.receipt(&Route { label: 1, ..seen.route }, &seen.body, seen.at_ms).to_bytes(),
        &|world, seen| {
            let instance = seen.route.instance % 3 + 1;
            world.receipt(&Route { instance, ..seen.route }, &seen.body, seen.at_ms).to_bytes()
        },
        &|world, seen| {
            let receipt = Receipt { route: seen.route, body: Digest::of(&seen.body), time_bucket: 11 * 3600 };
            world::signed(receipt, &world.signing[&Place::Analyzer]).to_bytes()
        },
        &|world, seen| world.receipt(&seen.route, &seen.body, 5 * EPOCH_MS).to_bytes(),
        &|world, seen| world::receipt(world, seen)[..280].to_vec(),
        &|_, _| Vec::new(),
    ];
    for kind in kinds {
        let hops = Hops::with(&desk.world, &clock, |world, seen, _| Ok(kind(world, seen)));
        drop(respondent);
        respondent = desk.open();
        let pass = respondent.send_due(&hops, clock.0.get(), &mut rng(3)).unwrap();
        assert_eq!((pass.acknowledged, pass.waiting), (0, 3), "{pass:?}");
        assert!(pass.retried.iter().all(|reason| reason.contains("the receipt does not hold")), "{pass:?}");
    }
    assert!(files(&desk.state()).keys().all(|name| !name.contains("receipt")));
}

#[test]
fn statements_of_the_hops_are_compared_with_what_was_answered() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::honest(&desk.world, &clock);
    respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
    let route = Route { survey: desk.world.survey.hash(), label: 0, epoch: 11, instance: 2 };
    let sign = |hop: u32, outcome: Outcome, key_list: Option<Digest>| {
        let place = Place::hop(2, hop);
        let key_list = key_list.unwrap_or(desk.bundle().key_list_digest(place).unwrap());
        Signed::new(EpochStatement { route, hop, outcome, key_list }, &desk.world.signing[&place]).unwrap()
    };
    let released =
        |received| Outcome::Released { respondents: 100_000, received, forwarded: 9, batch: Digest::NONE };
    let check = |statements: &[Signed<EpochStatement>]| {
        let bodies = respondent.check(statements).unwrap();
        assert!(
            bodies.iter().all(|body| body.receipt) && !bodies[0].contradiction && !bodies[2].contradiction
        );
        (bodies[1].contradiction, bodies[1].findings.join("\n"))
    };
    let (wrong, findings) = check(&[sign(1, released(4_000_000), None), sign(2, released(9), None)]);
    assert!(!wrong && findings.contains("a crowd of 100000"), "{findings}");
    let (wrong, findings) = check(&[sign(1, Outcome::Destroyed, None), sign(2, Outcome::Destroyed, None)]);
    assert!(!wrong && findings.contains("all hops agree that the epoch was destroyed"), "{findings}");
    let (wrong, findings) = check(&[sign(1, released(4_000_001), None), sign(2, released(9), None)]);
    assert!(wrong && findings.contains("another number of envelopes"), "{findings}");
    let (wrong, findings) = check(&[sign(1, released(4_000_000), Some(Digest::of(b"a list of your own")))]);
    assert!(wrong && findings.contains("another key list"), "{findings}");
    // What somebody else signed is nobody's statement.
    let forged = EpochStatement { route, hop: 1, outcome: Outcome::Destroyed, key_list: Digest::NONE };
    let forged = Signed::new(forged, &desk.world.signing[&Place::Analyzer]).unwrap();
    let (wrong, findings) = check(&[forged]);
    assert!(!wrong && !findings.contains("destroyed"), "{findings}");
}

/// Every file, cut off and altered: an error that says so, and nothing is written over it.
#[test]
fn damaged_files_are_an_error_and_nothing_is_made_anew() {
    let desk = Desk::new(FRAGMENTED);
    let state = desk.state();
    let original = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let waiting = files(&state);
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::honest(&desk.world, &clock);
    desk.open().send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
    let sent = files(&state);
    assert_eq!(sent.len(), waiting.len() + 3);
    let use_all = || -> anyhow::Result<()> {
        let mut respondent = desk.open_at(&state)?;
        desk.answer(&mut respondent, Some(7), NOW_MS, 4)?;
        desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 5)?;
        respondent.send_due(&Hops::honest(&desk.world, &clock), 12 * EPOCH_MS - 1, &mut rng(6))?.result()?;
        respondent.show(NOW_MS)?;
        Ok(())
    };
    restore(&state, &sent);
    use_all().unwrap();
    for (all, only) in [(&waiting, ""), (&sent, "receipt")] {
        for name in all.keys().filter(|name| name.contains(only)) {
            let whole = &all[name];
            let mut altered = whole.clone();
            altered[whole.len() / 2] = 0xff;
            // A survey's file may lose its last line feed and is the same still.
            let cut = if name.ends_with(".toml") { 2 } else { 1 };
            for damaged in
                [whole[..whole.len() / 2].to_vec(), whole[..whole.len() - cut].to_vec(), altered, Vec::new()]
            {
                let mut files_now = all.clone();
                files_now.insert(name.clone(), damaged.clone());
                restore(&state, &files_now);
                let error = use_all();
                assert!(error.is_err(), "{name}, {} of {} bytes", damaged.len(), whole.len());
                assert_eq!(files(&state)[name], damaged, "{name}");
                fs::write(state.join(name), whole).unwrap();
                let again = desk.answer(&mut desk.open(), Some(7), NOW_MS, 7).unwrap();
                assert_eq!(bytes(again.answer()), bytes(original.answer()), "{name}");
            }
        }
    }
}

/// The loss of a file is not taken for a fresh start.
#[test]
fn missing_files_are_an_error() {
    let desk = Desk::new(FRAGMENTED);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let whole = files(&desk.state());
    for name in whole.keys().filter(|name| !name.starts_with("surveys") && *name != "credential") {
        let mut rest = whole.clone();
        rest.remove(name);
        restore(&desk.state(), &rest);
        let result = desk.open_at(&desk.state()).and_then(|mut respondent| {
            desk.answer(&mut respondent, Some(7), NOW_MS, 3)?;
            desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 3)
        });
        let error = result.expect_err(name);
        assert!(format!("{error:#}").contains("put back a copy"), "{name}: {error:#}");
    }
}

#[cfg(unix)]
#[test]
fn the_state_directory_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new(FRAGMENTED);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&desk.state()), 0o700);
    for folder in ["outbox", "permanent", "surveys"] {
        assert_eq!(mode(&desk.state().join(folder)), 0o700, "{folder}");
    }
    for name in files(&desk.state()).keys().map(String::as_str).chain(["lock"]) {
        assert_eq!(mode(&desk.state().join(name)), 0o600, "{name}");
    }
    // An empty directory is made private; one that others can look into is not taken.
    let other = desk.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Respondent::open(&other).unwrap());
    assert_eq!(mode(&other), 0o700);
    fs::set_permissions(&other, fs::Permissions::from_mode(0o750)).unwrap();
    let error = Respondent::open(&other).unwrap_err().to_string();
    assert!(error.contains("chmod 700"), "{error}");
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let desk = Desk::new(ONE_HOT);
    let first = desk.open();
    let error = format!("{:#}", desk.open_at(&desk.state()).unwrap_err());
    assert!(error.contains("another process uses"), "{error}");
    drop(first);
    desk.open();
}

/// A value of twelve digits does not come up by accident.
#[test]
fn the_value_is_in_no_error_no_debug_output_and_no_file() {
    const VALUE: u64 = 987_654_321_987;
    let desk = Desk::new(SKETCHED);
    let mut respondent = desk.open();
    let outside = desk.answer(&mut respondent, Some(VALUE + 100_000_000_000), NOW_MS, 2).unwrap_err();
    assert!(!format!("{outside:#} {outside:?}").contains("1087654321987"), "{outside:#}");
    let answered = desk.answer(&mut respondent, Some(VALUE), NOW_MS, 2).unwrap();
    let shown = respondent.show(NOW_MS).unwrap();
    let text = format!("{answered:?} {respondent:?} {shown:?} {}", serde_json::to_string(&shown).unwrap());
    assert!(!text.contains("987654321987") && text.contains("not shown"), "{text}");
    drop(respondent);
    for (name, bytes) in files(&desk.state()) {
        assert!(!name.contains("987654321987"));
        for needle in [&b"987654321987"[..], &VALUE.to_be_bytes()[2..], &VALUE.to_le_bytes()[..6]] {
            assert!(!bytes.windows(needle.len()).any(|window| window == needle), "{name}");
        }
    }
}

#[test]
fn labels_and_credentials_are_asked_for() {
    let labels = "[labels]\nnames = [\"de\", \"fr\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\n\
                  profiles = { fr = [2] }\n";
    let desk = Desk::new(&(ONE_HOT.replace("epsilon_central = 1.0", "epsilon_central = 1.5") + labels));
    let mut respondent = desk.open();
    let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err().to_string();
    assert!(error.contains("de, fr"), "{error}");
    let how = How { label: Some("fr".into()), when: When::CurrentEpoch };
    let answered = respondent.answer_with(&desk.bundle(), Some(7), &how, NOW_MS, &mut rng(2)).unwrap();
    assert_eq!((answered.answer().label, answered.answer().epoch), (2, 10));
    assert!(answered.answer().bodies.iter().all(|body| body.send_at_ms >= NOW_MS));
    let shown = respondent.show(NOW_MS).unwrap().remove(0);
    assert_eq!(shown.label.as_deref(), Some("fr"));
    // What is shown is about this label's trust profile, and so is what is sent.
    let guarantee = shown.guarantee.join("\n");
    for part in ["go to instance 2 alone", "To instances 1 and 3 you send as many bytes of chaff"] {
        assert!(guarantee.contains(part), "{guarantee}");
    }
    let answer = answered.answer();
    let opened = |body: &throng::respondent::StoredBody| {
        desk.world.open(&answer.route(body), body.bytes().unwrap()).len()
    };
    let fragments: Vec<usize> = answer.bodies.iter().map(opened).collect();
    assert_eq!((fragments[0], fragments[2]), (0, 0), "{fragments:?}");
    assert!(answer.bodies.iter().all(|body| body.length == answer.bodies[0].length));

    let desk = Desk::new(ONE_HOT);
    let mut respondent = Respondent::open(&desk.state()).unwrap();
    let error = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap_err().to_string();
    assert!(error.contains("--credential"), "{error}");
    let how = How { label: Some("fr".into()), ..How::default() };
    let mut respondent = desk.open_at(&desk.folder.path().join("other")).unwrap();
    let error = respondent.answer_with(&desk.bundle(), Some(7), &how, NOW_MS, &mut rng(2)).unwrap_err();
    assert!(error.to_string().contains("no labels"), "{error:#}");
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

/// What `throng plan` writes is what a respondent's own accountant accepts.
#[test]
fn every_planned_survey_passes_the_respondents_check() {
    let folder = tempfile::tempdir().unwrap();
    for (number, flags) in [
        "--epsilon-central 1 --delta 1e-8 --respondents 2000000 --domain 87680",
        "--epsilon-central 0.5 --delta 1e-7 --respondents 100000 --domain 500 --report-fragments 16 \
         --instances 5 --hops 3",
        "--epsilon-central 1 --delta 1e-6 --respondents 200000 --domain 4000000000 --zipf 1.2",
        "--epsilon-central 2 --delta 1e-6 --respondents 50000 --domain 100 --honest-fraction 0.7 --instances \
         1 --hops 1",
        "--epsilon-central 1 --delta 1e-6 --respondents 300000 --domain 1000 --encoding sketch \
         --report-fragments 3",
        "--epsilon-central 0.25 --delta 1e-10 --respondents 5000000 --domain 2 --instances 7",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --attribute age=9 --attribute sex=2 --attribute \
         county=100",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --attribute age=9 --attribute sex=2 \
         --report-fragments 3 --honest-fraction 0.8",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 500 --label de --label fr",
        "--epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 500 --label all --label two=3,1 --label one=2",
        "--epsilon-central 1 --delta 1e-6 --respondents 200000 --domain 200 --report-fragments 4 --instances 4 \
         --label all --label pair=2,4 --epsilon-deletion 0.1 --delta-deletion 1e-9",
        "--epsilon-central 2 --delta 1e-6 --respondents 200000 --domain 1000000 --encoding sketch --label one=2",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.toml");
        let arguments: Vec<&str> =
            ["plan"].into_iter().chain(flags.split(' ')).chain(["--out", &name]).collect();
        let output = support::command(&folder, &arguments).output().unwrap();
        assert!(output.status.success(), "{flags}: {}", support::text(&output.stderr));
        let survey = Survey::from_toml(&fs::read_to_string(folder.path().join(&name)).unwrap()).unwrap();
        let claim = CheckedClaim::check(&survey).unwrap_or_else(|error| panic!("{flags}: {error}"));
        assert!(claim.central.epsilon() <= claim.claimed.epsilon());
        assert!(claim.overflow.value() <= 0.0101 * survey.claim.delta);
    }
}

/// A record is one value: it has one backstop, which is about one attribute in all epochs.
#[test]
fn a_record_is_answered_from_one_backstop_about_one_attribute() {
    let desk = Desk::new(RECORD);
    let mut respondent = desk.open();
    let mut answer = |record: Option<Vec<Option<u32>>>, epoch: u64| {
        let now_ms = epoch * EPOCH_MS;
        let rng = &mut rng(20 + epoch as u8);
        let answered = respondent.answer_with(&desk.bundle(), record, &How::default(), now_ms, rng).unwrap();
        let answer = answered.answer();
        let opened =
            answer.bodies.iter().map(|body| desk.world.open(&answer.route(body), body.bytes().unwrap()));
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
        assert!((next.1 - 5.25).abs() < 1e-9, "the backstop is paid once, not {}", next.1);
    }
    // Another record is another value; one without any value says as much as having nothing to say.
    assert!((answer(Some(vec![Some(4), Some(0), Some(700)]), 16).1 - 10.5).abs() < 1e-9);
    assert!((answer(Some(vec![None; 3]), 17).1 - 15.75).abs() < 1e-9);
    assert!((answer(None, 18).1 - 15.75).abs() < 1e-9);
    assert_eq!(files(&desk.state()).keys().filter(|name| name.starts_with("permanent")).count(), 3);
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
    let mut analyzer = Analyzer::new(desk.world.survey.survey().mechanism().unwrap()).unwrap();
    for epoch in 0..90_u8 {
        let record = vec![Some(4), Some(1), if epoch < 60 { Some(700) } else { None }];
        let now_ms = u64::from(epoch) * EPOCH_MS;
        let answered =
            respondent.answer_with(&desk.bundle(), Some(record), &How::default(), now_ms, &mut rng(epoch));
        let answered = answered.unwrap();
        let answer = answered.answer();
        for body in &answer.bodies {
            let fragments = desk.world.open(&answer.route(body), body.bytes().unwrap());
            analyzer.add_fragments(&fragments).unwrap();
        }
        analyzer.add_respondents(1);
    }
    let estimates = analyzer.estimates().unwrap();
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
        respondent.answer_with(&desk.bundle(), Some(value), &How::default(), NOW_MS, &mut rng(2))
    };
    for (value, part) in [
        (Value::from(vec![Some(4), Some(1)]), "2 attributes where the survey has 3"),
        (vec![Some(777_777), Some(1), None].into(), "the domain of 9 values"),
        (vec![None, Some(777_777), None].into(), "the domain of 2 values"),
        (Value::from(777_777), "asks for a record"),
    ] {
        let error = format!("{:?}", now(&mut respondent, value).unwrap_err());
        assert!(error.contains(part) && !error.contains("777777"), "{error}");
    }
    assert_eq!(respondent.ledger().spent().unwrap(), Epsilon::ZERO);
    assert!(!files(&desk.state()).keys().any(|name| name.starts_with("permanent")));
    let one_hot = Desk::new(ONE_HOT);
    let record = Some(vec![Some(7)]);
    let mut respondent = one_hot.open();
    let refused = respondent.answer_with(&one_hot.bundle(), record, &How::default(), NOW_MS, &mut rng(2));
    assert!(format!("{:?}", refused.unwrap_err()).contains("asks for a single value"));
}

#[test]
fn the_command_takes_records() {
    let desk = Desk::new(RECORD);
    let run = |value: &str, input: &str| {
        fs::write(desk.folder.path().join("input"), input).unwrap();
        let arguments =
            ["respond", "--state", "state", "--survey", "survey.toml", "--no-wait", "--value", value];
        let output = support::command(&desk.folder, &arguments)
            .stdin(fs::File::open(desk.folder.path().join("input")).unwrap())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    // The keys of this survey ended long ago: what is encoded cannot be sealed.
    let long = " ".repeat(60_000) + "8,1,772\n";
    for (value, input) in [("3,1,-", ""), ("-,-,0", ""), ("-", "3,1,-\n"), ("-", &long)] {
        let (code, error) = run(value, input);
        assert!(code == 2 && error.contains("no layer key"), "{value}: {error}");
    }
    let too_long = "0".repeat(70_000) + ",1,5";
    for (value, input, part) in [
        ("7777", "", "for each of age,sex,county"),
        ("-", "7777,1", "for each of age,sex,county"),
        ("-", &too_long, "longer than any value"),
        ("7777,1,-", "", "the domain of 9 values"),
    ] {
        let (code, error) = run(value, input);
        assert!(code == 2 && error.contains(part) && !error.contains("7777"), "{value}: {error}");
    }
}

#[test]
fn the_command_answers_shows_and_checks() {
    let desk = Desk::new(ONE_HOT);
    let run = |arguments: &[&str]| {
        let output = support::command(&desk.folder, &[&["respond", "--state", "state"], arguments].concat())
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            support::text(&output.stdout),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // The keys of this survey ended long ago: an answer today is an error that says so, and spends nothing.
    let survey = ["--survey", "survey.toml", "--credential", "credential", "--no-wait"];
    let (code, _, error) = run(&[&survey[..], &["--value", "7"]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("no layer key"), "{error}");
    let (code, page, _) = run(&["--show"]);
    assert!(
        code == 0 && page.contains("Nothing was answered yet") && page.contains("epsilon 0.0000"),
        "{page}"
    );
    for (value, part) in [("seven", "takes a number"), ("784", "784"), ("", "takes a number")] {
        let (code, _, error) = run(&[&survey[..], &["--value", value]].concat());
        assert!(code == 2 && error.contains(part) && !error.contains("seven"), "{error}");
    }
    // Answered by the library in the survey's own time, the command shows and checks it.
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let (code, page, _) = run(&["--show"]);
    assert_eq!(code, 0);
    for part in [
        "which-pixel, epoch 11",
        "40 envelopes in 4329 bytes",
        "SHA-256",
        "epsilon_local 5.25",
        "of your limit of 50",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (code, json, _) = run(&["--show", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, json["answers"][0]["bodies"][2]["bytes"].as_u64()), (0, Some(4329)));
    assert_eq!(json["answers"][0]["epsilon_central"].as_f64(), Some(1.0));
    let (code, page, _) = run(&["--check"]);
    assert!(code == 0 && page.contains("there is no receipt"), "{page}");
    let (code, _, error) = run(&["--check", "--statement", "survey.toml"]);
    assert!(code == 2 && error.contains("205 bytes each"), "{error}");
    let (code, page, _) = run(&["--epsilon-limit", "12.5"]);
    assert!(code == 0 && page.contains("of your limit of 12.5"), "{page}");
    let (code, _, error) = run(&["--survey", "survey.toml"]);
    assert!(code == 2 && error.contains("--value"), "{error}");
}
