//! Attacks 6 and 24 on real processes: a hop is ended without a word in every single operation of its store.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use hyper::Method;
use throng_account::deletion::Deletion;
use throng_dp::{Delta, Epsilon};
use throng_host::net::client::SendError;
use throng_testing::patience::{until, until_some};
use throng_testing::program::Program;
use throng_testing::town::{CROWD, LastHopBatch, Shape, Town, sender};
use throng_wire::{Digest, EpochStatement, Outcome, Place, Route, Signed};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// Nobody waits for an epoch: its end is when the clocks are set to it. A step of this length is not yet a clock that has jumped.
const EPOCH_S: u64 = 240;

/// Ends a hop in operation `number` of its store, for every number from `from` on. Some towns run side by side, as much of
/// their time is waiting for a disk. Returns how often the hop ended between drawing the noise of the crowd and using it.
fn in_every_operation(hop: u32, from: u64, labels: bool) -> usize {
    const SIDE_BY_SIDE: u64 = 8;
    let mut drawn = 0;
    for start in (from..).step_by(SIDE_BY_SIDE as usize) {
        let days: Vec<HopEnd> = thread::scope(|scope| {
            let towns: Vec<_> = (start..start + SIDE_BY_SIDE)
                .map(|number| scope.spawn(move || a_day_with_an_end(hop, number, labels)))
                .collect();
            towns.into_iter().map(|town| town.join().unwrap()).collect()
        });
        drawn += days.iter().filter(|day| day.drawn).count();
        if !days.iter().any(|day| day.died) {
            assert!(start > from, "no hop ended at all");
            break;
        }
    }
    drawn
}

/// What happened to a hop on its day.
struct HopEnd {
    /// Whether it ended before its time.
    died: bool,
    /// Whether that was after the crowd's noise was drawn and before it was used.
    drawn: bool,
}

/// What the noise of a crowd is drawn from, as `draw.rs` has it: a secret (32), which a tag follows, and the hashes of all bodies in
/// their order. `None` unless all of these people's bodies are there.
fn noise_seed(draw: &[u8], uploads: &[u8], people: u32) -> Option<[u8; 32]> {
    // A mark is 16 ones, a place (8) and a tag (16); a record a head of 28 bytes, the body's length last, the body, and a tag (16).
    let (mut digests, mut rest) = (Vec::new(), uploads);
    while rest.len() > 40 && rest[..16] != [0; 16] {
        if rest[..16] == [0xff; 16] {
            rest = &rest[40..];
            continue;
        }
        let len = u32::from_be_bytes(rest[24..28].try_into().ok()?) as usize;
        digests.extend(Digest::of(rest.get(28..28 + len)?).as_bytes());
        rest = rest.get(28 + len + 16..)?;
    }
    if draw.len() != 64 || digests.len() != 32 * people as usize {
        return None;
    }
    let drawn = Digest::of(&[&draw[..32], Digest::of(&digests).as_bytes()].concat());
    Some(*Digest::of(&[drawn.as_bytes(), &b"noise"[..], &[0; 8]].concat()).as_bytes())
}

/// A town with a hop that ends itself, and is started again.
struct Day {
    town: Town,
    victim: Place,
    people: u32,
    died: bool,
    /// What the hop had on disk to thin and permute by when it ended, and the uploads, by the names of the files.
    files: BTreeMap<String, Vec<u8>>,
}

impl Day {
    /// Starts the hop again if it has ended, and looks at its disk before.
    fn revive(&mut self) {
        if !self.town.has_ended(self.victim) {
            return;
        }
        for entry in fs::read_dir(self.town.data(self.victim)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "draw" || extension == "uploads") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                self.files.insert(name, fs::read(path).unwrap());
            }
        }
        self.died |= self.town.revive(self.victim);
    }

    /// How many people the noise leaves that follows from what was on disk when the hop ended, if all of it was there.
    fn left(&self, route: Route) -> Option<u64> {
        let file = |kind: &str| self.files.get(&format!("{}-{}.{kind}", route.label, route.epoch));
        let (draw, uploads) = file("draw").filter(|_| route.label > 0).zip(file("uploads"))?;
        let seed = noise_seed(draw, uploads, self.people)?;
        let survey = self.town.deployment.bundle.survey().survey();
        let labels = survey.labels.as_ref().unwrap();
        let (epsilon, delta) = (Epsilon::new(labels.epsilon_deletion), Delta::new(labels.delta_deletion));
        let deletion = Deletion::new(epsilon.unwrap(), delta.unwrap()).unwrap().noise().unwrap();
        let people = u64::from(self.people);
        Some(people - deletion.drops(people, deletion.draw(&mut ChaCha20Rng::from_seed(seed))))
    }

    /// Everyone is counted once; under a label, everyone whom the noise on disk left.
    fn check(&self, pulled: &LastHopBatch, route: Route) {
        let counted = pulled.sorted();
        let once: BTreeSet<u32> = counted.iter().copied().collect();
        assert!(once.len() == counted.len() && once.iter().all(|&value| value < self.people), "{counted:?}");
        let respondents = match pulled.statements[0].outcome {
            Outcome::Released { respondents, .. } => respondents,
            Outcome::Destroyed => 0,
        };
        assert_eq!(counted.len() as u64, respondents);
        match self.left(route) {
            Some(left) => assert_eq!(respondents, if left < CROWD { 0 } else { left }, "another noise"),
            None if route.label == 0 => assert_eq!(respondents, u64::from(self.people)),
            None => assert!(respondents == 0 || respondents >= CROWD),
        }
    }

    /// What hop 1 says of the epoch.
    fn statement(&self, route: Route) -> EpochStatement {
        let hop = Place::hop(1, 1);
        let (status, bytes) = self.town.call(None, hop, Method::GET, route, "statement", &[]);
        assert_eq!(status, 200);
        *Signed::<EpochStatement>::from_bytes(&bytes).unwrap().claimed()
    }
}

/// People answer; whatever happens to a hop, each is counted once, the crowd has one noise and the batch is one.
fn a_day_with_an_end(hop: u32, number: u64, labels: bool) -> HopEnd {
    let (hops, victim) = (2, Place::hop(1, hop));
    // Deletion takes some five of a labelled crowd.
    let people = if labels { 16 } else { 8 };
    let shape = Shape { instances: 1, hops, epoch_s: EPOCH_S, tls: false, labels };
    let town = Town::new(THRONG, shape, people as usize);
    let mut day = Day { town, victim, people, died: false, files: BTreeMap::new() };
    let route = day.town.route(1, day.town.begin_epoch());
    for place in day.town.hops() {
        day.town.start(place, (place == victim).then_some(number));
    }
    day.revive();
    everyone_answers(&mut day, route);
    day.town.end_epoch(route.epoch);
    let last = Place::hop(1, hops);
    until("the batch is there", || {
        let (status, _) = day.town.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]);
        day.revive();
        status == 200
    });
    let first = day.town.pull(route);
    day.check(&first, route);
    // Both hops once more: what was said and handed on stays.
    for place in day.town.hops() {
        day.town.kill(place);
        day.town.start(place, None);
    }
    let again = day.town.pull(route);
    assert_eq!(again.envelopes, first.envelopes, "operation {number} of hop {hop}");
    assert_eq!(again.statements, first.statements, "operation {number} of hop {hop}");
    assert_eq!(day.statement(route), first.statements[0], "operation {number} of hop {hop}");
    assert_eq!(day.town.acknowledge(route, again.digest()), 204);
    HopEnd { died: day.died, drawn: day.left(route).is_some() }
}

/// Everyone answers and has a receipt, twice the same.
fn everyone_answers(day: &mut Day, route: Route) {
    let sender = sender();
    let bodies: Vec<Vec<u8>> = (0..day.people).map(|value| day.town.body(route, value)).collect();
    let mut receipts = Vec::new();
    // The second time whoever was acknowledged gets the same receipt, whatever happened since.
    for (person, body) in bodies.iter().enumerate().chain(bodies.iter().enumerate()) {
        let receipt = until_some("a receipt", || match day.town.send(&sender, route, person, body) {
            Ok(receipt) => Some(receipt),
            Err(SendError::WrongTime { reason, .. }) => panic!("{reason}"),
            Err(_) => {
                day.revive();
                None
            }
        });
        receipts.push(receipt);
    }
    day.revive();
    let (first, again) = receipts.split_at(bodies.len());
    assert_eq!(first, again, "the same receipts");
}

#[test]
fn hop_1_is_ended_in_every_operation() {
    in_every_operation(1, 0, false);
}

/// Here the noise of the crowd is on disk before it is used, is used after the end, and no other is drawn. The first operations
/// are those of a start and of uploads, which are tried without labels above.
#[test]
fn hop_1_of_a_labelled_crowd_is_ended_in_every_operation() {
    let drawn = in_every_operation(1, 24, true);
    assert!(drawn > 3, "{drawn} ends between drawing noise and using it");
}

#[test]
fn hop_2_is_ended_in_every_operation() {
    in_every_operation(2, 0, false);
}
