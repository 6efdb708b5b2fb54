//! What an analyzer keeps of a sketch while it reads it row by row.

use super::hashes::{Hashes, Values};
use super::{CountSketch, SketchShape};
use crate::Error;
use crate::estimate::{BitNoise, Collisions, Estimates, Spread};

/// For every value, the sum over rows of the cell that it hashes to; and the moments of all cells.
///
/// A sketch that is too large to hold can be estimated through this, one row after another, on several threads: sums
/// are integers, so neither the order of the rows nor the number of threads matters.
#[derive(Clone, Debug)]
pub struct SketchSums<'a> {
    hashes: &'a Hashes,
    values: Values<'a>,
    sums: Vec<u64>,
    total: u128,
    squares: u128,
    largest: u64,
}

impl<'a> SketchSums<'a> {
    /// Sums for the whole domain of a sketch, all zero.
    pub fn new(mechanism: &'a CountSketch) -> Result<Self, Error> {
        Self::of_values(&mechanism.hashes, Values::Range(0..mechanism.shape().domain))
    }

    pub(super) fn of_values(hashes: &'a Hashes, values: Values<'a>) -> Result<Self, Error> {
        let domain = hashes.shape().domain;
        if values.max().is_some_and(|value| value >= domain) {
            return Err(Error::OutsideDomain { size: domain });
        }
        let mut sums = Vec::new();
        sums.try_reserve_exact(values.len()).map_err(|_| Error::TallyMemory { attributes: domain })?;
        sums.resize(values.len(), 0);
        Ok(Self { hashes, values, sums, total: 0, squares: 0, largest: 0 })
    }

    /// Adds a row, each row once. There is one count per cell.
    pub fn add_row(&mut self, row: u32, counts: &[u32]) -> Result<(), Error> {
        self.add_moments(row, counts)?;
        let sums = &mut self.sums;
        self.hashes.for_each_cell(row, &self.values, |i, cell| sums[i] += u64::from(counts[cell as usize]));
        Ok(())
    }

    /// The same for a row whose hashes are known: several sketches of one shape can share them.
    pub fn add_hashed_row(&mut self, hashed: &RowCells, counts: &[u32]) -> Result<(), Error> {
        let (left, right) = (hashed.cells.len(), self.sums.len());
        if hashed.shape != Some(self.hashes.shape()) || left != right {
            return Err(Error::TallyMismatch { left, right });
        }
        self.add_moments(hashed.row, counts)?;
        for (sum, &cell) in self.sums.iter_mut().zip(&hashed.cells) {
            *sum += u64::from(counts[cell as usize]);
        }
        Ok(())
    }

    fn add_moments(&mut self, row: u32, counts: &[u32]) -> Result<(), Error> {
        let SketchShape { rows, cells, .. } = self.hashes.shape();
        if row >= rows || counts.len() != cells as usize {
            return Err(Error::TallyMismatch { left: counts.len(), right: cells as usize });
        }
        let square = |count: &u32| u128::from(u64::from(*count) * u64::from(*count));
        self.total += u128::from(counts.iter().map(|&count| u64::from(count)).sum::<u64>());
        self.squares += counts.iter().map(square).sum::<u128>();
        self.largest = self.largest.max(counts.iter().copied().max().unwrap_or(0).into());
        Ok(())
    }

    /// Adds what a cell of a row that was added as `low` has beyond 32 bits.
    pub fn add_carry(&mut self, row: u32, cell: u32, low: u32, carry: u64) {
        let count = carry << 32;
        self.total += u128::from(count);
        self.squares += u128::from(count) * (u128::from(count) + 2 * u128::from(low));
        self.largest = self.largest.max(count + u64::from(low));
        let sums = &mut self.sums;
        self.hashes.for_each_cell(row, &self.values, |i, at| sums[i] += if at == cell { count } else { 0 });
    }

    /// Adds the sums over other rows of the same sketch.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        let (left, right) = (self.sums.len(), other.sums.len());
        if left != right || self.hashes.shape() != other.hashes.shape() {
            return Err(Error::TallyMismatch { left, right });
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.total += other.total;
        self.squares += other.squares;
        self.largest = self.largest.max(other.largest);
        Ok(())
    }

    /// The estimator of all sketches: mean over rows, collision correction, errors. Every respondent is in
    /// `per_report` rows, and each bit went through `noise`.
    pub fn estimates(&self, respondents: u64, per_report: u32, noise: &BitNoise) -> Estimates {
        let cells =
            Cells { total: self.total as f64, squares: self.squares as f64, largest: self.largest as f64 };
        let sums = self.sums.iter().map(|&sum| sum as f64);
        cells.estimates(self.hashes.shape(), sums, (respondents, per_report), noise)
    }
}

/// The same estimator, for cells that were brought to one crowd and are no longer integers.
pub(super) fn estimate_cells(
    hashes: &Hashes,
    per_report: u32,
    counts: &[f64],
    (respondents, noise): (u64, &BitNoise),
) -> Result<Estimates, Error> {
    let shape = hashes.shape();
    let (left, right) = (counts.len(), shape.attributes() as usize);
    if left != right {
        return Err(Error::TallyMismatch { left, right });
    }
    let mut sums = Vec::new();
    let memory = |_| Error::TallyMemory { attributes: shape.domain };
    sums.try_reserve_exact(shape.domain as usize).map_err(memory)?;
    sums.resize(shape.domain as usize, 0.0);
    let domain = Values::Range(0..shape.domain);
    for (row, counts) in (0..).zip(counts.chunks_exact(shape.cells as usize)) {
        hashes.for_each_cell(row, &domain, |i, cell| sums[i] += counts[cell as usize]);
    }
    let cells = Cells {
        total: counts.iter().sum(),
        squares: counts.iter().map(|count| count * count).sum(),
        largest: counts.iter().copied().fold(0.0, f64::max),
    };
    Ok(cells.estimates(shape, sums.into_iter(), (respondents, per_report), noise))
}

/// The moments of all cells of a sketch, as they were counted.
struct Cells {
    total: f64,
    squares: f64,
    largest: f64,
}

impl Cells {
    fn estimates(
        &self,
        SketchShape { rows, cells, .. }: SketchShape,
        sums: impl Iterator<Item = f64>,
        (respondents, per_report): (u64, u32),
        noise: &BitNoise,
    ) -> Estimates {
        let (n, r, h, m) = (respondents as f64, f64::from(per_report), f64::from(rows), f64::from(cells));
        let correction = m / (m - 1.0);

        // S(x) = sum over rows of the cell that x hashes to; its debiased mean is c + (n_v - c)/m, where n_v is the
        // number of respondents that hold any value.
        let moments = Moments::of(n, self.total, self.squares, noise, [r, h, m]);
        let count = |sum: f64| (noise.count(sum, n * r) / r - moments.holders / m) * correction;
        let counts = sums.map(count).collect();

        let range = (noise.count(self.largest, n * r / h) / r * correction).max(0.0);
        let spread = moments.spread(n, noise, [r, h, m], range);
        Estimates::new(respondents, counts, spread)
    }
}

impl CountSketch {
    /// How far estimates are off when the truth is known: how many respondents hold each value, all of whom answer.
    pub fn spread_of(&self, truth: &[u64], noise: &BitNoise) -> Spread {
        let SketchShape { rows, cells, .. } = self.shape();
        let sizes = [f64::from(self.per_report), f64::from(rows), f64::from(cells)];
        let n: f64 = truth.iter().map(|&count| count as f64).sum();
        let squares = truth.iter().map(|&count| count as f64 * count as f64).sum();
        let largest = truth.iter().copied().max().unwrap_or(0) as f64;
        Moments { holders: n, squares }.spread(n, noise, sizes, largest / f64::from(rows))
    }
}

/// The cells of all values of a domain in one row: the hash function, written out.
#[derive(Clone, Debug, Default)]
pub struct RowCells {
    shape: Option<SketchShape>,
    row: u32,
    cells: Vec<u32>,
}

impl RowCells {
    /// Writes out another row, into the same memory.
    pub fn rehash(&mut self, mechanism: &CountSketch, row: u32) -> Result<(), Error> {
        mechanism.check_row(row)?;
        let shape = mechanism.shape();
        let (domain, size) = (Values::Range(0..shape.domain), shape.domain as usize);
        let missing = size.saturating_sub(self.cells.len());
        self.cells.try_reserve_exact(missing).map_err(|_| Error::TallyMemory { attributes: shape.domain })?;
        self.cells.resize(size, 0);
        let cells = self.cells.as_mut_slice();
        mechanism.hashes.for_each_cell(row, &domain, |i, cell| cells[i] = cell);
        (self.shape, self.row) = (Some(shape), row);
        Ok(())
    }

    /// The cell of each value.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }
}

/// What a sketch says about the whole crowd.
struct Moments {
    /// How many respondents hold a value (the others had nothing to say).
    holders: f64,
    /// F₂, the sum of squared counts.
    squares: f64,
}

impl Moments {
    /// Unbiased from the sums of the debiased cells and of their squares.
    ///
    /// Write ρ = r/H, e for the encodings per respondent, v and p/g for the noise's variance and flip over gain.
    /// A debiased cell is C + (n_h − nρ)p/g + noise, where C counts the respondents of that row and cell, n_h those
    /// of the row, and the noise has variance n_h·v. Summed over all cells, squares have the expectation
    ///   n_v·r(1−ρ)/e·(1 + 2p/g) + n·r(1−ρ)/e·m(p/g)² + m·n·r·v + (r²/H)·[F₂(1 − 1/m) + n_v²/m],
    /// which is solved for F₂.
    fn of(n: f64, total: f64, squares: f64, noise: &BitNoise, [r, h, m]: [f64; 3]) -> Self {
        let cells = h * m;
        let (sum, sum_of_squares) = noise.count_moments(total, squares, cells, n * r / h);
        let holders = sum / r;
        let sampled = r * (1.0 - r / h) / noise.encodings();
        let odds = noise.flip_over_gain();
        let noise = holders * sampled * (1.0 + 2.0 * odds)
            + n * sampled * m * odds * odds
            + m * n * r * noise.variance();
        let squares = ((sum_of_squares - noise) * h / (r * r) - holders * holders / m) / (1.0 - 1.0 / m);
        // Counts are whole numbers, so their squares sum to at least their sum.
        Self { holders, squares: squares.max(holders) }
    }

    /// How far estimates from n respondents are off, if one row can move them by `range`.
    fn spread(&self, n: f64, noise: &BitNoise, [r, h, m]: [f64; 3], range: f64) -> Spread {
        // The estimate is S(x) minus the mean of the m - 1 other cells, whose noise it takes on.
        let correction = m / (m - 1.0);
        let privacy = n * noise.variance() / r * correction;
        let single = (1.0 - r / h) / (r * noise.encodings());
        let collisions = Collisions {
            floor: (self.holders * single + self.squares / h).max(0.0) / (m - 1.0),
            linear: -single / (m - 1.0),
            quadratic: -1.0 / (h * (m - 1.0)),
            range,
        };
        let spread = Spread::constant(privacy, noise.range() * correction);
        Spread { collisions: Some(collisions), ..spread }
    }
}
