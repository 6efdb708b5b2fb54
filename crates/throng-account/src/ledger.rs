//! Every release so far, and whether there is budget for one more.

use std::collections::BTreeMap;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::amplification::exact::Curve;
use crate::composition::{Composition, LossPair, basic};
use crate::epochs::Membership;

/// What has been released about each population, under one budget per population.
///
/// A population is a set of people, not a survey: whoever is asked twice, by two surveys, spends twice.
///
/// # Privacy
/// The trade-offs of all releases are composed. Values, questions and estimates may depend on earlier releases; what a
/// release spends (its crowd and its epsilons) must not have been chosen by looking at them, as the composition is
/// of pairs that are known in advance. A survey that is planned and signed before it starts is such a choice.
#[derive(Clone, Debug)]
pub struct Ledger {
    budget: CentralGuarantee<Removal>,
    populations: BTreeMap<String, Vec<Entry>>,
    /// The loss of each kind of count, which takes a while to work out.
    losses: Vec<(Source, LossPair)>,
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
    /// Counts of bits that were randomized for this release, of which one respondent moves `moved`: the exact
    /// trade-off is composed. Bits behind a backstop are the same in every epoch: those are [`Spending::Backstop`].
    Bits {
        /// Honest respondents who hide each count. In a sketch whose rows are visible that is not all of them: record
        /// its [`Spending::Guarantee`].
        honest: u64,
        /// What each bit was randomized with.
        epsilon_local: Epsilon,
        /// How many counts one respondent moves: 1 for one-hot, more for split attributes or runs.
        moved: u32,
        /// What is added to delta on top of the trade-off: overflowing envelopes.
        delta: Delta,
    },
    /// One epoch of report fragments. All epochs of a survey share its backstop.
    Backstop {
        /// Honest respondents.
        honest: u64,
        /// The backstop.
        epsilon_backstop: Epsilon,
        /// Each report fragment.
        epsilon_fragment: Epsilon,
        /// Report fragments of this epoch: tau.
        fragments: u32,
        /// Whether the respondents are those of the survey's other epochs.
        membership: Membership,
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
        entry.spending.check()?;
        let entries = self.entries(population);
        if entries.iter().any(|e| (&e.survey, e.epoch) == (&entry.survey, entry.epoch)) {
            return Err(Error::Refused(format!(
                "epoch {} of survey {} is in the ledger already; release it from there",
                entry.epoch, entry.survey
            )));
        }
        let mut all = entries.to_vec();
        all.push(entry);
        for series in [Series::Whole, Series::Fragments] {
            for (source, _) in sources(&all, series) {
                if !self.losses.iter().any(|(known, _)| *known == source) {
                    self.losses.push((source, source.loss(self.budget.delta())?));
                }
            }
        }
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

    /// The smallest of the plain sum and the composed trade-offs, at the budget's delta.
    fn compose(&self, entries: &[Entry]) -> Result<CentralGuarantee<Removal>, Error> {
        let delta = self.budget.delta();
        if entries.is_empty() {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO));
        }
        let known: Option<Vec<_>> = entries
            .iter()
            .map(|entry| match entry.spending {
                Spending::Guarantee(known) => Some(known),
                Spending::Bits { .. } | Spending::Backstop { .. } => None,
            })
            .collect();
        let sum = known.map(basic).filter(|sum| sum.delta() <= delta).map(|sum| sum.epsilon());
        let whole = sources(entries, Series::Whole);
        let fragments = Some(sources(entries, Series::Fragments)).filter(|other| *other != whole);
        let extra: f64 = entries.iter().map(|entry| entry.spending.extra_delta()).sum();
        let rest = Delta::new(delta.value() - extra);
        let composed = |sources: &[(Source, u64)]| match rest {
            // A budget without any delta has what the local guarantees add up to.
            Ok(rest) if rest > Delta::ZERO || extra == 0.0 => self.composition(sources).epsilon(rest),
            _ => Err(Error::NotApplicable(
                "the releases' own delta exceeds the budget's; give it a larger one".into(),
            )),
        };
        // Each of them holds, so the smallest does.
        let answers = [composed(&whole)].into_iter().chain(fragments.as_deref().map(composed));
        let best = answers.reduce(|one, other| match (one, other) {
            (Ok(one), Ok(other)) => Ok(one.min(other)),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(reason), Err(_)) => Err(reason),
        });
        let epsilon = match (sum, best) {
            (Some(sum), Some(Ok(composed))) => sum.min(composed),
            (Some(sum), _) => sum,
            (None, Some(composed)) => composed?,
            (None, None) => Epsilon::ZERO,
        };
        Ok(CentralGuarantee::new(epsilon, delta))
    }

    fn composition(&self, sources: &[(Source, u64)]) -> Composition {
        let loss = |source: &Source| self.losses.iter().find(|(known, _)| known == source);
        sources.iter().fold(Composition::new(), |all, (source, times)| match loss(source) {
            Some((_, loss)) => all.with(loss.clone(), *times),
            // Every recorded release has its loss; without one nothing would be known of it.
            None => all.with(LossPair::from_guarantee(Epsilon::INFINITE, Delta::ZERO), *times),
        })
    }
}

/// One count, or one release, of which the loss is composed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// A count of randomized bits.
    Count { honest: u64, epsilon: Epsilon },
    /// A guarantee and nothing else.
    Known(CentralGuarantee<Removal>),
}

/// The two ways to account for a series of epochs behind one backstop whose respondents change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Series {
    /// The backstop is given away once, and everything drawn from it is free.
    Whole,
    /// The backstop is the data, and every fragment a release.
    Fragments,
}

/// What the entries release, and how often.
fn sources(entries: &[Entry], series: Series) -> Vec<(Source, u64)> {
    let mut all: Vec<(Source, u64)> = Vec::new();
    let mut add = |source: Source, times: u32| match all.iter_mut().find(|(known, _)| *known == source) {
        Some((_, sum)) => *sum += u64::from(times),
        None => all.push((source, u64::from(times))),
    };
    let mut backstops: BTreeMap<&str, Vec<Spending>> = BTreeMap::new();
    for entry in entries {
        match entry.spending {
            Spending::Bits { honest, epsilon_local, moved, .. } => {
                add(Source::Count { honest, epsilon: epsilon_local }, moved);
            }
            Spending::Guarantee(known) => add(Source::Known(known), 1),
            Spending::Backstop { .. } => backstops.entry(&entry.survey).or_default().push(entry.spending),
        }
    }
    for epochs in backstops.values() {
        let (mut least, mut backstop, mut identical) = (u64::MAX, Epsilon::ZERO, true);
        for epoch in epochs {
            if let Spending::Backstop { honest, epsilon_backstop, membership, .. } = *epoch {
                least = least.min(honest);
                backstop = if epsilon_backstop > backstop { epsilon_backstop } else { backstop };
                identical &= membership == Membership::Identical;
            }
        }
        if epochs.len() == 1 || identical {
            // All that is seen is a post-processing of the same sums of backstops.
            add(Source::Count { honest: least, epsilon: backstop }, 1);
        } else if series == Series::Whole {
            add(Source::Known(CentralGuarantee::new(backstop, Delta::ZERO)), 1);
        } else {
            // Two epochs can be differenced: the same bits do not hide anyone twice.
            for epoch in epochs {
                if let Spending::Backstop { honest, epsilon_fragment, fragments, .. } = *epoch {
                    add(Source::Count { honest, epsilon: epsilon_fragment }, fragments);
                }
            }
        }
    }
    all
}

impl Source {
    /// The pair that bounds it; at most a millionth of a millionth of `delta` is cut off.
    fn loss(&self, delta: Delta) -> Result<LossPair, Error> {
        match *self {
            Self::Count { honest, epsilon } => {
                let curve = Curve::new(honest, epsilon)?;
                LossPair::from_curve(&|epsilon| curve.delta(epsilon), 1e-12 * delta.value())
            }
            Self::Known(known) => Ok(LossPair::from_guarantee(known.epsilon(), known.delta())),
        }
    }
}

impl Spending {
    /// A release that moves nothing would be free, and is none.
    fn check(&self) -> Result<(), Error> {
        let (what, count) = match *self {
            Self::Bits { moved, .. } => ("the number of counts that one respondent moves", moved),
            Self::Backstop { fragments, .. } => ("the number of report fragments", fragments),
            Self::Guarantee(_) => return Ok(()),
        };
        if count == 0 {
            return Err(Error::Parameter { what, got: 0.0, expected: "give at least 1" });
        }
        Ok(())
    }

    fn extra_delta(&self) -> f64 {
        match *self {
            Self::Bits { delta, .. } | Self::Backstop { delta, .. } => delta.value(),
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

    fn epoch(epoch: u64, membership: Membership) -> Entry {
        let spending = Spending::Backstop {
            honest: 5_000,
            epsilon_backstop: Epsilon::new(4.0).unwrap(),
            epsilon_fragment: Epsilon::new(2.5).unwrap(),
            fragments: 2,
            membership,
            delta: Delta::new(1e-10).unwrap(),
        };
        Entry { survey: "pixels".into(), epoch, spending }
    }

    /// Two epochs behind one backstop with other respondents are no two fresh randomizations: their difference shows
    /// what those who left had sent.
    #[test]
    fn a_backstop_hides_nobody_twice() {
        let budget = guarantee(4.5, 1e-6);
        let (mut changing, mut identical) = (Ledger::new(budget), Ledger::new(budget));
        let one = changing.record("p", epoch(1, Membership::Changing)).unwrap().epsilon().value();
        identical.record("p", epoch(1, Membership::Identical)).unwrap();
        let two = changing.record("p", epoch(2, Membership::Changing)).unwrap().epsilon().value();
        let series = crate::epochs::BackstopSeries {
            honest: 5_000,
            epsilon_backstop: Epsilon::new(4.0).unwrap(),
            epsilon_fragment: Epsilon::new(2.5).unwrap(),
            fragments: 2,
            epochs: 2,
        };
        let at = Delta::new(1e-6 - 2e-10).unwrap();
        let by_series = series.guarantee(Membership::Changing, at).unwrap().epsilon().value();
        assert!((two / by_series - 1.0).abs() < 0.01, "{two} {by_series}");
        for number in 3..=40 {
            changing.record("p", epoch(number, Membership::Changing)).unwrap();
            identical.record("p", epoch(number, Membership::Identical)).unwrap();
        }
        let many = changing.spent("p").unwrap().epsilon().value();
        assert!(many > 2.0 * two && many <= 4.0, "{many}");
        // The same people pay once, but for what overflows.
        let paid = identical.spent("p").unwrap().epsilon().value();
        assert!(paid >= one && paid < 1.001 * one, "{paid} {one}");
        // One epoch of others, and the series is no longer free.
        identical.record("p", epoch(41, Membership::Changing)).unwrap();
        assert!(identical.spent("p").unwrap().epsilon().value() > 2.0 * one);
    }

    #[test]
    fn a_backstop_never_costs_more_than_itself() {
        let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
        let small = |number| {
            let mut entry = epoch(number, Membership::Changing);
            if let Spending::Backstop { honest, .. } = &mut entry.spending {
                *honest = 30;
            }
            entry
        };
        ledger.record("p", small(1)).unwrap();
        for number in 2..6 {
            let spent = ledger.record("p", small(number)).unwrap().epsilon().value();
            assert!((3.99..=4.001).contains(&spent), "{spent}");
        }
    }

    #[test]
    fn without_any_delta_the_local_guarantees_add_up() {
        let mut ledger = Ledger::new(guarantee(8.5, 0.0));
        ledger.record("p", bits(1)).unwrap();
        let two = ledger.record("p", bits(2)).unwrap().epsilon().value();
        assert!((8.0..8.001).contains(&two), "{two}");
        assert!(matches!(ledger.record("p", bits(3)), Err(Error::Refused(_))));
    }

    #[test]
    fn a_release_that_moves_nothing_is_refused() {
        let mut ledger = Ledger::new(guarantee(5.0, 1e-6));
        let (mut none, mut empty) = (bits(1), epoch(1, Membership::Changing));
        if let Spending::Bits { moved, .. } = &mut none.spending {
            *moved = 0;
        }
        if let Spending::Backstop { fragments, .. } = &mut empty.spending {
            *fragments = 0;
        }
        for entry in [none, empty] {
            assert!(matches!(ledger.record("p", entry), Err(Error::Parameter { .. })));
        }
        assert!(ledger.entries("p").is_empty());
    }
}
