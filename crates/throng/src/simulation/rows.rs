//! Aggregate mode with a sketch: who is in which row, and then every cell's count.
//!
//! The rows are the leaves of a binary tree. At each inner node, the respondents of every value divide into those of
//! the left and those of the right half of the rows; at a leaf, values become cells, cells get their noise, and the
//! noisy row is added to the sums of the estimator and forgotten. Memory grows with the domain and the length of a row,
//! never with the whole sketch.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use chacha20::ChaCha8Rng;
use throng_dp::{BitRandomizer, CountSketch, Mechanism, RowCells, SketchSums};

use super::Simulated;
use super::binomial::Binomial;
use super::cells::CellNoise;
use super::streams::{Purpose, Streams};

/// Simulates several mechanisms on one crowd whose members pick the same rows in all of them: hashing and dividing are
/// most of the work, and are done once. The sketches must have one shape. The noise of each is its own.
pub(super) fn run(
    counts: &[u64],
    mechanisms: &[&Mechanism],
    streams: &Streams,
    progress: &(impl Fn(u64) + Sync),
) -> Result<Vec<Simulated>> {
    let sketch = mechanisms.first().and_then(|mechanism| mechanism.sketch()).context("no sketch")?;
    let per_report = sketch.differing_bits();
    let alike = |other: &CountSketch| other.shape() == sketch.shape() && other.differing_bits() == per_report;
    ensure!(
        mechanisms.iter().all(|mechanism| mechanism.sketch().is_some_and(alike)),
        "sketches that are simulated together must have one shape"
    );
    let groups = (0..).zip(counts).filter(|(_, count)| **count > 0);
    let groups = groups.map(|(value, &count)| Group { value, rows: per_report, count }).collect();
    let tree = Tree { mechanisms, sketch, streams, progress, parts: Mutex::default() };
    tree.descend(1, 0, sketch.shape().rows, groups)?;

    let mut parts = tree.parts.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
    let mut total = parts.next().context("a sketch has at least one row")?;
    for part in parts {
        for (total, part) in total.results.iter_mut().zip(&part.results) {
            total.sums.merge(&part.sums)?;
            total.fragments += part.fragments;
        }
    }
    let respondents = counts.iter().sum();
    let simulated = |(mechanism, result): (&&Mechanism, &PartResult)| Simulated {
        estimates: result.sums.estimates(respondents, per_report, &mechanism.coins().noise()),
        fragments: result.fragments,
    };
    Ok(mechanisms.iter().zip(&total.results).map(simulated).collect())
}

/// Respondents who hold the same value and are in so many of a node's rows.
#[derive(Clone, Copy, Debug)]
struct Group {
    value: u32,
    rows: u32,
    count: u64,
}

struct Tree<'a, P> {
    mechanisms: &'a [&'a Mechanism],
    sketch: &'a CountSketch,
    streams: &'a Streams,
    progress: &'a P,
    /// What is not in use by a thread.
    parts: Mutex<Vec<Part<'a>>>,
}

/// What one thread has summed.
struct Part<'a> {
    results: Vec<PartResult<'a>>,
    hashed: RowCells,
    set: Vec<u64>,
    row: Vec<u32>,
}

/// What one thread has summed for one mechanism.
struct PartResult<'a> {
    sums: SketchSums<'a>,
    fragments: u64,
    noise: CellNoise,
}

impl<'a> Part<'a> {
    fn new(sketch: &'a CountSketch, mechanisms: &[&Mechanism]) -> Result<Self> {
        let cells = sketch.shape().cells as usize;
        let result = |mechanism: &&Mechanism| {
            let noise = CellNoise::new(mechanism.coins());
            Ok(PartResult { sums: SketchSums::new(sketch)?, fragments: 0, noise })
        };
        let results = mechanisms.iter().map(result).collect::<Result<_>>()?;
        Ok(Self { results, hashed: RowCells::default(), set: vec![0; cells], row: vec![0; cells] })
    }
}

impl<P: Fn(u64) + Sync> Tree<'_, P> {
    /// The rows from `first`, `rows` of them. Node 1 is the root; the children of k are 2k and 2k + 1.
    fn descend(&self, node: u64, first: u32, rows: u32, groups: Vec<Group>) -> Result<()> {
        if rows == 1 {
            self.leaf(first, &groups)?;
            (self.progress)(1);
            return Ok(());
        }
        let half = rows / 2;
        let mut rng = self.streams.fast_rng(Purpose::Split, node);
        let (mut left, mut right) = (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        for group in groups {
            split(group, half, rows, &mut left, &mut right, &mut rng);
        }
        let (left, right) = rayon::join(
            || self.descend(2 * node, first, half, left),
            || self.descend(2 * node + 1, first + half, rows - half, right),
        );
        left.and(right)
    }

    fn leaf(&self, row: u32, groups: &[Group]) -> Result<()> {
        let idle = || self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut part = match waiting {
            Some(part) => part,
            None => Part::new(self.sketch, self.mechanisms)?,
        };
        let Part { results, hashed, set, row: sums } = &mut part;
        hashed.rehash(self.sketch, row)?;
        set.fill(0);
        let mut crowd = 0;
        for group in groups {
            set[hashed.cells()[group.value as usize] as usize] += group.count;
            crowd += group.count;
        }
        for (index, result) in (0..).zip(results) {
            let mut rng = self.streams.fast_rng(Purpose::Noise, index << 32 | u64::from(row));
            let mut carries = Vec::new();
            for (cell, (&set, low)) in (0..).zip(set.iter().zip(&mut *sums)) {
                let count = result.noise.draw(crowd, set, &mut rng);
                result.fragments += count;
                *low = count as u32;
                if count >> 32 > 0 {
                    carries.push((cell, *low, count >> 32));
                }
            }
            result.sums.add_hashed_row(hashed, sums)?;
            for (cell, low, carry) in carries {
                result.sums.add_carry(row, cell, low, carry);
            }
        }
        idle().push(part);
        Ok(())
    }
}

/// Of a group, each member is in a random set of `group.rows` of `rows` rows: how many have j of them among the first
/// `half`? Hypergeometric for one member, multinomial for all: drawn as binomials, one j after the other.
fn split(
    group: Group,
    half: u32,
    rows: u32,
    left: &mut Vec<Group>,
    right: &mut Vec<Group>,
    rng: &mut ChaCha8Rng,
) {
    let k = group.rows;
    let fewest = k.saturating_sub(rows - half);
    let mut rest = group.count;
    // Pr[j], and how much probability is left for j and more.
    let mut probability = hypergeometric(fewest, k, half, rows);
    let mut remaining = 1.0;
    for j in fewest..=k.min(half) {
        let last = j == k.min(half);
        let share = if last { 1.0 } else { (probability / remaining).min(1.0) };
        let count = Binomial::new(rest, share).draw(rng);
        rest -= count;
        if count > 0 && j > 0 {
            left.push(Group { rows: j, count, ..group });
        }
        if count > 0 && k > j {
            right.push(Group { rows: k - j, count, ..group });
        }
        if rest == 0 {
            break;
        }
        remaining -= probability;
        // Pr[j + 1] / Pr[j].
        let (j, k, h, r) = (f64::from(j), f64::from(k), f64::from(half), f64::from(rows));
        probability *= (k - j) * (h - j) / ((j + 1.0) * (r - h - k + j + 1.0));
    }
}

/// The probability that j of k distinct picks among `rows` are among the first `half`, for the least j.
fn hypergeometric(j: u32, k: u32, half: u32, rows: u32) -> f64 {
    // Pick one after the other: k - j on the right, then j on the left; the orders make up the binomial coefficient.
    let (mut probability, mut picked) = (1.0, 0.0);
    for i in 0..k - j {
        probability *= f64::from(rows - half - i) / (f64::from(rows) - picked);
        picked += 1.0;
    }
    for i in 0..j {
        probability *= f64::from(half - i) / (f64::from(rows) - picked) * f64::from(k - i) / f64::from(j - i);
        picked += 1.0;
    }
    probability
}
