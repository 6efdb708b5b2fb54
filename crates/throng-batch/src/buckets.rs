//! The buckets of an external shuffle, which its first pass throws records into.
//!
//! Records wait in pieces. The first pieces of each bucket stay in memory, as far as there is room; the others are written
//! to the bucket's file. A bucket is its pieces in memory, then its file, so that its order does not depend on threads.

use std::mem;

use crate::ring::Consumer;
use crate::{Error, VolumeFile};

/// Some records of one bucket, each with its hash.
pub(crate) struct Piece {
    bucket: usize,
    bytes: Vec<u8>,
}

/// The first pieces of a bucket.
pub(crate) type BucketHead = Vec<Vec<u8>>;

/// How long pieces are, and how many of each bucket stay in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) len: usize,
    pub(crate) staying: usize,
}

/// What stays of each bucket, and what waits to be written.
pub(crate) struct Buckets {
    waiting: Vec<Vec<u8>>,
    staying: Vec<BucketHead>,
    pieces: Pieces,
    full: Vec<Piece>,
    /// The memory of pieces that are written.
    used: Vec<Vec<u8>>,
}

impl Buckets {
    pub(crate) fn new(count: usize, pieces: Pieces) -> Self {
        let (waiting, staying) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        Self { waiting, staying, pieces, full: Vec::new(), used: Vec::new() }
    }

    pub(crate) fn add(&mut self, bucket: usize, record: &[u8], hash: u64) {
        let (waiting, hash) = (&mut self.waiting[bucket], hash.to_le_bytes());
        if waiting.len() + record.len() + hash.len() < self.pieces.len {
            waiting.extend_from_slice(record);
            waiting.extend_from_slice(&hash);
        } else {
            self.append(bucket, record);
            self.append(bucket, &hash);
        }
    }

    /// Pieces have one length, whatever records have, and so begin where pages of the file do.
    fn append(&mut self, bucket: usize, mut bytes: &[u8]) {
        let (waiting, staying) = (&mut self.waiting[bucket], &mut self.staying[bucket]);
        let Pieces { len, staying: most } = self.pieces;
        while bytes.len() >= len - waiting.len() {
            let (now, later) = bytes.split_at(len - waiting.len());
            waiting.extend_from_slice(now);
            let next = self.used.pop().unwrap_or_else(|| Vec::with_capacity(len));
            let full = mem::replace(waiting, next);
            if staying.len() < most {
                staying.push(full);
            } else {
                self.full.push(Piece { bucket, bytes: full });
            }
            bytes = later;
        }
        waiting.extend_from_slice(bytes);
    }

    /// All pieces that are full. The memory of those that are written is used again.
    pub(crate) fn full(&mut self, mut written: Vec<Piece>) -> Vec<Piece> {
        self.used.extend(written.drain(..).map(|piece| {
            let mut bytes = piece.bytes;
            bytes.clear();
            bytes
        }));
        mem::replace(&mut self.full, written)
    }

    /// All that is left to write, at the end, and what stays of each bucket.
    pub(crate) fn rest(mut self, written: Vec<Piece>) -> (Vec<Piece>, Vec<BucketHead>) {
        let waiting = mem::take(&mut self.waiting).into_iter().enumerate();
        self.full.extend(waiting.map(|(bucket, bytes)| Piece { bucket, bytes }));
        (self.full(written), self.staying)
    }
}

/// Writes each piece to its bucket, half of the buckets at a time on a core. Buckets need not survive a crash: the input is still
/// there, and the draw is the same.
pub(crate) fn write_pieces(
    files: &mut [Box<dyn VolumeFile>],
    full: &Consumer<Vec<Piece>>,
) -> Result<(), Error> {
    while let Some(pieces) = full.full() {
        let half = files.len() / 2;
        let (low, high) = files.split_at_mut(half);
        let mut of_low = pieces.iter().filter(|piece| piece.bucket < half);
        let mut of_high = pieces.iter().filter(|piece| piece.bucket >= half);
        let (low, high) = rayon::join(
            || of_low.try_for_each(|piece| low[piece.bucket].write_all(&piece.bytes)),
            || of_high.try_for_each(|piece| high[piece.bucket - half].write_all(&piece.bytes)),
        );
        low.and(high)?;
        full.give_back(pieces);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIXTEEN: Pieces = Pieces { len: 16, staying: 0 };

    /// Twenty records over two buckets: all pieces, what stays, and what each bucket is.
    fn thrown(staying: usize) -> (Vec<Piece>, Vec<BucketHead>, [Vec<u8>; 2]) {
        let mut buckets = Buckets::new(2, Pieces { staying, ..SIXTEEN });
        let mut expected = [Vec::new(), Vec::new()];
        for number in 0..20_usize {
            let record = vec![number as u8; 10];
            buckets.add(number % 2, &record, number as u64);
            expected[number % 2].extend([&record[..], &(number as u64).to_le_bytes()].concat());
        }
        let mut all = buckets.full(Vec::new());
        assert!(all.iter().all(|piece| piece.bytes.len() == SIXTEEN.len));
        assert_eq!(all.len(), 2 * (10 * 18 / 16 - staying));
        let (rest, stayed) = buckets.rest(Vec::new());
        all.extend(rest);
        (all, stayed, expected)
    }

    #[test]
    fn pieces_of_a_bucket_have_one_length_and_are_its_records() {
        for staying in [0, 1, 3, 11] {
            let (written, stayed, expected) = thrown(staying);
            assert!(stayed.iter().all(|one| one.len() == staying));
            let mut buckets: Vec<Vec<u8>> = stayed.iter().map(|one| one.concat()).collect();
            for piece in written {
                buckets[piece.bucket].extend(piece.bytes);
            }
            assert_eq!(buckets, expected);
        }
        // A record that is longer than a piece is in several.
        let mut buckets = Buckets::new(1, SIXTEEN);
        buckets.add(0, &[7; 40], 7);
        assert_eq!(buckets.full(Vec::new()).len(), 3);
    }
}
