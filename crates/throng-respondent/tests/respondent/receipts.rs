//! What hops sign, and what a respondent makes of it.

use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::{self, EPOCH_MS, Hops, ONE_HOT, TestClock, World};
use throng_wire::{Digest, EpochStatement, ForwardedCount, Outcome, Place, Receipt, Route, Signed};

use crate::files;

/// A hop that signs something else for a body: none of it counts.
#[test]
fn receipts_of_another_body_key_or_route_are_refused() {
    let desk = Desk::new(ONE_HOT);
    let mut respondent = desk.open();
    desk.answer(&mut respondent, Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(12 * EPOCH_MS - 30_000);
    type Forgery<'a> = &'a dyn Fn(&World, &world::ObservedUpload) -> Vec<u8>;
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
        let analyzer_key_list = desk.bundle().key_list_digest(Place::Analyzer).unwrap();
        let statement = EpochStatement { route, hop, outcome, key_list, analyzer_key_list };
        Signed::new(statement, &desk.world.signing[&place]).unwrap()
    };
    let passed = |received, forwarded| Outcome::Released {
        respondents: 100_000,
        received: Some(received),
        forwarded,
        batch: Digest::NONE,
    };
    let released = |received| passed(received, ForwardedCount::Told(4_000_000));
    let last = passed(4_000_000, ForwardedCount::Committed(Digest::of(b"salt and number")));
    let check = |statements: &[Signed<EpochStatement>]| {
        let bodies = respondent.check(statements).unwrap();
        assert!(
            bodies.iter().all(|body| body.receipt) && !bodies[0].contradiction && !bodies[2].contradiction
        );
        (bodies[1].contradiction, bodies[1].findings.join("\n"))
    };
    let (wrong, findings) = check(&[sign(1, released(4_000_000), None), sign(2, last, None)]);
    assert!(!wrong && findings.contains("a crowd of 100000"), "{findings}");
    let (wrong, findings) = check(&[sign(1, Outcome::Destroyed, None), sign(2, Outcome::Destroyed, None)]);
    assert!(!wrong && findings.contains("all hops agree that the epoch was destroyed"), "{findings}");
    let (wrong, findings) = check(&[sign(1, released(4_000_001), None), sign(2, last, None)]);
    assert!(wrong && findings.contains("another number of envelopes"), "{findings}");
    let telling = passed(4_000_000, ForwardedCount::Told(9));
    let (wrong, findings) = check(&[sign(1, released(4_000_000), None), sign(2, telling, None)]);
    assert!(wrong && findings.contains("a number that tells of fragments"), "{findings}");
    let (wrong, findings) = check(&[sign(1, released(4_000_000), Some(Digest::of(b"a list of your own")))]);
    assert!(wrong && findings.contains("another key list"), "{findings}");
    // What somebody else signed is nobody's statement.
    let honest = sign(1, Outcome::Destroyed, None);
    let forged = Signed::new(*honest.claimed(), &desk.world.signing[&Place::Analyzer]).unwrap();
    let (wrong, findings) = check(&[forged]);
    assert!(!wrong && !findings.contains("destroyed"), "{findings}");
}
