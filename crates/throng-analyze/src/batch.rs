//! From a batch of envelopes to the sums of the fragments in it.

use std::collections::HashSet;

use rayon::prelude::*;
use throng_dp::Tally;
use throng_wire::peel::open_fragment;
use throng_wire::statement::check_cascade;
use throng_wire::{
    Digest, EpochStatement, Hasher, LayerKeys, Layout, Opened, Outcome, Rejection, Route, Signed,
    SignedSurvey, Stop, Survey,
};

use crate::Error;
use crate::instance_tally::{Counted, InstanceTally};

/// Counts one batch while it is read.
///
/// Every envelope that was there before is dropped, which takes memory for each. Where that is not enough the batch is
/// read several times, and each time one part of the envelopes is looked at, chosen by their hashes.
pub struct BatchCounter<'a> {
    opener: BatchOpener<'a>,
    route: Route,
    /// What the hops agree on; `None` if the epoch was destroyed.
    crowd: Option<u64>,
    expected: (u64, Digest),
    passes: u64,
    pass: u64,
    /// What has been read in this pass.
    read: u64,
    hasher: Hasher,
    rest: Vec<u8>,
    rejected: Rejected,
    tally: Tally,
}

impl<'a> BatchCounter<'a> {
    /// For the batch that these statements are about, if all of them hold: signatures, one channel, hop by hop, the crowd.
    /// At most about `memory` bytes are used, besides the sums.
    pub fn new(
        survey: &SignedSurvey,
        route: Route,
        keys: &'a LayerKeys,
        statements: &[Signed<EpochStatement>],
        memory: usize,
    ) -> Result<Self, Error> {
        let wrong = |error: throng_wire::Error| Error::Statements(error.to_string());
        let verified: Result<Vec<EpochStatement>, _> =
            statements.iter().map(|statement| statement.verify(survey).copied()).collect();
        let verified = verified.map_err(wrong)?;
        if verified.iter().any(|statement| statement.route != route) {
            return Err(Error::Statements("they are about another epoch, label, instance or survey".into()));
        }
        let crowd = check_cascade(survey.survey(), &verified).map_err(wrong)?;
        let expected = match verified.last().map(|last| last.outcome) {
            Some(Outcome::Released { forwarded, batch, .. }) => (forwarded, batch),
            _ => (0, Digest::of(&[])),
        };
        let seen_max = (memory.saturating_sub(PART_LEN) / SEEN_LEN).max(1) as u64;
        Ok(Self {
            opener: BatchOpener::new(survey.survey(), route, keys),
            route,
            crowd,
            expected,
            passes: expected.0.div_ceil(seen_max).max(1),
            pass: 0,
            read: 0,
            hasher: Hasher::new(),
            rest: Vec::new(),
            rejected: Rejected::default(),
            tally: survey.survey().mechanism()?.tally()?,
        })
    }

    /// The hash of the batch, to be acknowledged once its tally is stored.
    pub fn batch(&self) -> Digest {
        self.expected.1
    }

    /// How many bytes the envelopes of the batch have in all.
    pub fn len(&self) -> u64 {
        self.expected.0 * self.opener.envelope_len() as u64
    }

    /// Whether there is nothing to read, as of an epoch that was destroyed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next bytes of the batch, as many as there are. More than the hops said is an error at once.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.read += bytes.len() as u64;
        if self.read > self.len() {
            return Err(Error::Batch("it is longer"));
        }
        self.hasher.update(bytes);
        self.rest.extend_from_slice(bytes);
        if self.rest.len() >= PART_LEN { self.count() } else { Ok(()) }
    }

    /// Ends a pass. Says whether the batch has to be read once more, from its beginning.
    pub fn end_pass(&mut self) -> Result<bool, Error> {
        self.count()?;
        if self.read != self.len() {
            return Err(Error::Batch("it is shorter"));
        }
        if std::mem::replace(&mut self.hasher, Hasher::new()).finish() != self.expected.1 {
            return Err(Error::Batch("it has another hash"));
        }
        self.opener.seen.clear();
        (self.read, self.pass) = (0, self.pass + 1);
        Ok(self.pass < self.passes)
    }

    /// What the batch came to, after its last pass.
    pub fn finish(mut self) -> Result<InstanceTally, Error> {
        if self.pass < self.passes {
            return Err(Error::Batch("it was not read to its end"));
        }
        let counted = self.crowd.map(|respondents| {
            self.tally.add_respondents(respondents);
            let (envelopes, batch) = self.expected;
            Counted { batch, envelopes, rejected: self.rejected, tally: self.tally }
        });
        Ok(InstanceTally { route: self.route, counted })
    }

    /// Opens and counts all whole envelopes that were read.
    fn count(&mut self) -> Result<(), Error> {
        let whole = self.rest.len() - self.rest.len() % self.opener.envelope_len();
        let chosen = (self.passes, self.pass);
        let fragments = self.opener.open_chosen(&self.rest[..whole], chosen, &mut self.rejected);
        self.tally.add_fragments(&fragments)?;
        self.rest.drain(..whole);
        Ok(())
    }
}

/// What is needed to open the batches of one channel and instance.
pub struct BatchOpener<'a> {
    route: Route,
    layout: Layout,
    attributes: u64,
    keys: &'a LayerKeys,
    /// The hashes of all envelopes so far: one that comes again is dropped.
    seen: HashSet<[u8; 16]>,
}

/// Why envelopes of a batch were not counted, and how many. No envelope is fatal to its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// Of another length, or a rest that is none.
    pub length: u64,
    /// Sealed to a key that is not there.
    pub key: u64,
    /// The seal does not open here.
    pub seal: u64,
    /// What is inside is not what a respondent writes.
    pub content: u64,
    /// There before.
    pub duplicates: u64,
    /// Chaff, which is no fault: it comes here if an instance has a single hop.
    pub chaff: u64,
}

impl Rejected {
    /// All of them, in the order in which they are stored.
    pub(crate) fn to_array(self) -> [u64; 6] {
        let Self { length, key, seal, content, duplicates, chaff } = self;
        [length, key, seal, content, duplicates, chaff]
    }

    pub(crate) fn from_array([length, key, seal, content, duplicates, chaff]: [u64; 6]) -> Self {
        Self { length, key, seal, content, duplicates, chaff }
    }

    /// The sums over two batches.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (mut all, other) = (self.to_array(), other.to_array());
        all.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
        Self::from_array(all)
    }
}

impl<'a> BatchOpener<'a> {
    /// For the batches of a route.
    pub fn new(survey: &Survey, route: Route, keys: &'a LayerKeys) -> Self {
        let (layout, attributes) = (Layout::of(survey), survey.attributes());
        Self { route, layout, attributes, keys, seen: HashSet::new() }
    }

    /// How many bytes an envelope has.
    pub fn envelope_len(&self) -> usize {
        self.layout.envelope_len(Stop::Analyzer)
    }

    /// Opens a part of a batch on all threads of the current pool: the attributes of its fragments, in their order, to
    /// be counted; and why others are not among them.
    pub fn open(&mut self, envelopes: &[u8], rejected: &mut Rejected) -> Vec<u32> {
        self.open_chosen(envelopes, (1, 0), rejected)
    }

    /// The same for those envelopes only that one of several passes is about.
    fn open_chosen(
        &mut self,
        envelopes: &[u8],
        (passes, pass): (u64, u64),
        rejected: &mut Rejected,
    ) -> Vec<u32> {
        let chunks = envelopes.chunks_exact(self.envelope_len());
        rejected.length += u64::from(!chunks.remainder().is_empty());
        let named: Vec<(&[u8], [u8; 16])> =
            chunks.collect::<Vec<_>>().into_par_iter().map(|envelope| (envelope, short(envelope))).collect();
        let mut fresh = Vec::with_capacity(named.len());
        for (envelope, name) in named.into_iter().filter(|(_, name)| part(name, passes) == pass) {
            if self.seen.insert(name) {
                fresh.push(envelope);
            } else {
                rejected.duplicates += 1;
            }
        }
        let opened: Vec<Result<Opened, Rejection>> = fresh
            .par_iter()
            .map(|envelope| open_fragment(&self.route, &self.layout, self.attributes, self.keys, envelope))
            .collect();
        let mut fragments = Vec::with_capacity(opened.len());
        for one in opened {
            match one {
                Ok(Opened::Fragment(fragment)) => fragments.push(fragment.attribute()),
                Ok(Opened::Chaff) => rejected.chaff += 1,
                Err(Rejection::Length) => rejected.length += 1,
                Err(Rejection::Key) => rejected.key += 1,
                Err(Rejection::Content) => rejected.content += 1,
                Err(_) => rejected.seal += 1,
            }
        }
        fragments
    }
}

/// Envelopes are told apart by half of a SHA-256: two that differ and agree in it are not to be found.
fn short(envelope: &[u8]) -> [u8; 16] {
    *Digest::of(envelope).as_bytes().first_chunk().unwrap_or(&[0; 16])
}

/// Which pass an envelope belongs to: equal ones to the same.
fn part(name: &[u8; 16], passes: u64) -> u64 {
    u64::from_be_bytes(*name.first_chunk().unwrap_or(&[0; 8])) % passes
}

/// How much is read before it is opened on all cores.
const PART_LEN: usize = 1 << 20;

/// About what it takes to remember an envelope: a name of 16 bytes in a table that may have just grown.
const SEEN_LEN: usize = 48;
