//! An empirical lower bound of ε_local, beside what a randomizer claims.
//!
//! Every randomizer is sampled in two worlds through the code that respondents run, in rounds that double. The draws of
//! all rounds before choose an event, those of a new round try it: the choice does not cheat. Limits are
//! Clopper–Pearson's, with the error probability shared by all rounds, statistics and randomizers.

use std::fmt;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::{
    Attributes, CountSketch, Delta, Epsilon, Gradient, Mechanism, Neighbors, OneHot, PrivUnit, Randomizer,
    Record, Removal, Repeated, Replacement, ReportFragments, SketchShape,
};
use throng_wire::Survey;
use throng_wire::survey::Randomizer as SurveyRandomizer;

use super::Verdict;
use super::game::{Game, Seen, Stream, play};
use super::gradients::{Caps, Signs};
use super::labels::DrawnLabels;
use super::reports::{Epochs, Reports};

/// Every randomizer that a survey or a training can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RandomizerName {
    /// One bit per value
    OneHot,
    /// The same twice, with half of the budget each
    Repeated,
    /// One bit per value, in report fragments: those of one epoch
    Fragments,
    /// One bit per value, in report fragments: all of three epochs, behind one backstop
    Backstop,
    /// A cell of a sampled row of a sketch
    Sketch,
    /// The same in report fragments
    SketchFragments,
    /// One sampled attribute of a record
    Record,
    /// The same in report fragments
    RecordFragments,
    /// Gradients, as the paper has it: a direction and a sign
    Sign,
    /// Gradients: a direction that is likely near
    #[value(name = "privunit")]
    #[serde(rename = "privunit")]
    PrivUnit,
}

/// A promise about reports, and the game that tries to break it.
pub struct Promise {
    /// Whose it is.
    pub name: String,
    /// Which worlds it compares.
    pub neighbors: &'static str,
    /// The ε that is claimed.
    pub claimed: Epsilon,
    /// More draws than this are not made in each world.
    pub games_max: u64,
    game: Box<dyn Game>,
}

/// What a measurement found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Whose promise it was.
    pub name: String,
    /// Which worlds were compared.
    pub neighbors: &'static str,
    /// The ε that is claimed.
    pub claimed: f64,
    /// No smaller ε explains what was seen.
    pub lower: f64,
    /// What showed it.
    pub statistic: &'static str,
    /// Reports that were drawn in each world.
    pub reports: u64,
    /// Whether the bound came so close to the claim that an excess of [`RESOLUTION`] would have shown.
    pub resolved: bool,
    /// Whether the claim stands.
    pub verdict: Verdict,
}

impl Promise {
    /// Tries to break it. The verdict is wrong about a kept promise with probability `error` at most.
    pub fn measure(&self, error: f64, stream: Stream) -> Result<Measured> {
        let (game, claimed) = (self.game.as_ref(), self.claimed.value());
        let statistics = game.statistics();
        let each = error / f64::from(ROUNDS) / statistics.len() as f64;
        let mut before = play(game, FIRST_ROUND, stream, 0)?;
        let mut found = Measured {
            name: self.name.clone(),
            neighbors: self.neighbors,
            claimed,
            lower: 0.0,
            statistic: statistics[0].name,
            reports: FIRST_ROUND,
            resolved: false,
            verdict: Verdict::Kept,
        };
        for round in 1..=ROUNDS {
            let games = FIRST_ROUND << round;
            if found.reports + games > self.games_max {
                break;
            }
            let now = play(game, games, stream, round)?;
            found.reports += games;
            for ((chosen, tried), statistic) in before.iter().zip(&now).zip(&statistics) {
                let event = chosen.promising(Delta::ZERO, each);
                let limits = tried.limits(&event, Delta::ZERO, each)?;
                if limits.lower > found.lower {
                    (found.lower, found.statistic) = (limits.lower, statistic.name);
                }
                // Only if neither the claim nor an excess is left open has enough been seen.
                found.resolved |=
                    limits.lower >= claimed / RESOLUTION && limits.upper <= claimed * RESOLUTION;
            }
            found.verdict = Verdict::of(found.lower > claimed);
            if found.verdict.is_broken() || found.resolved {
                break;
            }
            before.iter_mut().zip(&now).for_each(|(before, now)| Seen::merge(before, now));
        }
        Ok(found)
    }

    /// The promises of a survey: of a report, behind a backstop of several epochs together, and of a label that is not
    /// public. With an `excess` above 1
    /// respondents really spend so many times what is claimed.
    pub fn of_survey(survey: &Survey, excess: f64) -> Result<Vec<Self>> {
        let scaled = |scale: f64| -> Result<Mechanism> {
            let mut survey = survey.clone();
            match &mut survey.randomizer {
                SurveyRandomizer::AttributeFragments { epsilon_local } => *epsilon_local *= scale,
                SurveyRandomizer::ReportFragments { epsilon_backstop, epsilon_fragment, .. } => {
                    *epsilon_backstop *= scale;
                    *epsilon_fragment *= scale;
                }
            }
            Ok(survey.mechanism()?)
        };
        let name = &survey.name;
        let mut promises =
            vec![Self::of_mechanism(format!("{name}, one epoch"), scaled, Epochs::One, excess)?];
        if matches!(survey.randomizer, SurveyRandomizer::ReportFragments { .. }) {
            let epochs = Epochs::Several(EPOCHS);
            promises.push(Self::of_mechanism(format!("{name}, {EPOCHS} epochs"), scaled, epochs, excess)?);
        }
        if let Some(claimed) = DrawnLabels::claimed(survey)? {
            let mut real = survey.clone();
            if let Some(epsilon) = real.labels.as_mut().and_then(|labels| labels.epsilon_label.as_mut()) {
                *epsilon *= excess;
            }
            promises.push(Self {
                name: format!("{name}, label"),
                neighbors: Replacement::NAME,
                claimed,
                games_max: LABELS_MAX,
                game: Box::new(DrawnLabels::new(real)?),
            });
        }
        Ok(promises)
    }

    /// `scaled(1)` is what is claimed.
    fn of_mechanism(
        name: String,
        scaled: impl Fn(f64) -> Result<Mechanism>,
        epochs: Epochs,
        excess: f64,
    ) -> Result<Self> {
        let claim = |scale| -> Result<f64> { Ok(Reports::claimed(&scaled(scale)?, epochs).value()) };
        let real = exceeding(claim, excess)?;
        let fragments = scaled(1.0)?.fragments_expected();
        let games_max = (FRAGMENTS_MAX / fragments) as u64;
        ensure!(
            games_max >= 4 * FIRST_ROUND,
            "a report of {name} has about {fragments:.0} fragments, too many to draw it often; audit the same randomizer on \
             fewer values with --randomizer and --epsilon"
        );
        Ok(Self {
            name,
            neighbors: Removal::NAME,
            claimed: Epsilon::new(claim(1.0)?)?,
            games_max,
            game: Box::new(Reports::new(scaled(real)?, epochs)?),
        })
    }
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").field("name", &self.name).field("claimed", &self.claimed).finish()
    }
}

impl RandomizerName {
    /// What it is called.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Its promise at a budget of ε, over a small domain: the guarantee does not depend on the size. With an `excess` above
    /// 1 its reports really spend so many times what it claims.
    pub fn promise(self, epsilon: Epsilon, excess: f64) -> Result<Promise> {
        let at = |scale: f64| Epsilon::new(epsilon.value() * scale);
        match self {
            Self::Sign => {
                let made =
                    |scale| -> Result<Gradient> { Ok(Gradient::new(Signs::DIMENSION, CLIP, at(scale)?)?) };
                let claim = |scale| -> Result<f64> { Ok(made(scale)?.guarantee().epsilon().value()) };
                let game = Box::new(Signs::new(made(exceeding(claim, excess)?)?));
                self.of_gradients(claim(1.0)?, u64::MAX, game)
            }
            Self::PrivUnit => {
                let made =
                    |scale| -> Result<PrivUnit> { Ok(PrivUnit::new(Signs::DIMENSION, CLIP, at(scale)?)?) };
                let claim = |scale| -> Result<f64> { Ok(made(scale)?.guarantee().epsilon().value()) };
                let game = Box::new(Caps::new(made(exceeding(claim, excess)?)?));
                self.of_gradients(claim(1.0)?, PRIV_UNIT_MAX, game)
            }
            Self::Backstop => {
                let epochs = Epochs::Several(EPOCHS);
                Promise::of_mechanism(self.name(), |scale| self.mechanism(epsilon, scale), epochs, excess)
            }
            _ => {
                let mechanism = |scale| self.mechanism(epsilon, scale);
                Promise::of_mechanism(self.name(), mechanism, Epochs::One, excess)
            }
        }
    }

    fn of_gradients(self, claimed: f64, games_max: u64, game: Box<dyn Game>) -> Result<Promise> {
        let (name, neighbors) = (self.name(), Replacement::NAME);
        Ok(Promise { name, neighbors, claimed: Epsilon::new(claimed)?, games_max, game })
    }

    /// The mechanism of a survey, with `scale` times the budget.
    fn mechanism(self, epsilon: Epsilon, scale: f64) -> Result<Mechanism> {
        let budget = Epsilon::new(epsilon.value() * scale)?;
        let fragment = Epsilon::new(fragment_epsilon(epsilon, TAU)?.value() * scale)?;
        let one_hot = || OneHot::new(VALUES, budget);
        let shape = SketchShape { domain: 1000, rows: 8, cells: 4, seed: 1 };
        let sketch = || CountSketch::new(shape, budget);
        let record = || Record::new(Attributes::new(&[VALUES, 2])?, budget);
        Ok(match self {
            Self::OneHot => Mechanism::OneHot(one_hot()?),
            Self::Repeated => {
                Mechanism::RepeatedOneHot(Repeated::split(budget, 2, |each| OneHot::new(VALUES, each))?)
            }
            Self::Fragments | Self::Backstop => {
                Mechanism::FragmentedOneHot(ReportFragments::new(one_hot()?, fragment, TAU)?)
            }
            Self::Sketch => Mechanism::Sketch(sketch()?),
            Self::SketchFragments => {
                Mechanism::FragmentedSketch(ReportFragments::new(sketch()?, fragment, TAU)?)
            }
            Self::Record => Mechanism::Record(record()?),
            Self::RecordFragments => {
                Mechanism::FragmentedRecord(ReportFragments::new(record()?, fragment, TAU)?)
            }
            Self::Sign | Self::PrivUnit => anyhow::bail!("gradients are no values of a survey"),
        })
    }
}

/// The scale at which a randomizer promises `excess` times what it does at 1. Promises rise with the scale.
fn exceeding(claim: impl Fn(f64) -> Result<f64>, excess: f64) -> Result<f64> {
    if excess <= 1.0 {
        return Ok(1.0);
    }
    let target = excess * claim(1.0)?;
    let mut high = excess;
    while claim(high)? < target {
        high *= 2.0;
        (high < 64.0).then_some(()).context("the randomizer cannot spend that much more than it claims")?;
    }
    let mut low = 1.0;
    while high - low > 1e-6 {
        let middle = 0.5 * (low + high);
        if claim(middle)? < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// An excess by this factor is to be noticed.
pub const RESOLUTION: f64 = 1.05;

/// Reports of the first round in each world, which only chooses; the next has twice as many.
const FIRST_ROUND: u64 = 1 << 13;
/// The last round has 2^27 reports in each world.
const ROUNDS: u32 = 14;
/// More fragments than this are not drawn: it would take hours.
const FRAGMENTS_MAX: f64 = 1e10;
/// A report of PrivUnit takes dozens of tries at a large ε.
const PRIV_UNIT_MAX: u64 = 1 << 23;
/// Everyone draws a label once, so that is not made to be fast.
const LABELS_MAX: u64 = 1 << 22;
const VALUES: u64 = 4;
const TAU: u32 = 2;
const EPOCHS: u32 = 3;
const CLIP: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::game::{Statistic, World};
    use chacha20::ChaCha8Rng;
    use throng_dp::sampling::Bernoulli;

    /// A kept promise is called broken with a chance of at most 1e-4 each; the seeds are fixed.
    const ERROR: f64 = 1e-4;

    fn measured(promise: &Promise, measurement: u32) -> Measured {
        promise.measure(ERROR, Stream { seed: 1, measurement }).unwrap()
    }

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn every_right_randomizer_passes_and_its_bound_is_nearly_reached() {
        for (measurement, name) in (0..).zip(RandomizerName::value_variants()) {
            let found = measured(&name.promise(epsilon(4.0), 1.0).unwrap(), measurement);
            assert_eq!(found.verdict, Verdict::Kept, "{found:?}");
            assert!(found.resolved && found.lower > found.claimed / RESOLUTION, "{found:?}");
        }
    }

    #[test]
    fn every_randomizer_that_spends_five_percent_more_is_caught() {
        for (measurement, name) in (0..).zip(RandomizerName::value_variants()) {
            let found = measured(&name.promise(epsilon(4.0), RESOLUTION).unwrap(), measurement);
            assert_eq!(found.verdict, Verdict::Broken, "{found:?}");
            assert!(found.lower < found.claimed * RESOLUTION, "{found:?}");
        }
    }

    /// From a small budget to a large one. (At 13 a trial takes 8 s of processor time: `throng audit local --randomizer
    /// one-hot --epsilon 0.1,1,4,8,13 --self-check 20` tries all of them with 20 seeds.)
    #[test]
    fn small_and_large_budgets_are_told_from_five_percent_more() {
        for (measurement, value) in (0..).zip([0.1, 8.0]) {
            for (excess, verdict) in [(1.0, Verdict::Kept), (RESOLUTION, Verdict::Broken)] {
                let promise = RandomizerName::OneHot.promise(epsilon(value), excess).unwrap();
                let found = measured(&promise, measurement);
                assert_eq!(found.verdict, verdict, "{found:?}");
            }
        }
    }

    /// A randomizer whose first statistic is right, and that leaks through another one.
    struct Leak(Bernoulli);

    impl Game for Leak {
        fn statistics(&self) -> Vec<Statistic> {
            vec![Statistic { name: "right", outcomes: 2 }, Statistic { name: "elsewhere", outcomes: 8 }]
        }

        fn play(
            &self,
            world: World,
            games: u64,
            counts: &mut [Vec<u64>],
            rng: &mut ChaCha8Rng,
        ) -> Result<()> {
            for game in 0..games {
                let bit = (world == World::First) ^ self.0.draw(rng);
                counts[0][usize::from(bit)] += 1;
                // One report in eight says which world it is.
                let leak = if game % 8 == 0 { 3 + usize::from(world == World::First) } else { 1 };
                counts[1][leak] += 1;
            }
            Ok(())
        }
    }

    #[test]
    fn a_leak_elsewhere_is_caught_and_named() {
        let coin = Bernoulli::flip(epsilon(2.0)).unwrap();
        let (name, neighbors) = ("leak".to_owned(), Removal::NAME);
        let game = Box::new(Leak(coin));
        let promise = Promise { name, neighbors, claimed: epsilon(2.0), games_max: u64::MAX, game };
        let found = measured(&promise, 0);
        assert_eq!((found.verdict, found.statistic), (Verdict::Broken, "elsewhere"));
    }

    const SURVEY: &str = r#"
version = 1
name = "languages"
question = "Which of these?"
epoch_s = 86400
[encoding]
kind = "one-hot"
domain = 300
[randomizer]
kind = "report-fragments"
epsilon_backstop = 5
epsilon_fragment = 4
fragments = 3
[crowd]
respondents_min = 3000
honest_fraction = 1.0
enrolment = "credential"
[delivery]
instances = 3
hops = 2
envelopes = 24
cover = "chaff"
[claim]
epsilon_central = 5
delta = 1e-6
neighbors = "removal"
bound = "exact"
[labels]
names = ["de", "en", "fr"]
epsilon_deletion = 1.0
delta_deletion = 1e-8
epsilon_label = 3.0
"#;

    #[test]
    fn all_that_a_survey_promises_is_audited() {
        let survey = Survey::from_toml(SURVEY).unwrap();
        for (excess, verdict) in [(1.0, Verdict::Kept), (RESOLUTION, Verdict::Broken)] {
            let promises = Promise::of_survey(&survey, excess).unwrap();
            let names: Vec<&str> = promises.iter().map(|promise| promise.name.as_str()).collect();
            assert_eq!(names, ["languages, one epoch", "languages, 3 epochs", "languages, label"]);
            assert_eq!(promises[1].claimed.value(), survey.mechanism().unwrap().floor().epsilon().value());
            for (measurement, promise) in (0..).zip(&promises) {
                let found = measured(promise, measurement);
                assert_eq!(found.verdict, verdict, "{found:?}");
            }
        }
    }
}
