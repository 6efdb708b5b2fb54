//! The run-time choice of an encoding: how a value becomes bits, as one type.

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::estimate::{BitNoise, Estimates, Tally};
use crate::randomizer::count_sketch::{CountSketch, SketchReport};
use crate::randomizer::one_hot::OneHot;
use crate::randomizer::record::Record;
use crate::randomizer::{BitRandomizer, Randomizer};
use crate::sampling::{Bernoulli, Flips};
use crate::{Error, LocalGuarantee, Removal, Value};

/// An encoding of values as bit vectors, with the coin that flips each bit: any of the randomizers that a survey can name.
///
/// It is itself a randomizer, so all that is made of one ([`crate::Repetition`], [`crate::ReportFragments`]) can be made of it.
#[derive(Clone, Debug)]
pub enum Encoding {
    /// One bit per value.
    OneHot(OneHot),
    /// One cell in each of a few sampled rows of a sketch.
    Sketch(CountSketch),
    /// One bit for the value of a sampled attribute.
    Record(Record),
}

/// Which encoding it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EncodingKind {
    /// [`Encoding::OneHot`].
    OneHot,
    /// [`Encoding::Sketch`].
    Sketch,
    /// [`Encoding::Record`].
    Record,
}

/// A report of any encoding: its set bits, and of a sketch the sampled rows. It knows which encoding it is of, so that no
/// other takes it for its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodedReport {
    kind: EncodingKind,
    /// Without a sketch there are no rows.
    sketch: SketchReport,
}

/// Calls the same method on whichever encoding it is.
macro_rules! each {
    ($self:ident, $encoding:ident => $call:expr) => {
        match $self {
            Encoding::OneHot($encoding) => $call,
            Encoding::Sketch($encoding) => $call,
            Encoding::Record($encoding) => $call,
        }
    };
}

impl Encoding {
    /// Which one it is.
    pub fn kind(&self) -> EncodingKind {
        match self {
            Self::OneHot(_) => EncodingKind::OneHot,
            Self::Sketch(_) => EncodingKind::Sketch,
            Self::Record(_) => EncodingKind::Record,
        }
    }

    /// How many values there are; they are numbered from 0, those of a later attribute after those of all before it.
    pub fn domain(&self) -> u64 {
        match self {
            Self::OneHot(one_hot) => one_hot.size(),
            Self::Sketch(sketch) => sketch.shape().domain,
            Self::Record(record) => record.attributes(),
        }
    }

    /// The sketch that values are hashed into, where there is one.
    pub fn sketch(&self) -> Option<&CountSketch> {
        match self {
            Self::Sketch(sketch) => Some(sketch),
            Self::OneHot(_) | Self::Record(_) => None,
        }
    }

    /// The mechanism of records with several attributes, where that is what a value is.
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::OneHot(_) | Self::Sketch(_) => None,
        }
    }

    /// The set bits of one report, into a buffer that is cleared first. Large simulations live on the first case, which
    /// allocates nothing.
    pub(crate) fn bits_into(
        &self,
        value: Option<&Value>,
        bits: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        if let Self::OneHot(one_hot) = self {
            return one_hot.randomize_into(one_hot.index(value)?.as_ref(), bits, rng);
        }
        let report = self.randomize(value, rng)?;
        bits.clear();
        bits.extend_from_slice(report.bits());
        Ok(())
    }
}

impl OneHot {
    fn index(&self, value: Option<&Value>) -> Result<Option<u32>, Error> {
        value.map(|value| value.index(self.size())).transpose()
    }
}

impl Randomizer for Encoding {
    type Value = Value;
    type Report = EncodedReport;
    type Neighbors = Removal;

    fn guarantee(&self) -> LocalGuarantee<Removal> {
        each!(self, encoding => encoding.guarantee())
    }

    fn randomize(
        &self,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncodedReport, Error> {
        Ok(match self {
            Self::OneHot(one_hot) => {
                EncodedReport::one_hot(one_hot.randomize(one_hot.index(value)?.as_ref(), rng)?)
            }
            Self::Sketch(sketch) => {
                EncodedReport::sketch(sketch.randomize(value.map(Value::one).transpose()?.as_ref(), rng)?)
            }
            Self::Record(record) => {
                EncodedReport::record(record.randomize(value.map(Value::record).transpose()?, rng)?)
            }
        })
    }
}

impl BitRandomizer for Encoding {
    fn attributes(&self) -> u64 {
        each!(self, encoding => encoding.attributes())
    }

    fn width(&self) -> u64 {
        each!(self, encoding => encoding.width())
    }

    fn coin(&self) -> Bernoulli {
        each!(self, encoding => encoding.coin())
    }

    fn differing_bits(&self) -> u32 {
        each!(self, encoding => encoding.differing_bits())
    }

    fn fragments<'a>(&self, report: &'a EncodedReport) -> &'a [u32] {
        report.bits()
    }

    fn fits(&self, report: &EncodedReport) -> bool {
        report.kind == self.kind()
            && match self {
                Self::OneHot(one_hot) => one_hot.fits(&report.sketch.bits),
                Self::Sketch(sketch) => sketch.fits(&report.sketch),
                Self::Record(record) => record.fits(&report.sketch.bits),
            }
    }

    fn flip_again(
        &self,
        report: &EncodedReport,
        flips: &Flips,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> EncodedReport {
        let bits = &report.sketch.bits;
        match self {
            Self::OneHot(one_hot) => EncodedReport::one_hot(one_hot.flip_again(bits, flips, rng)),
            Self::Sketch(sketch) => EncodedReport::sketch(sketch.flip_again(&report.sketch, flips, rng)),
            Self::Record(record) => EncodedReport::record(record.flip_again(bits, flips, rng)),
        }
    }

    fn held(
        &self,
        value: Option<&Value>,
        silent: &EncodedReport,
        pick: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        let bits = &silent.sketch.bits;
        match self {
            Self::OneHot(one_hot) => one_hot.held(one_hot.index(value)?.as_ref(), bits, pick),
            Self::Sketch(sketch) => {
                sketch.held(value.map(Value::one).transpose()?.as_ref(), &silent.sketch, pick)
            }
            Self::Record(record) => record.held(value.map(Value::record).transpose()?, bits, pick),
        }
    }

    fn with(&self, report: &EncodedReport, attributes: &[u32]) -> EncodedReport {
        let bits = &report.sketch.bits;
        match self {
            Self::OneHot(one_hot) => EncodedReport::one_hot(one_hot.with(bits, attributes)),
            Self::Sketch(sketch) => EncodedReport::sketch(sketch.with(&report.sketch, attributes)),
            Self::Record(record) => EncodedReport::record(record.with(bits, attributes)),
        }
    }

    fn estimate_through(&self, tally: &Tally, noise: &BitNoise) -> Result<Estimates, Error> {
        each!(self, encoding => encoding.estimate_through(tally, noise))
    }

    fn estimate_sums(&self, sums: &[f64], respondents: u64, noise: &BitNoise) -> Result<Estimates, Error> {
        each!(self, encoding => encoding.estimate_sums(sums, respondents, noise))
    }
}

impl From<OneHot> for Encoding {
    fn from(one_hot: OneHot) -> Self {
        Self::OneHot(one_hot)
    }
}

impl From<CountSketch> for Encoding {
    fn from(sketch: CountSketch) -> Self {
        Self::Sketch(sketch)
    }
}

impl From<Record> for Encoding {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}

impl EncodedReport {
    /// A report of [`OneHot`].
    pub fn one_hot(bits: Vec<u32>) -> Self {
        Self { kind: EncodingKind::OneHot, sketch: SketchReport { rows: Vec::new(), bits } }
    }

    /// A report of [`CountSketch`].
    pub fn sketch(report: SketchReport) -> Self {
        Self { kind: EncodingKind::Sketch, sketch: report }
    }

    /// A report of [`Record`].
    pub fn record(bits: Vec<u32>) -> Self {
        Self { kind: EncodingKind::Record, sketch: SketchReport { rows: Vec::new(), bits } }
    }

    /// Of which encoding it is.
    pub fn kind(&self) -> EncodingKind {
        self.kind
    }

    /// The sampled rows, rising; none but of a sketch.
    pub fn rows(&self) -> &[u32] {
        &self.sketch.rows
    }

    /// The set bits, rising, as attributes.
    pub fn bits(&self) -> &[u32] {
        &self.sketch.bits
    }
}

impl Zeroize for EncodedReport {
    fn zeroize(&mut self) {
        self.sketch.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{check_randomizer, subsets};
    use crate::testing::{epsilon, rng};
    use crate::{Attributes, ExactDistribution, Probability, SketchShape};

    impl ExactDistribution for Encoding {
        fn probability(&self, value: Option<&Value>, report: &EncodedReport) -> Result<Probability, Error> {
            match self {
                Self::OneHot(one_hot) => {
                    one_hot.probability(one_hot.index(value)?.as_ref(), &report.sketch.bits)
                }
                Self::Sketch(sketch) => {
                    sketch.probability(value.map(Value::one).transpose()?.as_ref(), &report.sketch)
                }
                Self::Record(record) => {
                    record.probability(value.map(Value::record).transpose()?, &report.sketch.bits)
                }
            }
        }
    }

    /// Whichever it is, it samples the law of the randomizer in it and states its guarantee.
    #[test]
    fn keeps_the_contract() {
        let one_hot = Encoding::from(OneHot::new(3, epsilon(1.0)).unwrap());
        let outcomes: Vec<_> = subsets(3).into_iter().map(EncodedReport::one_hot).collect();
        check_randomizer(&one_hot, &[&Value::from(0), &Value::from(2)], &outcomes);

        let record = Encoding::from(Record::new(Attributes::new(&[1, 2]).unwrap(), epsilon(1.0)).unwrap());
        let outcomes: Vec<_> = subsets(3).into_iter().map(EncodedReport::record).collect();
        let both = Value::from(vec![Some(0), Some(1)]);
        check_randomizer(&record, &[&both, &Value::from(vec![None, Some(0)])], &outcomes);

        let shape = SketchShape { domain: 9, rows: 2, cells: 2, seed: 1 };
        let sketch = Encoding::from(CountSketch::new(shape, epsilon(1.0)).unwrap());
        let of_row = |row: u32| {
            let report = move |cells: Vec<u32>| {
                let bits = cells.iter().map(|cell| 2 * row + cell).collect();
                EncodedReport::sketch(SketchReport { rows: vec![row], bits })
            };
            subsets(2).into_iter().map(report)
        };
        let outcomes: Vec<_> = (0..2).flat_map(of_row).collect();
        check_randomizer(&sketch, &[&Value::from(0), &Value::from(8)], &outcomes);
    }

    /// A one-hot vector and a record of as many values have the same bits, and are not taken for one another.
    #[test]
    fn a_report_of_another_encoding_does_not_fit() {
        let one_hot = Encoding::from(OneHot::new(6, epsilon(1.0)).unwrap());
        let record = Encoding::from(Record::new(Attributes::new(&[2, 4]).unwrap(), epsilon(1.0)).unwrap());
        let shape = SketchShape { domain: 9, rows: 1, cells: 6, seed: 1 };
        let sketch = Encoding::from(CountSketch::new(shape, epsilon(1.0)).unwrap());
        let encodings = [one_hot, record, sketch];
        for (i, maker) in encodings.iter().enumerate() {
            let report = maker.randomize(None, &mut rng(3)).unwrap();
            assert_eq!((report.kind(), maker.sketch().is_some()), (maker.kind(), !report.rows().is_empty()));
            for (j, reader) in encodings.iter().enumerate() {
                assert_eq!(reader.fits(&report), i == j, "{i} read by {j}");
            }
            let mut erased = report;
            erased.zeroize();
            assert!(erased.bits().is_empty() && erased.rows().is_empty());
        }
    }
}
