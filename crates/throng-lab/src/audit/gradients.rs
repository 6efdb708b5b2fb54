//! The game on a report about a gradient: a respondent has one gradient of full length, or the opposite one.

use std::convert::Infallible;

use anyhow::Result;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use throng_dp::randomizer::gradient::{Direction, Seed, UNIT};
use throng_dp::{Gradient, PrivUnit, Randomizer};

use super::game::{Game, Statistic, World};

/// Reports of [`Gradient`]: does the reported side of the direction agree with the first gradient?
#[derive(Debug)]
pub struct Signs(Gradient);

/// The same for a few seeds, whose directions are computed once, which saves half of the time. Nothing is lost: all that a
/// report says about a gradient it says given its seed.
#[derive(Debug)]
pub struct SignsOfFewSeeds {
    mechanism: Gradient,
    /// With the side of its direction that the first gradient is on.
    seeds: Vec<(Seed, bool)>,
}

/// A respondent's randomness, but for what is given: the seed of the direction, or the first coin.
struct PresetRng<'a> {
    seed: Option<Seed>,
    coin: Option<u64>,
    rng: &'a mut ChaCha8Rng,
}

/// Reports of [`PrivUnit`]: is the direction in the first gradient's cap, in the other's, or in neither?
#[derive(Debug)]
pub struct Caps(PrivUnit);

/// Reports of [`PrivUnit`]: is the direction in the cap of the respondent's own gradient?
#[derive(Debug)]
pub struct OwnCap(PrivUnit);

/// Reports of [`PrivUnit`] that are not in the cap of the respondent's own gradient: are they in that of the other world's? Only
/// those are drawn whose coin says so, which is all that they have to do with the coin.
#[derive(Debug)]
pub struct OtherCap(PrivUnit);

/// The gradient of the first world, which is as long as the clipping norm 1.
const GRADIENT: [f32; 2] = [0.6, -0.8];

impl Signs {
    /// A mechanism over [`Signs::DIMENSION`] parameters with a clipping norm of at most 1.
    pub fn new(mechanism: Gradient) -> Self {
        Self(mechanism)
    }

    /// Two parameters: the guarantee does not depend on how many there are, and the time does.
    pub const DIMENSION: usize = GRADIENT.len();
}

impl SignsOfFewSeeds {
    /// A mechanism over [`Signs::DIMENSION`] parameters with a clipping norm of at most 1.
    pub fn new(mechanism: Gradient) -> Self {
        let mut rng = ChaCha8Rng::from_seed(*b"throng audit: seeds of direction");
        let seeds = (0..FEW_SEEDS).map(|_| {
            let mut seed = Seed::default();
            rng.fill_bytes(&mut seed);
            (seed, component(seed) >= 0.0)
        });
        Self { mechanism, seeds: seeds.collect() }
    }
}

impl TryRng for PresetRng<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.rng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.coin.take().map_or_else(|| self.rng.try_next_u64(), Ok)
    }

    /// The randomizer asks for bytes once: for the seed.
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        match self.seed {
            Some(seed) if bytes.len() == seed.len() => bytes.copy_from_slice(&seed),
            _ => self.rng.try_fill_bytes(bytes)?,
        }
        Ok(())
    }
}

impl TryCryptoRng for PresetRng<'_> {}

impl Caps {
    /// A mechanism over [`Signs::DIMENSION`] parameters with a clipping norm of at most 1.
    pub fn new(mechanism: PrivUnit) -> Self {
        Self(mechanism)
    }
}

impl Game for Signs {
    fn statistics(&self) -> Vec<Statistic> {
        vec![
            Statistic { name: "side of the direction", outcomes: 2 },
            Statistic { name: "direction", outcomes: COMPONENT_OUTCOMES },
        ]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let gradient = gradient(world);
        for _ in 0..games {
            let report = self.0.randomize(Some(&gradient), rng)?;
            let component = component(report.seed);
            let agrees = (component >= 0.0) == report.positive;
            counts[0][usize::from(agrees)] += 1;
            counts[1][component_outcome(component)] += 1;
        }
        Ok(())
    }
}

impl Game for SignsOfFewSeeds {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "side of the direction", outcomes: 2 }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let gradient = gradient(world);
        for (_, &(seed, side)) in (0..games).zip(self.seeds.iter().cycle()) {
            let report = self
                .mechanism
                .randomize(Some(&gradient), &mut PresetRng { seed: Some(seed), coin: None, rng })?;
            counts[0][usize::from(side == report.positive)] += 1;
        }
        Ok(())
    }
}

impl Game for Caps {
    fn statistics(&self) -> Vec<Statistic> {
        vec![
            Statistic { name: "caps", outcomes: 3 },
            Statistic { name: "direction", outcomes: COMPONENT_OUTCOMES },
        ]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let (gradient, start) = (gradient(world), self.0.start());
        for _ in 0..games {
            let component = component(self.0.randomize(Some(&gradient), rng)?);
            counts[0][1 + usize::from(component > start) - usize::from(-component > start)] += 1;
            counts[1][component_outcome(component)] += 1;
        }
        Ok(())
    }
}

impl OwnCap {
    /// A mechanism over [`Signs::DIMENSION`] parameters with a clipping norm of at most 1.
    pub fn new(mechanism: PrivUnit) -> Self {
        Self(mechanism)
    }
}

impl Game for OwnCap {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "own cap", outcomes: 2 }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let (gradient, side, start) = (gradient(world), side(world), self.0.start());
        for _ in 0..games {
            let component = component(self.0.randomize(Some(&gradient), rng)?);
            counts[0][usize::from(side * component > start)] += 1;
        }
        Ok(())
    }
}

impl OtherCap {
    /// A mechanism over [`Signs::DIMENSION`] parameters with a clipping norm of at most 1.
    pub fn new(mechanism: PrivUnit) -> Self {
        Self(mechanism)
    }
}

impl Game for OtherCap {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "other cap", outcomes: 2 }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let (gradient, side, start) = (gradient(world), side(world), self.0.start());
        for _ in 0..games {
            // No threshold is above this.
            let mut outside = PresetRng { seed: None, coin: Some(u64::MAX), rng };
            let component = component(self.0.randomize(Some(&gradient), &mut outside)?);
            // Whatever the coin did: only of the others is asked where they are.
            if side * component <= start {
                counts[0][usize::from(-side * component > start)] += 1;
            }
        }
        Ok(())
    }
}

fn gradient(world: World) -> [f32; 2] {
    GRADIENT.map(|x| side(world) as f32 * x)
}

/// Where a world's gradient lies along the first one's.
fn side(world: World) -> f64 {
    match world {
        World::First => 1.0,
        World::Second => -1.0,
    }
}

/// The component of a seed's direction along the first gradient, in standard deviations.
fn component(seed: Seed) -> f64 {
    let mut direction = [0_i16; GRADIENT.len()];
    Direction::new(seed).fill(&mut direction);
    let dot: f64 = direction.iter().zip(GRADIENT).map(|(&v, x)| f64::from(v) * f64::from(x)).sum();
    dot / f64::from(UNIT)
}

fn component_outcome(component: f64) -> usize {
    let place = (component + 4.0) * COMPONENT_OUTCOMES as f64 / 8.0;
    place.clamp(0.0, (COMPONENT_OUTCOMES - 1) as f64) as usize
}

const COMPONENT_OUTCOMES: usize = 64;
const FEW_SEEDS: usize = 64;
