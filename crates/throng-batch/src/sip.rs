//! SipHash (Aumasson and Bernstein 2012) of many records of one length.
//!
//! Each step of SipHash waits for the one before, so a processor has time for two records at once. Tests hold it to the
//! crate `siphasher`.

use rayon::prelude::*;

use crate::{Records, Seed};

/// Pseudorandom numbers of records, one for each: SipHash-1-3, under the first half of a seed, on all threads of the current
/// pool.
pub(crate) fn sip(records: &Records, key: &Seed, hashes: &mut Vec<u64>) {
    hashes.resize(records.len(), 0);
    let length = records.length();
    let parts = records.as_bytes().par_chunks(CHUNK * length);
    hashes.par_chunks_mut(CHUNK).zip(parts).for_each(|(hashes, part)| {
        let (pairs, last) = hashes.as_chunks_mut::<2>();
        let mut records = part.chunks_exact(length);
        for (pair, two) in pairs.iter_mut().zip(part.chunks_exact(2 * length)) {
            *pair = pair_hash(key, two.split_at(length));
        }
        if let (Some(last), Some(record)) = (last.first_mut(), records.next_back()) {
            [*last, _] = pair_hash(key, (record, record));
        }
    });
}

/// A pseudorandom number of some bytes, under the first half of a seed.
pub fn sip_one(bytes: &[u8], key: &Seed) -> u64 {
    let [hash, _] = pair_hash(key, (bytes, bytes));
    hash
}

/// The hashes of two records of one length.
fn pair_hash(key: &Seed, (one, other): (&[u8], &[u8])) -> [u64; 2] {
    let half = |start| u64::from_le_bytes(std::array::from_fn(|place| key[start + place]));
    let (k0, k1) = (half(0), half(8));
    let mut state = State {
        a: [k0 ^ 0x736f_6d65_7073_6575; 2],
        b: [k1 ^ 0x646f_7261_6e64_6f6d; 2],
        c: [k0 ^ 0x6c79_6765_6e65_7261; 2],
        d: [k1 ^ 0x7465_6462_7974_6573; 2],
    };
    let (words, rest) = one.as_chunks::<8>();
    let (other_words, other_rest) = other.as_chunks::<8>();
    for (word, other) in words.iter().zip(other_words) {
        state.take([u64::from_le_bytes(*word), u64::from_le_bytes(*other)]);
    }
    // The last word is what is left, and the length modulo 256.
    let last = |rest: &[u8]| {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        word[7] = one.len() as u8;
        u64::from_le_bytes(word)
    };
    state.take([last(rest), last(other_rest)]);
    state.c = state.c.map(|word| word ^ 0xff);
    (0..3).for_each(|_| state.round());
    [0, 1].map(|lane| state.a[lane] ^ state.b[lane] ^ state.c[lane] ^ state.d[lane])
}

/// The four words of both.
struct State {
    a: [u64; 2],
    b: [u64; 2],
    c: [u64; 2],
    d: [u64; 2],
}

impl State {
    #[inline(always)]
    fn take(&mut self, words: [u64; 2]) {
        (0..2).for_each(|lane| self.d[lane] ^= words[lane]);
        self.round();
        (0..2).for_each(|lane| self.a[lane] ^= words[lane]);
    }

    #[inline(always)]
    fn round(&mut self) {
        let Self { a, b, c, d } = self;
        for lane in 0..2 {
            a[lane] = a[lane].wrapping_add(b[lane]);
            c[lane] = c[lane].wrapping_add(d[lane]);
            b[lane] = b[lane].rotate_left(13) ^ a[lane];
            d[lane] = d[lane].rotate_left(16) ^ c[lane];
            a[lane] = a[lane].rotate_left(32);
            c[lane] = c[lane].wrapping_add(b[lane]);
            a[lane] = a[lane].wrapping_add(d[lane]);
            b[lane] = b[lane].rotate_left(17) ^ c[lane];
            d[lane] = d[lane].rotate_left(21) ^ a[lane];
            c[lane] = c[lane].rotate_left(32);
        }
    }
}

/// Records that one thread hashes at a time.
const CHUNK: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use siphasher::sip::SipHasher13;

    use super::*;

    #[test]
    fn hashes_are_those_of_siphasher() {
        let key: Seed = std::array::from_fn(|place| place as u8 * 7);
        let half = key.first_chunk().unwrap();
        for (length, count) in [(1, 1), (7, 2), (8, 3), (61, 2 * CHUNK + 1), (128, CHUNK + 6), (300, 5)] {
            let bytes = (0..length * count).map(|place| ((place * place) >> 3) as u8).collect();
            let records = Records::from_bytes(length, bytes).unwrap();
            let mut hashes = vec![5; 3];
            sip(&records, &key, &mut hashes);
            assert!(records.iter().map(|one| SipHasher13::new_with_key(half).hash(one)).eq(hashes));
        }
    }
}
