//! Count-mean sketches: a large domain hashed to few cells, by many hash functions.

mod hashes;
mod sums;

use num_bigint::BigUint;
use num_rational::Ratio;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::{
    BitRandomizer, ExactDistribution, Probability, Randomizer, check_exact, difference, is_bit_list,
    pattern_probability, with_bits,
};
use crate::estimate::{BitNoise, Estimates, Tally};
use crate::sampling::{Bernoulli, Flips, distinct_below};
use crate::{Epsilon, Error, LocalGuarantee, Removal};
use hashes::{Hashes, Values};
use sums::estimate_cells;
pub use sums::{RowCells, SketchSums};

/// The sizes of a sketch and the seed of its public hash functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchShape {
    /// How many values there are, at most 2^61 − 1; values are numbered from 0.
    pub domain: u64,
    /// How many hash functions, each with a row of cells.
    pub rows: u32,
    /// How many cells in a row; rows times cells may be at most 2^32.
    pub cells: u32,
    /// What the hash functions are made from. Public: the guarantee holds for any hash functions.
    pub seed: u64,
}

impl SketchShape {
    /// The paper's sizes, which are those of a large deployment: 1,024 hash functions, 65,536 cells.
    pub fn new(domain: u64, seed: u64) -> Self {
        Self { domain, rows: 1024, cells: 65_536, seed }
    }

    fn hashes(self) -> Result<Hashes, Error> {
        if self.domain == 0 {
            return Err(Error::DomainSize(0));
        }
        let limits = [
            ("the domain of a sketch", self.domain, Hashes::PRIME),
            ("the number of hash functions", u64::from(self.rows), ROWS_MAX),
            ("the size of a sketch (rows times cells)", self.attributes(), 1 << 32),
        ];
        for (what, got, limit) in limits {
            if got > limit {
                return Err(Error::TooLarge { what, got, limit });
            }
        }
        if self.rows == 0 {
            return Err(Error::ZeroCount("the number of hash functions"));
        }
        if self.cells < 2 {
            return Err(Error::ZeroCount("the number of cells beyond the first"));
        }
        Ok(Hashes::new(self))
    }

    fn attributes(self) -> u64 {
        u64::from(self.rows) * u64::from(self.cells)
    }
}

/// A report on one sampled hash function (or on r of them, with the budget split): the one-hot vector of the cell
/// that the value hashes to, every bit flipped independently.
///
/// # Privacy
/// ε-removal LDP, for any hash functions: the rows are sampled independently of the value, and in each of them one
/// bit differs from the reference. With r rows each bit has ε/r.
/// # Utility
/// Over the choice of hash functions counts are unbiased. The variance has two parts, both in the stated error:
/// privacy, n·v/r·m/(m − 1) with v the variance of one bit, and collisions,
/// [(n − c)(1 − r/H)/r + (F₂ − c²)/H]/(m − 1), where F₂ (the sum of squared counts) is estimated from the sketch.
/// # Paper
/// Section II.B ("Sketch-based reports"), Tables real-1-crowd and horse_1_sketch_report.
#[derive(Clone, Debug)]
pub struct CountSketch {
    hashes: Hashes,
    flips: Flips,
    per_report: u32,
}

impl CountSketch {
    /// A report on one hash function, with the whole budget.
    pub fn new(shape: SketchShape, epsilon: Epsilon) -> Result<Self, Error> {
        Self::split(shape, epsilon, 1)
    }

    /// A report on `per_report` different hash functions, each with an equal share of the budget.
    pub fn split(shape: SketchShape, epsilon: Epsilon, per_report: u32) -> Result<Self, Error> {
        let hashes = shape.hashes()?;
        if per_report > shape.rows {
            let (got, limit) = (u64::from(per_report), u64::from(shape.rows));
            return Err(Error::TooLarge { what: "the number of hash functions in a report", got, limit });
        }
        let flips = Flips::new(u64::from(shape.cells), epsilon.share(per_report)?)?;
        Ok(Self { hashes, flips, per_report })
    }

    /// The sizes and the seed.
    pub fn shape(&self) -> SketchShape {
        self.hashes.shape()
    }

    /// The cell that a value has in one row.
    pub fn cell(&self, row: u32, value: u64) -> Result<u32, Error> {
        self.check(Some(&value))?;
        self.check_row(row)?;
        Ok(self.hashes.cell(row, value))
    }

    fn check_row(&self, row: u32) -> Result<(), Error> {
        let (what, got, limit) = ("the number of a row", u64::from(row), u64::from(self.shape().rows) - 1);
        if got > limit { Err(Error::TooLarge { what, got, limit }) } else { Ok(()) }
    }

    /// Estimates for some values only. (For the whole domain, see [`crate::Estimator::estimate`].)
    pub fn estimate_values(
        &self,
        tally: &Tally,
        noise: &BitNoise,
        values: &[u64],
    ) -> Result<Estimates, Error> {
        estimate_values(&self.hashes, self.per_report, tally, noise, Values::List(values))
    }

    /// The part of a row's cells in a rising list of attributes.
    fn cells_of<'a>(&self, row: u32, bits: &'a [u32]) -> &'a [u32] {
        let cells = u64::from(self.shape().cells);
        let from = bits.partition_point(|&bit| u64::from(bit) < u64::from(row) * cells);
        let to = bits.partition_point(|&bit| u64::from(bit) < (u64::from(row) + 1) * cells);
        &bits[from..to]
    }

    /// Appends one row's flipped cells as attributes.
    fn flip_row(
        &self,
        flips: &Flips,
        row: u32,
        cells: &[u32],
        bits: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) {
        let first = row * self.shape().cells;
        if bits.is_empty() {
            flips.flip_into(cells, bits, rng);
            bits.iter_mut().for_each(|bit| *bit += first);
        } else {
            bits.extend(flips.flip(cells, rng).iter().map(|cell| first + cell));
        }
    }

    fn check(&self, value: Option<&u64>) -> Result<(), Error> {
        let size = self.shape().domain;
        if value.is_some_and(|&value| value >= size) { Err(Error::OutsideDomain { size }) } else { Ok(()) }
    }
}

/// A report on some rows of a sketch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SketchReport {
    /// The sampled hash functions, rising.
    pub rows: Vec<u32>,
    /// The set bits, rising, as attributes `row * cells + cell`.
    pub bits: Vec<u32>,
}

impl Zeroize for SketchReport {
    fn zeroize(&mut self) {
        self.rows.zeroize();
        self.bits.zeroize();
    }
}

impl Randomizer for CountSketch {
    type Value = u64;
    type Report = SketchReport;
    type Neighbors = Removal;

    fn guarantee(&self) -> LocalGuarantee<Removal> {
        LocalGuarantee::pure(self.flips.coin().epsilon()).times(self.per_report)
    }

    fn randomize(
        &self,
        value: Option<&u64>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SketchReport, Error> {
        self.check(value)?;
        let mut rows = Vec::new();
        distinct_below(self.shape().rows, self.per_report as usize, &mut rows, rng);
        let mut bits = Vec::new();
        for &row in &rows {
            let cell = value.map(|&value| self.hashes.cell(row, value));
            self.flip_row(&self.flips, row, cell.as_slice(), &mut bits, rng);
        }
        Ok(SketchReport { rows, bits })
    }
}

impl BitRandomizer for CountSketch {
    fn attributes(&self) -> u64 {
        self.shape().attributes()
    }

    fn width(&self) -> u64 {
        u64::from(self.shape().cells)
    }

    fn coin(&self) -> Bernoulli {
        self.flips.coin()
    }

    fn differing_bits(&self) -> u32 {
        self.per_report
    }

    fn fragments<'a>(&self, report: &'a SketchReport) -> &'a [u32] {
        &report.bits
    }

    fn fits(&self, report: &SketchReport) -> bool {
        let in_rows: usize = report.rows.iter().map(|&row| self.cells_of(row, &report.bits).len()).sum();
        report.rows.len() == self.per_report as usize
            && is_bit_list(&report.rows, u64::from(self.shape().rows))
            && is_bit_list(&report.bits, self.attributes())
            && in_rows == report.bits.len()
    }

    fn flip_again(
        &self,
        report: &SketchReport,
        flips: &Flips,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> SketchReport {
        let mut bits = Vec::new();
        for &row in &report.rows {
            let first = row * self.shape().cells;
            let cells = self.cells_of(row, &report.bits).iter().map(|bit| bit - first);
            let cells: Zeroizing<Vec<u32>> = Zeroizing::new(cells.collect());
            self.flip_row(flips, row, &cells, &mut bits, rng);
        }
        SketchReport { rows: report.rows.clone(), bits }
    }

    fn held(
        &self,
        value: Option<&u64>,
        silent: &SketchReport,
        _: impl FnOnce(u64) -> u64,
    ) -> Result<Zeroizing<Vec<u32>>, Error> {
        self.check(value)?;
        let cells = self.shape().cells;
        let cell = |row: u32| value.map(|&value| row * cells + self.hashes.cell(row, value));
        Ok(Zeroizing::new(silent.rows.iter().filter_map(|&row| cell(row)).collect()))
    }

    fn with(&self, report: &SketchReport, attributes: &[u32]) -> SketchReport {
        SketchReport { rows: report.rows.clone(), bits: with_bits(&report.bits, attributes) }
    }

    fn estimate_through(&self, tally: &Tally, noise: &BitNoise) -> Result<Estimates, Error> {
        let domain = Values::Range(0..self.shape().domain);
        estimate_values(&self.hashes, self.per_report, tally, noise, domain)
    }

    fn estimate_sums(&self, sums: &[f64], respondents: u64, noise: &BitNoise) -> Result<Estimates, Error> {
        estimate_cells(&self.hashes, self.per_report, sums, (respondents, noise))
    }
}

impl ExactDistribution for CountSketch {
    fn probability(&self, value: Option<&u64>, report: &SketchReport) -> Result<Probability, Error> {
        check_exact(self)?;
        self.check(value)?;
        if !self.fits(report) {
            return Ok(Probability::from_integer(0u32.into()));
        }
        let mut probability = Ratio::from_integer(BigUint::from(1u32));
        for (i, &row) in report.rows.iter().enumerate() {
            // The chance that a set of rows is sampled: r/H * (r-1)/(H-1) * ...
            let (left, of) = (self.per_report - i as u32, self.shape().rows - i as u32);
            probability *= Ratio::new(BigUint::from(left), BigUint::from(of));
            let set: Vec<u32> =
                value.map(|&v| row * self.shape().cells + self.hashes.cell(row, v)).into_iter().collect();
            let flipped = difference(&set, self.cells_of(row, &report.bits));
            probability *= pattern_probability(self.coin(), flipped, self.width() - flipped);
        }
        Ok(probability)
    }
}

/// The sketch without privacy: every respondent adds to every row, and nothing is flipped. Its error is that of
/// the collisions alone (the paper's last row of its sketch tables).
#[derive(Clone, Debug)]
pub struct PlainSketch {
    hashes: Hashes,
}

impl PlainSketch {
    /// A sketch of the given shape.
    pub fn new(shape: SketchShape) -> Result<Self, Error> {
        Ok(Self { hashes: shape.hashes()? })
    }

    /// An empty sketch.
    pub fn tally(&self) -> Result<Tally, Error> {
        Tally::new(self.hashes.shape().attributes())
    }

    /// Adds `respondents` who all hold one value.
    pub fn add(&self, tally: &mut Tally, value: u64, respondents: u64) -> Result<(), Error> {
        let SketchShape { domain, rows, cells, .. } = self.hashes.shape();
        if value >= domain {
            return Err(Error::OutsideDomain { size: domain });
        }
        if respondents > RESPONDENTS_MAX {
            let (what, got, limit) =
                ("the number of respondents with one value", respondents, RESPONDENTS_MAX);
            return Err(Error::TooLarge { what, got, limit });
        }
        for row in 0..rows {
            tally.add_count(row * cells + self.hashes.cell(row, value), respondents)?;
        }
        tally.add_respondents(respondents);
        Ok(())
    }

    /// The counts of all values, with the error that collisions cause.
    pub fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        let SketchShape { domain, rows, .. } = self.hashes.shape();
        estimate_values(&self.hashes, rows, tally, &BitNoise::noiseless(), Values::Range(0..domain))
    }
}

/// The estimator of both sketches, from a whole tally. A row is summed while it is in the cache.
fn estimate_values(
    hashes: &Hashes,
    per_report: u32,
    tally: &Tally,
    noise: &BitNoise,
    values: Values,
) -> Result<Estimates, Error> {
    let SketchShape { rows, cells, .. } = hashes.shape();
    if tally.attributes() as u64 != hashes.shape().attributes() {
        let right = hashes.shape().attributes() as usize;
        return Err(Error::TallyMismatch { left: tally.attributes(), right });
    }
    let mut sums = SketchSums::of_values(hashes, values)?;
    let (counts, carries) = tally.parts();
    for (row, counts) in (0..rows).zip(counts.chunks_exact(cells as usize)) {
        sums.add_row(row, counts)?;
    }
    for (attribute, carry) in carries {
        sums.add_carry(attribute / cells, attribute % cells, counts[*attribute as usize], *carry);
    }
    Ok(sums.estimates(tally.respondents(), per_report, noise))
}

/// Hash functions are held in memory, 24 bytes each.
const ROWS_MAX: u64 = 1 << 20;
/// Sums over all rows stay far below 2^64.
const RESPONDENTS_MAX: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimator;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::testing::{assert_mean, assert_variance, rng};

    fn shape(domain: u64, rows: u32, cells: u32, seed: u64) -> SketchShape {
        SketchShape { domain, rows, cells, seed }
    }

    fn sketch(shape: SketchShape, epsilon: f64, per_report: u32) -> CountSketch {
        CountSketch::split(shape, Epsilon::new(epsilon).unwrap(), per_report).unwrap()
    }

    fn outcomes(mechanism: &CountSketch) -> Vec<SketchReport> {
        let SketchShape { rows, cells, .. } = mechanism.shape();
        let row_sets = subsets(rows).into_iter().filter(|set| set.len() == mechanism.per_report as usize);
        let of_rows = |rows: Vec<u32>| {
            let sets = subsets(rows.len() as u32 * cells);
            sets.into_iter().map(move |set| {
                let bits = set.iter().map(|i| rows[(i / cells) as usize] * cells + i % cells).collect();
                SketchReport { rows: rows.clone(), bits }
            })
        };
        row_sets.flat_map(of_rows).collect()
    }

    #[test]
    fn keeps_the_contract() {
        for (epsilon, rows, cells, per_report) in [(1.0, 3, 2, 1), (4.0, 2, 3, 1), (3.0, 3, 2, 2)] {
            let mechanism = sketch(shape(5, rows, cells, 11), epsilon, per_report);
            check_randomizer(&mechanism, &[&0, &1, &2, &3, &4], &outcomes(&mechanism));
        }
    }

    /// Over noise, sampled rows and hash functions: 150, 60 and 0 respondents on three values of 40, 30 on others,
    /// 60 with nothing to say. With one row of few cells the collisions weigh as much as the privacy noise.
    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        let values: Vec<u64> = (0..40).collect();
        for (rows, cells, per_report, epsilon) in [(16, 8, 1, 3.0), (16, 8, 3, 6.0), (4, 32, 1, 5.0)] {
            let value = |i: u64| match i {
                0..150 => Some(&values[0]),
                150..210 => Some(&values[1]),
                210..240 => Some(&values[i as usize - 200]),
                _ => None,
            };
            let mut truth = vec![0.0; 40];
            truth[..2].copy_from_slice(&[150.0, 60.0]);
            truth[10..].fill(1.0);
            let mechanism = |seed| sketch(shape(40, rows, cells, seed), epsilon, per_report);
            check_estimator(mechanism, 300, value, &truth);
        }
    }

    /// One value holds a third of the crowd: a collision with it in a single row of many moves a count by far more
    /// than the standard error says of a normal distribution. The stated probabilities hold all the same.
    #[test]
    fn a_popular_value_does_not_make_false_heavy_hitters() {
        let domain = 4000;
        let mechanism = sketch(shape(domain, 64, 512, 3), 7.0, 1);
        let mut rng = rng(31);
        let mut tally = mechanism.tally().unwrap();
        for i in 0..60_000u64 {
            let value = if i % 3 == 0 { 0 } else { 1 + i % 1000 };
            mechanism.add(&mut tally, &mechanism.randomize(Some(&value), &mut rng).unwrap()).unwrap();
        }
        let estimates = mechanism.estimate(&tally).unwrap();
        let truth = |value: usize| {
            if value == 0 {
                20_000.0
            } else if value <= 1000 {
                40.0
            } else {
                0.0
            }
        };
        let hitters = estimates.heavy_hitters(0.01).unwrap();
        assert!(hitters.values.iter().all(|&value| value <= 1000) && hitters.values[0] == 0, "{hitters:?}");
        let error = estimates.simultaneous_error(0.01).unwrap();
        let mut missed = 0;
        for value in 0..domain as usize {
            assert!((estimates.counts()[value] - truth(value)).abs() <= error);
            missed += u64::from(!estimates.interval(value, 0.99).unwrap().contains(&truth(value)));
        }
        assert!(missed <= 40, "{missed} of 4000 intervals at 99 %");
        // The normal threshold would have been this much lower, and wrong.
        let normal = crate::normal::upper_quantile(0.01 / 4000.0) * estimates.noise_floor();
        let wrong = (1001..4000).filter(|&value| estimates.counts()[value] > normal).count();
        assert!(wrong > 10, "{wrong}");
    }

    /// Little data and many coins: here the privacy noise is nearly all of the error.
    #[test]
    fn privacy_noise_has_the_stated_variance() {
        let value = |i: u64| if i < 10 { Some(&0) } else { None };
        let mechanism = |seed| sketch(shape(2, 8, 4, seed), 0.5, 1);
        check_estimator(mechanism, 400, value, &[10.0, 0.0]);
    }

    #[test]
    fn the_plain_sketch_errs_by_collisions_alone() {
        let counts = [500u64, 200, 90, 0, 10, 0, 0, 300];
        let (mut errors, mut variance) = (Vec::new(), 0.0);
        for seed in 0..4000 {
            let plain = PlainSketch::new(shape(8, 12, 16, seed)).unwrap();
            let mut tally = plain.tally().unwrap();
            for (value, &count) in counts.iter().enumerate() {
                plain.add(&mut tally, value as u64, count).unwrap();
            }
            let estimates = plain.estimate(&tally).unwrap();
            errors.push(estimates.counts()[2] - 90.0);
            variance += estimates.standard_error(2).powi(2) / 4000.0;
        }
        // (F₂ − c²)/(H(m − 1)), and what the estimate says of it.
        let squares: u64 = counts.iter().map(|c| c * c).sum();
        let exact = (squares - 90 * 90) as f64 / (12.0 * 15.0);
        assert!((variance / exact - 1.0).abs() < 0.05, "{variance} for {exact}");
        assert_mean(&errors, 0.0, exact.sqrt(), 2);
        assert_variance(&errors, exact, 2);
    }

    #[test]
    fn counts_beyond_32_bits_are_estimated_too() {
        let plain = PlainSketch::new(shape(4, 3, 64, 5)).unwrap();
        let mut tally = plain.tally().unwrap();
        plain.add(&mut tally, 2, (1 << 33) + 9).unwrap();
        plain.add(&mut tally, 3, 1000).unwrap();
        let estimates = plain.estimate(&tally).unwrap();
        assert!((estimates.counts()[2] / (2f64.powi(33) + 9.0) - 1.0).abs() < 1e-6);
        assert!((estimates.noise_floor() / (2f64.powi(33) / (3.0 * 63.0f64).sqrt()) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn values_and_sizes_out_of_range_are_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        let bad = |domain, rows, cells| CountSketch::new(shape(domain, rows, cells, 0), epsilon).unwrap_err();
        assert_eq!(bad(0, 4, 4), Error::DomainSize(0));
        assert!(matches!(bad(1 << 62, 4, 4), Error::TooLarge { .. }));
        assert!(matches!(bad(10, 1 << 17, 1 << 16), Error::TooLarge { .. }));
        assert!(matches!(bad(10, 1 << 31, 2), Error::TooLarge { .. }));
        assert!(matches!(bad(10, 0, 4), Error::ZeroCount(_)));
        assert!(matches!(bad(10, 4, 1), Error::ZeroCount(_)));
        assert!(matches!(CountSketch::split(shape(9, 4, 4, 0), epsilon, 5), Err(Error::TooLarge { .. })));
        assert!(matches!(CountSketch::split(shape(9, 4, 4, 0), epsilon, 0), Err(Error::ZeroCount(_))));

        let mechanism = sketch(shape(9, 4, 4, 0), 1.0, 1);
        assert_eq!(mechanism.randomize(Some(&9), &mut rng(1)), Err(Error::OutsideDomain { size: 9 }));
        assert_eq!(mechanism.cell(0, 9), Err(Error::OutsideDomain { size: 9 }));
        assert!(mechanism.cell(4, 0).is_err() && mechanism.cell(3, 8).is_ok());
        let plain = PlainSketch::new(shape(9, 4, 4, 0)).unwrap();
        assert!(plain.add(&mut plain.tally().unwrap(), 0, 1 << 41).is_err());
        let tally = Tally::new(15).unwrap();
        assert!(matches!(mechanism.estimate(&tally), Err(Error::TallyMismatch { .. })));
    }

    #[test]
    fn reports_of_other_shapes_do_not_fit() {
        let mechanism = sketch(shape(9, 4, 4, 0), 1.0, 2);
        let report = |rows: &[u32], bits: &[u32]| SketchReport { rows: rows.to_vec(), bits: bits.to_vec() };
        assert!(mechanism.fits(&report(&[0, 3], &[1, 2, 15])));
        for foreign in [
            report(&[0], &[]),
            report(&[3, 0], &[]),
            report(&[0, 4], &[]),
            report(&[0, 3], &[4]),
            report(&[0, 3], &[2, 1]),
            report(&[0, 3], &[16]),
        ] {
            assert!(!mechanism.fits(&foreign), "{foreign:?}");
        }
    }
}
