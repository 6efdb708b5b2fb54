//! An empirical lower bound of ε_local, beside what a randomizer claims.
//!
//! Every randomizer is sampled in two worlds through the code that respondents run, in rounds that double. The draws of
//! all rounds before choose an event, those of new rounds try it: the choice does not cheat. Limits are
//! Clopper–Pearson's, with the error probability shared by all rounds, statistics and randomizers.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use throng_dp::{Delta, Epsilon, Mechanism, Neighbors, Removal, Replacement};
use throng_wire::Survey;
use throng_wire::survey::Randomizer as SurveyRandomizer;

use super::Verdict;
use super::game::{Game, Seen, Stream, play};
use super::labels::DrawnLabels;
use super::reports::{Epochs, Reports};

/// A promise about reports, and the games that try to break it.
pub struct Promise {
    /// Whose it is.
    pub name: String,
    /// Which worlds it compares.
    pub neighbors: &'static str,
    /// The ε that is claimed.
    pub claimed: Epsilon,
    /// The ε that a right randomizer really spends in these games: never above what is claimed, and often equal.
    pub spent: f64,
    /// One after the other, until one of them has seen enough.
    pub(super) trials: Vec<Trial>,
}

/// A game, and how often it may be played.
pub(super) struct Trial {
    pub(super) game: Box<dyn Game>,
    /// More draws than this are not made in each world.
    pub(super) games_max: u64,
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
    /// Whether the bound came so close to what a right randomizer spends that an excess of [`RESOLUTION`] over the claim
    /// would have shown.
    pub resolved: bool,
    /// Whether the claim stands.
    pub verdict: Verdict,
}

impl Promise {
    /// Tries to break it. The verdict is wrong about a kept promise with probability `error` at most.
    pub fn measure(&self, error: f64, stream: Stream) -> Result<Measured> {
        let mut found = Measured {
            name: self.name.clone(),
            neighbors: self.neighbors,
            claimed: self.claimed.value(),
            lower: 0.0,
            statistic: "",
            reports: 0,
            resolved: false,
            verdict: Verdict::Kept,
        };
        let each = error / self.trials.len() as f64;
        for (number, trial) in (0..).zip(&self.trials) {
            self.measure_by(trial, each, stream, number * (ROUNDS + 1), &mut found)?;
            if found.verdict.is_broken() || found.resolved {
                break;
            }
        }
        Ok(found)
    }

    /// Plays one of the games. Events are tried on the newest round alone, and on the last few together, having been chosen
    /// from all rounds before those: the former choice is the better one, the latter has more draws.
    fn measure_by(
        &self,
        trial: &Trial,
        error: f64,
        stream: Stream,
        first_round: u32,
        found: &mut Measured,
    ) -> Result<()> {
        let (game, claimed) = (trial.game.as_ref(), self.claimed.value());
        let statistics = game.statistics();
        let each = error / f64::from(ROUNDS) / statistics.len() as f64 / TRIED_ROUNDS.len() as f64;
        let mut rounds = vec![play(game, FIRST_ROUND, stream, first_round)?];
        let mut reports = FIRST_ROUND;
        for round in 1..=ROUNDS as usize {
            let games = FIRST_ROUND << round;
            if reports + games > trial.games_max {
                break;
            }
            rounds.push(play(game, games, stream, first_round + round as u32)?);
            reports += games;
            for (place, statistic) in statistics.iter().enumerate() {
                let seen = |rounds: &[Vec<Seen>]| Seen::sum(rounds.iter().map(|round| &round[place]));
                for from in TRIED_ROUNDS.iter().filter_map(|&tried| (round + 1).checked_sub(tried)) {
                    if from == 0 {
                        continue;
                    }
                    let event = seen(&rounds[..from]).promising(Delta::ZERO, each);
                    let limits = seen(&rounds[from..]).limits(&event, Delta::ZERO, each)?;
                    if found.statistic.is_empty() || limits.lower > found.lower {
                        (found.lower, found.statistic) = (limits.lower, statistic.name);
                    }
                    // Only if neither what is spent nor an excess is left open has enough been seen.
                    found.resolved |=
                        limits.lower >= self.spent / RESOLUTION && limits.upper <= claimed * RESOLUTION;
                }
            }
            found.verdict = Verdict::of(found.lower > claimed);
            if found.verdict.is_broken() || found.resolved {
                break;
            }
        }
        found.reports += reports;
        Ok(())
    }

    /// The promises of a survey: of a report, behind a backstop of several epochs together, and of a label that is not
    /// public. With an `excess` above 1 respondents really spend so many times what is claimed.
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
        let mut promises = vec![Self::whole(format!("{name}, one epoch"), scaled, Epochs::One, excess)?];
        if matches!(survey.randomizer, SurveyRandomizer::ReportFragments { .. }) {
            let epochs = Epochs::Several(EPOCHS);
            promises.push(Self::whole(format!("{name}, {EPOCHS} epochs"), scaled, epochs, excess)?);
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
                spent: claimed.value(),
                trials: vec![Trial { game: Box::new(DrawnLabels::new(real)?), games_max: LABELS_MAX }],
            });
        }
        Ok(promises)
    }

    /// The whole report of a mechanism; `scaled(1)` is what is claimed.
    fn whole(
        name: String,
        scaled: impl Fn(f64) -> Result<Mechanism>,
        epochs: Epochs,
        excess: f64,
    ) -> Result<Self> {
        let fragments = scaled(1.0)?.fragments_expected();
        let games_max = (FRAGMENTS_MAX / fragments) as u64;
        ensure!(
            games_max >= 4 * FIRST_ROUND,
            "a report of {name} has about {fragments:.0} fragments, too many to draw it often; audit the same randomizer on \
             fewer values with --randomizer and --epsilon"
        );
        let (claimed, spent, scale) = excess_of(&scaled, epochs, excess)?;
        let game = Box::new(Reports::new(scaled(scale)?, epochs)?);
        Ok(Self { name, neighbors: Removal::NAME, claimed, spent, trials: vec![Trial { game, games_max }] })
    }
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").field("name", &self.name).field("claimed", &self.claimed).finish()
    }
}

/// What a mechanism claims and spends, and the scale at which it spends `excess` times what it claims.
pub(super) fn excess_of(
    scaled: impl Fn(f64) -> Result<Mechanism>,
    epochs: Epochs,
    excess: f64,
) -> Result<(Epsilon, f64, f64)> {
    let right = scaled(1.0)?;
    let claimed = Reports::claimed(&right, epochs);
    let spent = |scale| -> Result<f64> { Ok(Reports::spent(&scaled(scale)?, epochs).value()) };
    let scale = if excess > 1.0 { scale_of(excess * claimed.value(), spent)? } else { 1.0 };
    Ok((claimed, Reports::spent(&right, epochs).value(), scale))
}

/// The scale, from 1 on, at which a randomizer spends so much. It spends more at a larger one.
pub(super) fn scale_of(target: f64, spent: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let (mut low, mut high) = (1.0, 1.0);
    while spent(high)? < target {
        (low, high) = (high, 2.0 * high);
        (high <= 64.0).then_some(()).context("the randomizer cannot spend that much more than it claims")?;
    }
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if spent(middle)? < target {
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
pub(super) const FIRST_ROUND: u64 = 1 << 13;
/// The last round has 2^27 reports in each world.
const ROUNDS: u32 = 14;
/// On how many of the newest rounds an event is tried.
const TRIED_ROUNDS: [usize; 2] = [1, 3];
/// More fragments than this are not drawn: it would take hours.
const FRAGMENTS_MAX: f64 = 1e10;
/// Everyone draws a label once, so that is not made to be fast.
const LABELS_MAX: u64 = 1 << 22;
/// How many epochs are seen together behind a backstop.
pub(super) const EPOCHS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::game::testing::Bit;

    /// A kept promise is called broken with a chance of at most 1e-4 each; the seeds are fixed.
    const ERROR: f64 = 1e-4;

    fn measured(promise: &Promise, measurement: u32) -> Measured {
        promise.measure(ERROR, Stream { seed: 1, measurement }).unwrap()
    }

    fn promise(claimed: f64, game: Bit) -> Promise {
        Promise {
            name: "bit".into(),
            neighbors: Removal::NAME,
            claimed: Epsilon::new(claimed).unwrap(),
            spent: claimed,
            trials: vec![Trial { game: Box::new(game), games_max: u64::MAX }],
        }
    }

    /// One report in eight says which world it is, beside a bit that is right.
    #[test]
    fn a_leak_elsewhere_is_caught_and_named() {
        let found = measured(&promise(2.0, Bit::beside(2.0, [vec![1; 8], vec![1; 8]])), 0);
        assert_eq!((found.verdict, found.resolved), (Verdict::Kept, true), "{found:?}");
        let mut lots = [vec![1; 8], vec![1; 8]];
        (lots[0][0], lots[1][0]) = (4, 3);
        let found = measured(&promise(2.0, Bit::beside(2.0, lots)), 0);
        assert_eq!((found.verdict, found.statistic), (Verdict::Broken, "beside"));
    }

    /// A leak that neither tail shows beyond the claim: three times as likely in the middle, where tails say ln 2.
    #[test]
    fn a_leak_in_the_middle_is_caught() {
        let leaks = || Bit::beside(0.8, [vec![0, 1, 1, 1, 2], vec![0, 0, 1, 2, 2]]);
        let found = measured(&promise(0.8, leaks()), 0);
        assert_eq!((found.verdict, found.statistic), (Verdict::Broken, "beside"), "{found:?}");
        assert_eq!(measured(&promise(3.0_f64.ln(), leaks()), 0).verdict, Verdict::Kept);
    }

    /// The second game is played if the first may not be played often enough, and the first alone if it may.
    #[test]
    fn games_are_played_until_one_has_seen_enough() {
        let mut promise = promise(1.0, Bit::new(1.0));
        let game = Box::new(Bit::new(1.0));
        promise.trials.push(Trial { game, games_max: u64::MAX });
        let first = measured(&promise, 0);
        assert!(first.resolved, "{first:?}");
        promise.trials[0].games_max = 4 * FIRST_ROUND;
        let both = measured(&promise, 0);
        assert!(both.resolved && both.reports > first.reports, "{both:?}");
        promise.trials[1].games_max = 0;
        let neither = measured(&promise, 0);
        assert!(!neither.resolved && neither.lower < 1.0 / RESOLUTION, "{neither:?}");
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
