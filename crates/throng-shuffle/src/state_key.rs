//! The MAC key of a hop's own files: whatever a disk, or anyone without the signing key, has changed in them is noticed.
//!
//! It is derived from the signing key, for one place in one survey: there is nothing more to store, and files of another
//! survey or hop do not fit. It authenticates and hides nothing, so that it need not be erased with an epoch.

use throng_wire::{Mac, Place, SigningKey, SurveyHash};

use crate::Channel;

/// The key of all files of one hop.
pub(crate) struct StateKey(Mac);

/// What shows that bytes are as the hop wrote them.
pub(crate) type Tag = [u8; 32];

impl StateKey {
    pub(crate) fn new(signing: &SigningKey, survey: SurveyHash, place: Place) -> Self {
        Self(signing.derive("throng hop state v1", &[survey.as_bytes(), place.to_string().as_bytes()]))
    }

    /// The tag of some parts, for one purpose. All parts but the last have one length for the purpose.
    pub(crate) fn tag(&self, purpose: &'static str, parts: &[&[u8]]) -> Tag {
        let mut all: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
        let first: [&[u8]; 2] = [purpose.as_bytes(), &[0]];
        for (place, part) in all.iter_mut().zip(first.iter().chain(parts)) {
            *place = part;
        }
        debug_assert!(parts.len() + 2 <= PARTS_MAX, "every part is covered");
        self.0.tag(&all)
    }

    /// The same for something of one channel.
    pub(crate) fn tag_of(&self, purpose: &'static str, channel: Channel, parts: [&[u8]; 2]) -> Tag {
        let (label, epoch) = (channel.label.to_be_bytes(), channel.epoch.to_be_bytes());
        self.tag(purpose, &[&label, &epoch, parts[0], parts[1]])
    }
}

const PARTS_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_and_whose_it_is_changes_the_tag() {
        let signing = SigningKey::from_seed(&[1; 32]).unwrap();
        let key =
            |survey: u8, hop: u32| StateKey::new(&signing, SurveyHash::new([survey; 32]), Place::hop(1, hop));
        let channel = Channel { label: 1, epoch: 2 };
        let tag = |key: &StateKey| key.tag_of("a", channel, [b"b", b"c"]);
        let first = tag(&key(1, 1));
        assert_eq!(first, tag(&key(1, 1)));
        let other = SigningKey::from_seed(&[2; 32]).unwrap();
        let others = [
            tag(&key(2, 1)),
            tag(&key(1, 2)),
            tag(&StateKey::new(&other, SurveyHash::new([1; 32]), Place::hop(1, 1))),
            key(1, 1).tag_of("b", channel, [b"b", b"c"]),
            key(1, 1).tag_of("a", Channel { label: 2, ..channel }, [b"b", b"c"]),
            key(1, 1).tag_of("a", Channel { epoch: 3, ..channel }, [b"b", b"c"]),
            key(1, 1).tag_of("a", channel, [b"x", b"c"]),
            key(1, 1).tag_of("a", channel, [b"b", b"x"]),
        ];
        assert!(others.iter().all(|one| *one != first));
    }
}
