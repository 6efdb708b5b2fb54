//! Detection of poisoning: whether counts can come from their crowd.
//!
//! A liar can write any attribute into an envelope. What honest respondents can send is bounded, for some sums for certain and
//! for others by an exact law, whatever they hold. What is beyond that is withheld or marked, with the reason.
//!
//! # Privacy
//! All of it is computed from the counts that are released and from numbers that are public: post-processing, which costs
//! nothing. What is withheld costs nothing either.

mod law;
mod tail;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use throng_dp::fragmenting::Assignment;
use throng_dp::{Estimates, Mechanism, Tally};

use law::Law;
use tail::{least, most};

/// The probability that anything at all is marked or withheld in a release of an honest crowd.
pub const FALSE_ALARM: f64 = 1e-6;

/// What in a release cannot come from its crowd.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plausibility {
    /// The values whose estimates are withheld, and why.
    pub withheld: BTreeMap<usize, Withholding>,
    /// What is wrong with the release as a whole.
    pub doubts: Vec<Doubt>,
}

/// Why the estimate of a value is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withholding {
    /// Whether it is certain.
    pub mark: Mark,
    /// How many fragments there are.
    pub fragments: u64,
    /// How many there can be.
    pub at_most: u64,
    /// How many respondents can have sent them.
    pub respondents: u64,
}

/// How a value is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// More than the crowd can send, whatever it holds. The estimate is withheld.
    Impossible,
    /// More than a crowd that holds nothing else sends, but for [`FALSE_ALARM`]. The estimate is withheld.
    Implausible,
    /// Above the noise, but not above the noise and what liars can do. The estimate is given.
    Liars,
}

impl Mark {
    /// What it is called everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Impossible => "impossible",
            Self::Implausible => "implausible",
            Self::Liars => "liars",
        }
    }
}

impl fmt::Display for Withholding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mark, fragments, at_most, respondents } = self;
        write!(f, "{fragments} fragments, where {respondents} honest respondents ")?;
        match mark {
            Mark::Impossible => write!(f, "can send {at_most} at most"),
            Mark::Implausible | Mark::Liars => {
                write!(
                    f,
                    "send {at_most} at most even if all hold it, but for a probability of {FALSE_ALARM:e}"
                )
            }
        }
    }
}

/// A reason to doubt a release as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// More fragments in all than honest respondents send, at one instance or at all that are present.
    TotalAbove {
        /// Where; `None` for all together.
        instance: Option<u32>,
        /// How many there are.
        fragments: u64,
        /// How many there can be.
        at_most: u64,
        /// Of how many respondents.
        respondents: u64,
    },
    /// Fewer.
    TotalBelow {
        /// Where.
        instance: u32,
        /// How many there are.
        fragments: u64,
        /// How many there must be.
        at_least: u64,
        /// Of how many respondents.
        respondents: u64,
    },
    /// Cells of a sketch with more fragments than all respondents whose rows these can be send.
    Cells {
        /// How many such cells.
        cells: u64,
        /// The most fragments of one of them.
        fragments: u64,
        /// How many there can be in that one.
        at_most: u64,
    },
}

impl Doubt {
    /// What it is called everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::TotalAbove { .. } => "total-above",
            Self::TotalBelow { .. } => "total-below",
            Self::Cells { .. } => "cells",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TotalAbove { instance, fragments, at_most, respondents } => {
                match instance {
                    Some(instance) => write!(f, "Instance {instance} counted {fragments} fragments")?,
                    None => write!(f, "All instances together counted {fragments} fragments")?,
                }
                write!(
                    f,
                    "; {respondents} honest respondents send {at_most} at most, whatever they hold, but for a probability of \
                     {FALSE_ALARM:e}: somebody lies, or somebody adds fragments."
                )
            }
            Self::TotalBelow { instance, fragments, at_least, respondents } => write!(
                f,
                "Instance {instance} counted {fragments} fragments; {respondents} honest respondents send {at_least} at least, \
                 whatever they hold, but for a probability of {FALSE_ALARM:e}: some sent none, or fragments were lost."
            ),
            Self::Cells { cells, fragments, at_most } => write!(
                f,
                "{cells} of the sketch's cells have more fragments than honest respondents send (one has {fragments} where there \
                 are {at_most} at most, but for a probability of {FALSE_ALARM:e}): somebody lies."
            ),
        }
    }
}

/// What one instance counted.
#[derive(Clone, Copy, Debug)]
pub struct InstanceCounts<'a> {
    /// Its number.
    pub instance: u32,
    /// Its position among those that receive fragments.
    pub position: u32,
    /// Its sums, and how many respondents it counted.
    pub tally: &'a Tally,
}

impl Plausibility {
    /// Checks what all instances that are present counted, each fragment at an instance that it is bound to, from bodies of
    /// `envelopes` envelopes.
    ///
    /// Sums over several instances are checked where these count the same people, but for uploads that failed: whoever was
    /// counted by some instance is then taken to be one of the largest crowd. With labels each instance deletes others, so
    /// crowds differ, and every instance is checked by itself.
    pub fn of(
        mechanism: &Mechanism,
        assignment: Assignment,
        envelopes: u32,
        parts: &[InstanceCounts<'_>],
        (estimates, same_people): (&Estimates, bool),
    ) -> Self {
        let together = same_people || parts.len() == 1;
        let positions: Vec<u32> = parts.iter().map(|part| part.position).collect();
        let all = Law::new(mechanism, assignment, &positions);
        let crowd = parts.iter().map(|part| part.tally.respondents()).max().unwrap_or(0);
        let mut found = Self::default();
        found.totals(mechanism, assignment, envelopes, parts, together.then_some((&all, crowd)));
        let counts = Counts { parts, assignment, all: &all };
        match mechanism.sketch() {
            None => found.values(&counts),
            Some(_) => {
                found.cells(&counts);
                if together {
                    found.hashed_values(mechanism, &counts, crowd, estimates);
                }
            }
        }
        found
    }

    /// The number of fragments of each instance, and of all together.
    fn totals(
        &mut self,
        mechanism: &Mechanism,
        assignment: Assignment,
        envelopes: u32,
        parts: &[InstanceCounts<'_>],
        together: Option<(&Law, u64)>,
    ) {
        let share = FALSE_ALARM / 3.0 / (2 * parts.len() + 1) as f64;
        let above = |law: &Law, respondents: u64, bodies: u64| {
            let limit = respondents.saturating_mul(law.fragments_max().min(bodies));
            most(|s| respondents as f64 * law.ln_holding(s), limit, share)
        };
        let body = u64::from(envelopes);
        let mut sum = 0;
        for part in parts {
            let law = Law::new(mechanism, assignment, &[part.position]);
            let respondents = part.tally.respondents();
            let (fragments, instance) = (part.tally.counts().sum::<u64>(), part.instance);
            sum += fragments;
            let at_most = above(&law, respondents, body);
            if fragments > at_most {
                let instance = Some(instance);
                self.doubts.push(Doubt::TotalAbove { instance, fragments, at_most, respondents });
            }
            let blank = law.ln_blank_in_bodies(body);
            let at_least = least(|s| respondents as f64 * blank(s), at_most, share);
            if fragments < at_least {
                self.doubts.push(Doubt::TotalBelow { instance, fragments, at_least, respondents });
            }
        }
        if let Some((all, crowd)) = together.filter(|_| parts.len() > 1) {
            let at_most = above(all, crowd, body.saturating_mul(parts.len() as u64));
            if sum > at_most {
                let (instance, fragments, respondents) = (None, sum, crowd);
                self.doubts.push(Doubt::TotalAbove { instance, fragments, at_most, respondents });
            }
        }
    }

    /// One attribute for each value.
    fn values(&mut self, counts: &Counts<'_>) {
        let share = FALSE_ALARM / 3.0 / counts.attributes().max(1) as f64;
        let limits = counts.limits(|law, draws, s| law.ln_value(draws, s), share);
        counts.for_each(&limits, |attribute, withheld| {
            self.withheld.insert(attribute, withheld);
        });
    }

    /// The cells of a sketch.
    fn cells(&mut self, counts: &Counts<'_>) {
        let share = FALSE_ALARM / 3.0 / counts.attributes().max(1) as f64;
        let limits = counts.limits(|law, draws, s| law.ln_cell(draws, s), share);
        let (mut cells, mut worst) = (0, (0, 0));
        counts.for_each(&limits, |_, withheld| {
            cells += 1;
            worst = worst.max((withheld.fragments, withheld.at_most));
        });
        if cells > 0 {
            self.doubts.push(Doubt::Cells { cells, fragments: worst.0, at_most: worst.1 });
        }
    }

    /// The values of a sketch: the sum over the cells of each. Those with estimates that the crowd can hold with room to spare
    /// are not looked at.
    fn hashed_values(
        &mut self,
        mechanism: &Mechanism,
        counts: &Counts<'_>,
        crowd: u64,
        estimates: &Estimates,
    ) {
        let Some(sketch) = mechanism.sketch() else { return };
        let (law, shape) = (counts.all, sketch.shape());
        let share = FALSE_ALARM / 3.0 / shape.domain as f64;
        let draws = law.draws_max();
        let certain = crowd.saturating_mul(law.bits()).saturating_mul(u64::from(draws));
        let likely = most(|s| crowd as f64 * law.ln_value(draws, s), certain, share);
        let large = estimates.counts().iter().enumerate().filter(|(_, count)| **count > crowd as f64 / 2.0);
        for (value, _) in large {
            let cell = |row: u32| Some(row * shape.cells + sketch.cell(row, value as u64).ok()?);
            let count = |attribute| counts.parts.iter().filter_map(move |part| part.tally.count(attribute));
            let fragments: u64 = (0..shape.rows).filter_map(cell).flat_map(count).sum();
            let (mark, at_most) = match fragments {
                fragments if fragments > certain => (Mark::Impossible, certain),
                fragments if fragments > likely => (Mark::Implausible, likely),
                _ => continue,
            };
            self.withheld.insert(value, Withholding { mark, fragments, at_most, respondents: crowd });
        }
    }
}

/// The counts of all attributes, by instance.
struct Counts<'a> {
    parts: &'a [InstanceCounts<'a>],
    assignment: Assignment,
    all: &'a Law,
}

/// What attributes of one class modulo K' can have.
struct Limit {
    /// At each instance, for certain.
    certain: Vec<u64>,
    /// At all of them, but for a probability.
    likely: u64,
    /// The largest crowd of the instances that count some.
    respondents: u64,
}

impl Counts<'_> {
    fn attributes(&self) -> usize {
        self.parts.first().map_or(0, |part| part.tally.attributes())
    }

    /// For each class; `ln_moment` is of one respondent who has the attribute.
    fn limits(&self, ln_moment: impl Fn(&Law, u32, f64) -> f64, share: f64) -> Vec<Limit> {
        let of_class = |class| {
            let bound = |part: &InstanceCounts<'_>| self.assignment.fragments(class, part.position);
            let counting = self.parts.iter().filter(|part| bound(part) > 0);
            let respondents = counting.map(|part| part.tally.respondents()).max().unwrap_or(0);
            let draws = self.all.draws(class);
            let moment = |s| respondents as f64 * ln_moment(self.all, draws, s);
            let certain =
                |part: &InstanceCounts<'_>| part.tally.respondents().saturating_mul(bound(part).into());
            Limit {
                certain: self.parts.iter().map(certain).collect(),
                likely: most(moment, respondents.saturating_mul(draws.into()), share),
                respondents,
            }
        };
        (0..self.assignment.instances()).map(of_class).collect()
    }

    /// Calls with every attribute that has more than it can.
    fn for_each(&self, limits: &[Limit], mut found: impl FnMut(usize, Withholding)) {
        let mut counts: Vec<_> = self.parts.iter().map(|part| part.tally.counts()).collect();
        for attribute in 0..self.attributes() {
            let limit = &limits[attribute % limits.len()];
            let (mut sum, mut beyond) = (0, None);
            for ((count, &certain), part) in counts.iter_mut().zip(&limit.certain).zip(self.parts) {
                let fragments = count.next().unwrap_or(0);
                sum += fragments;
                if fragments > certain {
                    let respondents = part.tally.respondents();
                    beyond = Some(Withholding {
                        mark: Mark::Impossible,
                        fragments,
                        at_most: certain,
                        respondents,
                    });
                }
            }
            let Limit { likely, respondents, .. } = *limit;
            let unlikely =
                Withholding { mark: Mark::Implausible, fragments: sum, at_most: likely, respondents };
            if let Some(withheld) = beyond.or((sum > likely).then_some(unlikely)) {
                found(attribute, withheld);
            }
        }
    }
}

#[cfg(test)]
mod tests;
