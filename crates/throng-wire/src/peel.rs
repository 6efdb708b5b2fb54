//! Onion decryption: each stop peels one layer off what it receives. Lengths are checked before anything is opened.

use crate::envelope::{Layout, Mark};
use crate::fragment::Fragment;
use crate::keys::LayerKeys;
use crate::route::{Route, Stop};
use crate::seal::{Rejection, open};

/// What a later hop finds in an envelope.
#[derive(Clone, PartialEq, Eq)]
pub enum HopContent {
    /// An envelope for the next stop.
    Envelope(Vec<u8>),
    /// Chaff, which the last hop drops.
    Chaff,
}

/// What the analyzer finds in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzerContent {
    /// A fragment.
    Fragment(Fragment),
    /// Chaff, which reaches the analyzer only if there is a single hop.
    Chaff,
}

/// Hop 1 opens a body: its envelopes one after another, each as long as `layout` says for the next stop.
pub fn open_body(
    route: &Route,
    layout: &Layout,
    keys: &LayerKeys,
    body: &[u8],
) -> Result<Vec<u8>, Rejection> {
    layout.envelopes_in(body.len()).ok_or(Rejection::Length)?;
    open(route, Stop::Hop(1), keys, body)
}

/// A hop from the second on opens an envelope.
pub fn peel(
    route: &Route,
    layout: &Layout,
    hop: u32,
    keys: &LayerKeys,
    envelope: &[u8],
) -> Result<HopContent, Rejection> {
    let stop = Stop::Hop(hop);
    // The first hop has bodies, not envelopes; and there is none after the last.
    if hop < 2 || hop > layout.hops() || envelope.len() != layout.envelope_len(stop) {
        return Err(Rejection::Length);
    }
    let mut inner = open(route, stop, keys, envelope)?;
    if hop == layout.hops() {
        match Mark::from_byte(inner.remove(0)) {
            Some(Mark::Fragment) => {}
            Some(Mark::Chaff) => return Ok(HopContent::Chaff),
            None => return Err(Rejection::Content),
        }
    }
    Ok(HopContent::Envelope(inner))
}

/// The analyzer opens an envelope of a survey with this many attributes.
pub fn open_fragment(
    route: &Route,
    layout: &Layout,
    attributes: u64,
    keys: &LayerKeys,
    envelope: &[u8],
) -> Result<AnalyzerContent, Rejection> {
    if envelope.len() != layout.envelope_len(Stop::Analyzer) {
        return Err(Rejection::Length);
    }
    let inner = open(route, Stop::Analyzer, keys, envelope)?;
    let fragment = if layout.hops() == 1 {
        let (mark, fragment) = inner.split_first().ok_or(Rejection::Content)?;
        match Mark::from_byte(*mark) {
            Some(Mark::Fragment) => fragment,
            Some(Mark::Chaff) => return Ok(AnalyzerContent::Chaff),
            None => return Err(Rejection::Content),
        }
    } else {
        &inner
    };
    Fragment::from_payload(fragment, layout.payload_len(), attributes).map(AnalyzerContent::Fragment)
}

/// Says what it is, not what is in it.
impl std::fmt::Debug for HopContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Envelope(bytes) => write!(f, "Envelope({} bytes)", bytes.len()),
            Self::Chaff => f.write_str("Chaff"),
        }
    }
}
