//! Privacy loss distributions (PLD): how likely a release separates two worlds, and by how much.

use std::marker::PhantomData;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors};

use super::connect::{self, Curve, Dot};
use crate::Error;

/// A dominating pair: the privacy loss distribution of one world against another, and back. `N` says which two worlds, and
/// pairs of different relations cannot be composed.
///
/// # Privacy
/// If for a release and every pair of neighbors both directions are at least as hard to tell apart as this pair's
/// (at every ε, negative ones included), then compositions of pairs bound compositions of releases (Zhu, Dong and
/// Wang 2022). Everything here rounds so that a pair becomes easier to tell apart, never harder.
#[derive(Debug)]
pub struct LossPair<N> {
    pub(super) forward: LossDistribution,
    /// None if both directions are alike.
    pub(super) reverse: Option<LossDistribution>,
    neighbors: PhantomData<N>,
}

impl<N: Neighbors> LossPair<N> {
    /// Two explicit distributions over the same outcomes. What is missing to a sum of 1, but for
    /// rounding, counts as separating.
    pub fn from_masses(first: &[f64], second: &[f64]) -> Result<Self, Error> {
        if first.len() != second.len() {
            return Err(Error::Parameter {
                what: "the number of outcomes of the second distribution",
                got: second.len() as f64,
                expected: "give both distributions the same outcomes",
            });
        }
        for masses in [first, second] {
            if let Some(&got) = masses.iter().find(|&&mass| !(0.0..=1.0).contains(&mass)) {
                return Err(Error::Parameter {
                    what: "a probability",
                    got,
                    expected: "give a number from 0 to 1",
                });
            }
            let got = masses.iter().sum::<f64>();
            if (got - 1.0).abs() > 1e-6 {
                return Err(Error::Parameter {
                    what: "the sum of a distribution",
                    got,
                    expected: "make it 1",
                });
            }
        }
        let against = |p: &[f64], q: &[f64]| {
            let both = p.iter().zip(q).filter(|&(&p, &q)| p > 0.0 && q > 0.0);
            let alone: f64 = p.iter().zip(q).filter(|&(_, &q)| q == 0.0).map(|(p, _)| p).sum();
            // What rounding alone can make of a sum of 1 is not missing.
            let rounding = f64::EPSILON * p.len() as f64;
            let missing = Some(1.0 - p.iter().sum::<f64>()).filter(|&gap| gap > rounding).unwrap_or(0.0);
            LossDistribution::new(both.map(|(&p, &q)| Atom { loss: (p / q).ln(), mass: p }), alone + missing)
        };
        Ok(Self::both(against(first, second), against(second, first)))
    }

    /// The pair that is the worst of all (ε, δ)-releases: randomized response, and δ that tells everything
    /// (Kairouz, Oh and Viswanath 2015). For a release of which no more than its guarantee is known.
    pub fn from_guarantee(known: CentralGuarantee<N>) -> Self {
        let (e, d) = (known.epsilon().value(), known.delta().value());
        if e.is_infinite() {
            return Self::symmetric(LossDistribution::new([], 1.0));
        }
        let kept = 1.0 - d;
        let atoms = [
            Atom { loss: e, mass: kept / (1.0 + (-e).exp()) },
            Atom { loss: -e, mass: kept / (1.0 + e.exp()) },
        ];
        Self::symmetric(LossDistribution::new(atoms, d))
    }

    /// The pair whose δ(ε) connects points of `curve`, which must bound both directions. At the far end at most
    /// `tail` of its mass is moved to "no guarantee at all".
    pub fn from_curve(curve: Curve<'_>, tail: f64) -> Result<Self, Error> {
        Ok(Self::from_dots(&connect::sample(curve, tail)?))
    }

    /// The pair whose δ(ε) connects these points, which bound both directions.
    pub(super) fn from_dots(dots: &[Dot]) -> Self {
        Self::symmetric(connect::join(dots, dots))
    }

    /// As [`LossPair::from_curve`], with one curve for each direction.
    pub fn from_curves(forward: Curve<'_>, reverse: Curve<'_>, tail: f64) -> Result<Self, Error> {
        let (forward, reverse) = (connect::sample(forward, tail)?, connect::sample(reverse, tail)?);
        Ok(Self::both(connect::join(&forward, &reverse), connect::join(&reverse, &forward)))
    }

    /// The same two worlds, named the other way round.
    pub fn swapped(self) -> Self {
        match self.reverse {
            Some(reverse) => Self::both(reverse, self.forward),
            None => self,
        }
    }

    /// The smallest δ at ε of this pair alone, in its worse direction, by direct summation.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Delta, Error> {
        Ok(Delta::new(self.forward.delta(epsilon.value()).max(self.reverse().delta(epsilon.value())))?)
    }

    pub(super) fn symmetric(loss: LossDistribution) -> Self {
        Self { forward: loss, reverse: None, neighbors: PhantomData }
    }

    fn both(forward: LossDistribution, reverse: LossDistribution) -> Self {
        Self { forward, reverse: Some(reverse), neighbors: PhantomData }
    }

    pub(super) fn reverse(&self) -> &LossDistribution {
        self.reverse.as_ref().unwrap_or(&self.forward)
    }
}

// Written out because a derive would ask the same of the marker `N`.
impl<N> Clone for LossPair<N> {
    fn clone(&self) -> Self {
        Self { forward: self.forward.clone(), reverse: self.reverse.clone(), neighbors: PhantomData }
    }
}

/// Outcomes of the first world by their privacy loss ln(P/Q), in increasing order, and those that Q never has.
#[derive(Clone, Debug)]
pub(super) struct LossDistribution {
    pub(super) atoms: Vec<Atom>,
    /// The mass of outcomes that the second world does not have.
    pub(super) infinity: f64,
}

/// Outcomes that have one privacy loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atom {
    pub(super) loss: f64,
    /// Their probability in the first world; in the second it is e^-loss of that.
    pub(super) mass: f64,
}

impl LossDistribution {
    pub(super) fn new(atoms: impl IntoIterator<Item = Atom>, infinity: f64) -> Self {
        // Masses too small to be divided are moved up to the largest loss, or, above it, called separating.
        let (mut kept, tiny): (Vec<Atom>, Vec<Atom>) =
            atoms.into_iter().partition(|atom| atom.mass >= 1e-290);
        kept.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let mut distribution = Self { atoms: kept, infinity };
        for atom in tiny {
            match distribution.atoms.last_mut().filter(|largest| largest.loss >= atom.loss) {
                Some(largest) => largest.mass += atom.mass,
                None => distribution.infinity += atom.mass,
            }
        }
        distribution
    }

    /// δ(ε), and at most 1.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let finite: f64 = self
            .atoms
            .iter()
            .filter(|atom| atom.loss > epsilon)
            .map(|atom| atom.mass * -(epsilon - atom.loss).exp_m1())
            .sum();
        let rounding = 1.0 + (self.atoms.len() as f64 + 8.0) * f64::EPSILON;
        ((finite + self.infinity) * rounding).min(1.0)
    }

    /// The largest loss, but for separating outcomes.
    pub(super) fn largest(&self) -> f64 {
        self.atoms.last().map_or(0.0, |atom| atom.loss)
    }

    /// The smallest loss.
    pub(super) fn smallest(&self) -> f64 {
        self.atoms.first().map_or(0.0, |atom| atom.loss)
    }

    /// Calls rare outcomes of a large loss separating and raises rare outcomes of a small one, at most `mass` of
    /// each: rare extremes would widen the window of a convolution and so make it coarse.
    pub(super) fn trimmed(&self, mass: f64) -> Self {
        let rare = |atoms: &mut dyn Iterator<Item = &Atom>| {
            let mut sum = 0.0;
            let mut count = 0;
            for atom in atoms {
                if sum + atom.mass > mass {
                    break;
                }
                sum += atom.mass;
                count += 1;
            }
            (count, sum)
        };
        let (above, separating) = rare(&mut self.atoms.iter().rev());
        let kept = &self.atoms[..self.atoms.len() - above];
        let (below, raised) = rare(&mut kept.iter().take(kept.len().saturating_sub(1)));
        let mut atoms = kept[below..].to_vec();
        if let Some(lowest) = atoms.first_mut() {
            lowest.mass += raised;
        }
        Self { atoms, infinity: self.infinity + separating }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::Removal;

    fn distribution(atoms: &[(f64, f64)], infinity: f64) -> LossDistribution {
        LossDistribution::new(atoms.iter().map(|&(loss, mass)| Atom { loss, mass }), infinity)
    }

    /// Trimming moves mass up only, and no more of it than allowed.
    #[test]
    fn trimming_raises_the_curve_by_no_more_than_it_may() {
        let full =
            distribution(&[(-30.0, 1e-9), (-1.0, 0.3), (0.0, 0.3), (1.0, 0.4 - 3e-9), (40.0, 1e-9)], 1e-9);
        let trimmed = full.trimmed(2e-9);
        assert_eq!((trimmed.smallest(), trimmed.largest()), (-1.0, 1.0));
        for i in -400..500 {
            let epsilon = 0.1 * f64::from(i);
            let (before, after) = (full.delta(epsilon), trimmed.delta(epsilon));
            assert!(after >= before - 1e-15 && after <= before + 3e-9, "{epsilon}: {before} {after}");
        }
        // Everything rare: nothing is lost.
        let rare = distribution(&[(0.0, 1e-9), (1.0, 1e-9)], 0.0).trimmed(1.0);
        assert_eq!((rare.atoms.len(), rare.infinity), (0, 2e-9));
    }

    #[test]
    fn masses_too_small_for_a_double_are_moved_up() {
        let loss = distribution(&[(-700.0, 1e-300), (0.5, 1.0), (700.0, 1e-300)], 0.0);
        assert_eq!((loss.atoms.len(), loss.infinity), (1, 1e-300));
    }

    #[test]
    fn distributions_that_are_none_are_refused() {
        let refused = |p: &[f64], q: &[f64]| {
            matches!(LossPair::<Removal>::from_masses(p, q), Err(Error::Parameter { .. }))
        };
        assert!(refused(&[1.0], &[0.5, 0.5]));
        assert!(refused(&[0.5, 0.4], &[0.5, 0.5]));
        assert!(refused(&[1.5, -0.5], &[0.5, 0.5]));
        assert!(refused(&[f64::NAN, 1.0], &[0.5, 0.5]));
        // A little is missing: it counts as separating.
        let pair = LossPair::<Removal>::from_masses(&[0.5, 0.5 - 1e-7], &[0.5, 0.5]).unwrap();
        assert!((pair.forward.infinity - 1e-7).abs() < 1e-15);
        // So does a millionth of a millionth of that: some ask for a delta of 1e-15.
        let pair = LossPair::<Removal>::from_masses(&[0.5, 0.5 - 1e-13], &[0.5, 0.5]).unwrap();
        assert!((pair.forward.infinity - 1e-13).abs() < 1e-15);
        assert_eq!(pair.reverse().infinity, 0.0);
    }
}
