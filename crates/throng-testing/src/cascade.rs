//! An instance in memory: all hops over stores that can lose power, respondents before it and an analyzer behind.

use std::collections::BTreeMap;
use std::io::Read;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_dp::sampling::{DeletionNoise, DiscreteLaplace};
use throng_shuffle::{
    Channel, CrowdRule, Error, Hop, HopConfig, Mark, MemoryStore, OutgoingBatch, Refusal, Store, Upload,
};
use throng_wire::peel::open_fragment;
use throng_wire::{
    AnalyzerContent, BatchCount, Digest, EpochStatement, Fragment, LayerKeys, Layout, Outcome, Place, Route,
    Signed, SigningKey,
};

use crate::wire::{EPOCH, SHAPE, Shape, World};

/// Midday of an epoch.
pub fn day(epoch: u64) -> u64 {
    epoch * 86400 + 43200
}

/// When the first epoch is over.
pub const NEXT_DAY: u64 = (EPOCH + 1) * 86400;

/// The first epoch, of the crowd without a label.
pub const FIRST: Channel = Channel { label: 0, epoch: EPOCH };

/// One instance of two hops, with a crowd of five.
pub const SMALL: Shape = Shape { instances: 1, envelopes: 3, respondents_min: 5, ..SHAPE };

/// The storage of one hop, which is there before and after the processes that use it.
pub trait Disk {
    /// An empty one, for a hop of instance 1.
    fn new(world: &World, hop: u32) -> Self;

    /// Store and mark for a process that starts now. The one before it has ended.
    fn start(&self) -> (Box<dyn Store>, Box<dyn Mark>);

    /// The same store, to look at.
    fn look(&self) -> Box<dyn Store>;

    /// After some more operations of its process everything fails, until it starts again.
    fn fail_after(&self, operations: u64);

    /// The power of its process goes and comes back; the first `kept` bytes of what was not synced are there.
    fn restart(&self, kept: usize);

    /// All bytes of a file; of uploads those of all their partitions.
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.look().read(name).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl Disk for MemoryStore {
    fn new(_: &World, _: u32) -> Self {
        Self::new()
    }

    fn start(&self) -> (Box<dyn Store>, Box<dyn Mark>) {
        (Box::new(self.clone()), Box::new(self.clone()))
    }

    fn look(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }

    fn fail_after(&self, operations: u64) {
        self.fail_after(operations);
    }

    fn restart(&self, kept: usize) {
        self.restart(kept);
    }

    /// Also after a power failure.
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.bytes(name)
    }
}

/// One instance in memory.
pub type Cascade = CascadeOn<MemoryStore>;

/// One instance on disks of some kind.
pub struct CascadeOn<D> {
    /// The survey, and the keys of its parties.
    pub world: World,
    /// The disk of each hop.
    pub stores: Vec<D>,
    /// The hops, in their order.
    pub hops: Vec<Hop>,
    /// What a hop may use of memory, in bytes.
    pub memory: usize,
    /// What labelled crowds are thinned by.
    pub deletion: Option<DeletionNoise>,
    /// For each hop, the epoch before which it has erased its keys.
    pub erased: BTreeMap<u32, u64>,
    /// What everything is drawn from.
    pub rng: ChaCha20Rng,
}

impl<D: Disk> CascadeOn<D> {
    /// An instance of this shape.
    pub fn new(shape: Shape) -> Self {
        Self::with_memory(shape, 1 << 24)
    }

    /// The same with another limit of memory.
    pub fn with_memory(shape: Shape, memory: usize) -> Self {
        Self::with(shape, memory, Some(deletion(6)))
    }

    /// The same with another deletion, or none.
    pub fn with(shape: Shape, memory: usize, deletion: Option<DeletionNoise>) -> Self {
        let world = World::new(shape);
        let stores = (1..=shape.hops).map(|hop| D::new(&world, hop)).collect();
        let mut cascade = Self {
            world,
            stores,
            hops: Vec::new(),
            memory,
            deletion,
            erased: BTreeMap::new(),
            rng: ChaCha20Rng::from_seed([8; 32]),
        };
        for hop in 1..=shape.hops {
            let opened = cascade.open(hop).unwrap();
            cascade.hops.push(opened);
        }
        cascade
    }

    /// What a hop is opened with.
    pub fn config(&self, hop: u32) -> HopConfig {
        let place = Place::Hop { instance: 1, hop };
        let labels = self.world.survey.survey().labels.as_ref();
        let deletion = labels.and(self.deletion);
        let list = &self.world.layers[&place];
        let mut keys = LayerKeys::from_file(&list.to_file()).unwrap();
        keys.erase_before(self.erased.get(&hop).copied().unwrap_or(0));
        HopConfig {
            survey: self.world.survey.clone(),
            instance: 1,
            hop,
            rule: CrowdRule::new(self.world.survey.survey().crowd.respondents_min, deletion),
            signing: self.signing_key(hop),
            keys,
            key_list: Digest::of(&list.public()[0].public.as_bytes()[..]),
            memory: self.memory,
        }
    }

    /// Opens a hop on its own disk.
    pub fn open(&mut self, hop: u32) -> Result<Hop, Error> {
        self.open_on(hop, &self.stores[hop as usize - 1])
    }

    /// A hop on any store, with the mark that it has.
    pub fn open_on(&self, hop: u32, disk: &D) -> Result<Hop, Error> {
        let (store, mark) = disk.start();
        Hop::open(self.config(hop), store, mark, day(EPOCH))
    }

    /// An operator resets a hop.
    pub fn reset(&mut self, hop: u32, now_s: u64) {
        let (store, mark) = self.stores[hop as usize - 1].start();
        let reset = Hop::reset(self.config(hop), store, mark, now_s);
        self.hops[hop as usize - 1] = reset.unwrap();
    }

    /// The power of a hop goes and comes back; the first `kept` bytes of what was not synced are there.
    pub fn restart(&mut self, hop: u32, kept: usize) {
        self.stores[hop as usize - 1].restart(kept);
        self.hops[hop as usize - 1] = self.open(hop).unwrap();
    }

    /// The body of a respondent who holds these values, in random seals.
    pub fn body(&mut self, channel: Channel, values: &[u32]) -> Vec<u8> {
        let fragments: Vec<Fragment> = values.iter().map(|&value| Fragment::new(value)).collect();
        self.world.path(channel.label, channel.epoch, 1).body(&fragments, &mut self.rng).unwrap()
    }

    /// A respondent sends a body; the receipt's time bucket.
    pub fn send(&mut self, channel: Channel, person: u32, body: &[u8], now_s: u64) -> Result<u64, Refusal> {
        let upload = Upload::new(channel, name(person), body.to_vec());
        let taken = self.hops[0].take(&[upload], now_s, &mut self.rng).remove(0);
        taken.map(|taken| taken.time_bucket())
    }

    /// Respondents `0..count` answer, each with their own number as value.
    pub fn answer_all(&mut self, channel: Channel, count: u32) {
        for person in 0..count {
            let body = self.body(channel, &[person]);
            self.send(channel, person, &body, day(channel.epoch)).unwrap();
        }
    }

    /// The first epoch ends, and hop 1 has its batch ready.
    pub fn close_first(&mut self) {
        self.hops[0].close_due(NEXT_DAY).unwrap();
        self.hops[0].process(FIRST).unwrap();
    }

    /// What a hop 1 that lies can begin with: its true statement, the bytes of its batch, and its key.
    pub fn handed_on(&mut self) -> (Signed<EpochStatement>, Vec<u8>, SigningKey) {
        self.close_first();
        let mut batch = self.hops[0].outgoing(FIRST).unwrap();
        let mut bytes = Vec::new();
        batch.records.read_to_end(&mut bytes).unwrap();
        (batch.statements.remove(0), bytes, self.signing_key(1))
    }

    /// A copy of a hop's signing key.
    pub fn signing_key(&self, hop: u32) -> SigningKey {
        SigningKey::from_file(&self.world.signing[&Place::hop(1, hop)].to_file()).unwrap()
    }

    /// Everything that is due, until nothing moves.
    pub fn run(&mut self, now_s: u64) {
        self.hops[0].close_due(now_s).unwrap();
        for hop in 0..self.hops.len() {
            for channel in self.hops[hop].undecided() {
                self.hops[hop].process(channel).unwrap();
            }
            if hop + 1 < self.hops.len() {
                for channel in self.hops[hop].waiting() {
                    let digest = match self.pass(hop, channel, now_s) {
                        // The next one began later: a batch that it never takes is of no use.
                        Err(Error::Refused(Refusal::Before)) => {
                            self.hops[hop].outgoing(channel).unwrap().manifest.digest
                        }
                        passed => passed.unwrap(),
                    };
                    self.hops[hop].acknowledge(channel, digest).unwrap();
                }
            }
        }
    }

    /// Hands a batch to the next hop.
    pub fn pass(&mut self, from: usize, channel: Channel, now_s: u64) -> Result<Digest, Error> {
        let mut batch = self.hops[from].outgoing(channel)?;
        let (statements, count) = (batch.statements, batch.count);
        self.hops[from + 1].receive(channel, statements, count, &mut batch.records, now_s, &mut self.rng)
    }

    /// What the analyzer gets, and its bytes.
    pub fn pull(&self, channel: Channel) -> Result<PulledBatch, Error> {
        let last = self.hops.len() - 1;
        let OutgoingBatch { statements, count, manifest, len, mut records } =
            self.hops[last].outgoing(channel)?;
        let mut bytes = Vec::new();
        records.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes.len() as u64, Digest::of(&bytes)), (len, manifest.digest));
        assert_eq!(count.envelopes(), manifest.records);
        Ok(PulledBatch { statements, count, bytes })
    }

    /// The values in a batch that the analyzer opens, in their order.
    pub fn values(&self, channel: Channel, bytes: &[u8]) -> Vec<u32> {
        let layout = Layout::of(self.world.survey.survey());
        let route = Route { label: channel.label, epoch: channel.epoch, ..self.world.route() };
        bytes
            .chunks_exact(layout.envelope_len(throng_wire::Stop::Analyzer))
            .filter_map(|envelope| {
                match open_fragment(&route, &layout, 784, &self.world.layers[&Place::Analyzer], envelope) {
                    Ok(AnalyzerContent::Fragment(fragment)) => Some(fragment.attribute()),
                    Ok(AnalyzerContent::Chaff) => None,
                    Err(rejection) => panic!("{rejection:?}"),
                }
            })
            .collect()
    }

    /// The values of a batch that the analyzer opens, sorted.
    pub fn sorted_values(&self, channel: Channel) -> Vec<u32> {
        let mut values = self.values(channel, &self.pull(channel).unwrap().bytes);
        values.sort_unstable();
        values
    }

    /// What a hop says became of an epoch.
    pub fn outcome(&self, hop: u32, channel: Channel) -> Outcome {
        self.hops[hop as usize - 1].statement(channel).unwrap().verify(&self.world.survey).unwrap().outcome
    }
}

/// Deletion around `shift` uploads: the noise is beyond 4 on either side once in ten times.
pub fn deletion(shift: u64) -> DeletionNoise {
    DeletionNoise::new(shift, DiscreteLaplace::from_ratio(1, 2).unwrap())
}

/// A batch as the analyzer gets it.
pub struct PulledBatch {
    /// What all hops signed.
    pub statements: Vec<Signed<EpochStatement>>,
    /// How many envelopes there are.
    pub count: BatchCount,
    /// The envelopes.
    pub bytes: Vec<u8>,
}

/// A respondent's name at hop 1.
pub fn name(person: u32) -> Digest {
    Digest::of(&person.to_be_bytes())
}

/// The refusal in an error, if it is one.
pub fn refusal(error: &Error) -> Option<Refusal> {
    match error {
        Error::Refused(refusal) => Some(*refusal),
        _ => None,
    }
}

/// The bodies in a file of uploads, and the seeds for each purpose that follow from them and a draw: as `intake.rs` and `draw.rs` have it.
pub fn seeds_of(draw: &[u8], uploads: &[u8]) -> (Vec<Vec<u8>>, impl Fn(&str) -> [u8; 32] + use<>) {
    // A mark is 16 ones, a place (8) and a tag (16); a record a head of 28 bytes, the body's length last, the body, and a tag (16).
    let (mut bodies, mut rest) = (Vec::new(), uploads);
    while rest.len() > 40 {
        if rest[..16] == [0xff; 16] {
            rest = &rest[40..];
            continue;
        }
        let len = u32::from_be_bytes(rest[24..28].try_into().unwrap()) as usize;
        if rest.len() < 28 + len + 16 {
            break;
        }
        bodies.push(rest[28..28 + len].to_vec());
        rest = &rest[28 + len + 16..];
    }
    let digests: Vec<u8> = bodies.iter().flat_map(|body| *Digest::of(body).as_bytes()).collect();
    let drawn = Digest::of(&[&draw[..32], Digest::of(&digests).as_bytes()].concat());
    let seed = move |purpose: &str| {
        *Digest::of(&[drawn.as_bytes(), purpose.as_bytes(), &[0; 8]].concat()).as_bytes()
    };
    (bodies, seed)
}
