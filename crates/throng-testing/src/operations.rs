//! Model-based testing of an instance in memory: any sequence of uploads, replays, clock steps, crashes, key rotation and lost
//! acknowledgements. Checked after each: counted at most once, acknowledged never lost, no release below the crowd, never
//! two orders or two noises of one batch. What a labelled crowd was thinned by is read from the hop's own disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use throng_shuffle::{Channel, MemoryStore, Refusal};
use throng_wire::{Digest, Outcome, Place};

use crate::cascade::{CascadeOn, Disk, SMALL, deletion, refusal, seeds_of};
use crate::wire::{EPOCH, Shape};

/// One thing that happens.
#[allow(missing_docs, reason = "the variants say what their fields are")]
#[derive(Clone, Debug)]
pub enum Operation {
    /// A respondent answers in the current epoch; with the same bytes as before, or other ones.
    Upload { person: u32, other: bool },
    /// All answer in the current epoch.
    Crowd,
    /// The clock moves by a number of half days, also back.
    Clock(i64),
    /// Hop 1 ends what is over.
    Tick,
    /// A hop works on what it has.
    Work { hop: u32 },
    /// A hop hands on what it has; perhaps the answer gets lost.
    Pass { hop: u32, lost: bool },
    /// The analyzer takes what is there; perhaps its acknowledgement gets lost.
    Pull { lost: bool },
    /// After some more operations of its store a hop has no power, until it comes back.
    Cut { hop: u32, after: u64 },
    /// The power comes back, with some of what was not synced.
    Restart { hop: u32, kept: usize },
    /// A hop gets a new layer key and erases those that it needs no more.
    Rotate { hop: u32 },
}

fn operation() -> impl Strategy<Value = Operation> {
    let hop = 1..=2_u32;
    prop_oneof![
        12 => (0..PEOPLE, prop::bool::weighted(0.2))
            .prop_map(|(person, other)| Operation::Upload { person, other }),
        2 => Just(Operation::Crowd),
        3 => prop_oneof![4 => Just(1), 4 => Just(2), 1 => Just(-2), 1 => Just(5)].prop_map(Operation::Clock),
        3 => Just(Operation::Tick),
        4 => hop.clone().prop_map(|hop| Operation::Work { hop }),
        4 => (hop.clone(), any::<bool>()).prop_map(|(hop, lost)| Operation::Pass { hop, lost }),
        3 => any::<bool>().prop_map(|lost| Operation::Pull { lost }),
        2 => (hop.clone(), 0..25_u64).prop_map(|(hop, after)| Operation::Cut { hop, after }),
        3 => (hop.clone(), 0..300_usize).prop_map(|(hop, kept)| Operation::Restart { hop, kept }),
        1 => hop.prop_map(|hop| Operation::Rotate { hop }),
    ]
}

/// What was seen from outside of an instance in memory.
pub type Watch = WatchOn<MemoryStore>;

/// What was seen from outside, and has to stay true.
pub struct WatchOn<D> {
    cascade: CascadeOn<D>,
    label: u32,
    half_days: i64,
    /// The bytes of each respondent in each epoch, and all who were acknowledged, or may have been taken.
    bodies: BTreeMap<(u32, Channel), Vec<u8>>,
    acknowledged: BTreeSet<(u32, Channel)>,
    tried: BTreeSet<(u32, Channel)>,
    /// What a hop said or handed on, of which there must never be a second version.
    said: BTreeMap<(u32, Channel), Vec<u8>>,
    handed: BTreeMap<(u32, Channel), Digest>,
    /// What a hop has on disk to thin and permute by, from the moment that its epoch is closed or received.
    draws: BTreeMap<(u32, Channel), Vec<u8>>,
    noises: BTreeMap<Channel, i128>,
    /// The values that the analyzer found in each batch.
    pub counted: BTreeMap<Channel, Vec<u32>>,
}

impl<D: Disk> WatchOn<D> {
    /// An instance to which nothing has happened. With labels, crowds are thinned.
    pub fn new(labels: bool) -> Self {
        Self {
            cascade: CascadeOn::with(Shape { labels, ..SMALL }, 1 << 24, Some(deletion(SHIFT))),
            label: u32::from(labels),
            half_days: 2 * EPOCH as i64 + 1,
            bodies: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            tried: BTreeSet::new(),
            said: BTreeMap::new(),
            handed: BTreeMap::new(),
            draws: BTreeMap::new(),
            noises: BTreeMap::new(),
            counted: BTreeMap::new(),
        }
    }

    fn now_s(&self) -> u64 {
        self.half_days as u64 * 43200
    }

    /// Lets one thing happen, and looks whether all promises are kept.
    pub fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Upload { person, other } => self.upload(person, other),
            Operation::Crowd => (0..PEOPLE).for_each(|person| self.upload(person, false)),
            Operation::Clock(half_days) => {
                // The keys of this world begin and end.
                let (first, last) = (2 * EPOCH as i64, 2 * EPOCH as i64 + 24);
                self.half_days = (self.half_days + half_days).clamp(first, last);
            }
            Operation::Tick => {
                let now = self.now_s();
                let _ = self.cascade.hops[0].close_due(now);
            }
            Operation::Work { hop } => {
                let hop = &self.cascade.hops[hop as usize - 1];
                hop.undecided().into_iter().for_each(|channel| drop(hop.process(channel)));
            }
            Operation::Pass { hop: 1, lost } => self.pass(lost),
            Operation::Pass { .. } => {}
            Operation::Pull { lost } => self.pull(lost),
            Operation::Cut { hop, after } => self.cascade.stores[hop as usize - 1].fail_after(after),
            Operation::Restart { hop, kept } => self.cascade.restart(hop, kept),
            Operation::Rotate { hop } => self.rotate(hop),
        }
        self.look();
    }

    fn upload(&mut self, person: u32, other: bool) {
        let now = self.now_s();
        let channel = Channel { label: self.label, epoch: now / 86400 };
        let fresh = self.cascade.body(channel, &[person]);
        let first = self.bodies.entry((person, channel)).or_insert_with(|| fresh.clone()).clone();
        let body = if other { fresh } else { first.clone() };
        let result = self.cascade.send(channel, person, &body, now);
        let key = (person, channel);
        if body != first && self.acknowledged.contains(&key) {
            assert!(result.is_err(), "other bytes were taken after an acknowledgement");
            return;
        }
        match result {
            Ok(_) => {
                if body != first {
                    assert!(!self.acknowledged.contains(&key));
                    self.bodies.insert(key, body);
                }
                self.acknowledged.insert(key);
            }
            // Whether it was taken before the power went nobody knows.
            Err(Refusal::Full) => {
                self.tried.insert(key);
            }
            Err(Refusal::Closed | Refusal::Conflict) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn pass(&mut self, lost: bool) {
        for channel in self.cascade.hops[0].waiting() {
            let Ok(batch) = self.cascade.hops[0].outgoing(channel) else { continue };
            self.hand(1, channel, batch.manifest.digest);
            match self.cascade.pass(0, channel, self.now_s()) {
                Ok(digest) if !lost => drop(self.cascade.hops[0].acknowledge(channel, digest)),
                Ok(_) => {}
                Err(error) => assert!(
                    matches!(refusal(&error), None | Some(Refusal::Early)),
                    "an honest batch is refused: {error}"
                ),
            }
        }
    }

    fn pull(&mut self, lost: bool) {
        for channel in self.cascade.hops[1].waiting() {
            let Ok(pulled) = self.cascade.pull(channel) else { continue };
            let digest = Digest::of(&pulled.bytes);
            self.hand(2, channel, digest);
            self.counted.insert(channel, self.cascade.values(channel, &pulled.bytes));
            if !lost {
                drop(self.cascade.hops[1].acknowledge(channel, digest));
            }
        }
    }

    fn hand(&mut self, hop: u32, channel: Channel, digest: Digest) {
        let first = *self.handed.entry((hop, channel)).or_insert(digest);
        assert_eq!(first, digest, "hop {hop} handed on two batches of {channel}");
    }

    fn rotate(&mut self, hop: u32) {
        let place = Place::hop(1, hop);
        // A later hop cannot know what is still to come; here it waits for all of it.
        let oldest = self.cascade.hops[hop as usize - 1].oldest_epoch(self.now_s(), 100);
        let keys = self.cascade.world.layers.get_mut(&place).unwrap();
        keys.rotate(10, 2, &mut self.cascade.rng).unwrap();
        // Everyone has the new list, which still names the keys that the hop erases.
        let list = keys.list(self.cascade.world.survey.hash(), place, 1);
        let old = self.cascade.world.lists.iter_mut().find(|list| list.party == place).unwrap();
        *old = list;
        self.cascade.erased.insert(hop, oldest);
        let config = self.cascade.config(hop);
        self.cascade.hops[hop as usize - 1].set_keys(config.keys, config.key_list);
    }

    /// What the hops say and have on disk now, against what it was before.
    fn look(&mut self) {
        for hop in 1..=2_u32 {
            let at = hop as usize - 1;
            for channel in self.cascade.hops[at].undecided() {
                let read = |name: &str| self.cascade.stores[at].bytes(name);
                let journal = read("journal").unwrap_or_default();
                let closed = (hop == 1).then(|| closed_len(&journal, channel).expect("it is closed"));
                // Nobody was taken, and nothing follows from a draw that a failing disk may have cut short or lost.
                if closed == Some(0) {
                    continue;
                }
                let bytes =
                    read(&format!("{channel}.draw")).expect("randomness is on disk before it is needed");
                if let Some(closed) = closed {
                    let mut uploads = read(&format!("{channel}.uploads")).unwrap_or_default();
                    // Behind what the epoch was closed with there may be bytes that were never made safe.
                    uploads.truncate(closed as usize);
                    let noise = noise_of(&bytes, &uploads);
                    let first = *self.noises.entry(channel).or_insert(noise);
                    assert_eq!(first, noise, "two noises of {channel}");
                }
                let first = self.draws.entry((hop, channel)).or_insert_with(|| bytes.clone());
                assert_eq!(*first, bytes, "hop {hop} has drawn twice for {channel}");
            }
            for epoch in EPOCH - 1..EPOCH + 14 {
                let channel = Channel { label: self.label, epoch };
                if let Ok(statement) = self.cascade.hops[hop as usize - 1].statement(channel) {
                    let bytes = statement.to_bytes();
                    let first = self.said.entry((hop, channel)).or_insert_with(|| bytes.clone());
                    assert_eq!(*first, bytes, "hop {hop} said two things of {channel}");
                    if let Outcome::Released { respondents, .. } = statement.claimed().outcome {
                        assert!(respondents >= CROWD, "a release below the crowd");
                    }
                }
            }
        }
    }

    /// The power stays, the clock runs on, and everything that can arrive does.
    pub fn settle(&mut self) {
        for hop in 1..=2 {
            self.cascade.restart(hop, 0);
        }
        self.half_days = 2 * EPOCH as i64 + 26;
        for _ in 0..2 {
            self.apply(&Operation::Tick);
            self.apply(&Operation::Work { hop: 1 });
            self.apply(&Operation::Pass { hop: 1, lost: false });
            self.apply(&Operation::Work { hop: 2 });
            self.apply(&Operation::Pull { lost: false });
        }
        assert!(self.cascade.hops.iter().all(|hop| hop.undecided().is_empty() && hop.waiting().is_empty()));
    }

    /// How many of `uploads` uploads are left by the noise that hop 1 had on disk when it closed the epoch.
    fn left(&self, channel: Channel, uploads: usize) -> u64 {
        let uploads = uploads as u64;
        match (self.label, self.noises.get(&channel)) {
            (1.., Some(noise)) => uploads - deletion(SHIFT).drops(uploads, *noise),
            _ => uploads,
        }
    }

    /// What became of everybody; returns what became of the crowds.
    pub fn check(&self) -> CrowdOutcomes {
        let mut seen = CrowdOutcomes::default();
        let channels: BTreeSet<Channel> = self.bodies.keys().map(|(_, channel)| *channel).collect();
        for channel in channels {
            let of = |set: &BTreeSet<(u32, Channel)>| -> BTreeSet<u32> {
                set.iter().filter(|(_, one)| *one == channel).map(|(person, _)| *person).collect()
            };
            let (acknowledged, tried) = (of(&self.acknowledged), of(&self.tried));
            let possible: BTreeSet<u32> = acknowledged.union(&tried).copied().collect();
            let Some(bytes) = self.said.get(&(1, channel)) else {
                assert!(acknowledged.is_empty(), "an epoch with acknowledged answers has no end");
                continue;
            };
            let statement = throng_wire::Signed::<throng_wire::EpochStatement>::from_bytes(bytes).unwrap();
            let counted = self.counted.get(&channel).cloned().unwrap_or_default();
            let once: BTreeSet<u32> = counted.iter().copied().collect();
            assert_eq!(once.len(), counted.len(), "somebody was counted twice");
            assert!(once.is_subset(&possible), "somebody was counted who did not answer");
            // All who were acknowledged, perhaps with some whose acknowledgement was lost, thinned by the one noise.
            let mut uploads = acknowledged.len()..=possible.len();
            match statement.claimed().outcome {
                Outcome::Destroyed => {
                    assert!(counted.is_empty());
                    assert!(
                        uploads.any(|uploads| self.left(channel, uploads) < CROWD),
                        "a crowd was destroyed"
                    );
                    seen.destroyed += u32::from(acknowledged.len() as u64 >= CROWD);
                }
                Outcome::Released { respondents, .. } => {
                    assert_eq!(counted.len() as u64, respondents);
                    let uploads = uploads.find(|&uploads| self.left(channel, uploads) == respondents);
                    let uploads =
                        uploads.expect("another noise than the one on disk, or an answer that was lost");
                    assert!(
                        self.label > 0 || acknowledged.is_subset(&once),
                        "an acknowledged answer was lost"
                    );
                    match uploads as u64 == respondents {
                        true => seen.whole += 1,
                        false => seen.thinned += 1,
                    }
                }
            }
        }
        seen
    }
}

/// With how many bytes of uploads a channel was closed, as `journal.rs` has it: records of a length (4), label (4), epoch (8), kind (1) and
/// what is said, each with a tag (32).
fn closed_len(journal: &[u8], channel: Channel) -> Option<u64> {
    const CLOSED: u8 = 1;
    let head = [&channel.label.to_be_bytes()[..], &channel.epoch.to_be_bytes(), &[CLOSED]].concat();
    let mut rest = journal;
    while let Some((len, after)) = rest.split_first_chunk() {
        let (record, after) = after.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        if let Some(len) = record.strip_prefix(&head[..]).and_then(|said| said.first_chunk()) {
            return Some(u64::from_be_bytes(*len));
        }
        rest = after.get(32..)?;
    }
    None
}

/// The noise that follows from a draw (a secret, and its tag) and a file of uploads, as `draw.rs` has it.
fn noise_of(draw: &[u8], uploads: &[u8]) -> i128 {
    let (_, seed) = seeds_of(draw, uploads);
    deletion(SHIFT).draw(&mut ChaCha20Rng::from_seed(seed("noise")))
}

/// What became of crowds that were large enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrowdOutcomes {
    /// Released without a deletion: no label, or noise above the shift.
    pub whole: u32,
    /// Released after some were deleted.
    pub thinned: u32,
    /// Destroyed because too many were.
    pub destroyed: u32,
}

/// Runs sequences of operations, and adds up what became of the crowds in them.
pub fn promises_hold(labels: bool, cases: u32) -> CrowdOutcomes {
    promises_hold_on::<MemoryStore>(labels, cases)
}

/// The same on disks of some kind.
pub fn promises_hold_on<D: Disk>(labels: bool, cases: u32) -> CrowdOutcomes {
    let sum = RefCell::new(CrowdOutcomes::default());
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let sequences = proptest::collection::vec(operation(), 1..90);
    let run = runner.run(&sequences, |operations| {
        let mut watch = WatchOn::<D>::new(labels);
        operations.iter().for_each(|operation| watch.apply(operation));
        watch.settle();
        let seen = watch.check();
        let mut sum = sum.borrow_mut();
        sum.whole += seen.whole;
        sum.thinned += seen.thinned;
        sum.destroyed += seen.destroyed;
        Ok(())
    });
    run.unwrap();
    sum.into_inner()
}

/// A sequence as a fuzzer writes it: whether there are labels, and then two bytes for each operation.
pub fn run(bytes: &[u8]) {
    let Some((labels, bytes)) = bytes.split_first() else { return };
    let mut watch = Watch::new(labels % 2 == 1);
    let operations = bytes.as_chunks().0.iter().take(OPERATIONS_MAX);
    operations.for_each(|&[kind, detail]| watch.apply(&written(kind, detail)));
    watch.settle();
    watch.check();
}

/// The same operations as those of the property, about as often.
fn written(kind: u8, detail: u8) -> Operation {
    let (hop, bit, number) = (1 + u32::from(detail & 1), detail & 2 != 0, detail >> 2);
    match kind % 37 {
        0..12 => Operation::Upload { person: u32::from(detail) % PEOPLE, other: detail > 200 },
        12..14 => Operation::Crowd,
        14..17 => Operation::Clock([1, 1, 2, 2, 1, 2, -2, 5][usize::from(detail % 8)]),
        17..20 => Operation::Tick,
        20..24 => Operation::Work { hop },
        24..28 => Operation::Pass { hop, lost: bit },
        28..31 => Operation::Pull { lost: bit },
        31..33 => Operation::Cut { hop, after: u64::from(number % 25) },
        33..36 => Operation::Restart { hop, kept: usize::from(number) * 5 },
        _ => Operation::Rotate { hop },
    }
}

/// How many people there are, how many of them make a crowd, and how many are deleted without noise.
const PEOPLE: u32 = 12;
const CROWD: u64 = 5;
const SHIFT: u64 = 3;
/// More would say no more, and take longer.
const OPERATIONS_MAX: usize = 120;
