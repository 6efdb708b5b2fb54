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

use super::SimulationOutcome;
use super::binomial::Binomial;
use super::cells::CellNoise;
use super::streams::{Purpose, Streams};

/// Simulates several mechanisms on one crowd whose members pick the same rows in all of them: hashing and dividing are
/// most of the work, and are done once. The sketches must have one shape. The noise of each is its own.
pub(super) fn run(
    counts: &[u64],
    mechanisms: &[&Mechanism],
    streams: &Streams,
    progress: &(impl Fn(u64) -> Result<()> + Sync),
) -> Result<Vec<SimulationOutcome>> {
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
    let simulated = |(mechanism, result): (&&Mechanism, &PartResult)| SimulationOutcome {
        estimates: result.sums.estimates(respondents, per_report, &mechanism.coins().noise()),
        fragments: result.fragments,
    };
    Ok(mechanisms.iter().zip(&total.results).map(simulated).collect())
}

/// Respondents who hold the same value and are in the same number of a node's rows.
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

impl<P: Fn(u64) -> Result<()> + Sync> Tree<'_, P> {
    /// The rows from `first`, `rows` of them. Node 1 is the root; the children of k are 2k and 2k + 1.
    fn descend(&self, node: u64, first: u32, rows: u32, groups: Vec<Group>) -> Result<()> {
        (self.progress)(0)?;
        if rows == 1 {
            self.leaf(first, &groups)?;
            return (self.progress)(1);
        }
        let half = rows / 2;
        let mut rng = self.streams.fast_rng(Purpose::Split, node);
        let mut picks = vec![None; self.sketch.differing_bits() as usize + 1];
        let (mut left, mut right) = (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        for group in groups {
            let picks = picks[group.rows as usize].get_or_insert_with(|| Picks::new(group.rows, half, rows));
            split(group, picks, &mut left, &mut right, &mut rng);
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

/// Draws how many members of a group have j of their rows in the left half of a node, for every j. Each member is in a random
/// set of the node's rows: hypergeometric for one member, multinomial for all, drawn as binomials, one j after the other.
fn split(group: Group, picks: &Picks, left: &mut Vec<Group>, right: &mut Vec<Group>, rng: &mut ChaCha8Rng) {
    let mut rest = group.count;
    for (j, &share) in (picks.fewest..).zip(&picks.shares) {
        let count = Binomial::new(rest, share).draw(rng);
        rest -= count;
        if count > 0 && j > 0 {
            left.push(Group { rows: j, count, ..group });
        }
        if count > 0 && group.rows > j {
            right.push(Group { rows: group.rows - j, count, ..group });
        }
        if rest == 0 {
            break;
        }
    }
}

/// How many of k distinct picks among the rows of a node are in its left half.
#[derive(Clone, Debug)]
struct Picks {
    /// The fewest that can be: the right half has room for the others.
    fewest: u32,
    /// From there on, the probability that it is j, given that it is at least j; so the last is 1.
    shares: Vec<f64>,
}

impl Picks {
    fn new(k: u32, half: u32, rows: u32) -> Self {
        let (fewest, most) = (k.saturating_sub(rows - half), k.min(half));
        // Pr[j + 1] / Pr[j].
        let ratio = |j: u32| {
            let (j, k, h, r) = (f64::from(j), f64::from(k), f64::from(half), f64::from(rows));
            (k - j) * (h - j) / ((j + 1.0) * (r - h - k + j + 1.0))
        };
        // Relative to the likeliest, since the least likely may be too small for a double; likewise sums over j and
        // more are summed from the end, where differences from 1 would have lost all digits.
        let likeliest = (u64::from(k) + 1) * (u64::from(half) + 1) / (u64::from(rows) + 2);
        let likeliest = (likeliest as u32).clamp(fewest, most);
        let mut weights = vec![1.0; (most - fewest + 1) as usize];
        for j in likeliest..most {
            weights[(j + 1 - fewest) as usize] = weights[(j - fewest) as usize] * ratio(j);
        }
        for j in (fewest..likeliest).rev() {
            weights[(j - fewest) as usize] = weights[(j + 1 - fewest) as usize] / ratio(j);
        }
        let mut remaining = 0.0;
        for weight in weights.iter_mut().rev() {
            remaining += *weight;
            *weight = if remaining > 0.0 { *weight / remaining } else { 1.0 };
        }
        Self { fewest, shares: weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against products of binomial coefficients, by their logarithms.
    #[test]
    fn picks_are_hypergeometric() {
        let ln_choose = |n: u32, k: u32| {
            let ln_factorial = |n: u32| libm::lgamma(f64::from(n) + 1.0);
            ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
        };
        let cases = [
            (1, 1, 2),
            (1, 1, 3),
            (1, 512, 1024),
            (2, 2, 5),
            (3, 1, 3),
            (5, 3, 7),
            (5, 512, 1024),
            (600, 512, 1024),
            // Here Pr[0] is below 10^-1000.
            (2048, 2048, 4096),
            (4096, 2048, 4096),
        ];
        for (k, half, rows) in cases {
            let picks = Picks::new(k, half, rows);
            assert_eq!(picks.fewest, (k + half).saturating_sub(rows));
            assert_eq!(picks.shares.len() as u32, k.min(half) - picks.fewest + 1);
            assert_eq!(picks.shares.last(), Some(&1.0));
            let (mut left, mut sum) = (1.0, 0.0);
            for (j, share) in (picks.fewest..).zip(&picks.shares) {
                let ln = ln_choose(half, j) + ln_choose(rows - half, k - j) - ln_choose(rows, k);
                assert!((left * share - ln.exp()).abs() < 1e-10, "{j} of {k}, {half} of {rows}");
                sum += left * share;
                left *= 1.0 - share;
            }
            assert!((sum - 1.0f64).abs() < 1e-12);
        }
    }
}
