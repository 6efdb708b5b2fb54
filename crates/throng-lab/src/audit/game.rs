//! The distinguishing game: something is drawn in one of two worlds, and what comes up is counted.

use anyhow::Result;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rayon::prelude::*;
use throng_account::clopper_pearson::{lower_limit, upper_limit};
use throng_account::distinguishing::{refuted, wilson};
use throng_dp::Delta;
use throng_dp::normal::upper_quantile;

/// One of two worlds that a promise says are hard to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The respondent holds the value; of gradients: one of them.
    First,
    /// The respondent has nothing to say; of gradients: the opposite one.
    Second,
}

impl World {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];
}

/// What a game is looked at through: a number that every draw has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// What it is, in a table.
    pub name: &'static str,
    /// How many outcomes it has; they are numbered from 0.
    pub outcomes: usize,
}

/// Something that can be drawn in both worlds.
pub trait Game: Sync {
    /// What is looked at. The first statistic is the one that the promise is tight for.
    fn statistics(&self) -> Vec<Statistic>;

    /// Draws `games` times in a world, and counts the outcomes of every statistic.
    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()>;
}

/// Where the randomness of a measurement comes from: a seed, and which measurement it is.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The seed of the whole audit.
    pub seed: u64,
    /// A number of its own for every measurement.
    pub measurement: u32,
}

impl Stream {
    /// The generator of a piece of work. The number of threads does not change what it draws.
    fn rng(self, round: u32, world: World, piece: u64) -> ChaCha8Rng {
        let mut key = *b"throng audit v1 ................";
        key[16..20].copy_from_slice(&self.measurement.to_le_bytes());
        key[20..24].copy_from_slice(&(2 * round + u32::from(world == World::Second)).to_le_bytes());
        key[24..].copy_from_slice(&self.seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(piece);
        rng
    }
}

/// How often each outcome of one statistic came up in both worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCounts {
    first: Vec<u64>,
    second: Vec<u64>,
}

/// A set of outcomes, and the world that it is thought to be likelier in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether each outcome belongs to it.
    pub holds: Vec<bool>,
    /// Where it is likelier.
    pub likelier: World,
}

/// What an event says about ε at δ, up to an error probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// No smaller ε explains what was seen.
    pub lower: f64,
    /// No larger ε would be refuted by this event, however often it were drawn.
    pub upper: f64,
}

/// Plays `games` games in each world, on all cores.
pub fn play(game: &dyn Game, games: u64, stream: Stream, round: u32) -> Result<Vec<OutcomeCounts>> {
    let statistics = game.statistics();
    let none = || statistics.iter().map(|statistic| vec![0; statistic.outcomes]).collect::<Vec<Vec<u64>>>();
    let [first, second] = World::BOTH.map(|world| {
        (0..games.div_ceil(PIECE))
            .into_par_iter()
            .try_fold(none, |mut counts, piece| {
                let size = PIECE.min(games - piece * PIECE);
                game.play(world, size, &mut counts, &mut stream.rng(round, world, piece))?;
                Ok::<_, anyhow::Error>(counts)
            })
            .try_reduce(none, |mut left, right| {
                left.iter_mut().zip(&right).for_each(|(left, right)| add(left, right));
                Ok(left)
            })
    });
    Ok(first?.into_iter().zip(second?).map(|(first, second)| OutcomeCounts { first, second }).collect())
}

impl OutcomeCounts {
    /// From counts of the same outcomes.
    pub fn new(first: Vec<u64>, second: Vec<u64>) -> Self {
        debug_assert_eq!(first.len(), second.len());
        Self { first, second }
    }

    /// The sum of what was seen of one statistic in several rounds; nothing at all if there are none.
    pub fn sum<'a>(rounds: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut rounds = rounds.into_iter().cloned();
        let first = rounds.next().unwrap_or_else(|| Self::new(Vec::new(), Vec::new()));
        rounds.fold(first, |mut sum, round| {
            add(&mut sum.first, &round.first);
            add(&mut sum.second, &round.second);
            sum
        })
    }

    /// The event with the best prospects of refuting a large ε at δ, by approximate limits. Any choice is sound as long as
    /// it is tried on other draws.
    ///
    /// Tried are all tails, and the sets of outcomes whose likelihood ratio was the largest, which by the lemma of Neyman and
    /// Pearson are the best where the ratios are known. The complement of an event is always looked at with it, so that upper
    /// tails are lower tails as well, and the largest ratios are the smallest.
    pub fn promising(&self, delta: Delta, error: f64) -> Event {
        let z = upper_quantile(0.5 * error);
        let tails: Vec<usize> = (0..self.first.len()).rev().collect();
        let orders = [(&tails, World::First), (&tails, World::Second), (&self.by_ratio(), World::First)];
        let draws = [&self.first, &self.second].map(|counts| counts.iter().sum::<u64>().max(1) as f64);
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for (number, (order, likelier)) in orders.iter().enumerate() {
            let (here, there) = match likelier {
                World::First => (0, 1),
                World::Second => (1, 0),
            };
            let mut hits = [0_u64; 2];
            // All outcomes together are as likely in both worlds.
            for (size, &outcome) in (1..order.len()).zip(order.iter()) {
                hits[0] += self.first[outcome];
                hits[1] += self.second[outcome];
                let rates = [hits[0] as f64 / draws[0], hits[1] as f64 / draws[1]];
                let low = wilson(rates[here], draws[here], -z);
                let high = wilson(rates[there], draws[there], z);
                // Where nothing can be hoped for yet, the largest difference.
                let prospects = refuted(low, high, delta) + 1e-9 * (rates[here] - rates[there]);
                if prospects > best.0 {
                    best = (prospects, number, size);
                }
            }
        }
        let (_, number, size) = best;
        let (order, likelier) = orders[number];
        let mut holds = vec![false; order.len()];
        order[..size].iter().for_each(|&outcome| holds[outcome] = true);
        Event { holds, likelier }
    }

    /// All outcomes by falling likelihood ratio of the first world to the second.
    fn by_ratio(&self) -> Vec<usize> {
        // Half of a sighting more, so that outcomes which were never seen are in the middle.
        let ratio = |outcome: &usize| {
            ((self.first[*outcome] as f64 + 0.5) / (self.second[*outcome] as f64 + 0.5)).ln()
        };
        let mut order: Vec<usize> = (0..self.first.len()).collect();
        order.sort_by(|left, right| ratio(right).total_cmp(&ratio(left)));
        order
    }

    /// Confidence limits of the probability of an outcome in a world. Each limit is wrong with probability `error` at most.
    pub fn probability(&self, world: World, outcome: usize, error: f64) -> Result<(f64, f64)> {
        let counts = match world {
            World::First => &self.first,
            World::Second => &self.second,
        };
        let (hits, draws) = (counts[outcome], counts.iter().sum());
        if draws == 0 {
            return Ok((0.0, 1.0));
        }
        Ok((lower_limit(hits, draws, 1.0 - error)?, upper_limit(hits, draws, 1.0 - error)?))
    }

    /// The limits of ε by an event, which must have been chosen without a look at these draws. Each limit is wrong with
    /// probability `error` at most.
    pub fn limits(&self, event: &Event, delta: Delta, error: f64) -> Result<Limits> {
        let (here, there) = match event.likelier {
            World::First => (&self.first, &self.second),
            World::Second => (&self.second, &self.first),
        };
        let hits = |counts: &[u64]| {
            let inside = counts.iter().zip(&event.holds).filter(|(_, holds)| **holds);
            (inside.map(|(count, _)| count).sum(), counts.iter().sum())
        };
        let ((likelier, draws), (other, draws_other)) = (hits(here), hits(there));
        let confidence = 1.0 - 0.5 * error;
        let lower = refuted(
            lower_limit(likelier, draws, confidence)?,
            upper_limit(other, draws_other, confidence)?,
            delta,
        );
        let upper = refuted(
            upper_limit(likelier, draws, confidence)?,
            lower_limit(other, draws_other, confidence)?,
            delta,
        );
        // Above the rounding of a quotient and its logarithm.
        Ok(Limits { lower: (lower * (1.0 - 1e-14) - 1e-14).max(0.0), upper })
    }
}

#[cfg(test)]
impl OutcomeCounts {
    /// The mean outcome in each world.
    pub(super) fn means(&self) -> [f64; 2] {
        [&self.first, &self.second].map(|counts| {
            let sum: u64 = (0..).zip(counts).map(|(outcome, count)| outcome * count).sum();
            sum as f64 / counts.iter().sum::<u64>() as f64
        })
    }
}

fn add(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Games that one generator plays.
const PIECE: u64 = 1 << 13;

/// Games for tests: laws that are written down.
#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use throng_dp::Epsilon;
    use throng_dp::sampling::{Bernoulli, below};

    /// A randomized bit, and beside it a number with a law of its own in each world: its outcomes are those of equally
    /// likely lots.
    pub(crate) struct Bit {
        pub(crate) coin: Bernoulli,
        pub(crate) beside: [Vec<usize>; 2],
    }

    impl Bit {
        /// With a number that says nothing.
        pub(crate) fn new(epsilon: f64) -> Self {
            Self::beside(epsilon, [vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3, 4]])
        }

        pub(crate) fn beside(epsilon: f64, beside: [Vec<usize>; 2]) -> Self {
            Self { coin: Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap(), beside }
        }
    }

    impl Game for Bit {
        fn statistics(&self) -> Vec<Statistic> {
            let outcomes = self.beside.iter().flatten().max().unwrap() + 1;
            vec![Statistic { name: "bit", outcomes: 2 }, Statistic { name: "beside", outcomes }]
        }

        fn play(
            &self,
            world: World,
            games: u64,
            counts: &mut [Vec<u64>],
            rng: &mut ChaCha8Rng,
        ) -> Result<()> {
            let lots = &self.beside[usize::from(world == World::Second)];
            for _ in 0..games {
                counts[0][usize::from((world == World::First) ^ self.coin.draw(rng))] += 1;
                counts[1][lots[below(lots.len() as u64, rng) as usize]] += 1;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Bit;
    use super::*;

    fn event(holds: &[bool], likelier: World) -> Event {
        Event { holds: holds.to_vec(), likelier }
    }

    #[test]
    fn a_bit_shows_its_epsilon_and_noise_shows_none() {
        for epsilon in [0.1, 1.0, 4.0] {
            let game = Bit::new(epsilon);
            let stream = Stream { seed: 3, measurement: 0 };
            let pilot = play(&game, 20_000, stream, 0).unwrap();
            let trial = play(&game, 400_000, stream, 1).unwrap();
            let chosen = pilot[0].promising(Delta::ZERO, 1e-6);
            assert_eq!(chosen.holds, [false, true]);
            // Each limit is wrong with a chance of 1e-6; the width at 0.1 is 4 × 4.9 × sqrt(1/400,000) = 0.031.
            let limits = trial[0].limits(&chosen, Delta::ZERO, 1e-6).unwrap();
            assert!(limits.lower <= epsilon && epsilon <= limits.upper, "{epsilon}: {limits:?}");
            assert!(limits.upper - limits.lower < 0.05 + 0.03 * epsilon, "{epsilon}: {limits:?}");
            let chosen = pilot[1].promising(Delta::ZERO, 1e-6);
            assert!(trial[1].limits(&chosen, Delta::ZERO, 1e-6).unwrap().lower < 0.01);
        }
    }

    /// All games of both worlds are played, in pieces that do not depend on threads, and no two rounds are alike.
    #[test]
    fn games_are_repeatable_and_rounds_differ() {
        let game = Bit::new(1.0);
        let stream = Stream { seed: 9, measurement: 2 };
        let games = 2 * PIECE + 17;
        let seen = play(&game, games, stream, 1).unwrap();
        assert!(
            seen.iter()
                .all(|one| one.first.iter().sum::<u64>() == games && one.second.iter().sum::<u64>() == games)
        );
        assert_eq!(seen, play(&game, games, stream, 1).unwrap());
        assert_ne!(seen[0], play(&game, games, stream, 2).unwrap()[0]);
        assert_ne!(seen[0], play(&game, games, Stream { measurement: 3, ..stream }, 1).unwrap()[0]);
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(seen, single.install(|| play(&game, games, stream, 1)).unwrap());
    }

    /// A rare and certain outcome: δ explains it, and where it is likelier is found from either side.
    #[test]
    fn delta_explains_what_is_rare_and_sides_are_found() {
        let seen = OutcomeCounts::new(vec![990_000, 10_000], vec![1_000_000, 0]);
        let chosen = seen.promising(Delta::ZERO, 1e-6);
        assert_eq!(chosen, event(&[false, true], World::First));
        assert!(seen.limits(&chosen, Delta::ZERO, 1e-6).unwrap().lower > 6.0);
        let explained = Delta::new(0.011).unwrap();
        assert_eq!(seen.limits(&chosen, explained, 1e-6).unwrap().lower, 0.0);
        let mirrored = OutcomeCounts::new(vec![1_000_000, 0], vec![990_000, 10_000]);
        assert_eq!(mirrored.promising(Delta::ZERO, 1e-6).likelier, World::Second);
    }

    /// A bit that is never off shows in the lower tail alone, in whichever world it is: there the upper tail says 0.7.
    #[test]
    fn a_bit_that_is_never_off_shows_in_the_lower_tail() {
        let (never_off, fair) = (vec![0, 1_000_000], vec![500_000, 500_000]);
        for seen in [OutcomeCounts::new(never_off.clone(), fair.clone()), OutcomeCounts::new(fair, never_off)]
        {
            let chosen = seen.promising(Delta::ZERO, 1e-6);
            assert!(seen.limits(&chosen, Delta::ZERO, 1e-6).unwrap().lower > 9.0, "{chosen:?}");
        }
    }

    /// What no tail shows: an outcome in the middle that is three times as likely in one world. All tails and their
    /// complements say ln 2 at most.
    #[test]
    fn the_likeliest_outcomes_are_found_wherever_they_are() {
        let (middle, ends) = (vec![200_000, 600_000, 200_000], vec![400_000, 200_000, 400_000]);
        for seen in [OutcomeCounts::new(middle.clone(), ends.clone()), OutcomeCounts::new(ends, middle)] {
            let chosen = seen.promising(Delta::ZERO, 1e-6);
            let limits = seen.limits(&chosen, Delta::ZERO, 1e-6).unwrap();
            let truth = 3.0_f64.ln();
            assert!(limits.lower < truth && truth < limits.upper, "{chosen:?} {limits:?}");
            assert!(limits.lower > 0.97 * truth, "{chosen:?} {limits:?}");
        }
    }

    #[test]
    fn rounds_add_up() {
        let (one, other) =
            (OutcomeCounts::new(vec![1, 2], vec![3, 4]), OutcomeCounts::new(vec![10, 20], vec![30, 40]));
        assert_eq!(OutcomeCounts::sum([&one, &other]), OutcomeCounts::new(vec![11, 22], vec![33, 44]));
        assert_eq!(OutcomeCounts::sum([&other]), other);
    }
}
