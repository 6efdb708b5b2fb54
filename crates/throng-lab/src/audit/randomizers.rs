//! Every randomizer by its name, at any ε: what it promises, and games that try to break that.
//!
//! First whole reports over a few values are drawn. Where a million of them leave open whether ε is exceeded by 5 %, the same
//! mechanism is drawn over its smallest domain (of signs, for a few seeds), so that no time is spent on what has nothing to
//! do with the value. PrivUnit looks for a seed that fits, which takes its time: what it says at a large ε is seen in two steps.

use anyhow::{Result, bail};
use serde::Serialize;
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::normal::upper_tail;
use throng_dp::{
    Attributes, CountSketch, Epsilon, Gradient, Mechanism, Neighbors, OneHot, PrivUnit, Randomizer, Record,
    Removal, Replacement, SketchShape,
};

use super::gradients::{Caps, OtherCap, OwnCap, Signs, SignsOfFewSeeds};
use super::local::{EPOCHS, Promise, Trial, excess_of, scale_of};
use super::reports::{Epochs, Reports};

throng_simulate::choices! {
    /// Every randomizer that a survey or a training can name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RandomizerName {
        /// One bit per value
        OneHot = "one-hot",
        /// The same twice, with half of the budget each
        Repeated = "repeated",
        /// One bit per value, in report fragments: those of one epoch
        Fragments = "fragments",
        /// One bit per value, in report fragments: all of three epochs with one answer, behind a backstop that they nearly give away
        Backstop = "backstop",
        /// A cell of a sampled row of a sketch
        Sketch = "sketch",
        /// The same in report fragments
        SketchFragments = "sketch-fragments",
        /// One sampled attribute of a record
        Record = "record",
        /// The same in report fragments
        RecordFragments = "record-fragments",
        /// Gradients, as the paper has it: a direction and a sign
        Sign = "sign",
        /// Gradients: a direction that is likely near
        #[serde(rename = "privunit")]
        PrivUnit = "privunit",
    }
}

/// How much of a mechanism is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// Reports over a few values.
    Few,
    /// The fewest bits there can be: of records, one attribute, since with several the worst event needs all of them.
    Fewest,
}

impl RandomizerName {
    /// Its promise, which is ε, over a small domain: the guarantee does not depend on the size. With an `excess` above 1
    /// its reports really spend that many times what it claims.
    pub fn promise(self, epsilon: Epsilon, excess: f64) -> Result<Promise> {
        match self {
            Self::Sign => {
                let made = |scale: f64| -> Result<Gradient> {
                    Ok(Gradient::new(Signs::DIMENSION, CLIP, Epsilon::new(epsilon.value() * scale)?)?)
                };
                let spent = |scale| -> Result<f64> { Ok(made(scale)?.guarantee().epsilon().value()) };
                let claimed = spent(1.0)?;
                let real = made(scale(claimed, excess, spent)?)?;
                let trials = vec![
                    Trial::game(Signs::new(real.clone()), FEW_MAX),
                    Trial::game(SignsOfFewSeeds::new(real), u64::MAX),
                ];
                self.of_gradients(claimed, claimed, trials)
            }
            Self::PrivUnit => {
                let made = |scale: f64| -> Result<PrivUnit> {
                    Ok(PrivUnit::new(Signs::DIMENSION, CLIP, Epsilon::new(epsilon.value() * scale)?)?)
                };
                let claimed = made(1.0)?.guarantee().epsilon().value();
                let spent = |scale| Ok(spent_by(&made(scale)?));
                let real = made(scale(claimed, excess, spent)?)?;
                let games_max = (TRIES_MAX / real.tries()) as u64;
                let trials = if claimed.exp() * SIGHTINGS < games_max as f64 {
                    vec![Trial::game(Caps::new(real), games_max)]
                } else {
                    let (own, other) = (OwnCap::new(real.clone()), OtherCap::new(real.clone()));
                    vec![Trial::game(Caps::new(real), FEW_MAX), Trial::steps(own, other, games_max)]
                };
                self.of_gradients(claimed, spent(1.0)?, trials)
            }
            _ => self.of_values(epsilon, excess),
        }
    }

    fn of_gradients(self, claimed: f64, spent: f64, trials: Vec<Trial>) -> Result<Promise> {
        let (name, neighbors) = (self.name(), Replacement::NAME);
        Ok(Promise { name: name.to_owned(), neighbors, claimed: Epsilon::new(claimed)?, spent, trials })
    }

    fn of_values(self, epsilon: Epsilon, excess: f64) -> Result<Promise> {
        let epochs = if self == Self::Backstop { Epochs::Several(EPOCHS) } else { Epochs::One };
        // Fragments say less than their backstop: it has to be larger than what they may say.
        let claimed = |scale: f64| -> Result<f64> {
            let budget = Epsilon::new(epsilon.value() * scale)?;
            Ok(Reports::claimed(&self.mechanism(budget, 1.0, Width::Few)?, epochs).value())
        };
        // Budgets are rounded towards privacy: not for the last digits.
        let budget = Epsilon::new(epsilon.value() * scale_of(epsilon.value() * (1.0 - 1e-9), claimed)?)?;
        let (claimed, spent, scale) =
            excess_of(|scale| self.mechanism(budget, scale, Width::Few), epochs, excess)?;
        let few = Reports::new(self.mechanism(budget, scale, Width::Few)?, epochs)?;
        let fewest = Reports::own_bits(self.mechanism(budget, scale, Width::Fewest)?, epochs)?;
        let trials = vec![Trial::game(few, FEW_MAX), Trial::game(fewest, u64::MAX)];
        Ok(Promise { name: self.name().to_owned(), neighbors: Removal::NAME, claimed, spent, trials })
    }

    /// The mechanism of a survey for a budget, and with `scale` times that.
    fn mechanism(self, budget: Epsilon, scale: f64, width: Width) -> Result<Mechanism> {
        let scaled = |epsilon: f64| Epsilon::new(epsilon * scale);
        let fragment = match self {
            // So much that three epochs say nearly all of what the backstop does.
            Self::Backstop => scaled((budget.value() + BEYOND) / f64::from(TAU * EPOCHS))?,
            _ => scaled(fragment_epsilon(budget, TAU)?.value())?,
        };
        let budget = scaled(budget.value())?;
        let (values, sizes, rows, cells): (_, &[u64], _, _) = match width {
            Width::Few => (VALUES, &[VALUES, 2], 8, 4),
            Width::Fewest => (1, &[1], 2, 2),
        };
        let one_hot = || OneHot::new(values, budget);
        let sketch = || CountSketch::new(SketchShape { domain: 1000, rows, cells, seed: 1 }, budget);
        let record = || Record::new(Attributes::new(sizes)?, budget);
        Ok(match self {
            Self::OneHot => Mechanism::plain(one_hot()?),
            Self::Repeated => Mechanism::runs(budget, RUNS, |each| OneHot::new(values, each))?,
            Self::Fragments | Self::Backstop => Mechanism::fragments(one_hot()?, fragment, TAU)?,
            Self::Sketch => Mechanism::plain(sketch()?),
            Self::SketchFragments => Mechanism::fragments(sketch()?, fragment, TAU)?,
            Self::Record => Mechanism::plain(record()?),
            Self::RecordFragments => Mechanism::fragments(record()?, fragment, TAU)?,
            Self::Sign | Self::PrivUnit => bail!("gradients are no values of a survey"),
        })
    }
}

/// The scale at which a randomizer spends `excess` times what it claims.
fn scale(claimed: f64, excess: f64, spent: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    if excess > 1.0 { scale_of(excess * claimed, spent) } else { Ok(1.0) }
}

/// What reports of PrivUnit spend for caps of the normal share: it claims a little more, to be sure for any gradient.
fn spent_by(mechanism: &PrivUnit) -> f64 {
    let (coin, share) = (mechanism.coin(), upper_tail(mechanism.start()));
    let outside = (u128::MAX - coin.threshold()) as f64 * 2f64.powi(-128);
    (coin.probability() / outside * (1.0 - share) / share).ln()
}

const VALUES: u64 = 4;
const RUNS: u32 = 2;
const TAU: u32 = 2;
const CLIP: f64 = 1.0;
/// By how much all fragments together exceed their backstop: then they say all of it but e^-16.
const BEYOND: f64 = 16.0;
/// The largest number of whole reports that are drawn in each world.
const FEW_MAX: u64 = 1 << 20;
/// The largest number of seeds that are tried in each world: PrivUnit looks for one that fits.
const TRIES_MAX: f64 = 3e8;
/// How often an outcome has to be seen, about, to know its probability well enough.
const SIGHTINGS: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Verdict;
    use crate::audit::game::Stream;
    use crate::audit::local::{LocalMeasurement, RESOLUTION};

    /// A kept promise is called broken with a chance of at most 1e-4 each; the seeds are fixed.
    const ERROR: f64 = 1e-4;
    const SEEDS: std::ops::Range<u64> = 1..4;

    fn measured(promise: &Promise, seed: u64, measurement: u32) -> LocalMeasurement {
        promise.measure(ERROR, Stream { seed, measurement }).unwrap()
    }

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn every_randomizer_promises_what_it_is_asked_for_and_spends_it() {
        for value in [0.1, 1.0, 13.0] {
            for name in RandomizerName::ALL {
                let right = name.promise(epsilon(value), 1.0).unwrap();
                let claimed = right.claimed.value();
                assert!((claimed / value - 1.0).abs() < 1e-6, "{right:?}");
                assert!(right.spent <= claimed && right.spent > 0.94 * claimed, "{right:?} {}", right.spent);
                let broken = name.promise(epsilon(value), RESOLUTION).unwrap();
                assert_eq!((broken.claimed, broken.spent), (right.claimed, right.spent));
            }
        }
    }

    #[test]
    fn every_right_randomizer_passes_and_its_bound_is_nearly_reached() {
        for (measurement, name) in (0..).zip(RandomizerName::ALL) {
            let promise = name.promise(epsilon(4.0), 1.0).unwrap();
            for seed in SEEDS {
                let found = measured(&promise, seed, measurement);
                assert_eq!(found.verdict, Verdict::Kept, "{found:?}");
                assert!(found.resolved && found.lower > promise.spent / RESOLUTION, "{found:?}");
            }
        }
    }

    #[test]
    fn every_randomizer_that_spends_five_percent_more_is_caught() {
        for (measurement, name) in (0..).zip(RandomizerName::ALL) {
            let promise = name.promise(epsilon(4.0), RESOLUTION).unwrap();
            for seed in SEEDS {
                let found = measured(&promise, seed, measurement);
                assert_eq!(found.verdict, Verdict::Broken, "{found:?}");
                assert!(found.lower < found.claimed * RESOLUTION, "{found:?}");
            }
        }
    }

    /// What is drawn where whole reports leave an excess open tells right from wrong by itself, at every ε.
    #[test]
    fn the_fewest_bits_of_every_randomizer_show_its_epsilon() {
        for (measurement, name) in (0..).zip(RandomizerName::ALL) {
            for (excess, verdict) in [(1.0, Verdict::Kept), (RESOLUTION, Verdict::Broken)] {
                let mut promise = name.promise(epsilon(4.0), excess).unwrap();
                promise.trials.drain(..promise.trials.len() - 1);
                let found = measured(&promise, 1, measurement);
                assert_eq!(found.verdict, verdict, "{found:?}");
                assert!(found.resolved || found.verdict == Verdict::Broken, "{found:?}");
            }
        }
    }

    /// In two steps PrivUnit shows at 6 what it shows in one, and at 13 what it hardly would.
    #[test]
    fn privunit_shows_its_epsilon_in_two_steps() {
        let six = |excess: f64| {
            let made = |scale: f64| -> Result<PrivUnit> {
                Ok(PrivUnit::new(Signs::DIMENSION, CLIP, Epsilon::new(6.0 * scale)?)?)
            };
            let claimed = made(1.0)?.guarantee().epsilon().value();
            let spent = |scale| Ok(spent_by(&made(scale)?));
            let real = made(scale(claimed, excess, spent)?)?;
            let trials = vec![Trial::steps(OwnCap::new(real.clone()), OtherCap::new(real), u64::MAX)];
            RandomizerName::PrivUnit.of_gradients(claimed, spent(1.0)?, trials)
        };
        for (excess, verdict) in [(1.0, Verdict::Kept), (RESOLUTION, Verdict::Broken)] {
            let found = measured(&six(excess).unwrap(), 1, 0);
            assert_eq!(found.verdict, verdict, "{found:?}");
            assert!(found.resolved || verdict == Verdict::Broken, "{found:?}");
            let large = RandomizerName::PrivUnit.promise(epsilon(13.0), excess).unwrap();
            assert!(matches!(large.trials[1].played, crate::audit::local::EventSearch::Steps { .. }));
        }
    }

    /// From a small budget to a large one. (`throng audit local --epsilon 0.1,1,4,8,13 --self-check 20` tries all
    /// randomizers with 20 seeds.)
    #[test]
    fn small_and_large_budgets_are_told_from_five_percent_more() {
        for (measurement, value) in (0..).zip([0.1, 8.0]) {
            for (excess, verdict) in [(1.0, Verdict::Kept), (RESOLUTION, Verdict::Broken)] {
                let promise = RandomizerName::OneHot.promise(epsilon(value), excess).unwrap();
                let found = measured(&promise, 1, measurement);
                assert_eq!(found.verdict, verdict, "{found:?}");
            }
        }
    }
}
