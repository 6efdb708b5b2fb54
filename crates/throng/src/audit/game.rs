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

    /// Draws so many times in a world, and counts the outcomes of every statistic.
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
pub struct Seen {
    first: Vec<u64>,
    second: Vec<u64>,
}

/// An outcome from some number on, and the world that it is thought to be likelier in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The smallest outcome of the event.
    pub at_least: usize,
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

/// Plays so many games in each world, on all cores.
pub fn play(game: &dyn Game, games: u64, stream: Stream, round: u32) -> Result<Vec<Seen>> {
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
    Ok(first?.into_iter().zip(second?).map(|(first, second)| Seen { first, second }).collect())
}

impl Seen {
    /// From counts of the same outcomes.
    pub fn new(first: Vec<u64>, second: Vec<u64>) -> Self {
        debug_assert_eq!(first.len(), second.len());
        Self { first, second }
    }

    /// Adds what was seen elsewhere.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
    }

    /// The event with the best prospects of refuting a large ε at δ, by approximate limits. Any choice is sound as long as
    /// it is tried on other draws.
    pub fn promising(&self, delta: Delta, error: f64) -> Event {
        let z = upper_quantile(0.5 * error);
        let tails = [&self.first, &self.second].map(|counts| upper_sums(counts));
        let draws = tails.each_ref().map(|tail| tail[0].max(1) as f64);
        let mut best = (f64::NEG_INFINITY, Event { at_least: 1, likelier: World::First });
        let [first, second] = &tails;
        for (at_least, hits) in first.iter().zip(second).enumerate().skip(1) {
            let rates = [*hits.0 as f64 / draws[0], *hits.1 as f64 / draws[1]];
            for (likelier, here, there) in [(World::First, 0, 1), (World::Second, 1, 0)] {
                let low = wilson(rates[here], draws[here], -z);
                let high = wilson(rates[there], draws[there], z);
                // Where nothing can be hoped for yet, the largest difference.
                let prospects = refuted(low, high, delta) + 1e-9 * (rates[here] - rates[there]);
                if prospects > best.0 {
                    best = (prospects, Event { at_least, likelier });
                }
            }
        }
        best.1
    }

    /// What an event says that was chosen without a look at these draws. Each limit is wrong with probability `error` at
    /// most.
    pub fn limits(&self, event: &Event, delta: Delta, error: f64) -> Result<Limits> {
        let (here, there) = match event.likelier {
            World::First => (&self.first, &self.second),
            World::Second => (&self.second, &self.first),
        };
        let hits = |counts: &[u64]| (counts[event.at_least..].iter().sum(), counts.iter().sum());
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

fn add(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// The sums of all counts from each place on.
fn upper_sums(counts: &[u64]) -> Vec<u64> {
    let mut sums = counts.to_vec();
    for place in (0..sums.len().saturating_sub(1)).rev() {
        sums[place] += sums[place + 1];
    }
    sums
}

/// Games that one generator plays.
const PIECE: u64 = 1 << 13;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::Epsilon;
    use throng_dp::sampling::Bernoulli;

    /// A randomized bit, and beside it a number that says nothing.
    struct Bit(Bernoulli);

    impl Game for Bit {
        fn statistics(&self) -> Vec<Statistic> {
            vec![Statistic { name: "bit", outcomes: 2 }, Statistic { name: "noise", outcomes: 5 }]
        }

        fn play(
            &self,
            world: World,
            games: u64,
            counts: &mut [Vec<u64>],
            rng: &mut ChaCha8Rng,
        ) -> Result<()> {
            for game in 0..games {
                counts[0][usize::from((world == World::First) ^ self.0.draw(rng))] += 1;
                counts[1][(game % 5) as usize] += 1;
            }
            Ok(())
        }
    }

    #[test]
    fn a_bit_shows_its_epsilon_and_noise_shows_none() {
        for epsilon in [0.1, 1.0, 4.0] {
            let game = Bit(Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap());
            let stream = Stream { seed: 3, measurement: 0 };
            let pilot = play(&game, 20_000, stream, 0).unwrap();
            let trial = play(&game, 400_000, stream, 1).unwrap();
            let event = pilot[0].promising(Delta::ZERO, 1e-6);
            assert_eq!(event.at_least, 1);
            // Each limit is wrong with a chance of 1e-6; the width at 0.1 is 4 × 4.9 × sqrt(1/400,000) = 0.031.
            let limits = trial[0].limits(&event, Delta::ZERO, 1e-6).unwrap();
            assert!(limits.lower <= epsilon && epsilon <= limits.upper, "{epsilon}: {limits:?}");
            assert!(limits.upper - limits.lower < 0.05 + 0.03 * epsilon, "{epsilon}: {limits:?}");
            let event = pilot[1].promising(Delta::ZERO, 1e-6);
            assert!(trial[1].limits(&event, Delta::ZERO, 1e-6).unwrap().lower < 0.01);
        }
    }

    /// All games of both worlds are played, in pieces that do not depend on threads, and no two rounds are alike.
    #[test]
    fn games_are_repeatable_and_rounds_differ() {
        let game = Bit(Bernoulli::flip(Epsilon::new(1.0).unwrap()).unwrap());
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
        let seen = Seen::new(vec![990_000, 10_000], vec![1_000_000, 0]);
        let event = seen.promising(Delta::ZERO, 1e-6);
        assert_eq!(event, Event { at_least: 1, likelier: World::First });
        assert!(seen.limits(&event, Delta::ZERO, 1e-6).unwrap().lower > 6.0);
        let explained = Delta::new(0.011).unwrap();
        assert_eq!(seen.limits(&event, explained, 1e-6).unwrap().lower, 0.0);
        let mirrored = Seen::new(vec![1_000_000, 0], vec![990_000, 10_000]);
        assert_eq!(mirrored.promising(Delta::ZERO, 1e-6).likelier, World::Second);
    }
}
