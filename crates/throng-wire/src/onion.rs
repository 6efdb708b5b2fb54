//! Onion encryption: from fragments to the one body that a respondent sends to an instance.
//!
//! ```text
//! inner    = seal(analyzer, fragment)                   for a fragment, M >= 2
//!          | random bytes of the same length            for chaff
//! layer M  = seal(hop M, mark | inner)
//! layer h  = seal(hop h, layer h+1)                     for h = M-1 down to 2; layer 2 is the envelope
//! body     = seal(hop 1, envelope 1 | ... | envelope b)
//! ```
//! With a single hop an envelope is `seal(analyzer, mark | fragment)`, with random bytes for the fragment of chaff.

use rand_core::CryptoRng;
use throng_dp::sampling::below;

use crate::Error;
use crate::envelope::{LAYER_OVERHEAD, Layout, Mark};
use crate::fragment::Fragment;
use crate::key_list::KeyList;
use crate::place::Place;
use crate::route::{Route, Stop};
use crate::seal::SealingKey;
use crate::signed_survey::SignedSurvey;
use crate::survey::Cover;

/// The way of one epoch's envelopes through an instance: which keys they are sealed to, from hop 1 to the analyzer.
#[derive(Clone, Debug)]
pub struct Path {
    route: Route,
    layout: Layout,
    hops: Vec<SealingKey>,
    analyzer: SealingKey,
}

impl Path {
    /// The way through an instance with the keys of these lists, one of each hop and the analyzer's; others are
    /// ignored. The label is a number of the survey's list, or 0 where it has none.
    pub fn new(
        survey: &SignedSurvey,
        label: u32,
        epoch: u64,
        instance: u32,
        lists: &[KeyList],
    ) -> Result<Self, Error> {
        let labels = survey.survey().labels.as_ref().map_or(0, |labels| labels.names.len());
        if (label == 0) != (labels == 0) || label as usize > labels {
            return Err(Error::Seal("the survey has no such label"));
        }
        let key = |party: Place| {
            survey.survey().party(party).ok_or(Error::UnknownParty(party))?;
            lists
                .iter()
                .find(|list| list.party == party && list.survey == survey.hash())
                .ok_or(Error::NoKey { party, epoch })
                .and_then(|list| list.key_for(epoch))
                .and_then(|key| SealingKey::new(*key))
        };
        let layout = Layout::of(survey.survey());
        let hops =
            (1..=layout.hops()).map(|hop| key(Place::Hop { instance, hop })).collect::<Result<_, _>>()?;
        let route = Route { survey: survey.hash(), label, epoch, instance };
        Ok(Self { route, layout, hops, analyzer: key(Place::Analyzer)? })
    }

    /// What its envelopes are bound to.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// A body with these fragments, filled up with chaff if the survey has it so, in random order: where an envelope
    /// stands says nothing about what it is. More fragments than the body has envelopes are refused; who has more drops
    /// some at random before.
    pub fn body(
        &self,
        fragments: &[Fragment],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Error> {
        let mut contents: Vec<Option<Fragment>> = fragments.iter().copied().map(Some).collect();
        let room = self.layout.envelopes() as usize;
        if contents.len() > room {
            return Err(Error::Seal("more fragments than envelopes"));
        }
        if self.layout.cover() == Cover::Chaff {
            contents.resize(room, None);
        }
        for last in (1..contents.len()).rev() {
            contents.swap(last, below(last as u64 + 1, rng) as usize);
        }
        let mut envelopes =
            Vec::with_capacity(contents.len() * self.layout.envelope_len(self.layout.after(1)));
        for content in contents {
            envelopes.extend(self.envelope(content, rng)?);
        }
        self.hops[0].seal(&self.route, Stop::Hop(1), &envelopes, rng)
    }

    /// An envelope with a fragment or with chaff. Both take the same steps and as much time: chaff seals a fragment,
    /// too, and then puts random bytes over it.
    fn envelope(
        &self,
        content: Option<Fragment>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Error> {
        let mark = if content.is_some() { Mark::Fragment } else { Mark::Chaff };
        let payload_len = self.layout.payload_len();
        let mut random = vec![0; payload_len + LAYER_OVERHEAD as usize];
        rng.fill_bytes(&mut random);
        let cover = |bytes: &mut [u8]| {
            if mark == Mark::Chaff {
                bytes.copy_from_slice(&random[..bytes.len()]);
            }
        };
        let fragment = content.unwrap_or(Fragment::new(0)).to_payload(payload_len);
        if self.layout.hops() == 1 {
            let mut marked = vec![0; 1 + payload_len];
            marked[0] = mark as u8;
            marked[1..].copy_from_slice(&fragment);
            cover(&mut marked[1..]);
            return self.analyzer.seal(&self.route, Stop::Analyzer, &marked, rng);
        }
        let mut inner = self.analyzer.seal(&self.route, Stop::Analyzer, &fragment, rng)?;
        cover(&mut inner);
        inner.insert(0, mark as u8);
        for hop in (2..=self.layout.hops()).rev() {
            inner = self.hops[hop as usize - 1].seal(&self.route, Stop::Hop(hop), &inner, rng)?;
        }
        Ok(inner)
    }
}
