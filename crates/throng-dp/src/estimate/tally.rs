//! Running sums: how often each attribute was set, and by how many respondents.

use crate::Error;

/// The analyzer's sums over one crowd: all that it needs of the fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    respondents: u64,
    counts: Vec<u64>,
}

impl Tally {
    /// Sums over `attributes` attributes, all zero.
    pub fn new(attributes: u64) -> Result<Self, Error> {
        let mut counts = Vec::new();
        let size = usize::try_from(attributes).map_err(|_| Error::TallyMemory { attributes })?;
        counts.try_reserve_exact(size).map_err(|_| Error::TallyMemory { attributes })?;
        counts.resize(size, 0);
        Ok(Self { respondents: 0, counts })
    }

    /// How many respondents the sums are over, those with nothing to say included.
    pub fn respondents(&self) -> u64 {
        self.respondents
    }

    /// How often each attribute was set.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts that `respondents` more took part. Their fragments are added one by one, in any order.
    pub fn add_respondents(&mut self, respondents: u64) {
        self.respondents += respondents;
    }

    /// Counts one anonymous fragment.
    pub fn add_fragment(&mut self, attribute: u32) -> Result<(), Error> {
        self.add_count(attribute, 1)
    }

    /// Counts many fragments of one attribute.
    pub fn add_count(&mut self, attribute: u32, fragments: u64) -> Result<(), Error> {
        let attributes = self.counts.len() as u64;
        let count = self.counts.get_mut(attribute as usize).ok_or(Error::UnknownAttribute { attributes })?;
        *count += fragments;
        Ok(())
    }

    /// Counts all fragments of a list, or none if one of them does not exist.
    #[inline]
    pub fn add_fragments(&mut self, attributes: &[u32]) -> Result<(), Error> {
        let counts = self.counts.as_mut_slice();
        let last = attributes.iter().fold(0, |last, &attribute| last.max(attribute));
        if last as usize >= counts.len() {
            return Err(Error::UnknownAttribute { attributes: counts.len() as u64 });
        }
        for &attribute in attributes {
            counts[attribute as usize] += 1;
        }
        Ok(())
    }

    /// Adds the sums of another part of the crowd.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if self.counts.len() != other.counts.len() {
            return Err(Error::TallyMismatch { left: self.counts.len(), right: other.counts.len() });
        }
        self.respondents += other.respondents;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        Ok(())
    }
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
        assert_eq!(tally.counts(), [1, 1, 2]);
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
        assert_eq!((left.respondents(), left.counts()), (7, [2u64, 1].as_slice()));
        assert_eq!(left.merge(&Tally::new(3).unwrap()), Err(Error::TallyMismatch { left: 2, right: 3 }));
    }

    #[test]
    fn a_tally_that_does_not_fit_is_refused() {
        assert_eq!(Tally::new(1 << 62), Err(Error::TallyMemory { attributes: 1 << 62 }));
    }
}
