//! An empirical lower bound of ε_local, beside what a randomizer claims.
//!
//! Every randomizer is sampled in two worlds through the code that respondents run, in rounds that double. The draws of
//! all rounds before choose an event, those of new rounds try it: the choice does not cheat. Limits are
//! Clopper–Pearson's, with the error probability shared by all rounds, statistics and randomizers. Where the event that tells is too
//! rare to wait for, it is reached in two steps that are not.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use throng_dp::{Delta, Epsilon, Mechanism, Neighbors, Removal, Replacement};
use throng_wire::Survey;
use throng_wire::survey::Randomizer as SurveyRandomizer;

use super::Verdict;
use super::game::{Game, Limits, OutcomeCounts, Stream, World, play};
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

/// What is played, and how often it may be.
pub(super) struct Trial {
    pub(super) played: EventSearch,
    /// More draws than this are not made in each world.
    pub(super) games_max: u64,
}

/// How a trial looks for an event that tells the worlds apart.
pub(super) enum EventSearch {
    /// One game, in which events are looked for.
    Game(Box<dyn Game>),
    /// Two games with one event each, which has outcome 1: that a report is on the side of the respondent's own world; and that it is
    /// on that of the other world, *given* that it is not on its own. Together they say how likely a report is on the wrong side, which
    /// may be too rare to be seen.
    Steps { own: Box<dyn Game>, other: Box<dyn Game> },
}

impl Trial {
    /// One game.
    pub(super) fn game(game: impl Game + 'static, games_max: u64) -> Self {
        Self { played: EventSearch::Game(Box::new(game)), games_max }
    }

    /// Two steps.
    pub(super) fn steps(own: impl Game + 'static, other: impl Game + 'static, games_max: u64) -> Self {
        Self { played: EventSearch::Steps { own: Box::new(own), other: Box::new(other) }, games_max }
    }
}

/// What a measurement found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocalMeasurement {
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

impl LocalMeasurement {
    /// Takes the limits that the event of a statistic gave into account.
    fn note(&mut self, limits: Limits, statistic: &'static str, spent: f64) {
        if self.statistic.is_empty() || limits.lower > self.lower {
            (self.lower, self.statistic) = (limits.lower, statistic);
        }
        // Only if neither what is spent nor an excess is left open has enough been seen.
        self.resolved |= limits.lower >= spent / RESOLUTION && limits.upper <= self.claimed * RESOLUTION;
        self.verdict = Verdict::of(self.lower > self.claimed);
    }
}

impl Promise {
    /// Tries to break it. The verdict is wrong about a kept promise with probability `error` at most.
    pub fn measure(&self, error: f64, stream: Stream) -> Result<LocalMeasurement> {
        let mut found = LocalMeasurement {
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
            let first_round = number * (ROUNDS + 1);
            match &trial.played {
                EventSearch::Game(game) => {
                    self.measure_by(game.as_ref(), trial.games_max, each, (stream, first_round), &mut found)?;
                }
                EventSearch::Steps { own, other } => {
                    let games = [own.as_ref(), other.as_ref()];
                    self.measure_by_steps(games, trial.games_max, each, (stream, first_round), &mut found)?;
                }
            }
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
        game: &dyn Game,
        games_max: u64,
        error: f64,
        (stream, first_round): (Stream, u32),
        found: &mut LocalMeasurement,
    ) -> Result<()> {
        let statistics = game.statistics();
        let tried = error / f64::from(ROUNDS) / TRIED_ROUNDS.len() as f64;
        let mut rounds = vec![play(game, FIRST_ROUND, stream, first_round)?];
        let mut reports = FIRST_ROUND;
        for round in 1..=ROUNDS as usize {
            let games = FIRST_ROUND << round;
            if reports + games > games_max {
                break;
            }
            rounds.push(play(game, games, stream, first_round + round as u32)?);
            reports += games;
            for (place, statistic) in statistics.iter().enumerate() {
                let each = tried * share(place, statistics.len());
                let seen = |rounds: &[Vec<OutcomeCounts>]| {
                    OutcomeCounts::sum(rounds.iter().map(|round| &round[place]))
                };
                for from in TRIED_ROUNDS.iter().filter_map(|&tried| (round + 1).checked_sub(tried)) {
                    if from == 0 {
                        continue;
                    }
                    let event = seen(&rounds[..from]).promising(Delta::ZERO, each);
                    let limits = seen(&rounds[from..]).limits(&event, Delta::ZERO, each)?;
                    found.note(limits, statistic.name, self.spent);
                }
            }
            if found.verdict.is_broken() || found.resolved {
                break;
            }
        }
        found.reports += reports;
        Ok(())
    }

    /// Plays two steps, in rounds that double, and looks at all of them together: there is nothing to choose.
    ///
    /// A report on one world's side is there with some probability in that world, and in the other one with the product of two:
    /// that it is not on its own side, and that it is then on this one. So limits of the three are limits of ε.
    fn measure_by_steps(
        &self,
        games: [&dyn Game; 2],
        games_max: u64,
        error: f64,
        (stream, first_round): (Stream, u32),
        found: &mut LocalMeasurement,
    ) -> Result<()> {
        // Three probabilities, which limits of ε on both sides lean on, in each of two directions.
        let each = error / f64::from(ROUNDS) / 6.0;
        let mut seen: [Option<OutcomeCounts>; 2] = [None, None];
        let mut reports = 0;
        for round in 0..ROUNDS {
            let count = FIRST_ROUND << round;
            if reports + count > games_max {
                break;
            }
            reports += count;
            for ((game, seen), step) in games.iter().zip(&mut seen).zip(0..) {
                let new = play(*game, count, stream, first_round + 2 * round + step)?;
                *seen = Some(OutcomeCounts::sum(seen.iter().chain(&new[..1])));
            }
            let [Some(own), Some(other)] = &seen else { continue };
            for [here, there] in [World::BOTH, [World::Second, World::First]] {
                let (own_low, own_high) = own.probability(here, 1, each)?;
                let (missed_low, missed_high) = own.probability(there, 0, each)?;
                let (other_low, other_high) = other.probability(there, 1, each)?;
                // Above the rounding of quotients and logarithms.
                let lower = (own_low / (missed_high * other_high)).ln() * (1.0 - 1e-14) - 1e-14;
                let limits = Limits { lower, upper: (own_high / (missed_low * other_low)).ln() };
                found.note(limits, games[0].statistics()[0].name, self.spent);
            }
            if found.verdict.is_broken() || found.resolved {
                break;
            }
        }
        found.reports += reports;
        Ok(())
    }

    /// The promises of a survey: of a report, behind a backstop of several epochs together, and of a label that is not
    /// public. With an `excess` above 1 respondents really spend that many times what is claimed.
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
                trials: vec![Trial::game(DrawnLabels::new(real)?, LABELS_MAX)],
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
        let trials = vec![Trial::game(Reports::new(scaled(scale)?, epochs)?, games_max)];
        Ok(Self { name, neighbors: Removal::NAME, claimed, spent, trials })
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

/// The scale, from 1 on, at which a randomizer spends `target`. It spends more at a larger one.
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

/// A statistic's share of the probability of error. The first is what tells in a right randomizer, and has nearly all of it; the
/// others are there for randomizers that are wrong in some other way, which shows all the same.
fn share(place: usize, statistics: usize) -> f64 {
    match (place, statistics) {
        (_, 1) => 1.0,
        (0, _) => 1.0 - OTHERS,
        _ => OTHERS / (statistics - 1) as f64,
    }
}

/// What all but the first have together.
const OTHERS: f64 = 1.0 / 16.0;
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
    use chacha20::ChaCha8Rng;
    use throng_dp::sampling::Bernoulli;
    use throng_testing::survey::{SURVEY, with};

    use super::*;
    use crate::audit::game::Statistic;
    use crate::audit::game::testing::Bit;

    /// A kept promise is called broken with a chance of at most 1e-4 each; the seeds are fixed.
    const ERROR: f64 = 1e-4;

    fn measured(promise: &Promise, measurement: u32) -> LocalMeasurement {
        promise.measure(ERROR, Stream { seed: 1, measurement }).unwrap()
    }

    fn promise(claimed: f64, game: Bit) -> Promise {
        Promise {
            name: "bit".into(),
            neighbors: Removal::NAME,
            claimed: Epsilon::new(claimed).unwrap(),
            spent: claimed,
            trials: vec![Trial::game(game, u64::MAX)],
        }
    }

    #[test]
    fn statistics_share_the_whole_error_and_the_first_has_most() {
        for statistics in 1..6 {
            let shares: Vec<f64> = (0..statistics).map(|place| share(place, statistics)).collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{shares:?}");
            assert!(shares[0] > 0.9 && shares.iter().all(|&share| share > 0.01), "{shares:?}");
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
        promise.trials.push(Trial::game(Bit::new(1.0), u64::MAX));
        let first = measured(&promise, 0);
        assert!(first.resolved, "{first:?}");
        promise.trials[0].games_max = 4 * FIRST_ROUND;
        let both = measured(&promise, 0);
        assert!(both.resolved && both.reports > first.reports, "{both:?}");
        promise.trials[1].games_max = 0;
        let neither = measured(&promise, 0);
        assert!(!neither.resolved && neither.lower < 1.0 / RESOLUTION, "{neither:?}");
    }

    /// Outcome 1 with the probability of a coin, in both worlds.
    struct Coin(f64);

    impl Game for Coin {
        fn statistics(&self) -> Vec<Statistic> {
            vec![Statistic { name: "coin", outcomes: 2 }]
        }

        fn play(&self, _: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
            let coin = Bernoulli::from_threshold((self.0 * 2f64.powi(128)) as u128);
            (0..games).for_each(|_| counts[0][usize::from(coin.draw(rng))] += 1);
            Ok(())
        }
    }

    /// An event of e^-11.5 that is reached in two steps of e^-6.9 and e^-4.6, long before it could be seen itself.
    #[test]
    fn two_steps_show_an_event_that_is_hardly_ever_seen() {
        let (own, other) = (0.999_f64, 0.01);
        let spent = (own / ((1.0 - own) * other)).ln();
        for (claimed, verdict) in [(spent, Verdict::Kept), (spent / RESOLUTION, Verdict::Broken)] {
            let mut promise = promise(claimed, Bit::new(1.0));
            promise.trials = vec![Trial::steps(Coin(own), Coin(other), u64::MAX)];
            let found = measured(&promise, 0);
            assert_eq!(found.verdict, verdict, "{found:?}");
            assert!(found.lower < spent && found.lower > spent / RESOLUTION, "{found:?}");
            assert!(found.reports < 2_000_000, "{found:?}");
            assert_eq!(found.resolved, verdict == Verdict::Kept, "{found:?}");
        }
    }

    fn labelled() -> String {
        let fields = [
            ("name", r#""languages""#),
            ("question", r#""Which of these?""#),
            ("encoding", r#"{ kind = "one-hot", domain = 300 }"#),
            (
                "randomizer",
                r#"{ kind = "report-fragments", epsilon_backstop = 5, epsilon_fragment = 4, fragments = 3 }"#,
            ),
            ("crowd", r#"{ respondents_min = 3000, honest_fraction = 1.0, enrolment = "credential" }"#),
            ("delivery", r#"{ instances = 3, hops = 2, envelopes = 24, cover = "chaff" }"#),
            ("claim", r#"{ epsilon_central = 5, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
        ];
        let labels =
            "[labels]\nnames = [\"de\", \"en\", \"fr\"]\nepsilon_deletion = 1.0\ndelta_deletion = 1e-8\n";
        with(SURVEY, &fields) + labels + "epsilon_label = 3.0\n"
    }

    #[test]
    fn all_that_a_survey_promises_is_audited() {
        let survey = Survey::from_toml(&labelled()).unwrap();
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
