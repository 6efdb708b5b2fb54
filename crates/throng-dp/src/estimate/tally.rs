//! Running sums: how often each attribute was set, and by how many respondents.

use std::collections::BTreeMap;

use crate::Error;

/// The analyzer's sums over one crowd: all that it needs of the fragments.
///
/// A count is kept in 32 bits, because counting is bound by the cache; the rare count that outgrows them carries
/// over into a map. Sums stop at 2^64 - 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    respondents: u64,
    counts: Vec<u32>,
    /// How many times 2^32 to add, by attribute.
    carries: BTreeMap<u32, u64>,
}

impl Tally {
    /// Sums over `attributes` attributes, all zero.
    pub fn new(attributes: u64) -> Result<Self, Error> {
        let mut counts = Vec::new();
        let size = usize::try_from(attributes).map_err(|_| Error::TallyMemory { attributes })?;
        counts.try_reserve_exact(size).map_err(|_| Error::TallyMemory { attributes })?;
        counts.resize(size, 0);
        Ok(Self { respondents: 0, counts, carries: BTreeMap::new() })
    }

    /// How many respondents the sums are over, those with nothing to say included.
    pub fn respondents(&self) -> u64 {
        self.respondents
    }

    /// The number of attributes.
    pub fn attributes(&self) -> usize {
        self.counts.len()
    }

    /// How often each attribute was set.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().zip(0..).map(|(&low, attribute)| u64::from(low) + (self.carry(attribute) << 32))
    }

    /// How often one attribute was set; `None` if there is no such attribute.
    pub fn count(&self, attribute: u32) -> Option<u64> {
        let low = *self.counts.get(attribute as usize)?;
        Some(u64::from(low) + (self.carry(attribute) << 32))
    }

    /// The lower 32 bits of each count, and what is missing from them (nearly always nothing).
    pub(crate) fn parts(&self) -> (&[u32], &BTreeMap<u32, u64>) {
        (&self.counts, &self.carries)
    }

    /// Counts that `respondents` more took part. Their fragments are added one by one, in any order.
    pub fn add_respondents(&mut self, respondents: u64) {
        self.respondents = self.respondents.saturating_add(respondents);
    }

    /// The same sums over another number of respondents.
    #[must_use]
    pub fn over(self, respondents: u64) -> Self {
        Self { respondents, ..self }
    }

    /// Counts one anonymous fragment.
    pub fn add_fragment(&mut self, attribute: u32) -> Result<(), Error> {
        self.add_fragments(&[attribute])
    }

    /// Counts many fragments of one attribute.
    pub fn add_count(&mut self, attribute: u32, fragments: u64) -> Result<(), Error> {
        let attributes = self.counts.len() as u64;
        let low = self.counts.get_mut(attribute as usize).ok_or(Error::UnknownAttribute { attributes })?;
        let sum = u128::from(*low) + u128::from(fragments);
        *low = sum as u32;
        if sum >> 32 > 0 {
            let carry = self.carries.entry(attribute).or_default();
            *carry = (*carry + (sum >> 32) as u64).min(u64::from(u32::MAX));
        }
        Ok(())
    }

    /// Counts all fragments of a list, or none if one of them does not exist.
    #[inline]
    pub fn add_fragments(&mut self, attributes: &[u32]) -> Result<(), Error> {
        let counts = self.counts.as_mut_slice();
        for (i, &attribute) in attributes.iter().enumerate() {
            let Some(low) = counts.get_mut(attribute as usize) else {
                return Err(self.take_back(&attributes[..i]));
            };
            *low = low.wrapping_add(1);
            if *low == 0 {
                carry_one(&mut self.carries, attribute);
            }
        }
        Ok(())
    }

    /// Undoes a list that was cut short by a fragment that does not exist.
    #[cold]
    fn take_back(&mut self, attributes: &[u32]) -> Error {
        for &attribute in attributes {
            let low = &mut self.counts[attribute as usize];
            if *low == 0 {
                let carry = self.carries.remove(&attribute).unwrap_or(1) - 1;
                if carry > 0 {
                    self.carries.insert(attribute, carry);
                }
            }
            *low = low.wrapping_sub(1);
        }
        Error::UnknownAttribute { attributes: self.counts.len() as u64 }
    }

    /// Adds the sums of another part of the crowd.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if self.counts.len() != other.counts.len() {
            return Err(Error::TallyMismatch { left: self.counts.len(), right: other.counts.len() });
        }
        for (attribute, count) in other.counts().enumerate() {
            self.add_count(attribute as u32, count)?;
        }
        self.add_respondents(other.respondents);
        Ok(())
    }

    fn carry(&self, attribute: u32) -> u64 {
        if self.carries.is_empty() { 0 } else { self.carries.get(&attribute).copied().unwrap_or(0) }
    }
}

#[cold]
fn carry_one(carries: &mut BTreeMap<u32, u64>, attribute: u32) {
    let carry = carries.entry(attribute).or_default();
    *carry = (*carry + 1).min(u64::from(u32::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_fragment_leaves_nothing_behind() {
        let mut tally = Tally::new(3).unwrap();
        assert_eq!(tally.add_fragment(3), Err(Error::UnknownAttribute { attributes: 3 }));
        assert_eq!(tally.add_fragments(&[0, 1, 7, 2]), Err(Error::UnknownAttribute { attributes: 3 }));
        assert_eq!(tally, Tally::new(3).unwrap());
        tally.add_fragments(&[0, 2, 2]).unwrap();
        tally.add_fragments(&[]).unwrap();
        tally.add_fragment(1).unwrap();
        assert_eq!(tally.counts().collect::<Vec<_>>(), [1, 1, 2]);
    }

    #[test]
    fn counts_outgrow_32_bits() {
        let mut tally = Tally::new(2).unwrap();
        tally.add_count(1, u64::from(u32::MAX)).unwrap();
        tally.add_fragments(&[1, 1, 0]).unwrap();
        tally.add_count(0, 5 << 40).unwrap();
        let other = tally.clone();
        tally.merge(&other).unwrap();
        assert_eq!(tally.counts().collect::<Vec<_>>(), [2 * ((5 << 40) + 1), 2 * ((1 << 32) + 1)]);
        assert_eq!(
            [0, 1, 2].map(|j| tally.count(j)),
            [Some(2 * ((5 << 40) + 1)), Some(2 * ((1 << 32) + 1)), None]
        );
        assert!(tally.add_count(2, 1).is_err());
        tally.add_count(0, u64::MAX).unwrap();
        tally.add_count(0, u64::MAX).unwrap();
        tally.add_respondents(u64::MAX);
        tally.add_respondents(7);
        assert_eq!(tally.respondents(), u64::MAX);
        assert_eq!(tally.counts().next().unwrap() >> 32, u64::from(u32::MAX));
    }

    #[test]
    fn a_list_is_taken_back_over_a_carry() {
        let mut tally = Tally::new(2).unwrap();
        tally.add_count(1, u64::from(u32::MAX)).unwrap();
        let before = tally.clone();
        assert!(tally.add_fragments(&[1, 1, 0, 9]).is_err());
        assert_eq!(tally, before);
    }

    #[test]
    fn parts_of_a_crowd_add_up() {
        let mut left = Tally::new(2).unwrap();
        left.add_respondents(3);
        left.add_fragments(&[0, 0]).unwrap();
        let mut right = Tally::new(2).unwrap();
        right.add_respondents(4);
        right.add_fragment(1).unwrap();
        left.merge(&right).unwrap();
        assert_eq!(left.respondents(), 7);
        assert_eq!(left.counts().collect::<Vec<_>>(), [2, 1]);
        assert_eq!(left.merge(&Tally::new(3).unwrap()), Err(Error::TallyMismatch { left: 2, right: 3 }));
    }

    #[test]
    fn a_tally_that_does_not_fit_is_refused() {
        assert_eq!(Tally::new(1 << 62), Err(Error::TallyMemory { attributes: 1 << 62 }));
    }
}
