//! From a batch of envelopes to the fragments in it.

use std::collections::HashSet;

use rayon::prelude::*;
use throng_wire::peel::open_fragment;
use throng_wire::{Digest, LayerKeys, Layout, Opened, Rejection, Route, Stop, Survey};

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
        let length = self.envelope_len();
        let chunks = envelopes.chunks_exact(length);
        rejected.length += u64::from(!chunks.remainder().is_empty());
        let fresh: Vec<&[u8]> = chunks.filter(|envelope| self.seen.insert(short(envelope))).collect();
        rejected.duplicates += (envelopes.len() / length - fresh.len()) as u64;
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
