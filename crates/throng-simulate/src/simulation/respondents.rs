//! Respondent mode: all stages in memory, on one page. value -> report -> fragments -> tally -> estimates.
//!
//! The stages are the ones that respondents and analyzer run. What lies between them in a real survey, sealing and
//! shuffling, is not here: a tally does not depend on the order in which fragments arrive.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use throng_dp::{Fragments, Tally, Value};

use super::streams::{Purpose, Streams};
use super::{Simulation, SimulationOutcome};

pub(super) fn run(
    simulation: &Simulation,
    streams: &Streams,
    progress: &(impl Fn(u64) -> Result<()> + Sync),
) -> Result<SimulationOutcome> {
    let mechanism = simulation.mechanism;
    let crowd = Crowd::new(simulation.counts);
    let total = Mutex::new(None);
    let next_block = AtomicU64::new(0);
    // Each worker takes the next block until none is left, and counts into a tally of its own.
    let work = |_| -> Result<()> {
        let next =
            || Some(BLOCK * next_block.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < crowd.size());
        // A sketch's tally is large; a worker that finds nothing left to do makes none.
        let Some(mut first) = next() else { return Ok(()) };
        let mut tally = mechanism.tally()?;
        let (mut fragments, mut batch) = (Fragments::default(), Vec::new());
        loop {
            let size = BLOCK.min(crowd.size() - first);
            let mut rng = streams.rng(Purpose::Reports, first / BLOCK);
            for value in crowd.values_from(first).take(size as usize) {
                // At the respondent: the value becomes fragments, and only they go on.
                mechanism.randomize_into(Some(&Value::from(value)), &mut fragments, &mut rng)?;
                batch.extend_from_slice(fragments.attributes());
                if batch.len() >= BATCH {
                    // At the analyzer: fragments that belong to nobody.
                    tally.add_fragments(&batch)?;
                    batch.clear();
                }
            }
            tally.add_fragments(&batch)?;
            batch.clear();
            tally.add_respondents(size);
            progress(size)?;
            match next() {
                Some(next) => first = next,
                None => break,
            }
        }
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *total {
            Some(total) => Tally::merge(total, &tally)?,
            nothing => *nothing = Some(tally),
        }
        Ok(())
    };
    rayon::broadcast(|context| work(context.index())).into_iter().collect::<Result<()>>()?;
    let tally = total.into_inner().unwrap_or_else(PoisonError::into_inner).context("nobody answered")?;
    Ok(SimulationOutcome { estimates: mechanism.estimate(&tally)?, fragments: tally.counts().sum() })
}

/// The respondents in the order of their values, found by number.
struct Crowd<'a> {
    counts: &'a [u64],
    /// How many respondents hold the values up to each one.
    ends: Vec<u64>,
}

impl<'a> Crowd<'a> {
    fn new(counts: &'a [u64]) -> Self {
        let ends = counts
            .iter()
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect();
        Self { counts, ends }
    }

    fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The value of a respondent and of all after them.
    fn values_from(&self, respondent: u64) -> impl Iterator<Item = u64> {
        let first = self.ends.partition_point(|&end| end <= respondent);
        let rest = self.ends.get(first).map_or(0, |end| end - respondent);
        let counts = self.counts.get(first + 1..).unwrap_or_default();
        let later = (first as u64 + 1..).zip(counts);
        std::iter::repeat_n(first as u64, rest as usize)
            .chain(later.flat_map(|(value, &count)| std::iter::repeat_n(value, count as usize)))
    }
}

/// Respondents that share a stream. Part of what a seed means.
const BLOCK: u64 = 1 << 14;
/// Fragments that are counted at once: a loop that does nothing else hides the time that memory takes.
const BATCH: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn respondents_hold_what_the_counts_say() {
        let crowd = Crowd::new(&[0, 2, 0, 3, 1, 0]);
        assert_eq!(crowd.size(), 6);
        let all = [1, 1, 3, 3, 3, 4];
        for from in 0..=6 {
            assert_eq!(crowd.values_from(from).collect::<Vec<_>>(), all[from as usize..]);
        }
    }
}
