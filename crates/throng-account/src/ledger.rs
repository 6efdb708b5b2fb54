//! The privacy budget of a population: every epoch that was opened or released so far, and whether there is budget for one
//! more.

use std::collections::BTreeMap;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::composition::{Composition, LossPair, basic};

/// The releases about each population, under one privacy budget per population.
///
/// All guarantees in it are for removal by R_0. Random deletion does not depend on any value, so under removal it costs
/// nothing.
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
    losses: Vec<(Source, LossPair<Removal>)>,
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

/// The privacy that a release spent. The more is known about it, the tighter it composes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spending {
    /// Counts of bits that were randomized for this release, of which one respondent moves `moved`: the exact
    /// trade-off is composed. Bits behind a backstop are not fresh in every epoch: those are [`Spending::Backstop`].
    Bits {
        /// Who hides each count. In a sketch whose rows are visible that is not all of them: record its
        /// [`Spending::Guarantee`].
        crowd: HonestCrowd,
        /// What each bit was randomized with.
        epsilon_local: Epsilon,
        /// How many counts one respondent moves: 1 for one-hot, more for split attributes or runs.
        moved: u32,
    },
    /// One epoch of report fragments. All epochs of a survey share the permanent coins of each respondent.
    Backstop {
        /// Who hides each count.
        crowd: HonestCrowd,
        /// The loss of the backstop.
        epsilon_backstop: Epsilon,
        /// The loss of each report fragment.
        epsilon_fragment: Epsilon,
        /// Report fragments of this epoch: tau.
        fragments: u32,
        /// Whether the first report of a respondent counts for all epochs: then epsilon_backstop is spent once for all of them.
        answers_kept: bool,
    },
    /// Only its guarantee is known.
    Guarantee(CentralGuarantee<Removal>),
}

/// The crowd of a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HonestCrowd {
    /// Honest respondents, who hide one another.
    pub honest: u64,
    /// The probability that something else happened than is accounted for: that a body overflowed, for example.
    pub miss: Delta,
}

/// The booking of a release in a ledger. Without one no release can be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Booking {
    survey: String,
    epoch: u64,
    spent: CentralGuarantee<Removal>,
}

impl Booking {
    /// Which survey.
    pub fn survey(&self) -> &str {
        &self.survey
    }

    /// Which of its epochs.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What the population has spent with it, over all releases.
    pub fn spent(&self) -> CentralGuarantee<Removal> {
        self.spent
    }
}

impl Ledger {
    /// A ledger in which every population has the same budget.
    pub fn new(budget: CentralGuarantee<Removal>) -> Self {
        Self { budget, populations: BTreeMap::new(), losses: Vec::new() }
    }

    /// The populations that something was released about.
    pub fn populations(&self) -> impl Iterator<Item = &str> {
        self.populations.keys().map(String::as_str)
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

    /// Records a release, to be called before it is made. Refuses one that would exceed the budget.
    ///
    /// An epoch of a survey is one entry. Its labels have no respondent in common, and a batch that comes late is of the
    /// same respondents: with a further part the entry becomes that of the smaller crowd.
    pub fn record(&mut self, population: &str, entry: Entry) -> Result<Booking, Error> {
        let (survey, epoch) = (entry.survey.clone(), entry.epoch);
        let all = self.with(population, entry)?;
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
        Ok(Booking { survey, epoch, spent })
    }

    /// Puts back a release that was recorded before, whatever the budget is now.
    pub fn restore(&mut self, population: &str, entry: Entry) -> Result<(), Error> {
        let all = self.with(population, entry)?;
        self.populations.insert(population.to_owned(), all);
        Ok(())
    }

    /// The entries of a population with one more, whose loss is worked out.
    fn with(&mut self, population: &str, entry: Entry) -> Result<Vec<Entry>, Error> {
        entry.spending.check()?;
        let elsewhere = self.populations.iter().find(|(name, entries)| {
            name.as_str() != population && entries.iter().any(|known| known.survey == entry.survey)
        });
        if let Some((other, _)) = elsewhere {
            return Err(Error::Refused(format!(
                "this survey's releases are in the ledger under the population {other:?}, not {population:?}: a survey \
                 asks one population"
            )));
        }
        let mut all = self.entries(population).to_vec();
        match all.iter_mut().find(|known| (&known.survey, known.epoch) == (&entry.survey, entry.epoch)) {
            Some(known) => known.spending = known.spending.worse(entry.spending)?,
            None => all.push(entry),
        }
        for series in [Series::Whole, Series::Fragments] {
            for (source, _) in sources(&all, series) {
                if !self.losses.iter().any(|(known, _)| *known == source) {
                    self.losses.push((source, source.loss(self.budget.delta())?));
                }
            }
        }
        Ok(all)
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
        let crowds = entries.iter().filter_map(|entry| entry.spending.crowd());
        let miss: f64 = crowds.map(|crowd| crowd.miss.value()).sum();
        let composed = |sources: &[(Source, u64)]| self.epsilon(&self.composition(sources), miss);
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

    /// The epsilon of a composition at the budget's delta, if with probability `miss` something else happened than was
    /// composed: whatever that is, it adds (1 + e^ε) miss to delta.
    fn epsilon(&self, composition: &Composition<Removal>, miss: f64) -> Result<Epsilon, Error> {
        let delta = self.budget.delta();
        if miss == 0.0 {
            return composition.epsilon(delta);
        }
        let mut epsilon = Epsilon::ZERO;
        for _ in 0..ROUNDS {
            let rest = delta.value() - (1.0 + epsilon.value().exp()) * miss;
            if rest <= 0.0 {
                break;
            }
            let next = composition.epsilon(Delta::new(rest)?)?;
            // What was set aside was enough for an epsilon that is no larger.
            if next <= epsilon {
                return Ok(epsilon);
            }
            epsilon = Epsilon::new(next.value() * (1.0 + 1e-6))?;
        }
        Err(Error::NotApplicable(format!(
            "what overflows takes more than the budget's delta at epsilon {:.2}, where it counts e^epsilon times; give the \
             budget a larger delta, or a smaller epsilon",
            epsilon.value()
        )))
    }

    fn composition(&self, sources: &[(Source, u64)]) -> Composition<Removal> {
        let loss = |source: &Source| self.losses.iter().find(|(known, _)| known == source);
        sources.iter().fold(Composition::new(), |all, (source, times)| match loss(source) {
            Some((_, loss)) => all.with(loss.clone(), *times),
            // Every recorded release has its loss; without one nothing would be known of it.
            None => all.with(LossPair::from_guarantee(NO_GUARANTEE), *times),
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

/// The two ways to account for epochs behind permanent coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Series {
    /// Epochs give a backstop away, and everything drawn from it is free. Only where it is one backstop: in a single epoch,
    /// or where the first report counts. If answers change, two epochs tell more than two backstops would.
    Whole,
    /// The coins are the data, and every fragment a release.
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
            Spending::Bits { crowd, epsilon_local, moved } => {
                add(Source::Count { honest: crowd.honest, epsilon: epsilon_local }, moved);
            }
            Spending::Guarantee(known) => add(Source::Known(known), 1),
            Spending::Backstop { .. } => backstops.entry(&entry.survey).or_default().push(entry.spending),
        }
    }
    for epochs in backstops.values() {
        let (mut backstop, mut kept) = (Epsilon::ZERO, true);
        for epoch in epochs {
            if let Spending::Backstop { epsilon_backstop, answers_kept, .. } = *epoch {
                backstop = if epsilon_backstop > backstop { epsilon_backstop } else { backstop };
                kept &= answers_kept;
            }
        }
        if series == Series::Whole && (kept || epochs.len() == 1) {
            add(Source::Known(CentralGuarantee::new(backstop, Delta::ZERO)), 1);
        } else {
            // Two epochs can be differenced: the same coins do not hide anyone twice.
            for epoch in epochs {
                if let Spending::Backstop { crowd, epsilon_fragment, fragments, .. } = *epoch {
                    add(Source::Count { honest: crowd.honest, epsilon: epsilon_fragment }, fragments);
                }
            }
        }
    }
    all
}

impl Source {
    /// The pair that bounds it; at most a millionth of a millionth of `delta` is cut off.
    fn loss(&self, delta: Delta) -> Result<LossPair<Removal>, Error> {
        match *self {
            Self::Count { honest, epsilon } => LossPair::count(honest, epsilon, 1e-12 * delta.value()),
            Self::Known(known) => Ok(LossPair::from_guarantee(known)),
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

    /// What two parts of one release spend: nobody is in both, but as the same respondent.
    fn worse(self, other: Self) -> Result<Self, Error> {
        let (mut one, mut two) = (self, other);
        if let (Some(left), Some(right)) = (one.crowd_mut(), two.crowd_mut()) {
            let miss = if left.miss < right.miss { right.miss } else { left.miss };
            *left = HonestCrowd { honest: left.honest.min(right.honest), miss };
            *right = *left;
        }
        if let (Some(left), Some(right)) = (one.known_mut(), two.known_mut()) {
            *left = worse(*left, *right);
            *right = *left;
        }
        if one == two {
            return Ok(one);
        }
        Err(Error::Refused("a part of this release is in the ledger under other terms".into()))
    }

    fn crowd(mut self) -> Option<HonestCrowd> {
        self.crowd_mut().copied()
    }

    fn crowd_mut(&mut self) -> Option<&mut HonestCrowd> {
        match self {
            Self::Bits { crowd, .. } | Self::Backstop { crowd, .. } => Some(crowd),
            Self::Guarantee(_) => None,
        }
    }

    fn known_mut(&mut self) -> Option<&mut CentralGuarantee<Removal>> {
        match self {
            Self::Guarantee(known) => Some(known),
            Self::Bits { .. } | Self::Backstop { .. } => None,
        }
    }
}

/// The larger epsilon and the larger delta: what both keep.
fn worse(one: CentralGuarantee<Removal>, two: CentralGuarantee<Removal>) -> CentralGuarantee<Removal> {
    let epsilon = if one.epsilon() < two.epsilon() { two.epsilon() } else { one.epsilon() };
    let delta = if one.delta() < two.delta() { two.delta() } else { one.delta() };
    CentralGuarantee::new(epsilon, delta)
}

const NO_GUARANTEE: CentralGuarantee<Removal> = CentralGuarantee::new(Epsilon::INFINITE, Delta::ZERO);

/// How often an epsilon is raised for what is set aside for it; mostly twice is enough.
const ROUNDS: usize = 60;

#[cfg(test)]
mod tests;
