//! A body that came, and the record that it is stored as.

use throng_wire::Digest;

use crate::Channel;
use crate::channel::UPLOADS;
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

/// Takes records of uploads apart that stand one after another, without the key that authenticates them: for whoever knows by a
/// hash that they are as they were written.
pub fn framed_bodies(
    bytes: &[u8],
    body_len_max: usize,
) -> impl Iterator<Item = Result<&[u8], throng_batch::Error>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = (bytes.len() - rest.len()) as u64;
        let body = body_of(&mut rest, body_len_max);
        if body.is_none() {
            rest = &[];
        }
        Some(body.ok_or(throng_batch::Error::Damaged { file: UPLOADS, at }))
    })
}

/// The body of the first record; what is left is behind it.
fn body_of<'a>(rest: &mut &'a [u8], body_len_max: usize) -> Option<&'a [u8]> {
    let (head, after) = rest.split_at_checked(HEAD_LEN)?;
    let len = u32::from_be_bytes(*head.last_chunk()?) as usize;
    let (body, after) = after.split_at_checked(len).filter(|_| len <= body_len_max)?;
    let (_check, after) = after.split_at_checked(CHECK_LEN)?;
    *rest = after;
    Some(body)
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

#[cfg(test)]
mod tests {
    use throng_wire::{Place, SigningKey, SurveyHash};

    use super::*;

    #[test]
    fn records_are_taken_apart_without_their_key_or_not_at_all() {
        let signing = SigningKey::from_seed(&[3; 32]).unwrap();
        let key = StateKey::new(&signing, SurveyHash::new([4; 32]), Place::hop(1, 1));
        let channel = Channel { label: 0, epoch: 7 };
        let upload = |byte: u8, len: usize| Upload::new(channel, Digest::of(&[byte]), vec![byte; len]);
        let mut bytes = Vec::new();
        for (byte, len) in [(1, 10), (2, 0), (3, 20)] {
            bytes.extend(upload(byte, len).framed(&key, [byte; 16], (bytes.len() as u64, 5)));
        }
        let bodies = |bytes: &[u8], len_max: usize| -> Option<Vec<Vec<u8>>> {
            framed_bodies(bytes, len_max).map(|body| body.ok().map(<[u8]>::to_vec)).collect()
        };
        assert_eq!(bodies(&bytes, 20), Some(vec![vec![1; 10], vec![], vec![3; 20]]));
        assert_eq!(bodies(&bytes, 19), None, "longer than any body");
        let ends = [0, OVERHEAD + 10, 2 * OVERHEAD + 10, bytes.len()];
        for cut in 0..=bytes.len() {
            assert_eq!(bodies(&bytes[..cut], 20).is_some(), ends.contains(&cut), "cut at {cut}");
        }
    }
}
