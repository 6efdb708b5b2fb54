//! Our side of the comparison with Opacus and PyTorch: `learn_peers CASE ROUNDS` prints one line of JSON with the seconds per
//! example of each round. `bench/peers/run` runs it beside the peers.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use cpu_time::ProcessTime;
use rayon::prelude::*;
use throng_learn::{Curve, Network};

const BATCH: usize = 250;
/// As many examples as one worker takes at once.
const CHUNK: usize = 5;
const ROUND_SECONDS: f64 = 0.5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        return Err("give a case and a number of rounds, for example: learn_peers gradients-1 7".into());
    };
    let rounds: usize = rounds.parse()?;
    let seconds = match case.as_str() {
        // CPU time, which a busy machine disturbs little.
        "gradients-1" => gradients(1, rounds, |work| {
            let start = ProcessTime::now();
            work();
            start.elapsed().as_secs_f64()
        })?,
        // Wall-clock time: CPU time does not see threads that wait.
        "gradients-2" => gradients(2, rounds, |work| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })?,
        other => return Err(format!("there is no case {other}").into()),
    };
    println!("{{\"case\": \"{case}\", \"unit\": \"example\", \"seconds_per_unit\": {seconds:?}}}");
    Ok(())
}

/// The gradients of a batch of the paper's network, every one written down; `time` says how long some work took.
fn gradients(
    threads: usize,
    rounds: usize,
    time: impl Fn(&mut dyn FnMut()) -> f64,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let network = Network::paper_cnn(1, Curve::Tanh, 10);
    // Uniform numbers, the same in every run; what they are does not matter, but zeros could be passed over.
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 2f32.powi(24)
    };
    let parameters: Vec<f32> = (0..network.dimension()).map(|_| 0.2 * uniform() - 0.1).collect();
    let pixels: Vec<f32> = (0..BATCH * network.inputs()).map(|_| uniform()).collect();
    let inputs: Vec<&[f32]> = pixels.chunks(network.inputs()).collect();
    let labels: Vec<u8> = (0..BATCH).map(|_| (10.0 * uniform()) as u8).collect();

    let mut workspaces: Vec<_> = (0..BATCH / CHUNK).map(|_| network.workspace::<f32>(CHUNK)).collect();
    let mut losses = vec![0.0; BATCH];
    let mut gradients = vec![0.0f32; BATCH * network.dimension()];
    let mut batch = || {
        pool.install(|| {
            let made =
                gradients.par_chunks_mut(CHUNK * network.dimension()).zip(losses.par_chunks_mut(CHUNK));
            let given = inputs.par_chunks(CHUNK).zip(labels.par_chunks(CHUNK));
            made.zip(given).zip(&mut workspaces).for_each(
                |(((gradients, losses), (inputs, labels)), room)| {
                    network.gradients(&parameters, inputs, labels, room, losses, gradients);
                },
            );
        });
        black_box(&gradients);
    };

    // The warm-up: memory is mapped, threads are started.
    (0..3).for_each(|_| batch());
    let repeats = (ROUND_SECONDS / time(&mut batch)).ceil().max(1.0) as usize;
    Ok((0..rounds)
        .map(|_| time(&mut || (0..repeats).for_each(|_| batch())) / (repeats * BATCH) as f64)
        .collect())
}
