//! Simulated crowds against theory, against each other, and at the edges.
//!
//! Every statistical test has fixed seeds and a stated chance that a fresh seed fails a right sampler; a sampler that
//! passes once passes always.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod edges;
mod horse;
mod law;
mod moments;
mod seeds;
mod statistics;

use throng_dp::{CountSketch, Epsilon, Mechanism, OneHot, SketchShape};
use throng_simulate::simulation::{Mode, Simulation, SimulationOutcome};

const MODES: [Mode; 2] = [Mode::Aggregate, Mode::Respondent];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn one_hot(domain: u64, local: f64) -> Mechanism {
    Mechanism::plain(OneHot::new(domain, epsilon(local)).unwrap())
}

fn repeated(domain: u64, local: f64, runs: u32) -> Mechanism {
    let run = |share| OneHot::new(domain, share);
    Mechanism::runs(epsilon(local), runs, run).unwrap()
}

fn fragmented(domain: u64, backstop: f64, fragment: f64, tau: u32) -> Mechanism {
    let backstop = OneHot::new(domain, epsilon(backstop)).unwrap();
    Mechanism::fragments(backstop, epsilon(fragment), tau).unwrap()
}

fn count_sketch(shape: SketchShape, local: f64, per_report: u32) -> CountSketch {
    CountSketch::split(shape, epsilon(local), per_report).unwrap()
}

fn sketch(shape: SketchShape, local: f64, per_report: u32) -> Mechanism {
    Mechanism::plain(count_sketch(shape, local, per_report))
}

fn fragmented_sketch(
    shape: SketchShape,
    backstop: f64,
    per_report: u32,
    fragment: f64,
    tau: u32,
) -> Mechanism {
    let backstop = count_sketch(shape, backstop, per_report);
    Mechanism::fragments(backstop, epsilon(fragment), tau).unwrap()
}

/// One of every mechanism, on a domain and from a seed for hash functions where there are any.
fn mechanisms(domain: u64, seed: u64) -> Vec<(&'static str, Mechanism)> {
    let shape = |rows, cells| SketchShape { domain, rows, cells, seed };
    vec![
        ("one-hot", one_hot(domain, 1.5)),
        ("repeated runs", repeated(domain, 4.0, 3)),
        ("report fragments", fragmented(domain, 3.0, 1.0, 4)),
        ("sketch", sketch(shape(7, 5), 2.0, 1)),
        ("sketch of one row", sketch(shape(1, 8), 2.0, 1)),
        ("sketch, two rows per report", sketch(shape(5, 4), 4.0, 2)),
        ("sketch, five of six rows per report", sketch(shape(6, 4), 6.0, 5)),
        ("sketch, all rows in each report", sketch(shape(3, 8), 4.0, 3)),
        ("fragmented sketch", fragmented_sketch(shape(6, 4), 6.0, 2, 2.0, 3)),
    ]
}

/// Runs a test in a pool of one thread: the simulations in it need not start one each.
fn in_one_pool(test: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(test);
}

fn simulate(mechanism: &Mechanism, counts: &[u64], mode: Mode, seed: u64) -> SimulationOutcome {
    Simulation { mechanism, counts, mode, seed, threads: 1 }.run(|_| ()).unwrap()
}
