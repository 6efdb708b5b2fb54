//! What is sent: when, how often, and with which bytes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;

use throng_dp::Epsilon;
use throng_respondent::{Origin, SendError};
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::{self, EPOCH_MS, FRAGMENTED, Hops, ONE_HOT, SKETCHED, TestClock};

use crate::{bytes, files, restore};

#[test]
fn an_answer_is_sent_at_its_times_and_receipted() {
    for survey in [ONE_HOT, FRAGMENTED, SKETCHED] {
        let desk = Desk::new(survey);
        let mut respondent = desk.open();
        let answer = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
        assert_eq!((answer.origin, answer.epoch, answer.bodies.len()), (Origin::Now, 11, 3));
        let clock = TestClock::at(NOW_MS);
        let hops = Hops::honest(&desk.world, &clock);
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
        let seen = hops.seen.borrow();
        assert_eq!(seen.len(), 3);
        for one in seen.iter() {
            let body = &answer.bodies[one.route.instance as usize - 1];
            assert_eq!((one.at_ms, &*one.body), (body.send_at_ms, body.bytes()));
            assert_eq!(one.url, format!("https://instance-{}-hop-1.test", one.route.instance));
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

/// Promise 4, at the door: what leaves the machine has one length and number for any value and for none, and goes to the
/// same doors.
#[test]
fn what_is_sent_is_alike_for_any_value_and_for_none() {
    for survey in [ONE_HOT, FRAGMENTED] {
        let desk = Desk::new(survey);
        let mut shapes = Vec::new();
        let mut doors = Vec::new();
        for (seed, value) in [(1, Some(0)), (2, Some(783)), (3, None), (4, Some(0))] {
            let state = desk.folder.path().join(format!("state-{seed}"));
            let mut respondent = desk.open_at(&state).unwrap();
            let answered = desk.answer(&mut respondent, value, NOW_MS, seed).unwrap();
            let bodies = answered.bodies.iter();
            shapes.push(bodies.map(|body| (body.instance, body.length)).collect::<Vec<_>>());
            let clock = TestClock::at(NOW_MS);
            let hops = Hops::honest(&desk.world, &clock);
            respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
            doors.push(seen_at_doors(&hops));
            // The files say as little: the same names but for hashes, and the same lengths but for the
            // backstop's.
            let names: Vec<String> =
                files(&state).into_keys().filter(|name| !name.starts_with("permanent")).collect();
            let outbox = names.iter().filter(|name| name.starts_with("outbox")).count();
            assert_eq!(outbox, 1 + 3, "the answer and its receipts: {names:?}");
        }
        assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{shapes:?}");
        assert!(doors.iter().all(|seen| *seen == doors[0] && seen.len() == 3), "{doors:?}");
    }
}

/// What first hops saw but for bytes and times: from door to door, for which epoch, and how long.
fn seen_at_doors(hops: &Hops<'_>) -> Vec<(String, u32, u64, usize)> {
    let seen = hops.seen.borrow();
    let mut seen: Vec<_> =
        seen.iter().map(|one| (one.url.clone(), one.route.label, one.route.epoch, one.body.len())).collect();
    seen.sort();
    seen
}

/// Attack 12: over fifty epochs somebody has something to say in some of them, and nothing in others. They are there in each,
/// and what they send has the same number, doors and lengths: intersecting the epochs in which a value appears with those in
/// which somebody is there tells nothing, since they always are.
#[test]
fn fifty_epochs_do_not_show_when_somebody_had_something_to_say() {
    const EPOCHS: u64 = 50;
    let desk = Desk::new(FRAGMENTED);
    let mut respondent = desk.open();
    respondent.set_epsilon_limit(Epsilon::new(1000.0).unwrap()).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::honest(&desk.world, &clock);
    for epoch in 0..EPOCHS {
        let now_ms = NOW_MS + epoch * EPOCH_MS;
        let value = (epoch * epoch % 7 > 2).then_some(7);
        desk.answer(&mut respondent, value, now_ms, epoch as u8).unwrap();
        clock.0.set(now_ms.max(clock.0.get()));
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(epoch as u8)).unwrap();
    }
    let seen = seen_at_doors(&hops);
    for epoch in 11..11 + EPOCHS {
        let of = |number: u64| -> Vec<(&String, u32, usize)> {
            let of_epoch = seen.iter().filter(|(.., epoch, _)| *epoch == number);
            of_epoch.map(|(url, label, _, length)| (url, *label, *length)).collect()
        };
        assert!(of(epoch) == of(11) && of(epoch).len() == 3, "{:?}", of(epoch));
    }
    assert_eq!(seen.len(), 3 * EPOCHS as usize);
    // What the fragments say of an answer that comes and goes is another matter: four of 4 in each of 14 epochs.
    assert!((respondent.ledger().spent().unwrap().value() - 14.0 * 16.0).abs() < 1e-9);
}

#[test]
fn an_epoch_is_answered_once_whatever_the_value() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    let first = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let spent = respondent.ledger().spent().unwrap();
    for (value, now_ms) in [(Some(7), NOW_MS), (Some(8), NOW_MS + 1000), (None, NOW_MS + 5000)] {
        let again = desk.answer(&mut respondent, value, now_ms, 3).unwrap();
        assert_eq!(again.origin, Origin::Before);
        assert_eq!(bytes(&again), bytes(&first));
    }
    drop(respondent);
    let mut respondent = desk.open();
    assert_eq!(bytes(&desk.answer(&mut respondent, Some(9), NOW_MS, 4).unwrap()), bytes(&first));
    assert_eq!(respondent.ledger().spent().unwrap(), spent);
    // In another epoch there is another answer, and what it spends.
    let next = desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 5).unwrap();
    assert_eq!(next.origin, Origin::Now);
    assert!((respondent.ledger().spent().unwrap().value() - 10.5).abs() < 1e-9);
}

/// Crashes between any two steps of making an answer: drafted, recorded, named.
#[test]
fn a_crash_while_answering_never_sends_unrecorded_nor_spends_twice() {
    let never = FRAGMENTED.replace("fragments = 4", "fragments = 4, answer_changes = \"never\"");
    for survey in [ONE_HOT, FRAGMENTED, &never] {
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
        assert_eq!(again.origin, Origin::Before);
        assert_eq!(bytes(&again), bytes(&original));
        assert_eq!(respondent.ledger().entries().len(), 1);
        drop(respondent);

        // Drafted, not recorded: nothing was spent and nothing is sent. Coins that were stored are the
        // same still.
        drafted.insert("ledger".into(), before["ledger"].clone());
        restore(&desk.state(), &drafted);
        let mut respondent = desk.open();
        assert_eq!(respondent.ledger().spent().unwrap(), Epsilon::ZERO);
        let clock = TestClock::at(NOW_MS + EPOCH_MS);
        let hops = Hops::honest(&desk.world, &clock);
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
        assert!(hops.seen.borrow().is_empty());
        // Where the first report counts, the one that was stored is the first, though nothing of it was sent.
        let again = desk.answer(&mut respondent, Some(8), NOW_MS, 3).unwrap();
        assert_eq!(again.origin, if survey == never { Origin::First } else { Origin::Now });
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
        assert_eq!(bytes(&again), bytes(&original));
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
    assert_eq!(bodies, bytes(&original), "three bodies, each four times");
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
