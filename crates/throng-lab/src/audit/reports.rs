//! The game on a report: a respondent holds a value or nothing, and all that they send is seen with its sender.
//!
//! Reports are made by the encoder that respondents run. Of each, some numbers are looked at: how many of the bits that
//! belong to the value are set, which is all that a right randomizer lets the value change; how many right beside them;
//! how many elsewhere; where the lowest one is, which of a sketch gives the sampled row away; and which bits are set, where
//! there are few. All but the first catch randomizers that are wrong in some other way.

use anyhow::Result;
use chacha20::ChaCha8Rng;
use throng_dp::fragmenting::exposed_epsilon;
use throng_dp::{BitRandomizer, Coins, Epsilon, Fragments, Mechanism, Value};
use throng_encode::StoredCoins;

use super::game::{Game, Statistic, World};

/// The reports of one respondent on a value, or on nothing.
#[derive(Debug)]
pub struct Reports {
    mechanism: Mechanism,
    value: Value,
    own: ValueAttributes,
    epochs: Epochs,
    elsewhere: Scale,
    places: Places,
    looked_at: Vec<(Number, Statistic)>,
}

/// What is looked at in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// How many bits of the value are set.
    Own,
    /// How many right beside them.
    Beside,
    /// How many that are neither.
    Elsewhere,
    /// Where the lowest is.
    Place,
    /// Which are set.
    Which,
}

/// What is seen of a respondent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// The report of one epoch.
    One,
    /// The reports of several with one answer, which share the backstop that the respondent's coins give it.
    Several(u32),
}

/// Which attributes belong to a value.
#[derive(Debug)]
pub(super) enum ValueAttributes {
    /// These.
    Bits(Vec<u32>),
    /// One cell in every row of a sketch.
    Cells { cells: u32, of_row: Vec<u32> },
}

/// Parts of the attributes, by the first of each: the rows of a sketch, the attributes of a record, or a few parts of a
/// histogram. What tells a value by where bits are set, and not by how many, is seen in them.
#[derive(Debug)]
struct Places {
    name: &'static str,
    starts: Vec<u32>,
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
        let (value, own) = ValueAttributes::middle(&mechanism)?;
        let times = epochs.times();
        let draws = u64::from(mechanism.coins().draws()) * u64::from(times);
        let own_max = (draws * own.bits()).min(OUTCOMES_MAX as u64) as usize;
        let mean = mechanism.fragments_expected() * f64::from(times);
        let elsewhere = Scale { mean, width: (mean.sqrt() / 4.0).max(1.0) };
        let places = Places::of(&mechanism);
        let few_bits = draws == 1 && mechanism.attributes() <= PATTERN_BITS;
        let mut looked_at = vec![
            (Number::Own, Statistic { name: "bits of the value", outcomes: own_max + 1 }),
            (Number::Beside, Statistic { name: "bits beside it", outcomes: 2 * own_max + 1 }),
            (Number::Elsewhere, Statistic { name: "bits elsewhere", outcomes: SCALE_OUTCOMES }),
        ];
        // Which bits are set says where the lowest is.
        if places.starts.len() > 1 && (!few_bits || mechanism.sketch().is_some()) {
            let outcomes = places.starts.len() + 1;
            looked_at.push((Number::Place, Statistic { name: places.name, outcomes }));
        }
        if few_bits {
            let outcomes = 1 << mechanism.attributes();
            looked_at.push((Number::Which, Statistic { name: "which bits", outcomes }));
        }
        Ok(Self { mechanism, value, own, epochs, elsewhere, places, looked_at })
    }

    /// The same, and nothing but the value's own bits and their place is looked at: for mechanisms over hardly any others.
    pub fn own_bits(mechanism: Mechanism, epochs: Epochs) -> Result<Self> {
        let mut reports = Self::new(mechanism, epochs)?;
        reports.looked_at.retain(|(number, _)| matches!(number, Number::Own | Number::Place));
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
        (fragments, epoch): (&mut Vec<u32>, &mut Fragments),
        rng: &mut ChaCha8Rng,
    ) -> Result<()> {
        fragments.clear();
        let coins = match self.epochs {
            Epochs::One => None,
            Epochs::Several(_) => StoredCoins::draw(&self.mechanism, rng)?,
        };
        let backstop = coins.map(|coins| coins.backstop(&self.mechanism, value)).transpose()?;
        for _ in 0..self.epochs.times() {
            match &backstop {
                Some(backstop) => *epoch = backstop.fragments(&self.mechanism, rng)?,
                None => self.mechanism.randomize_into(value, epoch, rng)?,
            }
            fragments.extend_from_slice(epoch.attributes());
        }
        Ok(())
    }
}

impl Reports {
    /// Counts what one report shows.
    fn look_at(&self, fragments: &[u32], counts: &mut [Vec<u64>]) {
        let (mut own, mut beside, mut which, mut lowest) = (0, 0, 0, None);
        for &fragment in fragments {
            match self.own.distance(fragment) {
                0 => own += 1,
                1 => beside += 1,
                _ => {}
            }
            which |= 1_usize << (fragment % PATTERN_BITS as u32);
            lowest = Some(lowest.map_or(fragment, |lowest: u32| lowest.min(fragment)));
        }
        for ((number, _), counts) in self.looked_at.iter().zip(counts) {
            let outcome = match number {
                Number::Own => own,
                Number::Beside => beside,
                Number::Elsewhere => self.elsewhere.outcome((fragments.len() - own - beside) as f64),
                Number::Place => self.places.outcome(lowest),
                Number::Which => which,
            };
            let last = counts.len() - 1;
            counts[outcome.min(last)] += 1;
        }
    }
}

impl Game for Reports {
    fn statistics(&self) -> Vec<Statistic> {
        self.looked_at.iter().map(|(_, statistic)| *statistic).collect()
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let value = match world {
            World::First => Some(&self.value),
            World::Second => None,
        };
        let (mut fragments, mut epoch) = (Vec::new(), Fragments::default());
        for _ in 0..games {
            self.fragments(value, (&mut fragments, &mut epoch), rng)?;
            self.look_at(&fragments, counts);
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

impl ValueAttributes {
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

impl Places {
    fn of(mechanism: &Mechanism) -> Self {
        match (mechanism.sketch(), mechanism.record()) {
            (Some(sketch), _) => {
                let shape = sketch.shape();
                Self { name: "which row", starts: (0..shape.rows).map(|row| row * shape.cells).collect() }
            }
            (None, Some(record)) => {
                let layout = record.layout();
                let starts =
                    (0..layout.count() as usize).map(|attribute| layout.range(attribute).start as u32);
                Self { name: "which attribute", starts: starts.collect() }
            }
            (None, None) => {
                let attributes = mechanism.attributes();
                let parts = attributes.min(SCALE_OUTCOMES as u64);
                let starts = (0..parts).map(|part| (part * attributes / parts) as u32);
                Self { name: "lowest bit", starts: starts.collect() }
            }
        }
    }

    /// The number of the part, from 1; without any bit 0.
    fn outcome(&self, lowest: Option<u32>) -> usize {
        lowest.map_or(0, |lowest| self.starts.partition_point(|&start| start <= lowest))
    }
}

impl Scale {
    fn outcome(&self, number: f64) -> usize {
        let place = (number - self.mean) / self.width + (SCALE_OUTCOMES / 2) as f64;
        place.clamp(0.0, (SCALE_OUTCOMES - 1) as f64) as usize
    }
}

const OUTCOMES_MAX: usize = 512;
/// Up to this many bits, every set of them is an outcome.
const PATTERN_BITS: u64 = 6;
const SCALE_OUTCOMES: usize = 64;

#[cfg(test)]
mod tests {
    use throng_dp::fragmenting::fragment_epsilon;
    use throng_dp::{Attributes, CountSketch, Neighbors, OneHot, Record, Removal, SketchShape};

    use super::*;
    use crate::audit::Verdict;
    use crate::audit::game::Stream;
    use crate::audit::local::{LocalMeasurement, Promise, Trial};

    /// Respondents whose value decides on which row of the sketch they report, where they should draw it.
    struct RowOfTheValue(Reports);

    impl Game for RowOfTheValue {
        fn statistics(&self) -> Vec<Statistic> {
            self.0.statistics()
        }

        fn play(
            &self,
            world: World,
            games: u64,
            counts: &mut [Vec<u64>],
            rng: &mut ChaCha8Rng,
        ) -> Result<()> {
            let World::First = world else { return self.0.play(world, games, counts, rng) };
            let (mut fragments, mut epoch) = (Vec::new(), Fragments::default());
            for _ in 0..games {
                loop {
                    self.0.fragments(Some(&self.0.value), (&mut fragments, &mut epoch), rng)?;
                    // No bit is set of other rows, and of this one maybe none.
                    if self.0.places.outcome(fragments.iter().copied().min()) <= 1 {
                        break;
                    }
                }
                self.0.look_at(&fragments, counts);
            }
            Ok(())
        }
    }

    fn measured(reports: Reports, trial: fn(Reports) -> Trial) -> LocalMeasurement {
        let (epsilon, trials) = (Epsilon::new(EPSILON).unwrap(), vec![trial(reports)]);
        let (name, neighbors, claimed, spent) = ("sketch".into(), Removal::NAME, epsilon, EPSILON);
        let promise = Promise { name, neighbors, claimed, spent, trials };
        // A kept promise is called broken with a chance of at most 1e-4; the seed is fixed.
        promise.measure(1e-4, Stream { seed: 1, measurement: 0 }).unwrap()
    }

    /// How many bits are set, and how far from the value's own, is as it should be: only the row tells.
    #[test]
    fn a_row_that_depends_on_the_value_is_caught() {
        let sketch = |rows, cells| {
            let shape = SketchShape { domain: 1000, rows, cells, seed: 1 };
            CountSketch::new(shape, Epsilon::new(EPSILON).unwrap()).unwrap()
        };
        let fragments = || {
            let each = fragment_epsilon(Epsilon::new(EPSILON).unwrap(), 2).unwrap();
            Mechanism::fragments(sketch(8, 4), each, 2).unwrap()
        };
        let all = |mechanism| Reports::new(mechanism, Epochs::One).unwrap();
        let fewest = || Reports::own_bits(Mechanism::plain(sketch(2, 2)), Epochs::One).unwrap();
        let kinds: [&dyn Fn() -> Reports; 3] =
            [&|| all(Mechanism::plain(sketch(8, 4))), &|| all(fragments()), &fewest];
        for reports in kinds {
            let right = measured(reports(), |reports| Trial::game(reports, GAMES_MAX));
            assert_eq!(right.verdict, Verdict::Kept, "{right:?}");
            let wrong = measured(reports(), |reports| Trial::game(RowOfTheValue(reports), GAMES_MAX));
            assert_eq!((wrong.verdict, wrong.statistic), (Verdict::Broken, "which row"), "{wrong:?}");
        }
    }

    const EPSILON: f64 = 1.0;
    const GAMES_MAX: u64 = 1 << 17;

    #[test]
    fn places_are_rows_attributes_or_parts_of_a_histogram() {
        let epsilon = Epsilon::new(1.0).unwrap();
        let record = Mechanism::plain(Record::new(Attributes::new(&[3, 2, 4]).unwrap(), epsilon).unwrap());
        let histogram = |values| Mechanism::plain(OneHot::new(values, epsilon).unwrap());
        for (mechanism, lowest, place) in [
            (record.clone(), None, 0),
            (record.clone(), Some(2), 1),
            (record.clone(), Some(3), 2),
            (record, Some(8), 3),
            (histogram(300), Some(0), 1),
            (histogram(300), Some(299), 64),
            (histogram(10), Some(9), 10),
        ] {
            assert_eq!(Places::of(&mechanism).outcome(lowest), place, "{lowest:?}");
        }
    }
}
