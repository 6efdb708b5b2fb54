//! From a batch of envelopes to the sums of the fragments in it.

use std::collections::HashSet;

use rayon::prelude::*;
use throng_dp::Tally;
use throng_dp::fragmenting::Assignment;
use throng_wire::peel::open_fragment;
use throng_wire::{Digest, LayerKeys, Layout, Opened, Rejection, Route, Stop, Survey};

use crate::Error;
use crate::batch_head::{BatchCheck, BatchHead};
use crate::instance_tally::{Counted, InstanceTally};

/// Counts one batch while it is read.
///
/// Every envelope that was there before is dropped, which takes memory for each. Where that is not enough the batch is
/// read several times, and each time one part of the envelopes is looked at, chosen by their hashes.
pub struct BatchCounter<'a> {
    opener: BatchOpener<'a>,
    check: BatchCheck,
    passes: u64,
    pass: u64,
    rest: Vec<u8>,
    rejected: Rejected,
    tally: Tally,
}

impl<'a> BatchCounter<'a> {
    /// For a batch whose hops were heard. At most about `memory` bytes are used, besides the sums.
    pub fn new(survey: &Survey, head: BatchHead, keys: &'a LayerKeys, memory: usize) -> Result<Self, Error> {
        let seen_max = (memory.saturating_sub(PART_LEN) / SEEN_LEN).max(1) as u64;
        Ok(Self {
            opener: BatchOpener::new(survey, head.route(), keys)?,
            passes: head.envelopes().div_ceil(seen_max).max(1),
            check: BatchCheck::new(head),
            pass: 0,
            rest: Vec::new(),
            rejected: Rejected::default(),
            tally: survey.mechanism()?.tally()?,
        })
    }

    /// How often the batch is read.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Takes the next bytes of the batch, as many as there are. More than the hops said is an error at once.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check.read(bytes)?;
        self.rest.extend_from_slice(bytes);
        if self.rest.len() >= PART_LEN { self.count() } else { Ok(()) }
    }

    /// Ends a pass. Says whether the batch has to be read once more, from its beginning.
    pub fn end_pass(&mut self) -> Result<bool, Error> {
        self.count()?;
        self.check.end()?;
        self.opener.seen.clear();
        self.pass += 1;
        Ok(self.pass < self.passes)
    }

    /// What the batch came to, after its last pass.
    pub fn finish(mut self) -> Result<InstanceTally, Error> {
        if self.pass < self.passes {
            return Err(Error::Batch("it was not read to its end"));
        }
        let head = self.check.head();
        let counted = head.respondents().map(|respondents| {
            self.tally.add_respondents(respondents);
            let (envelopes, batch) = (head.envelopes(), head.batch());
            Counted { batch, envelopes, rejected: self.rejected, tally: self.tally }
        });
        Ok(InstanceTally { route: head.route(), counted })
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
    /// How fragments find their instances, and at which position this one is; `None` if nobody sends it any.
    bound: Option<(Assignment, u32)>,
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
    /// Fragments of attributes that are bound to other instances: whoever keeps to the survey sends them there.
    pub foreign: u64,
    /// Chaff, which is no fault: it comes here if an instance has a single hop.
    pub chaff: u64,
}

impl Rejected {
    /// All of them, in the order in which they are stored.
    pub(crate) fn to_array(self) -> [u64; REASONS] {
        let Self { length, key, seal, content, duplicates, foreign, chaff } = self;
        [length, key, seal, content, duplicates, foreign, chaff]
    }

    pub(crate) fn from_array(all: [u64; REASONS]) -> Self {
        let [length, key, seal, content, duplicates, foreign, chaff] = all;
        Self { length, key, seal, content, duplicates, foreign, chaff }
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
    pub fn new(survey: &Survey, route: Route, keys: &'a LayerKeys) -> Result<Self, Error> {
        let (layout, attributes) = (Layout::of(survey), survey.attributes());
        let receiving = survey.receiving(route.label);
        let assignment = Assignment::new(survey.mechanism()?.coins().draws(), receiving.len() as u32)?;
        let position = receiving.iter().position(|&instance| instance == route.instance);
        let bound = position.map(|position| (assignment, position as u32));
        Ok(Self { route, layout, attributes, keys, bound, seen: HashSet::new() })
    }

    /// Whether those who keep to the survey send fragments of an attribute here. What others send is not counted, so that
    /// nobody has more envelopes for a value than the bodies of the instances that it is bound to have.
    fn is_bound(&self, attribute: u32) -> bool {
        self.bound.is_some_and(|(assignment, position)| assignment.fragments(attribute, position) > 0)
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
                Ok(Opened::Fragment(fragment)) if self.is_bound(fragment.attribute()) => {
                    fragments.push(fragment.attribute());
                }
                Ok(Opened::Fragment(_)) => rejected.foreign += 1,
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

/// How many reasons there are not to count an envelope.
pub(crate) const REASONS: usize = 7;

/// How much is read before it is opened on all cores.
const PART_LEN: usize = 1 << 20;

/// About what it takes to remember an envelope: a name of 16 bytes in a table that may have just grown.
const SEEN_LEN: usize = 48;
