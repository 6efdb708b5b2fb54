//! An empirical lower bound of ε_central: is one respondent in the count, or did they have nothing to say?
//!
//! The analyzer sees of one value how many fragments came. Only this number depends on the one respondent, and all else
//! is known to the attacker (docs/accounting.md, Section 2; over several instances the counts of each are a random
//! part of it, which says no more). So the game is drawn exactly: the respondent's report by the encoder, the others
//! by their law or one by one. Where a survey's δ is too small to be sampled, larger ones on the same curve are tried.

use anyhow::{Result, bail, ensure};
use chacha20::ChaCha8Rng;
use serde::Serialize;
use throng_account::bound::BOUNDS;
use throng_analyze::Analyzer;
use throng_dp::sampling::Bernoulli;
use throng_dp::{BitRandomizer, Delta, Epsilon, Mechanism, OneHot, Value};
use throng_encode::Encoder;

use super::Verdict;
use super::game::{Game, Statistic, Stream, World, play};
use crate::simulation::Mode;
use crate::simulation::binomial::Binomial;

/// A crowd that answers a survey with one bit per value.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The respondents that the promise counts on, with the one whose presence is in question.
    pub respondents: u64,
    /// How many of the others hold the same value.
    pub holders: u64,
    /// How many of the others are really there; all of them unless the crowd is stated too large.
    pub others: u64,
    /// What they answer with.
    pub one_hot: OneHot,
    /// How the others are drawn.
    pub mode: Mode,
}

/// How closely to look.
#[derive(Clone, Debug)]
pub struct Questions {
    /// The δ at which the bounds are tried.
    pub deltas: Vec<Delta>,
    /// Games in each world that try the event; a third as many choose it before.
    pub games: u64,
    /// The probability that a kept promise is called broken.
    pub error: f64,
}

/// What was found at one δ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The δ.
    pub delta: f64,
    /// No smaller ε explains what was seen.
    pub lower: f64,
    /// What each bound claims there.
    pub bounds: Vec<Claimed>,
}

/// What one bound claims, beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claimed {
    /// Its name.
    pub bound: &'static str,
    /// Its ε_central; none where it does not apply.
    pub claimed: Option<f64>,
    /// How many times the lower bound it is: 1 would be the whole truth.
    pub looseness: Option<f64>,
    /// Whether it stands.
    pub verdict: Verdict,
}

impl Crowd {
    /// Plays the game, and compares with every bound.
    pub fn audit(&self, questions: &Questions, stream: Stream) -> Result<Vec<Found>> {
        ensure!(
            self.respondents >= 1 && self.holders <= self.others,
            "more holders than others in the crowd"
        );
        ensure!(!questions.deltas.is_empty(), "give at least one delta to try the bounds at");
        let game = Counts::new(self)?;
        let chosen = play(&game, questions.games.div_ceil(3), stream, 0)?.swap_remove(0);
        let tried = play(&game, questions.games, stream, 1)?.swap_remove(0);
        let error = questions.error / questions.deltas.len() as f64;
        questions
            .deltas
            .iter()
            .map(|&delta| {
                let lower = tried.limits(&chosen.promising(delta, error), delta, error)?.lower;
                Ok(Found { delta: delta.value(), lower, bounds: self.claims(delta, lower) })
            })
            .collect()
    }

    fn claims(&self, delta: Delta, lower: f64) -> Vec<Claimed> {
        let claim = |bound: &throng_account::bound::Bound| {
            let local: Epsilon = self.one_hot.coin().epsilon();
            let claimed = (bound.central)(self.respondents, local, delta).ok().map(Epsilon::value);
            let looseness = claimed.filter(|_| lower > 0.0).map(|claimed| claimed / lower);
            let verdict = Verdict::of(claimed.is_some_and(|claimed| lower > claimed));
            Claimed { bound: bound.name, claimed, looseness, verdict }
        };
        BOUNDS.iter().map(claim).collect()
    }
}

/// A crowd's mechanism, if it is one that the game is about.
pub fn one_hot_of(mechanism: &Mechanism) -> Result<OneHot> {
    match mechanism {
        Mechanism::OneHot(one_hot) => Ok(one_hot.clone()),
        _ => bail!(
            "the central audit is for surveys with one bit per value and no report fragments; give such a survey, or \
             --respondents and --epsilon-local"
        ),
    }
}

/// The number of fragments of one value.
struct Counts {
    encoder: Encoder,
    value: Value,
    attribute: u32,
    others: Others,
    /// The count of the first outcome, and how many counts an outcome has.
    window: (u64, u64),
    outcomes: usize,
}

/// What the others add to the count.
enum Others {
    /// Drawn at once.
    Law { with: Binomial, without: Binomial },
    /// Reported one by one.
    Reports { with: u64, without: u64 },
}

impl Counts {
    fn new(crowd: &Crowd) -> Result<Self> {
        let (with, without) = (crowd.holders, crowd.others - crowd.holders);
        let coin: Bernoulli = crowd.one_hot.coin();
        let p = coin.probability();
        let mean = with as f64 * (1.0 - p) + without as f64 * p;
        let deviation = (crowd.others as f64 * p * (1.0 - p)).sqrt();
        let low = (mean - SPAN * deviation - 2.0).max(0.0) as u64;
        let high = (mean + SPAN * deviation + 3.0) as u64;
        let width = (high - low).div_ceil(OUTCOMES_MAX).max(1);
        let attribute = (crowd.one_hot.size() / 2) as u32;
        Ok(Self {
            encoder: Encoder::new(Mechanism::OneHot(crowd.one_hot.clone())),
            value: Value::from(u64::from(attribute)),
            attribute,
            others: match crowd.mode {
                Mode::Aggregate => {
                    Others::Law { with: Binomial::new(with, 1.0 - p), without: Binomial::new(without, p) }
                }
                Mode::Respondent => Others::Reports { with, without },
            },
            window: (low, width),
            outcomes: ((high - low) / width + 1) as usize,
        })
    }

    fn count(&self, value: Option<&Value>, fragments: &mut Vec<u32>, rng: &mut ChaCha8Rng) -> Result<u64> {
        match &self.others {
            Others::Law { with, without } => {
                self.encoder.encode(value, fragments, rng)?;
                let own = u64::from(fragments.contains(&self.attribute));
                Ok(own + with.draw(rng) + without.draw(rng))
            }
            Others::Reports { with, without } => {
                let mut analyzer = Analyzer::new(self.encoder.mechanism().clone())?;
                let holders = (0..*with).map(|_| Some(&self.value));
                let rest = (0..*without).map(|_| None);
                for value in holders.chain(rest).chain([value]) {
                    self.encoder.encode(value, fragments, rng)?;
                    analyzer.add_fragments(fragments)?;
                }
                Ok(analyzer.tally().counts().nth(self.attribute as usize).unwrap_or(0))
            }
        }
    }
}

impl Game for Counts {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "fragments of the value", outcomes: self.outcomes }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let value = match world {
            World::First => Some(&self.value),
            World::Second => None,
        };
        let mut fragments = Vec::new();
        let (low, width) = self.window;
        for _ in 0..games {
            let count = self.count(value, &mut fragments, rng)?;
            let outcome = (count.saturating_sub(low) / width) as usize;
            counts[0][outcome.min(self.outcomes - 1)] += 1;
        }
        Ok(())
    }
}

/// Counts further than so many deviations from the mean are put together with those at the end.
const SPAN: f64 = 10.0;
const OUTCOMES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(respondents: u64, others: u64, epsilon_local: f64, mode: Mode) -> Crowd {
        let one_hot = OneHot::new(3, Epsilon::new(epsilon_local).unwrap()).unwrap();
        Crowd { respondents, holders: 0, others, one_hot, mode }
    }

    fn found(crowd: &Crowd, games: u64) -> Found {
        let deltas = vec![Delta::new(0.01).unwrap()];
        let questions = Questions { deltas, games, error: 1e-6 };
        crowd.audit(&questions, Stream { seed: 5, measurement: 0 }).unwrap().remove(0)
    }

    fn claimed(found: &Found, bound: &str) -> f64 {
        found.bounds.iter().find(|claimed| claimed.bound == bound).unwrap().claimed.unwrap()
    }

    /// The exact accountant is nearly reached, the paper's bounds are far: with an error probability of 1e-6.
    #[test]
    fn the_exact_bound_is_tight_and_the_papers_are_loose() {
        let found = found(&crowd(4000, 3999, 4.0, Mode::Aggregate), 3_000_000);
        assert!(found.bounds.iter().all(|claimed| claimed.verdict == Verdict::Kept), "{found:?}");
        let exact = claimed(&found, "exact");
        assert!(found.lower > 0.85 * exact && found.lower <= exact, "{found:?}");
        assert!(claimed(&found, "lemma") > 2.0 * found.lower, "{found:?}");
    }

    /// Everyone reports for themselves: the same law.
    #[test]
    fn a_crowd_that_reports_one_by_one_is_as_private() {
        let found = found(&crowd(40, 39, 2.0, Mode::Respondent), 150_000);
        let exact = claimed(&found, "exact");
        assert!(found.lower > 0.6 * exact && found.lower <= exact, "{found:?}");
    }

    /// A crowd that is half as large as stated breaks the exact bound, and no others are needed to see it.
    #[test]
    fn a_crowd_that_is_stated_too_large_is_caught() {
        let found = found(&crowd(1000, 499, 4.0, Mode::Aggregate), 1_000_000);
        assert_eq!(found.bounds[0].verdict, Verdict::Broken, "{found:?}");
    }

    #[test]
    fn other_surveys_are_refused_with_what_to_give() {
        let sketch = throng_dp::CountSketch::new(
            throng_dp::SketchShape { domain: 9, rows: 2, cells: 4, seed: 1 },
            Epsilon::new(1.0).unwrap(),
        );
        let error = one_hot_of(&Mechanism::Sketch(sketch.unwrap())).unwrap_err().to_string();
        assert!(error.contains("--epsilon-local"), "{error}");
    }
}
