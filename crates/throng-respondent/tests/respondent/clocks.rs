//! Times: when bodies are sent, what a hop says about them, and a clock that is wrong.

use std::collections::BTreeMap;

use throng_respondent::SendError;
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::{self, EPOCH_MS, Hops, ONE_HOT, TestClock};

/// Of three first hops all say that the epoch is over, by clocks two hours ahead: nothing is sent again, and the respondent is
/// told which clocks differ, and keeps it.
#[test]
fn a_clock_that_is_behind_is_told_so_and_nothing_is_sent_again() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::with(&desk.world, &clock, |_, seen, _| {
        let their_s = seen.at_ms / 1000 + 7200;
        Err(SendError::WrongTime { reason: "the epoch is over (409 closed)".into(), their_s, over: true })
    });
    let error = respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap_err().to_string();
    assert!(error.contains("(409 closed); the clock of this machine is 7200 s behind the hop's"), "{error}");
    assert!(error.contains("1970-01-01T11:") && error.contains("1970-01-01T13:"), "{error}");
    assert_eq!(hops.seen.borrow().len(), 3, "one try for each instance");
    let shown = respondent.show(clock.0.get()).unwrap();
    assert!(shown[0].bodies.iter().all(|body| body.fate == "refused"));
    // Somebody who is late by seconds is late: clocks have nothing to do with it.
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::with(&desk.world, &clock, |_, seen, _| {
        let their_s = seen.at_ms / 1000 + 20;
        Err(SendError::WrongTime { reason: "the epoch is over (409 closed)".into(), their_s, over: true })
    });
    let error = respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap_err().to_string();
    assert!(error.contains("closed") && !error.contains("clock"), "{error}");
}

/// By the hops' clocks the epoch begins two hours later than by this one: there is nothing to try before, and when the epoch is
/// over by this clock, what is lost is lost with its reason.
#[test]
fn a_clock_that_is_ahead_is_told_so() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::with(&desk.world, &clock, |_, seen, _| {
        let their_s = seen.at_ms / 1000 - 7200;
        Err(SendError::WrongTime { reason: "not yet (503 early)".into(), their_s, over: false })
    });
    let error = respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap_err().to_string();
    assert!(error.contains("the epoch closed before it was acknowledged"), "{error}");
    assert!(error.contains("the clock of this machine is 7200 s ahead of the hop's"), "{error}");
    assert_eq!(hops.seen.borrow().len(), 3, "one try for each instance, not one a minute");
}

/// A hop whose clock is a little behind gets the body as soon as the epoch begins there; one that asks for time gets it.
#[test]
fn what_a_hop_says_about_when_is_what_happens() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    let answered = desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let first_ms = |instance: usize| answered.bodies[instance - 1].send_at_ms;
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::with(&desk.world, &clock, |world, seen, _| {
        let tried_at = first_ms(seen.route.instance as usize);
        match seen.route.instance {
            1 if seen.at_ms < tried_at + 120_000 => {
                let reason = "about to stop".into();
                Err(SendError::Later { reason, after_s: 120 })
            }
            2 if seen.at_ms < tried_at + 30_000 => {
                let their_s = 11 * EPOCH_MS / 1000 - 30;
                Err(SendError::WrongTime { reason: "not yet".into(), their_s, over: false })
            }
            _ => Ok(world::receipt(world, seen)),
        }
    });
    respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
    let seen = hops.seen.borrow();
    let tries = |instance| seen.iter().filter(|one| one.route.instance == instance).count();
    assert_eq!((tries(1), tries(2), tries(3)), (2, 2, 1), "each is waited for once, as long as it takes");
}

/// Promise 4 in time. Half of the people have something to say; by where their fragments went, a body has some or has none.
/// What a first hop sees is the time of arrival: whatever was answered and whatever is inside, it is uniform over the window.
///
/// Of 40 people with a value and 40 without one the hops see 240 times. In each of four groups (body of those with and
/// without a value, with and without a fragment) the mean of n times, in units of the window, is 1/2 with a standard deviation of
/// 1/sqrt(12 n); 5.2 of these on either side fail with a chance of 2e-7 each by the normal approximation, so that ALPHA = 1e-6
/// for all of them. Somebody who sends empty bodies in the first half is 1/4 off, 6 or more deviations with n >= 50.
#[test]
fn when_bodies_arrive_depends_neither_on_the_value_nor_on_what_is_inside() {
    // A fragment in every second body: 9 bits, of which one is kept with 0.88 and others set with 0.12.
    let survey = ONE_HOT
        .replace("domain = 784", "domain = 9")
        .replace("epsilon_local = 5.25", "epsilon_local = 2.0")
        .replace("epsilon_central = 1.0", "epsilon_central = 2.5")
        .replace("envelopes = 40", "envelopes = 3");
    let desk = Desk::new(&survey);
    let mut groups: BTreeMap<(bool, bool), Vec<f64>> = BTreeMap::new();
    for person in 0..80_u8 {
        let value = (person % 2 == 0).then_some(7);
        let state = desk.folder.path().join(format!("state-{person}"));
        let mut respondent = desk.open_at(&state).unwrap();
        let answered = desk.answer(&mut respondent, value, NOW_MS, person).unwrap();
        let clock = TestClock::at(NOW_MS);
        let hops = Hops::honest(&desk.world, &clock);
        respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
        for seen in hops.seen.borrow().iter() {
            let body = &answered.bodies[seen.route.instance as usize - 1];
            assert_eq!(seen.at_ms, body.send_at_ms, "each at its own time, to the millisecond");
            let empty = desk.world.open(&seen.route, &seen.body).is_empty();
            let into_ms = seen.at_ms - 11 * EPOCH_MS - 60_000;
            let time = into_ms as f64 / (EPOCH_MS - 120_000) as f64;
            groups.entry((value.is_some(), empty)).or_default().push(time);
        }
    }
    assert_eq!(groups.len(), 4);
    for ((with_value, empty), times) in groups {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        assert!(n >= 20.0, "{n}");
        assert!((mean - 0.5).abs() < 5.2 / (12.0 * n).sqrt(), "{with_value} {empty}: {mean} of {n}");
    }
}
