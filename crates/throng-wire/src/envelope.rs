//! Fixed sizes, against traffic analysis. Every envelope of a survey has one length on each link, and every respondent sends
//! the same number of them, so sizes are public and known before anything is sent.

use throng_survey::Survey;
use throng_survey::survey::Cover;

use crate::route::Stop;

pub use throng_survey::lengths::{INDEX_LEN, LAYER_OVERHEAD, body_len, envelope_len};

/// The sizes of one survey, as every parser checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    payload_len: u64,
    hops: u32,
    envelopes: u32,
    cover: Cover,
}

impl Layout {
    /// The sizes of a survey.
    pub fn of(survey: &Survey) -> Self {
        let delivery = &survey.delivery;
        Self {
            payload_len: survey.payload_len(),
            hops: delivery.hops,
            envelopes: delivery.envelopes,
            cover: delivery.cover,
        }
    }

    /// The length of a payload: what is left of an envelope once all layers are opened.
    pub fn payload_len(&self) -> usize {
        self.payload_len as usize
    }

    /// How many hops an instance has.
    pub fn hops(&self) -> u32 {
        self.hops
    }

    /// How many envelopes a body has, or with no cover may have.
    pub fn envelopes(&self) -> u32 {
        self.envelopes
    }

    /// Whether bodies are filled with chaff.
    pub fn cover(&self) -> Cover {
        self.cover
    }

    /// The length of an envelope as a stop receives it. The first hop receives bodies, in which envelopes have the
    /// length at the stop after it.
    pub fn envelope_len(&self, stop: Stop) -> usize {
        let layers = match stop {
            Stop::Hop(hop) => 1 + self.hops.saturating_sub(hop.max(2)),
            Stop::Analyzer => 0,
        };
        // The mark travels in the innermost layer that a hop opens, or with a single hop in the analyzer's.
        let mark = u64::from(layers > 0 || self.hops == 1);
        (self.payload_len + LAYER_OVERHEAD + mark + u64::from(layers) * LAYER_OVERHEAD) as usize
    }

    /// The stop after a hop.
    pub fn after(&self, hop: u32) -> Stop {
        if hop < self.hops { Stop::Hop(hop + 1) } else { Stop::Analyzer }
    }

    /// The length of a body with this many envelopes.
    pub fn body_len(&self, envelopes: u32) -> usize {
        body_len(self.payload_len, self.hops, envelopes) as usize
    }

    /// How many envelopes a body of this length has, if a body may have it.
    pub fn envelopes_in(&self, body_len: usize) -> Option<u32> {
        let envelopes = match self.cover {
            Cover::Chaff => self.envelopes,
            Cover::None => {
                let inside = body_len.checked_sub(self.body_len(0))?;
                let envelopes = inside / self.envelope_len(self.after(1));
                u32::try_from(envelopes).ok().filter(|&envelopes| envelopes <= self.envelopes)?
            }
        };
        (self.body_len(envelopes) == body_len).then_some(envelopes)
    }
}

/// The byte before a fragment, or what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// 0: what follows is for the analyzer.
    Fragment = 0,
    /// 1: what follows is random and to be dropped.
    Chaff = 1,
}

impl Mark {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Fragment),
            1 => Some(Self::Chaff),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(hops: u32, envelopes: u32, cover: Cover) -> Layout {
        Layout { payload_len: INDEX_LEN, hops, envelopes, cover }
    }

    #[test]
    fn every_stop_receives_a_layer_less() {
        for hops in 1..5 {
            let layout = layout(hops, 7, Cover::Chaff);
            assert_eq!(layout.envelope_len(layout.after(1)) as u64, envelope_len(INDEX_LEN, hops));
            for hop in 2..hops {
                let less = layout.envelope_len(Stop::Hop(hop)) - layout.envelope_len(Stop::Hop(hop + 1));
                assert_eq!(less as u64, LAYER_OVERHEAD);
            }
        }
        assert_eq!(layout(1, 7, Cover::Chaff).envelope_len(Stop::Analyzer), 58);
        assert_eq!(layout(2, 7, Cover::Chaff).envelope_len(Stop::Hop(2)), 107);
        assert_eq!(layout(2, 7, Cover::Chaff).envelope_len(Stop::Analyzer), 57);
    }

    /// The lengths of a survey with another payload differ by the bytes of the payload, and by nothing else.
    #[test]
    fn lengths_follow_the_payload() {
        for hops in 1..5 {
            let (short, long) =
                (layout(hops, 7, Cover::Chaff), Layout { payload_len: 30, ..layout(hops, 7, Cover::Chaff) });
            assert_eq!(long.payload_len() - short.payload_len(), 22);
            for stop in (2..=hops).map(Stop::Hop).chain([Stop::Analyzer]) {
                assert_eq!(long.envelope_len(stop) - short.envelope_len(stop), 22);
            }
            assert_eq!(long.body_len(7) - short.body_len(7), 7 * 22);
            assert_eq!(long.envelopes_in(short.body_len(7)), None);
        }
    }

    #[test]
    fn a_body_has_one_length_or_without_cover_one_for_each_number_of_envelopes() {
        let (covered, bare) = (layout(2, 3, Cover::Chaff), layout(2, 3, Cover::None));
        for length in 0_usize..1000 {
            let envelopes =
                length.checked_sub(49).filter(|inside| inside % 107 == 0).map(|inside| inside / 107);
            assert_eq!(covered.envelopes_in(length), (length == 49 + 3 * 107).then_some(3));
            assert_eq!(bare.envelopes_in(length).map(|n| n as usize), envelopes.filter(|&n| n <= 3));
        }
    }
}
