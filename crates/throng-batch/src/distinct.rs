//! Deduplication: each of a batch's records once.

use crate::{Error, Records};

/// Keeps the first of each set of equal records, in their order. Hashes, one for each, find candidates, and bytes decide.
/// Their key is secret, against denial of service by hash flooding: nobody can send records that are slow to tell apart.
pub(crate) fn keep_distinct(records: &mut Records, hashes: &[u64]) -> Result<(), Error> {
    if hashes.len() >= u32::MAX as usize {
        return Err(Error::TooMany { got: hashes.len() as u64 });
    }
    let repeated = repeated(hashes, |one, other| records.get(one) == records.get(other));
    if !repeated.is_empty() {
        records.retain(|place| repeated.binary_search(&place).is_err());
    }
    Ok(())
}

/// The places of records that equal an earlier one, in rising order.
fn repeated(hashes: &[u64], same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    // An open table that is at most two thirds full: 0, or a place and 1.
    let mut table = vec![0u32; (hashes.len() + hashes.len() / 2 + 1).next_power_of_two()];
    let mask = table.len() - 1;
    let mut repeated = Vec::new();
    for (place, &hash) in hashes.iter().enumerate() {
        let mut slot = hash as usize & mask;
        loop {
            match table[slot] {
                0 => {
                    table[slot] = place as u32 + 1;
                    break;
                }
                other if hashes[other as usize - 1] == hash && same(other as usize - 1, place) => {
                    repeated.push(place);
                    break;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_records_is_kept() {
        let mut records = Records::from_bytes(2, b"aabbaaccbbaadd".to_vec()).unwrap();
        keep_distinct(&mut records, &[1, 2, 1, 3, 2, 1, 4]).unwrap();
        assert_eq!(records.as_bytes(), b"aabbccdd");
        keep_distinct(&mut records, &[1, 2, 3, 4]).unwrap();
        assert_eq!(records.as_bytes(), b"aabbccdd");
        keep_distinct(&mut Records::new(2), &[]).unwrap();
    }

    #[test]
    fn equal_hashes_of_records_that_differ_are_told_apart() {
        let letters = b"abacabdcba";
        let same = |one: usize, other: usize| letters[one] == letters[other];
        for hashes in [[7; 10], [u64::MAX; 10], [0, 1, 0, 1, 0, 1, 1, 1, 1, 0]] {
            assert_eq!(repeated(&hashes, same), [2, 4, 5, 7, 8, 9]);
        }
    }
}
