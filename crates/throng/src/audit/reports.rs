//! The game on a report: a respondent holds a value or nothing, and all that they send is seen with its sender.
//!
//! Reports are made by the encoder that respondents run. Of each, three numbers are looked at: how many of the bits that
//! belong to the value are set, which is all that a right randomizer lets the value change; how many right beside them;
//! and how many elsewhere. The last two catch randomizers that are wrong in some other way.

use anyhow::Result;
use chacha20::ChaCha8Rng;
use throng_dp::{BitRandomizer, Epsilon, Mechanism, Value};
use throng_encode::Encoder;

use super::game::{Game, Statistic, World};

/// The reports of one respondent on a value, or on nothing.
#[derive(Debug)]
pub struct Reports {
    encoder: Encoder,
    value: Value,
    own: Own,
    epochs: Epochs,
    /// The most bits of the value that are told apart.
    own_max: usize,
    elsewhere: Scale,
}

/// What is seen of a respondent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// The report of one epoch.
    One,
    /// The reports of several, which share the backstop that the respondent keeps.
    Several(u32),
}

/// Which attributes belong to the value.
#[derive(Debug)]
enum Own {
    /// These.
    Bits(Vec<u32>),
    /// One cell in every row of a sketch.
    Cells { cells: u32, of_row: Vec<u32> },
}

/// Where numbers that vary around a mean are put into a few outcomes.
#[derive(Debug)]
struct Scale {
    mean: f64,
    width: f64,
}

impl Reports {
    /// Reports on a value in the middle of the domain; of records, of every attribute's.
    pub fn new(mechanism: Mechanism, epochs: Epochs) -> Result<Self> {
        let (value, own) = match (mechanism.sketch(), mechanism.record()) {
            (Some(sketch), _) => {
                let value = sketch.shape().domain / 2;
                let of_row = (0..sketch.shape().rows).map(|row| sketch.cell(row, value));
                let of_row = of_row.collect::<Result<_, _>>()?;
                (Value::from(value), Own::Cells { cells: sketch.shape().cells, of_row })
            }
            (None, Some(record)) => {
                let layout = record.layout();
                let middle = |attribute| {
                    let range = layout.range(attribute);
                    Some(((range.end - range.start) / 2) as u32)
                };
                let values: Vec<Option<u32>> = (0..layout.count() as usize).map(middle).collect();
                let bits = layout.bits(&values)?;
                (Value::from(values), Own::Bits(bits))
            }
            (None, None) => {
                let value = mechanism.domain() / 2;
                (Value::from(value), Own::Bits(vec![value as u32]))
            }
        };
        let times = match epochs {
            Epochs::One => 1,
            Epochs::Several(epochs) => epochs,
        };
        let bits = match &own {
            Own::Bits(bits) => bits.len() as u32,
            Own::Cells { .. } => mechanism.sketch().map_or(1, BitRandomizer::differing_bits),
        };
        let draws = u64::from(mechanism.coins().draws()) * u64::from(times);
        let own_max = (draws * u64::from(bits)).min(OUTCOMES_MAX as u64) as usize;
        let mean = mechanism.fragments_expected() * f64::from(times);
        let elsewhere = Scale { mean, width: (mean.sqrt() / 4.0).max(1.0) };
        Ok(Self { encoder: Encoder::new(mechanism), value, own, epochs, own_max, elsewhere })
    }

    /// What is promised about them (removal).
    pub fn claimed(mechanism: &Mechanism, epochs: Epochs) -> Epsilon {
        match epochs {
            Epochs::One => mechanism.guarantee().epsilon(),
            Epochs::Several(_) => mechanism.floor().epsilon(),
        }
    }

    fn fragments(
        &self,
        value: Option<&Value>,
        (fragments, more): (&mut Vec<u32>, &mut Vec<u32>),
        rng: &mut ChaCha8Rng,
    ) -> Result<()> {
        let Epochs::Several(epochs) = self.epochs else {
            return Ok(self.encoder.encode(value, fragments, rng)?);
        };
        fragments.clear();
        match self.encoder.draw_backstop(value, rng)? {
            Some(backstop) => (0..epochs).try_for_each(|_| {
                self.encoder.encode_from(&backstop, more, rng)?;
                fragments.extend_from_slice(more);
                Ok(())
            }),
            None => (0..epochs).try_for_each(|_| {
                self.encoder.encode(value, more, rng)?;
                fragments.extend_from_slice(more);
                Ok(())
            }),
        }
    }
}

impl Game for Reports {
    fn statistics(&self) -> Vec<Statistic> {
        vec![
            Statistic { name: "bits of the value", outcomes: self.own_max + 1 },
            Statistic { name: "bits beside it", outcomes: 2 * self.own_max + 1 },
            Statistic { name: "bits elsewhere", outcomes: SCALE_OUTCOMES },
        ]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let value = match world {
            World::First => Some(&self.value),
            World::Second => None,
        };
        let (mut fragments, mut more) = (Vec::new(), Vec::new());
        for _ in 0..games {
            self.fragments(value, (&mut fragments, &mut more), rng)?;
            let (mut own, mut beside) = (0, 0);
            for &fragment in &fragments {
                match self.own.distance(fragment) {
                    0 => own += 1,
                    1 => beside += 1,
                    _ => {}
                }
            }
            let elsewhere = self.elsewhere.outcome((fragments.len() - own - beside) as f64);
            for (counts, outcome) in counts.iter_mut().zip([own, beside, elsewhere]) {
                let last = counts.len() - 1;
                counts[outcome.min(last)] += 1;
            }
        }
        Ok(())
    }
}

impl Own {
    /// How far an attribute is from the nearest that belongs to the value: 0, 1, or more.
    #[inline]
    fn distance(&self, attribute: u32) -> u32 {
        match self {
            Self::Bits(bits) => bits.iter().map(|bit| bit.abs_diff(attribute)).min().unwrap_or(u32::MAX),
            Self::Cells { cells, of_row } => of_row[(attribute / cells) as usize].abs_diff(attribute % cells),
        }
    }
}

impl Scale {
    fn outcome(&self, number: f64) -> usize {
        let place = (number - self.mean) / self.width + (SCALE_OUTCOMES / 2) as f64;
        place.clamp(0.0, (SCALE_OUTCOMES - 1) as f64) as usize
    }
}

const OUTCOMES_MAX: usize = 512;
const SCALE_OUTCOMES: usize = 64;
