//! Every release so far, and whether there is budget for one more.

use std::collections::BTreeMap;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::amplification::exact::Curve;
use crate::composition::{Composition, LossPair, basic};

/// What has been released about each population, under one budget per population.
///
/// A population is a set of people, not a survey: whoever is asked twice, by two surveys, spends twice.
#[derive(Clone, Debug)]
pub struct Ledger {
    budget: CentralGuarantee<Removal>,
    populations: BTreeMap<String, Vec<Entry>>,
    /// The loss of each kind of release, which takes a while to work out.
    losses: Vec<(Spending, LossPair)>,
}

/// One release.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Which survey.
    pub survey: String,
    /// Which of its epochs.
    pub epoch: u64,
    /// What it spent.
    pub spending: Spending,
}

/// What a release spent, as much as is known about it: the more, the tighter it composes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spending {
    /// Counts of randomized bits, of which one respondent moves `moved`: the exact trade-off is composed.
    Bits {
        /// Honest respondents.
        honest: u64,
        /// What each bit was randomized with (the backstop, with report fragments).
        epsilon_local: Epsilon,
        /// How many counts one respondent moves: 1 for one-hot, more for split attributes, runs or hash functions.
        moved: u32,
        /// What is added to delta on top of the trade-off: overflowing envelopes.
        delta: Delta,
    },
    /// Only its guarantee is known.
    Guarantee(CentralGuarantee<Removal>),
}

impl Ledger {
    /// A ledger in which every population has the same budget.
    pub fn new(budget: CentralGuarantee<Removal>) -> Self {
        Self { budget, populations: BTreeMap::new(), losses: Vec::new() }
    }

    /// The releases about a population, in order.
    pub fn entries(&self, population: &str) -> &[Entry] {
        self.populations.get(population).map_or(&[], Vec::as_slice)
    }

    /// What a population has spent, at the budget's delta.
    pub fn spent(&self, population: &str) -> Result<CentralGuarantee<Removal>, Error> {
        self.compose(self.entries(population))
    }

    /// How much epsilon a population has left.
    pub fn left(&self, population: &str) -> Result<Epsilon, Error> {
        let spent = self.spent(population)?.epsilon().value();
        Ok(Epsilon::new((self.budget.epsilon().value() - spent).max(0.0))?)
    }

    /// Records a release, to be called before it is made. Refuses one that would exceed the budget, or one that is
    /// recorded already: a release is made once.
    pub fn record(&mut self, population: &str, entry: Entry) -> Result<CentralGuarantee<Removal>, Error> {
        let entries = self.entries(population);
        if entries.iter().any(|e| (&e.survey, e.epoch) == (&entry.survey, entry.epoch)) {
            return Err(Error::Refused(format!(
                "epoch {} of survey {} is in the ledger already; release it from there",
                entry.epoch, entry.survey
            )));
        }
        let mut all = entries.to_vec();
        if !self.losses.iter().any(|(known, _)| *known == entry.spending) {
            self.losses.push((entry.spending, entry.spending.loss(self.budget.delta())?));
        }
        all.push(entry);
        let spent = match self.compose(&all) {
            Ok(spent) => spent,
            Err(Error::NotApplicable(reason)) => return Err(Error::Refused(reason)),
            Err(other) => return Err(other),
        };
        if spent.epsilon() > self.budget.epsilon() {
            return Err(Error::Refused(format!(
                "with this release the population would have spent epsilon {:.4} of {} at delta {:e}",
                spent.epsilon().value(),
                self.budget.epsilon(),
                self.budget.delta().value()
            )));
        }
        self.populations.insert(population.to_owned(), all);
        Ok(spent)
    }

    /// The smaller of the plain sum and the composed trade-offs, at the budget's delta.
    fn compose(&self, entries: &[Entry]) -> Result<CentralGuarantee<Removal>, Error> {
        let delta = self.budget.delta();
        if entries.is_empty() {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO));
        }
        let mut all = Composition::new();
        let mut rest = delta.value();
        for (spending, loss) in &self.losses {
            let times = entries.iter().filter(|entry| entry.spending == *spending).count() as u64;
            if times > 0 {
                all = all.with(loss.clone(), times * spending.moved());
                rest -= times as f64 * spending.extra_delta();
            }
        }
        let known: Option<Vec<_>> = entries
            .iter()
            .map(|entry| match entry.spending {
                Spending::Guarantee(known) => Some(known),
                Spending::Bits { .. } => None,
            })
            .collect();
        let sum = known.map(basic).filter(|sum| sum.delta() <= delta).map(|sum| sum.epsilon());
        let composed = match Delta::new(rest) {
            Ok(rest) if rest > Delta::ZERO => all.epsilon(rest),
            _ => Err(Error::NotApplicable(
                "the releases' own delta exceeds the budget's; give it a larger one".into(),
            )),
        };
        let epsilon = match (sum, composed) {
            (Some(sum), Ok(composed)) => sum.min(composed),
            (Some(sum), Err(_)) => sum,
            (None, composed) => composed?,
        };
        Ok(CentralGuarantee::new(epsilon, delta))
    }
}

impl Spending {
    /// The pair that bounds one count of such a release; at most a millionth of a millionth of `delta` is cut off.
    fn loss(&self, delta: Delta) -> Result<LossPair, Error> {
        match *self {
            Self::Bits { honest, epsilon_local, .. } => {
                let curve = Curve::new(honest, epsilon_local)?;
                LossPair::from_curve(&|epsilon| curve.delta(epsilon), 1e-12 * delta.value())
            }
            Self::Guarantee(known) => Ok(LossPair::from_guarantee(known.epsilon(), known.delta())),
        }
    }

    fn moved(&self) -> u64 {
        match *self {
            Self::Bits { moved, .. } => u64::from(moved),
            Self::Guarantee(_) => 1,
        }
    }

    fn extra_delta(&self) -> f64 {
        match *self {
            Self::Bits { delta, .. } => delta.value(),
            Self::Guarantee(_) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amplification::exact;

    fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
        CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    fn bits(epoch: u64) -> Entry {
        let epsilon_local = Epsilon::new(4.0).unwrap();
        let spending = Spending::Bits { honest: 5_000, epsilon_local, moved: 1, delta: Delta::ZERO };
        Entry { survey: "pixels".into(), epoch, spending }
    }

    #[test]
    fn releases_compose_tighter_than_they_add() {
        let mut ledger = Ledger::new(guarantee(2.0, 1e-6));
        let one = ledger.record("people", bits(1)).unwrap().epsilon().value();
        let exact =
            exact::epsilon_certified(5_000, Epsilon::new(4.0).unwrap(), Delta::new(1e-6).unwrap()).unwrap();
        assert!(
            one >= exact.epsilon().value() * 0.999 && one < exact.epsilon().value() * 1.02,
            "{one} {exact}"
        );
        let mut spent = one;
        for epoch in 2..=9 {
            spent = ledger.record("people", bits(epoch)).unwrap().epsilon().value();
        }
        assert!(spent < 0.5 * 9.0 * one && spent > 2.5 * one, "{spent} after nine of {one}");
        assert_eq!(ledger.entries("people").len(), 9);
        assert!((ledger.left("people").unwrap().value() - (2.0 - spent)).abs() < 1e-9);
        assert_eq!(ledger.spent("others").unwrap().epsilon(), Epsilon::ZERO, "kept per population");
    }

    #[test]
    fn the_release_that_would_exceed_the_budget_is_refused_and_not_recorded() {
        let mut ledger = Ledger::new(guarantee(1.0, 1e-6));
        let entry =
            |epoch| Entry { survey: "s".into(), epoch, spending: Spending::Guarantee(guarantee(0.4, 1e-8)) };
        let one = ledger.record("p", entry(1)).unwrap().epsilon().value();
        assert!((0.399..=0.4).contains(&one), "{one}");
        ledger.record("p", entry(2)).unwrap();
        assert!(matches!(ledger.record("p", entry(3)), Err(Error::Refused(_))));
        assert_eq!(ledger.entries("p").len(), 2);
        assert!(ledger.record("q", entry(3)).is_ok());
    }

    #[test]
    fn a_release_is_recorded_once() {
        let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
        ledger.record("p", bits(1)).unwrap();
        assert!(matches!(ledger.record("p", bits(1)), Err(Error::Refused(_))));
        assert_eq!(ledger.entries("p").len(), 1);
    }

    #[test]
    fn deltas_count_too() {
        let mut ledger = Ledger::new(guarantee(5.0, 1e-8));
        let entry =
            Entry { survey: "s".into(), epoch: 1, spending: Spending::Guarantee(guarantee(0.1, 1e-6)) };
        assert!(matches!(ledger.record("p", entry), Err(Error::Refused(_))));
        let mut costly = bits(1);
        if let Spending::Bits { delta, .. } = &mut costly.spending {
            *delta = Delta::new(1e-7).unwrap();
        }
        assert!(matches!(ledger.record("p", costly), Err(Error::Refused(_))));
    }
}
