//! Natural attributes: several questions whose domains are laid side by side.
//!
//! The paper (Section III) sends the fragments of each attribute through an instance of its own. Here all domains
//! share one index space, in which a fragment is one index: who sees it learns one attribute of one respondent and
//! nothing that would tie it to another. (Synthetic fragments, the bits of a one-hot vector, need no layout: see
//! [`crate::BitRandomizer::fragments`].)

use std::ops::Range;

use crate::Error;

/// The union of several domains: attribute j's values come after those of all attributes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Where each domain begins, and where the last one ends.
    bounds: Vec<u64>,
}

impl Attributes {
    /// Domains of the given sizes; all together may hold at most 2^32 values.
    pub fn new(sizes: &[u64]) -> Result<Self, Error> {
        if sizes.is_empty() {
            return Err(Error::ZeroCount("the number of attributes"));
        }
        let mut bounds = vec![0u64];
        for &size in sizes {
            let end = bounds[bounds.len() - 1].saturating_add(size);
            if size == 0 || end > 1 << 32 {
                return Err(Error::DomainSize(if size == 0 { 0 } else { end }));
            }
            bounds.push(end);
        }
        Ok(Self { bounds })
    }

    /// The number of attributes: how many bits a record sets.
    pub fn count(&self) -> u32 {
        (self.bounds.len() - 1) as u32
    }

    /// The number of values of all attributes together.
    pub fn size(&self) -> u64 {
        self.bounds[self.bounds.len() - 1]
    }

    /// A record as a set of bits: one value per attribute, or none where it is missing.
    pub fn bits(&self, record: &[Option<u32>]) -> Result<Vec<u32>, Error> {
        let expected = self.bounds.len() - 1;
        if record.len() != expected {
            return Err(Error::RecordLength { got: record.len(), expected });
        }
        let mut bits = Vec::with_capacity(expected);
        for (attribute, value) in record.iter().enumerate() {
            if let Some(value) = value {
                let Range { start, end } = self.range(attribute);
                if u64::from(*value) >= end - start {
                    return Err(Error::OutsideDomain { size: end - start });
                }
                bits.push((start + u64::from(*value)) as u32);
            }
        }
        Ok(bits)
    }

    /// The part of the index space that belongs to one attribute. Panics if there is no such attribute.
    pub fn range(&self, attribute: usize) -> Range<u64> {
        self.bounds[attribute]..self.bounds[attribute + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epsilon;
    use crate::contract::check_estimator;
    use crate::randomizer::set_valued::{SetValued, Spend};

    #[test]
    fn domains_lie_side_by_side() {
        let attributes = Attributes::new(&[2, 5, 3]).unwrap();
        assert_eq!((attributes.count(), attributes.size()), (3, 10));
        assert_eq!(attributes.bits(&[Some(1), Some(0), Some(2)]).unwrap(), [1, 2, 9]);
        assert_eq!(attributes.bits(&[None, Some(4), None]).unwrap(), [6]);
        assert_eq!(attributes.range(1), 2..7);
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        let attributes = Attributes::new(&[2, 5]).unwrap();
        assert_eq!(attributes.bits(&[Some(0)]), Err(Error::RecordLength { got: 1, expected: 2 }));
        assert_eq!(attributes.bits(&[Some(2), None]), Err(Error::OutsideDomain { size: 2 }));
        assert_eq!(Attributes::new(&[]), Err(Error::ZeroCount("the number of attributes")));
        assert_eq!(Attributes::new(&[3, 0]), Err(Error::DomainSize(0)));
        assert_eq!(Attributes::new(&[1 << 32, 1]), Err(Error::DomainSize((1 << 32) + 1)));
        assert!(Attributes::new(&[u64::MAX, 2]).is_err());
    }

    #[test]
    fn marginals_of_a_record_are_estimated() {
        let attributes = Attributes::new(&[2, 3]).unwrap();
        let records = [[Some(0), Some(2)], [Some(1), None]].map(|r| attributes.bits(&r).unwrap());
        let value = |i: u64| Some(records[usize::from(i >= 60)].as_slice());
        let epsilon = Epsilon::new(5.0).unwrap();
        let mechanism =
            |_| SetValued::new(attributes.size(), attributes.count(), Spend::Sample, epsilon).unwrap();
        check_estimator(mechanism, 100, value, &[60.0, 40.0, 0.0, 0.0, 60.0]);
    }
}
