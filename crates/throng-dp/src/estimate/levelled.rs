//! The sums of several instances, each over a crowd of its own, brought to one crowd.

use super::Tally;
use crate::Error;
use crate::assignment::Assignment;

/// What one of the instances that receive fragments counted.
#[derive(Clone, Copy, Debug)]
pub struct InstanceSums<'a> {
    /// Its position among those that receive fragments, from 0.
    pub position: u32,
    /// Its sums, over the respondents that it counted.
    pub tally: &'a Tally,
}

/// For every attribute, the sum that its fragments would have if each instance had counted as many respondents as the one
/// with the most, and each attribute had as many fragments as the one with the fewest.
///
/// Attribute j has c of its tau fragments at the instances that are here, over N respondents on average (weighted by its
/// fragments at each). A respondent who does not hold it sets each with the probability `flip` (of a sketch: if its row is sampled). So S·d/c + d·flip·(M − N) has the
/// mean that d fragments of M respondents have, with as many holders as were counted on average, for every M and d. Its
/// variance is at most that of d fragments of M respondents where M ≥ N and d ≤ c: those who are not there add none, a mean
/// over more fragments behind one backstop varies less, and whoever was counted by some instances alone has fewer
/// fragments f in the sum, which add f² ≤ c·f of the backstop's variance.
///
/// An attribute of which nothing is here is missing: its sum is NaN.
pub(crate) struct LevelledSums {
    /// M: the most respondents that an attribute was counted over, rounded up.
    pub respondents: u64,
    /// d: the fewest fragments that an attribute has here, of those that have any.
    pub draws: u32,
    /// One for each attribute.
    pub sums: Vec<f64>,
    /// Whether all attributes have the same number of fragments here.
    pub even: bool,
}

impl LevelledSums {
    pub(crate) fn of(assignment: &Assignment, flip: f64, parts: &[InstanceSums<'_>]) -> Result<Self, Error> {
        let nothing = Error::ZeroCount("the number of instances that estimates are made from");
        let attributes = parts.first().ok_or(nothing.clone())?.tally.attributes();
        for (at, part) in parts.iter().enumerate() {
            let (left, right) = (part.tally.attributes(), attributes);
            if left != right {
                return Err(Error::TallyMismatch { left, right });
            }
            let taken = parts[..at].iter().any(|other| other.position == part.position);
            if taken || part.position >= assignment.instances() {
                let what = "the number of instances that estimates are made from";
                let got = u64::from(part.position) + 1;
                return Err(Error::TooLarge { what, got, limit: u64::from(assignment.instances()) });
            }
        }
        // What is said of an attribute depends on it modulo K' alone; of few attributes some classes are empty.
        let classes: Vec<Class> = (0..assignment.instances())
            .take(attributes)
            .map(|class| Class::of(assignment, class, parts))
            .collect();
        let here = || classes.iter().filter(|class| class.fragments > 0);
        let draws = here().map(|class| class.fragments).min().ok_or(nothing)?;
        let most = here().map(|class| class.respondents).fold(0.0, f64::max).ceil();
        let mut sums = Vec::new();
        let memory = |_| Error::TallyMemory { attributes: attributes as u64 };
        sums.try_reserve_exact(attributes).map_err(memory)?;
        sums.resize(attributes, 0.0);
        for part in parts {
            let fragments: Vec<bool> = (0..classes.len() as u32)
                .map(|class| assignment.fragments(class, part.position) > 0)
                .collect();
            // Nobody who keeps to the routing sends a fragment elsewhere; what is there all the same is not counted.
            for (attribute, (sum, count)) in sums.iter_mut().zip(part.tally.counts()).enumerate() {
                if fragments[attribute % fragments.len()] {
                    *sum += count as f64;
                }
            }
        }
        let lifted: Vec<(f64, f64)> = classes.iter().map(|class| class.lifted(draws, flip, most)).collect();
        for (attribute, sum) in sums.iter_mut().enumerate() {
            let (scale, lift) = lifted[attribute % lifted.len()];
            *sum = *sum * scale + lift;
        }
        let even = classes.iter().all(|class| class.fragments == draws);
        Ok(Self { respondents: most as u64, draws, sums, even })
    }
}

/// The attributes with one remainder modulo K'.
struct Class {
    /// How many of tau fragments are here.
    fragments: u32,
    /// How many respondents they are over, on average over these.
    respondents: f64,
}

impl Class {
    fn of(assignment: &Assignment, class: u32, parts: &[InstanceSums<'_>]) -> Self {
        let (mut fragments, mut weighted) = (0, 0.0);
        for part in parts {
            let count = assignment.fragments(class, part.position);
            fragments += count;
            weighted += f64::from(count) * part.tally.respondents() as f64;
        }
        Self { fragments, respondents: weighted / f64::from(fragments.max(1)) }
    }

    /// What a sum is multiplied by, and what is added.
    fn lifted(&self, draws: u32, flip: f64, most: f64) -> (f64, f64) {
        if self.fragments == 0 {
            return (f64::NAN, f64::NAN);
        }
        let scale = if self.fragments == draws { 1.0 } else { f64::from(draws) / f64::from(self.fragments) };
        (scale, f64::from(draws) * flip * (most - self.respondents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomizer::count_sketch::CountSketch;
    use crate::randomizer::one_hot::OneHot;
    use crate::randomizer::record::Record;
    use crate::testing::epsilon;
    use crate::{Attributes, Estimates, Mechanism, SketchShape, Value};
    use std::collections::BTreeMap;

    fn flip(epsilon: f64) -> f64 {
        1.0 / (1.0 + epsilon.exp())
    }

    /// Who was counted by which instance, as bits, and whether they hold the value.
    type Person = (u32, bool);

    /// The law of the counts of one attribute at all instances, over all outcomes of all coins. Fragment t goes to (attribute
    /// + t) mod K.
    fn law(
        people: &[Person],
        attribute: u32,
        coins: (Option<f64>, f64, u32),
        instances: u32,
    ) -> BTreeMap<Vec<u64>, f64> {
        let (backstop, epsilon, tau) = coins;
        let mut law = BTreeMap::from([(vec![0; instances as usize], 1.0)]);
        for &(counted_by, held) in people {
            let wrong = backstop.map_or(0.0, flip);
            let mut next = BTreeMap::new();
            for (bit, chance) in [(held, 1.0 - wrong), (!held, wrong)] {
                for outcome in 0..1u32 << tau {
                    let set = if bit { 1.0 - flip(epsilon) } else { flip(epsilon) };
                    let ones = outcome.count_ones() as i32;
                    let mass = chance * set.powi(ones) * (1.0 - set).powi(tau as i32 - ones);
                    let places: Vec<usize> = (0..tau)
                        .filter(|t| outcome >> t & 1 == 1)
                        .map(|t| ((attribute + t) % instances) as usize)
                        .filter(|at| counted_by >> at & 1 == 1)
                        .collect();
                    for (counts, before) in &law {
                        let mut counts: Vec<u64> = counts.clone();
                        places.iter().for_each(|&at| counts[at] += 1);
                        *next.entry(counts).or_insert(0.0) += before * mass;
                    }
                }
            }
            law = next;
        }
        law
    }

    fn estimated(
        mechanism: &Mechanism,
        crowds: &[u64],
        present: &[u32],
        counts: &[(u32, u64, u32)],
    ) -> Estimates {
        let tallies: Vec<Tally> = crowds
            .iter()
            .zip(0..)
            .map(|(&respondents, at)| {
                let mut tally = mechanism.tally().unwrap();
                tally.add_respondents(respondents);
                let own = counts.iter().filter(|(_, _, instance)| *instance == at);
                own.for_each(|&(attribute, count, _)| tally.add_count(attribute, count).unwrap());
                tally
            })
            .collect();
        let parts: Vec<_> = present
            .iter()
            .map(|&position| InstanceSums { position, tally: &tallies[position as usize] })
            .collect();
        mechanism.estimate_from(&parts, crowds.len() as u32).unwrap()
    }

    /// Every outcome of every coin: the mean of an estimate is how many hold the value where its fragments are, on average, and
    /// its variance is at most what is stated, and that where everybody was counted everywhere and attributes have as many
    /// fragments. Instances count different people, and one may be missing.
    #[test]
    fn estimates_of_different_crowds_are_unbiased_with_at_most_the_stated_variance() {
        let one_hot = OneHot::new(4, epsilon(1.5)).unwrap();
        let behind = |tau| Mechanism::fragments(one_hot.clone(), epsilon(1.0), tau).unwrap();
        let cases = [
            (Mechanism::plain(one_hot.clone()), (None, 1.5, 1)),
            (behind(2), (Some(1.5), 1.0, 2)),
            (behind(3), (Some(1.5), 1.0, 3)),
        ];
        let crowds: [&[Person]; 3] = [
            &[(0b111, true), (0b111, true), (0b111, false), (0b111, false)],
            &[(0b111, true), (0b101, true), (0b001, false), (0b010, true)],
            &[(0b110, false), (0b011, true), (0b100, false), (0b111, false)],
        ];
        let presents: [&[u32]; 4] = [&[0, 1, 2], &[0, 2], &[1], &[2, 0]];
        for (mechanism, coins) in &cases {
            let tau = coins.2;
            for ((people, present), instances) in crowds
                .iter()
                .flat_map(|crowd| presents.map(|present| (crowd, present)))
                .flat_map(|case| [(case, 2), (case, 3)])
            {
                let present: Vec<u32> = present.iter().copied().filter(|&at| at < instances).collect();
                if present.is_empty() {
                    continue;
                }
                let counted = |at: u32, only_held: bool| {
                    let here = people.iter().filter(|(by, held)| by >> at & 1 == 1 && (*held || !only_held));
                    here.count() as u64
                };
                let sizes: Vec<u64> = (0..instances).map(|at| counted(at, false)).collect();
                let fragments = |attribute: u32| -> Vec<u32> {
                    (0..tau).map(|t| (attribute + t) % instances).filter(|at| present.contains(at)).collect()
                };
                let even = (0..4).all(|a| fragments(a).len() == fragments(0).len());
                for attribute in 0..4 {
                    let here = fragments(attribute);
                    let (mut mean, mut square, mut stated) = (0.0, 0.0, 0.0);
                    for (counts, mass) in law(people, attribute, *coins, instances) {
                        let counts: Vec<_> =
                            counts.iter().zip(0..).map(|(&count, at)| (attribute, count, at)).collect();
                        let estimates = estimated(mechanism, &sizes, &present, &counts);
                        let Some(count) = estimates.count(attribute as usize) else {
                            assert!(here.is_empty() && estimates.missing() > 0);
                            mean = f64::NAN;
                            break;
                        };
                        mean += mass * count;
                        square += mass * count * count;
                        stated = estimates.spread().noise;
                    }
                    if here.is_empty() {
                        assert!(mean.is_nan(), "a value without fragments has no estimate");
                        continue;
                    }
                    let held: u64 = here.iter().map(|&at| counted(at, true)).sum();
                    let truth = held as f64 / here.len() as f64;
                    assert!((mean - truth).abs() < 1e-9, "{coins:?} {instances} {present:?}: {mean} {truth}");
                    let variance = square - mean * mean;
                    assert!(variance <= stated * (1.0 + 1e-9), "{coins:?} {present:?}: {variance} {stated}");
                    if even && people.iter().all(|person| person.0 == 0b111) {
                        assert!((variance / stated - 1.0).abs() < 1e-9, "{coins:?}: {variance} {stated}");
                    }
                }
            }
        }
    }

    /// With equal crowds and nothing missing it is the estimate of the merged sums, for every mechanism.
    #[test]
    fn equal_crowds_are_estimated_as_one() {
        let one_hot = OneHot::new(50, epsilon(3.0)).unwrap();
        let shape = SketchShape { domain: 50, rows: 8, cells: 16, seed: 3 };
        let sketch = CountSketch::split(shape, epsilon(4.0), 1).unwrap();
        let record = Record::new(Attributes::new(&[20, 30]).unwrap(), epsilon(3.0)).unwrap();
        for mechanism in [
            Mechanism::plain(one_hot.clone()),
            Mechanism::fragments(one_hot, epsilon(2.0), 4).unwrap(),
            Mechanism::plain(sketch.clone()),
            Mechanism::fragments(sketch, epsilon(2.0), 4).unwrap(),
            Mechanism::plain(record.clone()),
            Mechanism::fragments(record, epsilon(2.0), 4).unwrap(),
        ] {
            let (merged, tallies) = answered(&mechanism, 3, &[300; 3], 7);
            let parts = parts(&tallies, &[0, 1, 2]);
            let routed = mechanism.estimate_from(&parts, 3).unwrap();
            let whole = mechanism.estimate(&merged).unwrap();
            assert_eq!((routed.respondents(), routed.missing()), (300, 0));
            assert!((routed.noise_floor() / whole.noise_floor() - 1.0).abs() < 1e-9);
            for (one, other) in routed.counts().iter().zip(whole.counts()) {
                assert!((one - other).abs() < 1e-6, "{one} {other}");
            }
        }
    }

    /// Sums that everybody's fragments come to at each instance, and merged. Instance i counts the first crowds[i] people.
    fn answered(mechanism: &Mechanism, instances: u32, crowds: &[u64], seed: u64) -> (Tally, Vec<Tally>) {
        let assignment = Assignment::new(mechanism.coins().draws(), instances).unwrap();
        let mut rng = crate::testing::rng(seed);
        let mut merged = mechanism.tally().unwrap();
        let mut tallies = vec![merged.clone(); instances as usize];
        for person in 0..crowds.iter().copied().max().unwrap() {
            let value = match mechanism.record() {
                Some(_) => Value::from(vec![Some((person % 20) as u32), Some((person % 30) as u32)]),
                None => Value::from(person % 5),
            };
            let fragments = mechanism.randomize(Some(&value), &mut rng).unwrap();
            merged.add_fragments(fragments.attributes()).unwrap();
            let mut seen = BTreeMap::new();
            for &attribute in fragments.attributes() {
                let t = seen.entry(attribute).or_insert(0);
                let at = assignment.position(attribute, *t) as usize;
                *t += 1;
                if person < crowds[at] {
                    tallies[at].add_fragment(attribute).unwrap();
                }
            }
        }
        merged.add_respondents(crowds[0]);
        tallies.iter_mut().zip(crowds).for_each(|(tally, &n)| tally.add_respondents(n));
        (merged, tallies)
    }

    fn parts<'a>(tallies: &'a [Tally], positions: &[u32]) -> Vec<InstanceSums<'a>> {
        positions
            .iter()
            .map(|&position| InstanceSums { position, tally: &tallies[position as usize] })
            .collect()
    }

    /// Nobody holds anything, and one instance counted fewer: values that have none, one or more of their four cells there are
    /// all estimated as zero. Each group's mean over 200 epochs is off by six standard errors with a chance of 2e-9.
    #[test]
    fn a_sketch_over_different_crowds_is_unbiased_wherever_the_cells_of_a_value_are() {
        let shape = SketchShape { domain: 50, rows: 4, cells: 16, seed: 5 };
        let sketch = CountSketch::split(shape, epsilon(1.0), 1).unwrap();
        let there = |value: u64| {
            let at = |row| (row * shape.cells + sketch.cell(row, value).unwrap()) % 3;
            (0..shape.rows).filter(|&row| at(row) == 1).count()
        };
        let mechanism = Mechanism::plain(sketch.clone());
        let (crowds, epochs) = ([400, 300, 400], 200u32);
        let mut moments = [(0.0, 0.0, 0u32); 5];
        for seed in 0..epochs {
            let mut rng = crate::testing::rng(seed.into());
            let mut tallies = vec![mechanism.tally().unwrap(); 3];
            for person in 0..400 {
                let fragments = mechanism.randomize(None, &mut rng).unwrap();
                for &attribute in fragments.attributes() {
                    let at = attribute as usize % 3;
                    if person < crowds[at] {
                        tallies[at].add_fragment(attribute).unwrap();
                    }
                }
            }
            tallies.iter_mut().zip(crowds).for_each(|(tally, n)| tally.add_respondents(n));
            let estimates = mechanism.estimate_from(&parts(&tallies, &[0, 1, 2]), 3).unwrap();
            let mut groups = [(0.0, 0.0); 5];
            for (value, count) in estimates.counts().iter().enumerate() {
                let group = &mut groups[there(value as u64)];
                *group = (group.0 + count, group.1 + 1.0);
            }
            for ((sum, values), moment) in
                groups.into_iter().zip(&mut moments).filter(|(group, _)| group.1 > 0.0)
            {
                let mean = sum / values;
                *moment = (moment.0 + mean, moment.1 + mean * mean, moment.2 + 1);
            }
        }
        assert!(moments.iter().filter(|moment| moment.2 > 0).count() >= 4, "{moments:?}");
        for (sum, squares, epochs) in moments.into_iter().filter(|moment| moment.2 > 0) {
            let n = f64::from(epochs);
            let (mean, error) = (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt());
            assert!(mean.abs() < 6.0 * error, "{mean} within {error}");
        }
    }

    /// Where an instance counted fewer, each cell of a sketch is corrected by its own instance's crowd: over many epochs the
    /// estimates of values that nobody holds are zero on average. (Uncorrected they would be far from it.)
    #[test]
    fn a_sketch_over_different_crowds_is_unbiased() {
        let shape = SketchShape { domain: 50, rows: 4, cells: 16, seed: 5 };
        let mechanism = Mechanism::plain(CountSketch::split(shape, epsilon(1.0), 1).unwrap());
        let crowds = [400, 300, 400];
        let (mut sum, mut squares, epochs) = (0.0, 0.0, 200u32);
        for seed in 0..epochs {
            let (_, tallies) = answered(&mechanism, 3, &crowds, seed.into());
            let estimates = mechanism.estimate_from(&parts(&tallies, &[0, 1, 2]), 3).unwrap();
            assert_eq!(estimates.respondents(), 400);
            let mean: f64 = estimates.counts()[5..].iter().sum::<f64>() / 45.0;
            sum += mean;
            squares += mean * mean;
        }
        let (mean, n) = (sum / f64::from(epochs), f64::from(epochs));
        let error = ((squares / n - mean * mean) / n).sqrt();
        // Values share cells with holders under this one hash, so the mean is near zero and not zero: a tenth of a
        // cell's holders. Were the crowds not told apart it would be off by a third of 100 flips over the gain: 58.
        assert!(mean.abs() < 6.0 * error + 5.0, "{mean} within {error}");
    }

    #[test]
    fn a_sketch_is_estimated_from_even_parts_alone() {
        let shape = SketchShape { domain: 50, rows: 4, cells: 16, seed: 5 };
        let sketch = CountSketch::split(shape, epsilon(3.0), 1).unwrap();
        let single = Mechanism::plain(sketch.clone());
        let behind = Mechanism::fragments(sketch, epsilon(2.0), 6).unwrap();
        for (mechanism, positions, estimable) in [
            (&single, &[0, 1, 2][..], true),
            (&single, &[0, 1], false),
            (&behind, &[0, 2], true),
            (&behind, &[1], true),
        ] {
            let (_, tallies) = answered(mechanism, 3, &[50; 3], 1);
            let estimated = mechanism.estimate_from(&parts(&tallies, positions), 3);
            assert_eq!(estimated.is_ok(), estimable, "{positions:?}");
            assert_eq!(mechanism.estimable(positions, 3), Ok(estimable));
        }
    }

    #[test]
    fn what_was_not_counted_by_the_survey_is_refused() {
        let mechanism = Mechanism::plain(OneHot::new(4, epsilon(1.5)).unwrap());
        let (_, tallies) = answered(&mechanism, 3, &[4; 3], 1);
        assert!(mechanism.estimate_from(&[], 3).is_err());
        assert!(mechanism.estimate_from(&parts(&tallies, &[1, 1]), 3).is_err());
        assert!(mechanism.estimate_from(&parts(&tallies, &[2]), 2).is_err());
        let other = Tally::new(6).unwrap();
        assert!(mechanism.estimate_from(&[InstanceSums { position: 0, tally: &other }], 3).is_err());
    }
}
