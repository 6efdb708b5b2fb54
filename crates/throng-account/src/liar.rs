//! Poisoning: what one respondent who lies can do to an estimate.
//!
//! A liar keeps to no rule but those that others check: one body of b envelopes for each instance, each envelope with one
//! attribute that is bound to that instance ([`Assignment`]), no envelope twice. Nothing says that what is inside was drawn by
//! the coins of the survey.

use std::ops::RangeInclusive;

use throng_dp::fragmenting::Assignment;
use throng_dp::{BitRandomizer, Error, Estimates, Mechanism};

/// The influence of one liar: the most that they can do to the estimate of one value, in respondents.
///
/// # Proof
/// Write g for the gain 1 − 2·flip of a bit, t for its draws that are counted, I for the instances that count some of them.
/// The estimators are sums over respondents, so a liar's part in one of them does not depend on the others; the estimate
/// minus the true count is unbiased noise of the others plus that part minus what the liar truly holds, 0 or 1.
/// - One bit per value: the part is (E/t − flip)/g for E envelopes of the value, 0 ≤ E ≤ b·I. It is largest with all of
///   them, for someone who does not hold the value, and least with none, for someone who does: 1 + flip/g below.
/// - Records of s attributes: the same, scaled by s, but for what is truly held.
/// - Sketches of which a report samples r rows of m cells: E envelopes in cells of the value add E/(t·r·g)·(1 − 1/m)·m/(m − 1),
///   since they are in the total that is taken off for collisions, too; E in other cells take off E/(t·r·g)/(m − 1). The
///   noise that is expected of somebody cancels in the two. A value has a cell in every row, so all instances serve: I = K'.
///
/// By enumeration of all that a liar can send: `no_body_does_more` below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneLiar {
    /// How many envelopes with fragments of one value a liar can have counted: b for each instance that counts some.
    pub envelopes: u64,
    /// By how much an estimate rises at most.
    pub up: f64,
    /// By how much it falls at most.
    pub down: f64,
}

impl OneLiar {
    /// Where all instances that receive fragments are present; a body has `envelopes` of them.
    pub fn of(mechanism: &Mechanism, envelopes: u32, assignment: Assignment) -> Self {
        let all: Vec<u32> = (0..assignment.instances()).collect();
        Self::in_part(mechanism, envelopes, assignment, &all)
    }

    /// Where only the instances at these positions are, the worst over all values.
    pub fn in_part(mechanism: &Mechanism, envelopes: u32, assignment: Assignment, present: &[u32]) -> Self {
        let noise = mechanism.coins().noise();
        let (flip, per_bit) = (noise.flip(), noise.range());
        let body = f64::from(envelopes);
        if let Some(sketch) = mechanism.sketch() {
            let (cells, rows) = (f64::from(sketch.shape().cells), f64::from(sketch.differing_bits()));
            // Of every cell as many draws are counted.
            let counted =
                |class| present.iter().map(|&position| assignment.fragments(class, position)).sum::<u32>();
            let draws = (0..assignment.instances()).map(counted).min().unwrap_or(0).max(1);
            let up = body * present.len() as f64 * per_bit / (f64::from(draws) * rows);
            let envelopes = u64::from(envelopes) * present.len() as u64;
            return Self { envelopes, up, down: 1.0 + up / (cells - 1.0) };
        }
        let scale = mechanism.record().map_or(1.0, |record| f64::from(record.layout().count()));
        // By the class of the value modulo K'.
        let classes = (0..assignment.instances()).filter_map(|class| {
            let counted = present.iter().map(|&position| assignment.fragments(class, position));
            let (draws, instances) =
                counted.filter(|&draws| draws > 0).fold((0, 0), |(sum, one), draws| (sum + draws, one + 1));
            (draws > 0).then(|| (instances, f64::from(instances) / f64::from(draws)))
        });
        let (instances, share) = classes.fold((0, 0.0), |(most, worst): (u32, f64), (instances, share)| {
            (most.max(instances), worst.max(share))
        });
        Self {
            envelopes: u64::from(envelopes) * u64::from(instances),
            up: scale * (body * share - flip).max(0.0) * per_bit,
            down: 1.0 + scale * flip * per_bit,
        }
    }
}

/// What can be said where some of the respondents may lie.
impl OneLiar {
    /// A range that holds the true count of a value with this probability, whatever `liars` of the respondents did.
    ///
    /// The estimate is what honest respondents make of it, shifted by the liars' parts: up by at most `up` each, or down by
    /// `down`, against what they truly hold. The range is that of every estimate which may have been shifted like this.
    pub fn interval(
        &self,
        estimates: &Estimates,
        value: usize,
        confidence: f64,
        liars: u64,
    ) -> Result<RangeInclusive<f64>, Error> {
        let size = estimates.counts().len() as u64;
        let count = *estimates.counts().get(value).ok_or(Error::OutsideDomain { size })?;
        let liars = liars as f64;
        // The same crowd, with another estimate.
        let around = |count: f64| {
            Estimates::new(estimates.respondents(), vec![count], estimates.spread()).interval(0, confidence)
        };
        let (lowest, highest) = (around(count - liars * self.up)?, around(count + liars * self.down)?);
        Ok(*lowest.start()..=*highest.end())
    }

    /// A threshold that a value which no honest respondent holds exceeds no more often than noise exceeds `noise`.
    pub fn threshold(&self, noise: f64, liars: u64) -> f64 {
        noise + liars as f64 * self.up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::epsilon;
    use throng_dp::{Attributes, CountSketch, OneHot, Record, SketchShape, Tally};

    /// All ways to put at most `envelopes` fragments into each of the instances' bodies, as counts over attributes that the
    /// analyzer accepts: an instance takes what is bound to it.
    fn bodies(assignment: Assignment, attributes: u32, envelopes: u32) -> Vec<Vec<u64>> {
        let mut all = vec![vec![0; attributes as usize]];
        for position in 0..assignment.instances() {
            let bound: Vec<u32> =
                (0..attributes).filter(|&j| assignment.fragments(j, position) > 0).collect();
            for _ in 0..envelopes {
                let mut more: Vec<Vec<u64>> = Vec::new();
                for counts in &all {
                    more.push(counts.clone());
                    for &attribute in &bound {
                        let mut next = counts.clone();
                        next[attribute as usize] += 1;
                        more.push(next);
                    }
                }
                more.sort_unstable();
                more.dedup();
                all = more;
            }
        }
        all
    }

    /// The estimates of a crowd of one, who may send anything, against what that one may truly hold: no error is larger than
    /// is said, and one of either sign is as large.
    #[test]
    fn no_body_does_more() {
        let one_hot = |size| OneHot::new(size, epsilon(1.5)).unwrap();
        let record = Record::new(Attributes::new(&[2, 2]).unwrap(), epsilon(1.0)).unwrap();
        let shape = SketchShape { domain: 3, rows: 2, cells: 3, seed: 4 };
        let sketch = CountSketch::new(shape, epsilon(2.0)).unwrap();
        // Every report is of both rows, each with half of epsilon.
        let both_rows = CountSketch::split(shape, epsilon(2.0), 2).unwrap();
        let fragments = |tau| Mechanism::fragments(one_hot(3), epsilon(1.0), tau).unwrap();
        for (mechanism, tau, instances, envelopes) in [
            (Mechanism::plain(one_hot(4)), 1, 1, 3),
            (Mechanism::plain(one_hot(4)), 1, 3, 3),
            (fragments(2), 2, 3, 2),
            (fragments(4), 4, 3, 2),
            (fragments(3), 3, 1, 4),
            (Mechanism::plain(record), 1, 2, 3),
            (Mechanism::plain(sketch), 1, 1, 3),
            (Mechanism::plain(both_rows), 1, 1, 3),
        ] {
            let assignment = Assignment::new(tau, instances).unwrap();
            let liar = OneLiar::of(&mechanism, envelopes, assignment);
            let (mut up, mut down) = (0.0f64, 0.0f64);
            for counts in bodies(assignment, mechanism.attributes() as u32, envelopes) {
                let mut tally: Tally = mechanism.tally().unwrap();
                tally.add_respondents(1);
                counts.iter().zip(0..).for_each(|(&count, j)| tally.add_count(j, count).unwrap());
                for &estimate in mechanism.estimate(&tally).unwrap().counts() {
                    up = up.max(estimate);
                    down = down.max(1.0 - estimate);
                }
            }
            assert!((up / liar.up - 1.0).abs() < 1e-9, "{mechanism:?} {instances}: {up} {liar:?}");
            assert!((down / liar.down - 1.0).abs() < 1e-9, "{mechanism:?} {instances}: {down} {liar:?}");
        }
    }

    #[test]
    fn envelopes_are_those_of_the_instances_that_count_the_value() {
        let one_hot = || OneHot::new(9, epsilon(1.5)).unwrap();
        let single = Mechanism::plain(one_hot());
        let assignment = |tau, instances| Assignment::new(tau, instances).unwrap();
        assert_eq!(OneLiar::of(&single, 7, assignment(1, 5)).envelopes, 7);
        let four = Mechanism::fragments(one_hot(), epsilon(1.0), 4).unwrap();
        assert_eq!(OneLiar::of(&four, 7, assignment(4, 3)).envelopes, 21);
        assert_eq!(OneLiar::of(&four, 7, assignment(4, 6)).envelopes, 28);
        // Of three instances one is there: of some values it has two of four fragments, of others one.
        let part = OneLiar::in_part(&four, 7, assignment(4, 3), &[1]);
        let noise = four.coins().noise();
        assert_eq!(part.envelopes, 7);
        assert!((part.up - (7.0 - noise.flip()) * noise.range()).abs() < 1e-9);
        // The worst of all values, whichever instance it is.
        for position in [0, 2] {
            assert_eq!(OneLiar::in_part(&four, 7, assignment(4, 3), &[position]), part);
        }
        let two = Mechanism::fragments(one_hot(), epsilon(1.0), 2).unwrap();
        assert_eq!(OneLiar::in_part(&two, 7, assignment(2, 3), &[0, 1]).envelopes, 14);
        // One envelope of four is less than what is taken off for noise.
        let faint = Mechanism::fragments(OneHot::new(9, epsilon(0.3)).unwrap(), epsilon(0.3), 4).unwrap();
        assert_eq!(OneLiar::of(&faint, 1, assignment(4, 1)).up, 0.0);
        let shape = SketchShape { domain: 300, rows: 8, cells: 16, seed: 4 };
        let sketch = Mechanism::plain(CountSketch::new(shape, epsilon(2.0)).unwrap());
        assert_eq!(OneLiar::of(&sketch, 7, assignment(1, 3)).envelopes, 21);
        // Two of three instances with two fragments of a bit: of some cells only one is there.
        let both =
            Mechanism::fragments(CountSketch::new(shape, epsilon(2.0)).unwrap(), epsilon(1.0), 2).unwrap();
        let part = OneLiar::in_part(&both, 7, assignment(2, 3), &[0, 1]);
        assert_eq!(part.envelopes, 14);
        assert!((part.up - 14.0 * both.coins().noise().range()).abs() < 1e-9, "{part:?}");
    }

    /// Records, whose errors grow with the count: the range with liars is that of the shifted estimates, not of this one.
    #[test]
    fn ranges_allow_for_liars() {
        let record = Record::new(Attributes::new(&[2, 2]).unwrap(), epsilon(1.0)).unwrap();
        let mechanism = Mechanism::plain(record);
        let mut tally = mechanism.tally().unwrap();
        tally.add_respondents(4000);
        tally.add_count(2, 1500).unwrap();
        let estimates = mechanism.estimate(&tally).unwrap();
        let liar = OneLiar::of(&mechanism, 4, Assignment::new(1, 2).unwrap());
        let of = |liars| liar.interval(&estimates, 2, 0.95, liars).unwrap();
        assert_eq!(of(0), estimates.interval(2, 0.95).unwrap());
        let (none, some) = (of(0), of(30));
        assert!(*some.start() < *none.start() - 29.0 * liar.up);
        assert!(*some.end() > *none.end() + 30.0 * liar.down, "more hold it, and more are sampled");
        assert!(liar.interval(&estimates, 4, 0.95, 1).is_err());
        assert_eq!(liar.threshold(10.0, 3), 10.0 + 3.0 * liar.up);
    }
}
