//! Envelopes of one length, one after the other.

use rayon::prelude::*;

use crate::{Error, Permutation};

/// A batch in memory: records of one length without anything between them, so that nothing but their number shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    length: usize,
    bytes: Vec<u8>,
}

impl Records {
    /// An empty batch of records of `length` bytes. Panics if that is 0.
    pub fn new(length: usize) -> Self {
        assert!(length > 0, "a record has at least one byte");
        Self { length, bytes: Vec::new() }
    }

    /// A batch from bytes that were stored.
    pub fn from_bytes(length: usize, bytes: Vec<u8>) -> Result<Self, Error> {
        let batch = Self::new(length);
        match bytes.len() % length {
            0 => Ok(Self { bytes, ..batch }),
            got => Err(Error::RecordLength { got, expected: length }),
        }
    }

    /// Adds a record, which must have the length of the others.
    pub fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        if record.len() != self.length {
            return Err(Error::RecordLength { got: record.len(), expected: self.length });
        }
        self.bytes.extend_from_slice(record);
        Ok(())
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The records in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.length)
    }

    /// How many bytes each has.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The record at a place. Panics if there is none.
    pub(crate) fn get(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.length..][..self.length]
    }

    /// Keeps the records for whose places `keep` is true, in their order.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let (length, mut end) = (self.length, 0);
        for place in (0..self.len()).filter(|&place| keep(place)) {
            if end != place * length {
                self.bytes.copy_within(place * length..(place + 1) * length, end);
            }
            end += length;
        }
        self.bytes.truncate(end);
    }

    /// All of them, one after the other.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory that they are in.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The same records in the order of a permutation, on all threads of the current pool. Panics unless there is a
    /// place for each.
    pub fn permuted(&self, permutation: &Permutation) -> Self {
        assert_eq!(permutation.len(), self.len(), "one place per record");
        Self { length: self.length, bytes: self.gathered(permutation.places(), Vec::new()) }
    }

    /// The records at some places, in memory that was used before: fresh memory takes longer to get than to fill. On all
    /// threads of the current pool. Panics if there is no such place.
    pub fn gathered(&self, places: &[u32], bytes: Vec<u8>) -> Vec<u8> {
        self.heads_gathered(self.length, places, bytes)
    }

    /// As [`Self::gathered`], but of each record the first `length` bytes only.
    pub(crate) fn heads_gathered(&self, length: usize, places: &[u32], mut bytes: Vec<u8>) -> Vec<u8> {
        let len = places.len() * length;
        if bytes.capacity() < len {
            bytes = vec![0; len];
        }
        bytes.resize(len, 0);
        let places = places.par_chunks(CHUNK);
        bytes.par_chunks_mut(CHUNK * length).zip(places).for_each(|(part, places)| {
            for (to, &from) in part.chunks_exact_mut(length).zip(places) {
                to.copy_from_slice(&self.get(from as usize)[..length]);
            }
        });
        bytes
    }
}

/// Records that one thread copies at a time.
const CHUNK: usize = 1 << 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_other_lengths_are_refused() {
        let mut batch = Records::new(3);
        assert!(matches!(batch.push(b"ab"), Err(Error::RecordLength { got: 2, expected: 3 })));
        assert!(matches!(batch.push(b"abcd"), Err(Error::RecordLength { got: 4, expected: 3 })));
        batch.push(b"abc").unwrap();
        assert_eq!((batch.len(), batch.as_bytes()), (1, &b"abc"[..]));
        assert!(Records::from_bytes(3, vec![0; 7]).is_err());
        assert_eq!(Records::from_bytes(3, b"abc".to_vec()).unwrap(), batch);
        assert!(Records::new(1).is_empty());
    }

    #[test]
    fn records_are_kept_by_place() {
        let mut batch = Records::from_bytes(2, b"aabbccdd".to_vec()).unwrap();
        batch.retain(|place| place != 1);
        assert_eq!(batch.as_bytes(), b"aaccdd");
        batch.retain(|place| place == 2);
        assert_eq!(batch.as_bytes(), b"dd");
    }

    #[test]
    fn permuting_moves_whole_records() {
        let count = 3 * CHUNK + 5;
        let mut batch = Records::new(6);
        for i in 0..count as u32 {
            batch.push(&[&i.to_be_bytes()[..], &[7, 9]].concat()).unwrap();
        }
        let permutation = Permutation::new(count as u64, &[5; 32]).unwrap();
        let permuted = batch.permuted(&permutation);
        assert_ne!(permuted, batch);
        for (record, &from) in permuted.iter().zip(permutation.places()) {
            assert_eq!(record, [&from.to_be_bytes()[..], &[7, 9]].concat());
        }
        let parts = [CHUNK - 1, CHUNK, 2 * CHUNK + 3, count];
        for (part, used) in
            parts.into_iter().zip([vec![1; 10], vec![1; 7 * count], vec![1; 6 * count], vec![]])
        {
            let mut used = Some(used);
            let mut all = Vec::new();
            for places in permutation.places().chunks(part) {
                let gathered = batch.gathered(places, used.take().unwrap_or_default());
                all.extend_from_slice(&gathered);
                used = Some(gathered);
            }
            assert_eq!(all, permuted.as_bytes(), "parts of {part}");
        }
    }
}
