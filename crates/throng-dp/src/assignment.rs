//! Value routing: which instance gets which fragment of an attribute.

use crate::Error;

/// Value routing: fragment t of attribute j goes to the instance at position (j + t) mod K' of the K' that receive fragments.
///
/// # Privacy
/// Each pair of an attribute and a t is one count at one instance, whoever sends it. So a bit that is sent once moves one
/// count, in the crowd of the one instance that holds it; a bit that is sent tau times moves tau counts, each in the crowd
/// of its own instance. None of this depends on who was counted by which instance (docs/accounting.md, Section 2).
/// Consecutive t go to different instances, so none gets more than ceil(tau/K') fragments of a bit.
/// # Paper
/// Sections II.C and IV, which leave open how fragments find their instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    tau: u32,
    instances: u32,
}

impl Assignment {
    /// Each bit is sent `tau` times, to `instances` that receive fragments.
    pub fn new(tau: u32, instances: u32) -> Result<Self, Error> {
        for (what, got) in
            [("the number of fragments of a bit", tau), ("the number of receiving instances", instances)]
        {
            if got == 0 {
                return Err(Error::ZeroCount(what));
            }
        }
        Ok(Self { tau, instances })
    }

    /// How many fragments a bit has: tau.
    pub fn tau(&self) -> u32 {
        self.tau
    }

    /// How many instances receive fragments: K'.
    pub fn instances(&self) -> u32 {
        self.instances
    }

    /// The position, from 0, of the instance that fragment `t` of an attribute goes to.
    pub fn position(&self, attribute: u32, t: u32) -> u32 {
        ((u64::from(attribute) + u64::from(t)) % u64::from(self.instances)) as u32
    }

    /// How many of an attribute's tau fragments go to the instance at a position. It depends on the attribute modulo K' alone.
    pub fn fragments(&self, attribute: u32, position: u32) -> u32 {
        let first = (position + self.instances - attribute % self.instances) % self.instances;
        // t = first, first + K', ... below tau.
        self.tau.saturating_sub(first).div_ceil(self.instances)
    }

    /// Of `width` attributes whose indices follow one another: how many have ceil(tau/K') fragments at the instance that
    /// has the most of these; 0 where tau/K' has no remainder, so that all have the same number everywhere.
    ///
    /// At each instance the attributes with one fragment more are those of tau mod K' classes modulo K', and these follow
    /// one another. The first (width mod K') classes have one attribute more.
    pub fn busiest(&self, width: u64) -> u64 {
        let (classes, instances) = (u64::from(self.tau % self.instances), u64::from(self.instances));
        classes * (width / instances) + classes.min(width % instances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By counting, for many shapes: no instance has more than the ceiling nor less than the floor of tau/K', all tau go
    /// somewhere, and the busiest instance is as busy as it is said to be, wherever the indices begin.
    #[test]
    fn every_fragment_has_one_place_and_places_are_balanced() {
        for (tau, instances) in (1..=9).flat_map(|tau| (1..=6).map(move |instances| (tau, instances))) {
            let assignment = Assignment::new(tau, instances).unwrap();
            for attribute in 0..20 {
                let mut seen = vec![0; instances as usize];
                (0..tau).for_each(|t| seen[assignment.position(attribute, t) as usize] += 1);
                for (position, &count) in (0..).zip(&seen) {
                    assert_eq!(assignment.fragments(attribute, position), count);
                    assert!((tau / instances..=tau.div_ceil(instances)).contains(&count));
                }
            }
            for (width, first) in (1..14).flat_map(|width| (0..7).map(move |first| (width, first))) {
                let more = |position| {
                    let full = |&attribute: &u32| assignment.fragments(attribute, position) > tau / instances;
                    (first..first + width).filter(full).count() as u64
                };
                let most = (0..instances).map(more).max().unwrap();
                assert_eq!(assignment.busiest(u64::from(width)), most, "{assignment:?} {width} {first}");
            }
        }
        let last = Assignment::new(3, 5).unwrap();
        assert_eq!(last.position(u32::MAX, 2), 2, "no sum leaves the range");
    }

    #[test]
    fn nothing_and_nowhere_are_refused() {
        assert!(Assignment::new(0, 3).is_err() && Assignment::new(3, 0).is_err());
    }
}
