//! Bodies, opened with the keys of everybody.

use throng_wire::{Layout, Place, Route, Stop};

use super::mistakes::Reader;
use super::rehearsal::Rehearsal;
use super::verdict::Rule;

/// A body that was taken apart.
#[derive(Debug, Default)]
pub(super) struct OpenedBody {
    pub(super) fragments: Vec<u32>,
    /// What stands in the place of each fragment that there is not.
    pub(super) chaff: Vec<Vec<u8>>,
    /// The encapsulated key of every layer.
    pub(super) encs: Vec<Vec<u8>>,
    pub(super) mistakes: Vec<(Rule, String)>,
}

/// What is wrong with a length, if it is not that of all bodies.
pub(super) fn check_length(layout: &Layout, length: usize) -> Option<String> {
    let right = layout.body_len(layout.envelopes());
    if length == right {
        return None;
    }
    let (envelope, envelopes) = (layout.envelope_len(layout.after(1)), layout.envelopes());
    let guess = match length.checked_sub(LAYER_LEN).map(|rest| (rest / envelope, rest % envelope)) {
        Some((number, 0)) => {
            format!(": it has {number} envelopes, and with chaff every body has {envelopes}")
        }
        _ if length + LAYER_LEN == right => ": is it sealed for hop 1 as a whole?".to_owned(),
        _ => format!(": 49 bytes of its own layer, and {envelope} for each of {envelopes} envelopes"),
    };
    Some(format!("the body has {length} bytes and should have {right}{guess} (section 5)"))
}

/// Opens a body of the right length.
pub(super) fn open(rehearsal: &Rehearsal, route: Route, body: &[u8]) -> OpenedBody {
    let layout = Layout::of(rehearsal.survey().survey());
    let mut work = Work { reader: Reader::new(rehearsal, route), opened: OpenedBody::default() };
    let Some(envelopes) = work.layer(Stop::Hop(1), "the body", body) else { return work.opened };
    let envelope_len = layout.envelope_len(layout.after(1));
    let mut seen = Vec::new();
    for envelope in envelopes.chunks(envelope_len) {
        if seen.contains(&envelope) {
            work.wrong(Rule::Content, "two envelopes are the same bytes: such count once".into());
            continue;
        }
        seen.push(envelope);
        work.envelope(rehearsal, &layout, envelope);
    }
    work.opened
}

struct Work<'a> {
    reader: Reader<'a>,
    opened: OpenedBody,
}

impl Work<'_> {
    fn wrong(&mut self, rule: Rule, what: String) {
        self.opened.mistakes.push((rule, what));
    }

    /// Opens one layer, as far as it can be.
    fn layer(&mut self, stop: Stop, what: &str, layer: &[u8]) -> Option<Vec<u8>> {
        let Some(reading) = self.reader.read(stop, layer) else {
            let guess = "sealed to the key of its id, with info and associated data as in section 4?";
            self.wrong(Rule::Seal, format!("{what} does not open: is it HPKE in base mode, {guess}"));
            return None;
        };
        self.opened.encs.push(reading.enc);
        for (rule, mistake) in reading.mistakes {
            self.wrong(rule, format!("{what}: {mistake}"));
        }
        Some(reading.plaintext)
    }

    fn envelope(&mut self, rehearsal: &Rehearsal, layout: &Layout, envelope: &[u8]) {
        let mut inner = envelope.to_vec();
        for hop in 2..=layout.hops() {
            let Some(plaintext) = self.layer(Stop::Hop(hop), &format!("the layer for hop {hop}"), &inner)
            else {
                return;
            };
            inner = plaintext;
        }
        // With a single hop the mark is inside the analyzer's layer.
        if layout.hops() == 1 {
            let Some(plaintext) = self.layer(Stop::Analyzer, "the layer for the analyzer", &inner) else {
                return;
            };
            inner = plaintext;
        }
        let Some((&mark, rest)) = inner.split_first() else {
            return self.wrong(Rule::Content, "an envelope is empty inside".into());
        };
        let rest = rest.to_vec();
        match mark {
            0 => self.fragment(rehearsal, layout, rest),
            1 => {
                if layout.hops() > 1 && self.reader.opens(Stop::Analyzer, &rest) {
                    let what = "chaff holds a seal for the analyzer: its inner part is 57 random bytes (section 5)";
                    self.wrong(Rule::Chaff, what.into());
                }
                self.opened.chaff.push(rest);
            }
            _ => self.wrong(
                Rule::Content,
                format!("the mark inside the last layer is {mark}: it is 0 for a fragment and 1 for chaff (section 5)"),
            ),
        }
    }

    fn fragment(&mut self, rehearsal: &Rehearsal, layout: &Layout, rest: Vec<u8>) {
        let fragment = match layout.hops() {
            1 => rest,
            _ => match self.layer(Stop::Analyzer, "the layer for the analyzer", &rest) {
                Some(fragment) => fragment,
                None => return,
            },
        };
        let attributes = rehearsal.survey().survey().attributes();
        let what = match <[u8; 8]>::try_from(&*fragment) {
            Err(_) => format!("a fragment has {} bytes: it has 8", fragment.len()),
            Ok([a, b, c, d, 0, 0, 0, 0]) => {
                let attribute = u32::from_be_bytes([a, b, c, d]);
                if u64::from(attribute) < attributes {
                    return self.opened.fragments.push(attribute);
                }
                format!(
                    "a fragment has an index that is not below {attributes}: is it big-endian, in the first four bytes?"
                )
            }
            Ok(_) => "the last four bytes of a fragment are not zero".into(),
        };
        self.wrong(Rule::Content, format!("{what} (section 5)"));
    }
}

/// What is wrong with chaff, of all bodies together.
pub(super) fn check_chaff(rehearsal: &Rehearsal, epoch: u64, chaff: &[Vec<u8>]) -> Option<&'static str> {
    let distinct = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.sort_unstable();
        bytes.dedup();
        bytes.len()
    };
    // 57 random bytes have about 51 different ones, 8 have 8; so few have a chance below 1e-12.
    let few = |bytes: &[u8]| if bytes.len() > 8 { 20 } else { 2 };
    if chaff.iter().any(|bytes| distinct(bytes) <= few(bytes)) {
        return Some("what stands in the place of a fragment in chaff is not random (section 5)");
    }
    if chaff.iter().enumerate().any(|(index, bytes)| chaff[..index].contains(bytes)) {
        return Some("two envelopes have the same chaff inside: it is drawn for each (section 5)");
    }
    // Four random bytes are the key's id with a chance of 2^-32.
    let id = rehearsal.key_for(Place::Analyzer, epoch).map(|key| key.id);
    let sealed = rehearsal.survey().survey().delivery.hops > 1;
    if sealed && chaff.len() >= 4 && chaff.iter().all(|bytes| bytes.first().copied() == id) {
        return Some(
            "all chaff begins with the analyzer's key id: all 57 bytes of it are random (section 5)",
        );
    }
    None
}

const LAYER_LEN: usize = 49;
