//! Batches with the statements of their hops: counted as stated, or not at all.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Mutex;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_analyze::{BatchCounter, BatchHead, Error, InstanceTally};
use throng_batch::{EmbeddedEngine, Partition, Partitions};
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::peel::{open_body, peel};
use throng_wire::{
    BatchCount, Digest, EpochStatement, ForwardedCount, Fragment, HopContent, Layout, Outcome, Place, Route,
    Signed, SigningKey, Stop,
};

const SMALL: Shape = Shape { instances: 1, respondents_min: 5, ..SHAPE };

/// An instance's batch, and what its hops state.
struct Batch {
    world: World,
    envelopes: Vec<u8>,
    statements: Vec<EpochStatement>,
    count: BatchCount,
}

impl Batch {
    /// Of `people` respondents, each with the three values that follow their number; and these bytes besides.
    fn new(people: u32, more: impl Fn(&[u8], usize) -> Vec<u8>) -> Self {
        let world = World::new(SMALL);
        let mut envelopes: Vec<u8> = (0..people).flat_map(|person| of_person(&world, person)).collect();
        let length = Layout::of(world.survey.survey()).envelope_len(Stop::Analyzer);
        envelopes.extend(more(&envelopes, length));
        let sent = u64::from(people) * 4;
        // Who adds envelopes has more respondents than it has people.
        let forwarded = (envelopes.len() / length) as u64;
        let respondents = u64::from(people).max(forwarded.div_ceil(4));
        let (received, batch) = (respondents * 4, Digest::of(&envelopes));
        assert!(sent <= received);
        let statement = |hop, forwarded, batch| EpochStatement {
            route: world.route(),
            hop,
            outcome: Outcome::Released { respondents, received: Some(received), forwarded, batch },
            key_list: Digest::of(b"list"),
            analyzer_key_list: Digest::of(b"analyzer's"),
        };
        let count = BatchCount::salted([8; 32], forwarded);
        let statements = vec![
            statement(1, ForwardedCount::Told(received), Digest::of(b"hop 1")),
            statement(2, ForwardedCount::Committed(count.commitment()), batch),
        ];
        Self { world, envelopes, statements, count }
    }

    fn destroyed(by: usize) -> Self {
        let mut batch = Self::new(5, |_, _| Vec::new());
        batch.envelopes.clear();
        batch.count = BatchCount::told(0);
        batch.statements.iter_mut().skip(by - 1).for_each(|one| one.outcome = Outcome::Destroyed);
        batch
    }

    fn key(&self, hop: u32) -> &SigningKey {
        &self.world.signing[&Place::hop(1, hop)]
    }

    fn signed(&self) -> Vec<Signed<EpochStatement>> {
        let sign = |one: &EpochStatement| Signed::new(*one, self.key(one.hop)).unwrap();
        self.statements.iter().map(sign).collect()
    }

    fn counter(&self) -> Result<BatchCounter<'_>, Error> {
        self.counter_of(&self.signed())
    }

    fn counter_of(&self, statements: &[Signed<EpochStatement>]) -> Result<BatchCounter<'_>, Error> {
        let keys = &self.world.layers[&Place::Analyzer];
        let head = BatchHead::check(&self.world.survey, self.world.route(), statements, self.count)?;
        assert_eq!(head.batch(), Digest::of(&self.envelopes));
        BatchCounter::new(self.world.survey.survey(), head, keys)
    }

    /// Counts the batch as it comes from a disk or a network, in parts of some length. Also says how often it was read.
    fn count(&self, memory: usize, part_len: usize) -> (InstanceTally, usize) {
        let parts = Parts::new(part_len, &[&self.envelopes]);
        let mut done = 0;
        let counted = count(&self.counter().unwrap(), &parts, memory, &mut |bytes| done += bytes).unwrap();
        let times = parts.read.into_inner().unwrap();
        // Each time a share of every part is done; what division leaves is lost.
        let len = self.envelopes.len() as u64;
        assert!(done <= len && (times > 1 || done == len), "{done} of {len}");
        (counted, times)
    }
}

fn count(
    counter: &BatchCounter<'_>,
    parts: &Parts,
    memory: usize,
    progress: &mut dyn FnMut(u64),
) -> Result<InstanceTally, Error> {
    counter.count(&EmbeddedEngine::new(memory), (parts, &[Partition::whole("batch")]), progress)
}

/// What is read, a few bytes at a time; the last of several from the second time on.
struct Parts {
    part_len: usize,
    batches: Vec<Vec<u8>>,
    read: Mutex<usize>,
}

impl Parts {
    fn new(part_len: usize, batches: &[&[u8]]) -> Self {
        let batches = batches.iter().map(|batch| batch.to_vec()).collect();
        Self { part_len, batches, read: Mutex::new(0) }
    }
}

impl Partitions for Parts {
    fn read_range(&self, _: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        let mut read = self.read.lock().unwrap();
        let batch = &self.batches[(*read).min(self.batches.len() - 1)];
        *read += 1;
        let place = |place: u64| (place as usize).min(batch.len());
        let rest = batch[place(bytes.start)..place(bytes.end)].to_vec();
        Ok(Box::new(SlowReader { rest: io::Cursor::new(rest), part_len: self.part_len }))
    }
}

struct SlowReader {
    rest: io::Cursor<Vec<u8>>,
    part_len: usize,
}

impl Read for SlowReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.part_len.min(buffer.len());
        self.rest.read(&mut buffer[..len])
    }
}

/// What the analyzer gets of one respondent.
fn of_person(world: &World, person: u32) -> Vec<u8> {
    let fragments: Vec<Fragment> = (person..person + 3).map(Fragment::new).collect();
    let path = world.path(0, EPOCH, 1);
    let body = path.body(&fragments, &mut ChaCha20Rng::seed_from_u64(person.into())).unwrap();
    let layout = Layout::of(world.survey.survey());
    let opened = open_body(path.route(), &layout, world.keys(1, 1), &body).unwrap();
    let peeled = opened.chunks_exact(layout.envelope_len(Stop::Hop(2))).filter_map(|envelope| {
        match peel(path.route(), &layout, 2, world.keys(1, 2), envelope).unwrap() {
            HopContent::Envelope(inner) => Some(inner),
            HopContent::Chaff => None,
        }
    });
    peeled.flatten().collect()
}

const PLENTY: usize = 1 << 24;

/// So little that `seen` envelopes can be remembered at once.
fn room_for(seen: usize) -> usize {
    (1 << 20) + 48 * seen
}

#[test]
fn little_memory_takes_more_passes_and_gives_the_same_tally() {
    // The first seven envelopes come again at the end.
    let batch = Batch::new(20, |envelopes, length| envelopes[..7 * length].to_vec());
    let (plenty, passes) = batch.count(PLENTY, 1000);
    assert_eq!(passes, 1);
    let counted = plenty.counted.as_ref().unwrap();
    assert_eq!((counted.envelopes, counted.rejected.duplicates), (67, 7));
    assert_eq!(counted.batch, Digest::of(&batch.envelopes));
    let counts: Vec<u64> = counted.tally.counts().collect();
    assert_eq!((counts[0], counts[1], counts[2], counts[19], counts[21]), (1, 2, 3, 3, 1));
    assert_eq!(counts.iter().sum::<u64>(), 60, "each once");
    for (seen, part_len) in [(40, 4096), (9, 1), (1, 97)] {
        let (little, passes) = batch.count(room_for(seen), part_len);
        assert_eq!(passes, 67usize.div_ceil(seen));
        assert_eq!(little, plenty, "room for {seen}");
    }
}

/// What is opened at once is a part of a batch; an envelope that was in one part is known in the next.
#[test]
fn duplicates_are_found_across_parts_and_passes() {
    // Nothing is sealed to key 0xee; 30,000 of them, of which the last 1,000 are the first again.
    let batch = Batch::new(5, |_, length| {
        let envelope = |number: u32| [&[0xee; 8][..], &number.to_be_bytes(), &vec![7; length - 12]].concat();
        (0..29_000).chain(0..1_000).flat_map(envelope).collect()
    });
    assert!(batch.envelopes.len() > 1 << 20, "several parts");
    let (plenty, _) = batch.count(PLENTY, 1 << 16);
    let counted = plenty.counted.as_ref().unwrap();
    assert_eq!((counted.rejected.key, counted.rejected.duplicates), (29_000, 1_000));
    assert_eq!(counted.tally.counts().sum::<u64>(), 15);
    let (little, passes) = batch.count(room_for(10_000), 1 << 16);
    assert!(passes > 3);
    assert_eq!(little, plenty);
}

#[test]
fn a_batch_that_is_not_as_stated_is_not_counted() {
    let batch = Batch::new(6, |_, _| Vec::new());
    let (counter, counted) = (batch.counter().unwrap(), |parts: &Parts, memory| {
        count(&batch.counter().unwrap(), parts, memory, &mut |_| ())
    });
    let wrong = |bytes: &[u8]| counted(&Parts::new(1000, &[bytes]), PLENTY).unwrap_err();
    let all = &batch.envelopes[..];
    assert_eq!(wrong(&[all, &[0]].concat()), Error::Batch("it is longer"));
    assert_eq!(wrong(&all[1..]), Error::Batch("it is shorter"));
    assert_eq!(wrong(&all[..all.len() - 1]), Error::Batch("it is shorter"));
    assert_eq!(wrong(&[]), Error::Batch("it is shorter"));
    let mut other = all.to_vec();
    other[3] ^= 1;
    assert_eq!(wrong(&other), Error::Batch("it has another hash"));
    // The second time, too.
    let twice = Parts::new(1000, &[all, &other]);
    assert_eq!(counted(&twice, room_for(4)), Err(Error::Batch("it has another hash")));
    assert_eq!(twice.read.into_inner().unwrap(), 2, "once more");
    // Another file that fails is no other batch.
    struct MissingPartitions;
    impl Partitions for MissingPartitions {
        fn read_range(&self, _: &str, _: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let gone = counter.count(
        &EmbeddedEngine::new(PLENTY),
        (&MissingPartitions, &[Partition::whole("batch")]),
        &mut |_| (),
    );
    assert!(matches!(gone, Err(Error::Engine(_))));
}

#[test]
fn statements_that_do_not_hold_are_refused() {
    let batch = Batch::new(6, |_, _| Vec::new());
    let refused =
        |statements: &[Signed<EpochStatement>], reason: &str| match batch.counter_of(statements).map(drop) {
            Err(Error::Statements(text)) => assert!(text.contains(reason), "{reason}: {text}"),
            other => panic!("{reason}: {other:?}"),
        };
    let honest = batch.signed();
    refused(&[], "one of every hop");
    refused(&honest[..1], "one of every hop");
    refused(&[honest[1].clone(), honest[0].clone()], "hop by hop");
    let (first, last) = (batch.statements[0], batch.statements[1]);
    let stranger = Signed::new(last, batch.key(1)).unwrap();
    refused(&[honest[0].clone(), stranger], "signed");
    // What the last hop alone can change.
    let changed = |change: &dyn Fn(&mut EpochStatement)| {
        let mut other = last;
        change(&mut other);
        [honest[0].clone(), Signed::new(other, batch.key(2)).unwrap()]
    };
    for route in [
        Route { epoch: EPOCH - 1, ..last.route },
        Route { epoch: EPOCH + 1, ..last.route },
        Route { label: 1, ..last.route },
    ] {
        refused(&changed(&|one| one.route = route), "another epoch, label, instance or survey");
    }
    let outcome = |change: &dyn Fn(&mut u64, &mut Option<u64>, &mut ForwardedCount)| {
        changed(&|one| {
            if let Outcome::Released { respondents, received, forwarded, .. } = &mut one.outcome {
                change(respondents, received, forwarded);
            }
        })
    };
    let committed = |envelopes| {
        let count = BatchCount::salted([8; 32], envelopes);
        (count, ForwardedCount::Committed(count.commitment()))
    };
    refused(&outcome(&|respondents, _, _| *respondents += 1), "another crowd");
    refused(&outcome(&|_, received, _| *received = Some(23)), "more or less");
    refused(&outcome(&|_, _, forwarded| *forwarded = committed(17).1), "another number of envelopes");
    refused(&outcome(&|_, _, forwarded| *forwarded = ForwardedCount::Told(18)), "tells of fragments");
    let of_count = |statements: &[Signed<EpochStatement>], count| {
        let head = BatchHead::check(&batch.world.survey, batch.world.route(), statements, count);
        head.map(|head| head.envelopes())
    };
    assert_eq!(of_count(&honest, committed(18).0), Ok(18));
    for other in [committed(17).0, committed(19).0, BatchCount::told(18), BatchCount::salted([9; 32], 18)] {
        assert!(matches!(of_count(&honest, other), Err(Error::Statements(_))), "another count");
    }
    let (more, stated) = committed(25);
    let more = of_count(&outcome(&|_, _, forwarded| *forwarded = stated), more).unwrap_err();
    assert!(more.to_string().contains("more than was there"), "{more}");
    // What both of them can.
    let both = |crowd: u64, sent: u64, forwarded: ForwardedCount| {
        [first, last].map(|mut one| {
            if let Outcome::Released { respondents, received, forwarded: told, .. } = &mut one.outcome {
                (*respondents, *received) = (crowd, Some(sent));
                *told = if one.hop == 1 { ForwardedCount::Told(sent) } else { forwarded };
            }
            Signed::new(one, batch.key(one.hop)).unwrap()
        })
    };
    refused(&both(7, 24, committed(18).1), "another number of envelopes");
    refused(&both(4, 16, committed(16).1), "smaller than the survey asks for");
    let crowd = u64::MAX / 4;
    let (count, stated) = committed(crowd * 4);
    let error = of_count(&both(crowd, crowd * 4, stated), count).unwrap_err();
    assert_eq!(error, Error::Batch("it is longer than any batch can be"));
}

#[test]
fn a_destroyed_epoch_is_known_and_has_nothing_to_read() {
    for by in 1..=2 {
        let batch = Batch::destroyed(by);
        let (survey, route) = (&batch.world.survey, batch.world.route());
        let head = BatchHead::check(survey, route, &batch.signed(), batch.count).unwrap();
        assert_eq!((head.is_empty(), head.respondents(), head.batch()), (true, None, Digest::of(&[])));
        let counted =
            |bytes: &[u8]| count(&batch.counter().unwrap(), &Parts::new(9, &[bytes]), PLENTY, &mut |_| ());
        assert_eq!(counted(&[]), Ok(InstanceTally { route: batch.world.route(), counted: None }));
        assert_eq!(counted(&[0]), Err(Error::Batch("it is longer")));
    }
    let mut revived = Batch::destroyed(1);
    let honest = Batch::new(5, |_, _| Vec::new());
    revived.statements[1].outcome = honest.statements[1].outcome;
    assert!(matches!(revived.counter().map(drop), Err(Error::Statements(_))));
}
