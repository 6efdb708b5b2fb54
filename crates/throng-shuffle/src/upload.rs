//! A body that came, and the record that it is stored as.

use throng_wire::Digest;

use crate::Channel;
use crate::state_key::StateKey;

/// A body that came, before it is taken.
#[derive(Clone)]
pub struct Upload {
    pub(crate) channel: Channel,
    pub(crate) id: Digest,
    pub(crate) body: Vec<u8>,
    pub(crate) digest: Digest,
}

impl Upload {
    /// A body for a channel, from the respondent with this name at this hop.
    pub fn new(channel: Channel, id: Digest, body: Vec<u8>) -> Self {
        Self { channel, id, digest: Digest::of(&body), body }
    }

    /// The epoch and label that it is for.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// The body's hash, which the receipt names.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The memory that its body is in.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// How many bytes it has.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    /// Its record at a place.
    pub(crate) fn framed(&self, key: &StateKey, id: Tag, (place, time_bucket): (u64, u64)) -> Vec<u8> {
        let head = head(id, time_bucket, self.body.len());
        let check = check_of(key, self.channel, place, &head, &self.digest);
        [&head[..], &self.body, &check].concat()
    }
}

/// Says what it is, not whose.
impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Upload({:?}, {} bytes)", self.channel, self.body.len())
    }
}

/// The pseudonym of a respondent, under the epoch's key.
pub(crate) type Tag = [u8; 16];

/// What stands before a body.
pub(crate) fn head(id: Tag, time_bucket: u64, body_len: usize) -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    head[..16].copy_from_slice(&id);
    head[16..24].copy_from_slice(&time_bucket.to_be_bytes());
    head[24..].copy_from_slice(&(body_len as u32).to_be_bytes());
    head
}

/// What stands behind a body, so that the record is known again at its place. The body's hash is known already, so it stands for
/// the body.
pub(crate) fn check_of(
    key: &StateKey,
    channel: Channel,
    place: u64,
    head: &[u8],
    body: &Digest,
) -> [u8; CHECK_LEN] {
    let mut said = [0; 8 + HEAD_LEN];
    said[..8].copy_from_slice(&place.to_be_bytes());
    said[8..].copy_from_slice(head);
    *key.tag_of("upload", channel, [&said, body.as_bytes()]).first_chunk().unwrap_or(&[0; CHECK_LEN])
}

pub(crate) const HEAD_LEN: usize = 16 + 8 + 4;
pub(crate) const CHECK_LEN: usize = 16;
/// What a record has besides its body.
pub(crate) const OVERHEAD: usize = HEAD_LEN + CHECK_LEN;
