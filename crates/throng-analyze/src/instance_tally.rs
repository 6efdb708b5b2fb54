//! The tally of one instance's batch, as it is stored until it is released.

use throng_batch::{REASONS, Rejected};
use throng_dp::Tally;
use throng_wire::codec::Reader;
use throng_wire::route::ROUTE_LEN;
use throng_wire::{Digest, Hasher, Route, Survey};

use crate::Error;

/// One epoch of a channel at one instance: destroyed, or counted. Once it is stored the batch can be acknowledged, and is
/// gone; nothing in it tells of one envelope more than of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceTally {
    /// Which epoch of which channel and instance.
    pub route: Route,
    /// What was in its batch; `None` if the instance destroyed it.
    pub counted: Option<CountedBatch>,
}

/// A batch that was released, opened and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedBatch {
    /// SHA-256 of the batch, as the last hop signed it.
    pub batch: Digest,
    /// How many envelopes it had.
    pub envelopes: u64,
    /// What was not counted, and why.
    pub rejected: Rejected,
    /// The sums over the fragments; its respondents are those that the hops agree on.
    pub tally: Tally,
}

impl InstanceTally {
    /// The bytes of a file: a line that says what it is, the route, what became of it, and SHA-256 of all that.
    /// Counts are run-length coded: pairs of how many attributes to go on, and the count there, so that zeros take no room.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.route.to_bytes());
        bytes.push(u8::from(self.counted.is_some()));
        if let Some(counted) = &self.counted {
            bytes.extend(counted.batch.as_bytes());
            put(&mut bytes, counted.envelopes);
            counted.rejected.to_array().iter().for_each(|&count| put(&mut bytes, count));
            put(&mut bytes, counted.tally.respondents());
            let mut gap = 0;
            for count in counted.tally.counts() {
                if count == 0 {
                    gap += 1;
                } else {
                    put(&mut bytes, gap);
                    put(&mut bytes, count);
                    gap = 0;
                }
            }
        }
        let digest = Digest::of(&bytes);
        bytes.extend(digest.as_bytes());
        bytes
    }

    /// Reads how a file begins, from [`HEAD_LEN`] bytes of it: which batch it is of, and whether that was counted or
    /// destroyed. Whether the rest of the file is whole is not known then.
    pub fn head(bytes: &[u8; HEAD_LEN]) -> Result<(Route, bool), Error> {
        let mut reader = Reader::new(bytes.strip_prefix(MAGIC).ok_or(Error::Damaged)?);
        match (reader.route(), reader.take()) {
            (Some(route), Some([counted @ (0 | 1)])) => Ok((route, counted == 1)),
            _ => Err(Error::Damaged),
        }
    }

    /// Reads the bytes of a file. Anything but what was written is an error.
    pub fn from_bytes(survey: &Survey, bytes: &[u8]) -> Result<Self, Error> {
        let (content, digest) = bytes.split_last_chunk::<32>().ok_or(Error::Damaged)?;
        let mut hasher = Hasher::new();
        hasher.update(content);
        if hasher.finish() != Digest::new(*digest) {
            return Err(Error::Damaged);
        }
        let content = content.strip_prefix(MAGIC).ok_or(Error::Damaged)?;
        let mut tally = survey.mechanism()?.tally()?;
        let read = || -> Option<(Route, Option<CountedBatch>)> {
            let mut reader = Reader::new(content);
            let (route, [counted]) = (reader.route()?, reader.take()?);
            match counted {
                0 => return reader.end().then_some((route, None)),
                1 => {}
                _ => return None,
            }
            let batch = Digest::new(reader.take()?);
            let envelopes = number(&mut reader)?;
            let mut rejected = [0; REASONS];
            for count in &mut rejected {
                *count = number(&mut reader)?;
            }
            tally.add_respondents(number(&mut reader)?);
            let mut next = 0;
            while !reader.end() {
                let attribute: u64 = number(&mut reader)?.checked_add(next)?;
                // Zeros are in gaps.
                let count = number(&mut reader).filter(|&count| count > 0)?;
                tally.add_count(u32::try_from(attribute).ok()?, count).ok()?;
                next = attribute + 1;
            }
            let rejected = Rejected::from_array(rejected);
            Some((route, Some(CountedBatch { batch, envelopes, rejected, tally })))
        };
        let (route, counted) = read().ok_or(Error::Damaged)?;
        Ok(Self { route, counted })
    }
}

/// Variable-length integers (LEB128): seven bits to a byte, the lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn number(reader: &mut Reader<'_>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = reader.take()?;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte & 0x80 == 0 {
            // A number has one spelling: no zeros at its end.
            return (byte > 0 || shift == 0).then_some(number);
        }
    }
    None
}

const MAGIC: &[u8] = b"throng-v2 tally\n";
/// A line that says what it is, the route, and what became of it.
pub const HEAD_LEN: usize = MAGIC.len() + ROUTE_LEN + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::survey;
    use throng_wire::SurveyHash;

    fn route() -> Route {
        Route { survey: SurveyHash::new([7; 32]), label: 0, epoch: 9, instance: 2 }
    }

    fn sample() -> InstanceTally {
        let mut tally = survey().mechanism().unwrap().tally().unwrap();
        tally.add_respondents(3_000);
        tally.add_count(0, 1).unwrap();
        tally.add_count(5, 127).unwrap();
        tally.add_count(6, 128).unwrap();
        tally.add_count(783, 5 << 40).unwrap();
        let rejected = Rejected { seal: 3, duplicates: 300, foreign: 7, ..Rejected::default() };
        let counted = CountedBatch { batch: Digest::of(b"batch"), envelopes: 70_000, rejected, tally };
        InstanceTally { route: route(), counted: Some(counted) }
    }

    #[test]
    fn what_was_stored_is_read() {
        let (survey, sample) = (survey(), sample());
        assert_eq!(InstanceTally::from_bytes(&survey, &sample.to_bytes()).unwrap(), sample);
        let destroyed = InstanceTally { counted: None, ..sample };
        assert_eq!(InstanceTally::from_bytes(&survey, &destroyed.to_bytes()).unwrap(), destroyed);
        assert!(sample_len() < 200, "zeros take no room");
    }

    #[test]
    fn how_a_file_begins_says_what_became_of_its_batch() {
        let head = |tally: &InstanceTally| *tally.to_bytes().first_chunk().unwrap();
        let (counted, destroyed) = (head(&sample()), head(&InstanceTally { counted: None, ..sample() }));
        assert_eq!(InstanceTally::head(&counted), Ok((route(), true)));
        assert_eq!(InstanceTally::head(&destroyed), Ok((route(), false)));
        for (at, byte) in [(0, b'T'), (HEAD_LEN - 1, 2)] {
            let mut changed = counted;
            changed[at] = byte;
            assert_eq!(InstanceTally::head(&changed), Err(Error::Damaged), "byte {at}");
        }
    }

    fn sample_len() -> usize {
        sample().to_bytes().len()
    }

    /// With a checksum that fits: what no tally is written as is not read as one.
    #[test]
    fn a_tally_has_one_spelling() {
        let (survey, bytes) = (survey(), sample().to_bytes());
        let content = &bytes[..bytes.len() - 32];
        let read = |content: &[u8]| {
            InstanceTally::from_bytes(&survey, &[content, Digest::of(content).as_bytes()].concat())
        };
        assert_eq!(read(content), Ok(sample()));
        let (head, rest) = content.split_at(HEAD_LEN - 1);
        assert_eq!(read(&[head, &[2], &rest[1..]].concat()), Err(Error::Damaged), "neither counted nor not");
        // Envelopes (70,000: three bytes) are behind the hash of the batch; a zero more at their end is the same number.
        let (before, after) = content.split_at(HEAD_LEN + 32);
        let longer = [before, &[after[0], after[1], after[2] | 0x80, 0], &after[3..]].concat();
        assert_eq!(read(&longer), Err(Error::Damaged), "a number that is longer than it has to be");
        let mut empty = sample();
        let tally = survey.mechanism().unwrap().tally().unwrap();
        empty.counted = empty.counted.map(|counted| CountedBatch { tally, ..counted });
        let empty = empty.to_bytes();
        assert!(read(&empty[..empty.len() - 32]).is_ok());
        assert_eq!(
            read(&[&empty[..empty.len() - 32], &[0, 0]].concat()),
            Err(Error::Damaged),
            "a count of none"
        );
    }

    #[test]
    fn every_change_is_noticed() {
        let (survey, bytes) = (survey(), sample().to_bytes());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(InstanceTally::from_bytes(&survey, &changed), Err(Error::Damaged), "byte {at}");
            assert_eq!(InstanceTally::from_bytes(&survey, &bytes[..at]), Err(Error::Damaged));
        }
    }

    /// With a right checksum, too: numbers that are too long, attributes that the survey does not have.
    #[test]
    fn what_no_tally_has_is_refused() {
        let survey = survey();
        let refused = |tail: &[u8]| {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(route().to_bytes());
            bytes.push(1);
            bytes.extend(Digest::of(b"batch").as_bytes());
            bytes.extend([0; REASONS + 2]);
            bytes.extend(tail);
            let digest = Digest::of(&bytes);
            bytes.extend(digest.as_bytes());
            InstanceTally::from_bytes(&survey, &bytes)
        };
        assert!(refused(&[0, 1]).is_ok());
        for tail in [&[0xff; 10][..], &[0x90, 6, 1], &[0], &[0, 0x80]] {
            assert_eq!(refused(tail), Err(Error::Damaged), "{tail:?}");
        }
    }
}
