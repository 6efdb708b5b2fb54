//! A store that several processes use: bodies in segments, one table of who has answered, a journal under a lease.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_batch::Partition;
use throng_shuffle::{
    Channel, Claim, Error, Hop, Intake, Log, MemoryStore, Partitions, Refusal, Room, Store, StoreFile,
    Upload, Volume, VolumeFile,
};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day, name};
use throng_testing::wire::EPOCH;

/// Files of its own, and an intake that all who have it share.
#[derive(Clone)]
struct SharedStore {
    files: MemoryStore,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    /// Who has answered in which epoch: what stands for their body, and when.
    answered: HashMap<(u64, [u8; 16]), (u64, u64)>,
    /// Segments of each channel.
    segments: BTreeMap<Channel, Vec<Vec<u8>>>,
}

impl Table {
    fn len(&self, channel: Channel) -> u64 {
        self.segments.get(&channel).map_or(0, |segments| segments.iter().map(|one| one.len() as u64).sum())
    }
}

struct SharedIntake {
    table: Arc<Mutex<Table>>,
    epoch: u64,
}

impl Intake for SharedIntake {
    fn take(&mut self, group: &[Claim<'_>], time_bucket: u64, _: Room) -> Vec<Result<u64, Refusal>> {
        let table = &mut *self.table.lock().unwrap();
        let mut segments: BTreeMap<Channel, Vec<u8>> = BTreeMap::new();
        let taken = group.iter().map(|claim| match table.answered.get(&(self.epoch, claim.respondent)) {
            Some((body, first)) if *body == claim.body => Ok(*first),
            Some(_) => Err(Refusal::Conflict),
            None => {
                table.answered.insert((self.epoch, claim.respondent), (claim.body, time_bucket));
                let channel = claim.upload.channel();
                let before = table.segments.get(&channel).map_or(0, |all| all.concat().len());
                let segment = segments.entry(channel).or_default();
                segment.extend(claim.framed((before + segment.len()) as u64, time_bucket));
                Ok(time_bucket)
            }
        });
        let taken = taken.collect();
        segments.into_iter().for_each(|(channel, one)| table.segments.entry(channel).or_default().push(one));
        taken
    }

    fn close(&mut self, label: u32) -> Result<u64, Error> {
        Ok(self.table.lock().unwrap().len(Channel { label, epoch: self.epoch }))
    }

    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Partitions for SharedStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        match name.strip_prefix("segments ") {
            None => self.files.read_range(name, bytes),
            Some(epoch) => {
                let channel = Channel { label: 0, epoch: epoch.parse().unwrap() };
                let all = self.table.lock().unwrap().segments[&channel].concat();
                Ok(Box::new(Cursor::new(all[bytes.start as usize..bytes.end as usize].to_vec())))
            }
        }
    }
}

impl Volume for SharedStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.files.create(name)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }
}

impl Store for SharedStore {
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.files.append(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.files.names()
    }

    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        self.files.log(name)
    }

    fn intake(&self, epoch: u64, _: &[u32]) -> io::Result<Option<Box<dyn Intake>>> {
        Ok(Some(Box::new(SharedIntake { table: Arc::clone(&self.table), epoch })))
    }

    fn uploads(&self, channel: Channel, len: u64) -> io::Result<Vec<Partition>> {
        let table = self.table.lock().unwrap();
        assert_eq!(table.len(channel), len);
        let mut place = 0;
        let mut partition = |segment: &Vec<u8>| {
            let start = place;
            place += segment.len() as u64;
            Partition { name: format!("segments {}", channel.epoch), bytes: start..place, digest: None }
        };
        Ok(table.segments.get(&channel).into_iter().flatten().map(&mut partition).collect())
    }
}

/// Whichever of two processes gets a body, a person has one; and whichever of them closes the epoch, all are in it.
#[test]
fn two_processes_on_one_store_take_one_body_of_each_person() {
    for closes in 0..2 {
        let mut cascade = Cascade::new(SMALL);
        let shared = SharedStore { files: MemoryStore::new(), table: Arc::default() };
        let open = |cascade: &Cascade| {
            let (store, mark) = (Box::new(shared.clone()), Box::new(shared.files.clone()));
            Hop::open(cascade.config(1), store, mark, day(EPOCH)).unwrap()
        };
        let first = open(&cascade);
        first.open_due(day(EPOCH), &mut cascade.rng).unwrap();
        let second = open(&cascade);
        let bodies: Vec<Vec<u8>> = (0..8).map(|person| cascade.body(FIRST, &[person])).collect();
        let mut send = |hop: &Hop, people: &[(u32, usize)], now_s: u64| -> Vec<Result<u64, Refusal>> {
            let upload =
                |&(person, body): &(u32, usize)| Upload::new(FIRST, name(person), bodies[body].clone());
            let group: Vec<Upload> = people.iter().map(upload).collect();
            let taken = hop.take(&group, now_s, &mut cascade.rng);
            taken.into_iter().map(|taken| taken.map(|taken| taken.time_bucket())).collect()
        };
        let early = send(&first, &[(0, 0), (1, 1)], day(EPOCH));
        let late = day(EPOCH) + 7200;
        let others = send(&second, &[(2, 2), (0, 3), (1, 1), (4, 4), (4, 5)], late);
        assert_eq!(others[1], Err(Refusal::Conflict), "the other one has a body of theirs");
        assert_eq!(others[2], early[1], "the same receipt from the other one");
        assert_eq!(others[4], Err(Refusal::Conflict));
        assert!(others[0].unwrap() > early[0].unwrap());
        assert!(send(&first, &[(5, 5), (6, 6), (7, 7)], late).iter().all(Result::is_ok));
        // A third one, that has taken nothing itself, can be the one that closes.
        let closing = if closes == 0 { first } else { open(&cascade) };
        closing.close_due(NEXT_DAY).unwrap();
        closing.check_files().unwrap();
        closing.process(FIRST).unwrap();
        cascade.hops[0] = closing;
        cascade.pass(0, FIRST, NEXT_DAY).unwrap();
        cascade.hops[1].process(FIRST).unwrap();
        assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 4, 5, 6, 7]);
    }
}

/// A process that was away while another took over takes no step any more, and changes nothing.
#[test]
fn a_step_fails_behind_a_newer_lease() {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let store = cascade.stores[0].take_over();
    let newer = cascade.open_on(1, &store).unwrap();
    let before = store.bytes("journal");
    assert!(matches!(cascade.hops[0].close_due(NEXT_DAY), Err(Error::Store(_))));
    assert!(cascade.hops[0].undecided().is_empty());
    assert_eq!(store.bytes("journal"), before);
    newer.close_due(NEXT_DAY).unwrap();
    let after = store.bytes("journal");
    assert!(after.as_ref().unwrap().len() > before.unwrap().len());
    assert!(cascade.hops[0].close_due(NEXT_DAY).is_err());
    assert!(
        Hop::open(cascade.config(1), Box::new(cascade.stores[0].clone()), Box::new(store.clone()), NEXT_DAY)
            .is_err()
    );
    assert_eq!(store.bytes("journal"), after, "also what the newer one has written is as it was");
    newer.process(FIRST).unwrap();
    newer.statement(FIRST).unwrap();
}

/// A replica without the lease takes uploads and answers what only reads. It takes no step, and changes no file.
#[test]
fn a_replica_follows_the_one_that_leads() {
    let mut cascade = Cascade::new(SMALL);
    let shared = SharedStore { files: MemoryStore::new(), table: Arc::default() };
    let follow = |cascade: &Cascade| Hop::follow(cascade.config(1), Box::new(shared.clone())).unwrap();
    let follower = follow(&cascade);
    let (store, mark) = (Box::new(shared.clone()), Box::new(shared.files.clone()));
    let leader = Hop::open(cascade.config(1), store, mark, day(EPOCH)).unwrap();
    assert!(leader.leads() && !follower.leads());
    let bodies: Vec<Vec<u8>> = (0..6).map(|person| cascade.body(FIRST, &[person])).collect();
    let mut send = |hop: &Hop, person: u32, now_s: u64| {
        let upload = Upload::new(FIRST, name(person), bodies[person as usize].clone());
        hop.take(&[upload], now_s, &mut cascade.rng).remove(0).map(|taken| taken.time_bucket())
    };
    assert_eq!(send(&follower, 0, day(EPOCH)), Err(Refusal::Full), "nobody has opened the epoch yet");
    leader.open_due(day(EPOCH), &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
    for person in 0..6 {
        let taken = send(if person % 2 == 0 { &follower } else { &leader }, person, day(EPOCH));
        assert_eq!(taken, send(&leader, person, day(EPOCH) + 7200), "the same receipt");
    }
    let files =
        || shared.files.names().unwrap().iter().map(|name| shared.files.bytes(name)).collect::<Vec<_>>();
    let before = files();
    assert!(matches!(follower.close_due(NEXT_DAY), Err(Error::Follower)));
    assert!(matches!(
        follower.open_due(NEXT_DAY, &mut ChaCha20Rng::from_seed([1; 32])),
        Err(Error::Follower)
    ));
    assert_eq!(follower.oldest_epoch(NEXT_DAY, 1), EPOCH, "keys are kept for an epoch that is not closed");
    assert_eq!(files(), before);
    leader.close_due(NEXT_DAY).unwrap();
    follower.refresh().unwrap();
    assert_eq!(send(&follower, 0, day(EPOCH)), Err(Refusal::Closed));
    assert_eq!(follower.undecided(), [FIRST]);
    assert!(matches!(follower.process(FIRST), Err(Error::Follower)));
    leader.process(FIRST).unwrap();
    // It learns what was signed before it calls that a contradiction.
    follower.compare(&[leader.statement(FIRST).unwrap()]).unwrap();
    assert_eq!(follower.statement(FIRST), leader.statement(FIRST));
    let digest = follower.outgoing(FIRST).unwrap().manifest.digest;
    assert!(matches!(follower.acknowledge(FIRST, digest), Err(Error::Follower)));
    leader.acknowledge(FIRST, digest).unwrap();
    assert_eq!(follow(&cascade).waiting(), []);
}
