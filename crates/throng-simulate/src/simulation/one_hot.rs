//! Aggregate mode with one bit per value: the bits of a report are independent, so each value's count is.

use anyhow::Result;
use rayon::prelude::*;

use super::cells::CellNoise;
use super::streams::{Purpose, Streams};
use super::{Simulation, SimulationOutcome};

pub(super) fn run(
    simulation: &Simulation,
    streams: &Streams,
    progress: &(impl Fn(u64) -> Result<()> + Sync),
) -> Result<SimulationOutcome> {
    let respondents = simulation.respondents();
    let sums: Vec<Vec<u64>> = simulation
        .counts
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, counts)| {
            progress(0)?;
            let mut rng = streams.fast_rng(Purpose::Noise, chunk as u64);
            let mut noise = CellNoise::new(simulation.mechanism.coins());
            let sums = counts.iter().map(|&count| noise.draw(respondents, count, &mut rng)).collect();
            progress(counts.len() as u64)?;
            Ok(sums)
        })
        .collect::<Result<_>>()?;
    let mut tally = simulation.mechanism.tally()?;
    let mut fragments = 0;
    for (attribute, sum) in (0..).zip(sums.into_iter().flatten()) {
        tally.add_count(attribute, sum)?;
        fragments += sum;
    }
    tally.add_respondents(respondents);
    Ok(SimulationOutcome { estimates: simulation.mechanism.estimate(&tally)?, fragments })
}

/// Values that share a stream. Part of what a seed means.
const CHUNK: usize = 1 << 13;
