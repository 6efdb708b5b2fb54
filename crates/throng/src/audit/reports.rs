//! The game on a report: a respondent holds a value or nothing, and all that they send is seen with its sender.
//!
//! Reports are made by the encoder that respondents run. Of each, some numbers are looked at: how many of the bits that
//! belong to the value are set, which is all that a right randomizer lets the value change; how many right beside them;
//! how many elsewhere; and which bits are set, where there are few. All but the first catch randomizers that are wrong in
//! some other way.

use anyhow::Result;
use chacha20::ChaCha8Rng;
use throng_dp::fragmenting::exposed_epsilon;
use throng_dp::{BitRandomizer, Coins, Epsilon, Mechanism, Value};
use throng_encode::Encoder;

use super::game::{Game, Statistic, World};

/// The reports of one respondent on a value, or on nothing.
#[derive(Debug)]
pub struct Reports {
    encoder: Encoder,
    value: Value,
    own: Own,
    epochs: Epochs,
    elsewhere: Scale,
    statistics: Vec<Statistic>,
}

/// What is seen of a respondent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// The report of one epoch.
    One,
    /// The reports of several, which share the backstop that the respondent keeps.
    Several(u32),
}

/// Which attributes belong to a value.
#[derive(Debug)]
pub(super) enum Own {
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
        let (value, own) = Own::middle(&mechanism)?;
        let times = epochs.times();
        let draws = u64::from(mechanism.coins().draws()) * u64::from(times);
        let own_max = (draws * own.bits()).min(OUTCOMES_MAX as u64) as usize;
        let mean = mechanism.fragments_expected() * f64::from(times);
        let elsewhere = Scale { mean, width: (mean.sqrt() / 4.0).max(1.0) };
        let mut statistics = vec![
            Statistic { name: "bits of the value", outcomes: own_max + 1 },
            Statistic { name: "bits beside it", outcomes: 2 * own_max + 1 },
            Statistic { name: "bits elsewhere", outcomes: SCALE_OUTCOMES },
        ];
        if draws == 1 && mechanism.attributes() <= PATTERN_BITS {
            statistics.push(Statistic { name: "which bits", outcomes: 1 << mechanism.attributes() });
        }
        Ok(Self { encoder: Encoder::new(mechanism), value, own, epochs, elsewhere, statistics })
    }

    /// The same, and nothing but the value's own bits is looked at: for mechanisms over hardly any others.
    pub fn own_bits(mechanism: Mechanism, epochs: Epochs) -> Result<Self> {
        let mut reports = Self::new(mechanism, epochs)?;
        reports.statistics.truncate(1);
        Ok(reports)
    }

    /// What is promised about them (removal).
    pub fn claimed(mechanism: &Mechanism, epochs: Epochs) -> Epsilon {
        match epochs {
            Epochs::One => mechanism.guarantee().epsilon(),
            Epochs::Several(_) => mechanism.floor().epsilon(),
        }
    }

    /// What they really spend. Over several epochs the promise is for any number of them: fewer say less.
    pub fn spent(mechanism: &Mechanism, epochs: Epochs) -> Epsilon {
        match (epochs, mechanism.coins()) {
            (Epochs::Several(epochs), Coins::Fragments { backstop, fragment, tau }) => {
                let bits = mechanism.sketch().map_or(1, BitRandomizer::differing_bits);
                exposed_epsilon(backstop.epsilon(), fragment.epsilon(), tau * epochs).times(bits)
            }
            _ => Self::claimed(mechanism, epochs),
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
        self.statistics.clone()
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let value = match world {
            World::First => Some(&self.value),
            World::Second => None,
        };
        let (mut fragments, mut more) = (Vec::new(), Vec::new());
        for _ in 0..games {
            self.fragments(value, (&mut fragments, &mut more), rng)?;
            let (mut own, mut beside, mut pattern) = (0, 0, 0);
            for &fragment in &fragments {
                match self.own.distance(fragment) {
                    0 => own += 1,
                    1 => beside += 1,
                    _ => {}
                }
                pattern |= 1_usize << (fragment % PATTERN_BITS as u32);
            }
            let elsewhere = self.elsewhere.outcome((fragments.len() - own - beside) as f64);
            for (counts, outcome) in counts.iter_mut().zip([own, beside, elsewhere, pattern]) {
                let last = counts.len() - 1;
                counts[outcome.min(last)] += 1;
            }
        }
        Ok(())
    }
}

impl Epochs {
    fn times(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Several(epochs) => epochs,
        }
    }
}

impl Own {
    /// A value in the middle of the domain (of records, of every attribute's), and the attributes that belong to it.
    pub(super) fn middle(mechanism: &Mechanism) -> Result<(Value, Self)> {
        Ok(match (mechanism.sketch(), mechanism.record()) {
            (Some(sketch), _) => {
                let value = sketch.shape().domain / 2;
                let of_row = (0..sketch.shape().rows).map(|row| sketch.cell(row, value));
                let of_row = of_row.collect::<Result<_, _>>()?;
                (Value::from(value), Self::Cells { cells: sketch.shape().cells, of_row })
            }
            (None, Some(record)) => {
                let layout = record.layout();
                let middle = |attribute| {
                    let range = layout.range(attribute);
                    Some(((range.end - range.start) / 2) as u32)
                };
                let values: Vec<Option<u32>> = (0..layout.count() as usize).map(middle).collect();
                let bits = layout.bits(&values)?;
                (Value::from(values), Self::Bits(bits))
            }
            (None, None) => {
                let value = mechanism.domain() / 2;
                (Value::from(value), Self::Bits(vec![value as u32]))
            }
        })
    }

    /// How many of them can be set in one report: one of a sketch's sampled row.
    pub(super) fn bits(&self) -> u64 {
        match self {
            Self::Bits(bits) => bits.len() as u64,
            Self::Cells { .. } => 1,
        }
    }

    /// Whether an attribute is one of them.
    pub(super) fn holds(&self, attribute: u32) -> bool {
        self.distance(attribute) == 0
    }

    /// How often they occur among fragments.
    pub(super) fn count(&self, fragments: &[u32]) -> u64 {
        fragments.iter().filter(|&&fragment| self.holds(fragment)).count() as u64
    }

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
/// Up to so many bits, every set of them is an outcome.
const PATTERN_BITS: u64 = 6;
const SCALE_OUTCOMES: usize = 64;
