//! Our side of the comparison with the Python peers: `peers CASE ROUNDS` prints one line of JSON with the thread
//! CPU seconds per unit of each round. `bench/peers/run` runs it beside the peers.

use std::hint::black_box;

use chacha20::ChaCha12Rng;
use cpu_time::ThreadTime;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use throng_dp::randomizer::gradient::Direction;
use throng_dp::sampling::below;
use throng_dp::{CountSketch, Epsilon, Estimator, Gradient, OneHot, PrivUnit, Randomizer, SketchShape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        return Err("give a case and a number of rounds, for example: peers one-hot-encode 7".into());
    };
    let rounds: usize = rounds.parse()?;
    // The generator behind rand's StdRng: what a careful simulation would use.
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let (unit, seconds) = match case.as_str() {
        "one-hot-encode" => ("report", one_hot_encode(SMALL, 200_000, rounds, &mut rng)?),
        "one-hot-encode-large" => ("report", one_hot_encode(LARGE, 1_000_000, rounds, &mut rng)?),
        "sum-sparse" => ("report", sum_sparse(SMALL, 200_000, rounds, &mut rng)?),
        "sum-sparse-large" => ("report", sum_sparse(LARGE, 1_000_000, rounds, &mut rng)?),
        "tally" => ("index", tally(rounds, &mut rng)?),
        "sketch-encode" => ("report", sketch_encode(rounds, &mut rng)?),
        "sketch-aggregate" => ("report", sketch_aggregate(rounds, &mut rng)?),
        "sketch-estimate" => ("item", sketch_estimate(rounds, &mut rng)?),
        "gradient-report" => ("report", gradient_report(rounds, &mut rng)?),
        "gradient-add" => ("report", gradient_add(rounds, &mut rng)?),
        "priv-unit-report" => ("report", priv_unit_report(rounds, &mut rng)?),
        "direction-expand" => ("report", direction_expand(rounds)),
        "direction-expand-rand-distr" => ("report", direction_expand_rand_distr(rounds)),
        other => return Err(format!("there is no case {other}").into()),
    };
    println!("{{\"case\": \"{case}\", \"unit\": \"{unit}\", \"seconds_per_unit\": {seconds:?}}}");
    Ok(())
}

/// Horse and the heavy-hitter data set: domain size and epsilon.
const SMALL: (u64, f64) = (87_680, 8.55);
const LARGE: (u64, f64) = (1_778_120, 12.99);
const DIMENSION: usize = 26_000;
const INDICES: usize = 100_000_000;

type Result2<T> = Result<T, throng_dp::Error>;

/// Runs `work` once to warm up and then `rounds` times.
fn time(rounds: usize, units: usize, mut work: impl FnMut()) -> Vec<f64> {
    work();
    (0..rounds)
        .map(|_| {
            let start = ThreadTime::now();
            work();
            start.elapsed().as_secs_f64() / units as f64
        })
        .collect()
}

fn one_hot((size, epsilon): (u64, f64)) -> Result2<OneHot> {
    OneHot::new(size, Epsilon::new(epsilon)?)
}

fn one_hot_encode(
    shape: (u64, f64),
    units: usize,
    rounds: usize,
    rng: &mut ChaCha12Rng,
) -> Result2<Vec<f64>> {
    let mechanism = one_hot(shape)?;
    let mut report = Vec::new();
    Ok(time(rounds, units, || {
        for i in 0..units as u64 {
            let value = (i % shape.0) as u32;
            mechanism.randomize_into(Some(&value), &mut report, rng).expect("the value is in the domain");
            black_box(&report);
        }
    }))
}

fn sum_sparse(shape: (u64, f64), units: usize, rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = one_hot(shape)?;
    let reports: Vec<u32> = (0..units as u64)
        .map(|i| mechanism.randomize(Some(&((i % shape.0) as u32)), rng))
        .collect::<Result2<Vec<_>>>()?
        .concat();
    let mut tally = mechanism.tally()?;
    Ok(time(rounds, units, || tally.add_fragments(black_box(&reports)).expect("all are in the domain")))
}

/// As many fragments as a large batch has, all attributes alike.
fn tally(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mut tally = one_hot(SMALL)?.tally()?;
    let indices: Vec<u32> = (0..INDICES).map(|_| below(SMALL.0, rng) as u32).collect();
    Ok(time(rounds, INDICES, || tally.add_fragments(black_box(&indices)).expect("all are in the domain")))
}

fn sketch() -> Result2<CountSketch> {
    CountSketch::new(SketchShape::new(1_000_000, 1), Epsilon::new(SMALL.1)?)
}

fn sketch_encode(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = sketch()?;
    let units = 200_000;
    Ok(time(rounds, units, || {
        for value in 0..units as u64 {
            black_box(mechanism.randomize(Some(&value), rng).expect("the value is in the domain"));
        }
    }))
}

fn sketch_aggregate(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = sketch()?;
    let reports = (0..100_000).map(|v| mechanism.randomize(Some(&v), rng)).collect::<Result2<Vec<_>>>()?;
    let mut tally = mechanism.tally()?;
    Ok(time(rounds, reports.len(), || {
        for report in &reports {
            mechanism.add(&mut tally, report).expect("it is this mechanism's report");
        }
    }))
}

fn sketch_estimate(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let domain = SMALL.0;
    let mechanism = CountSketch::new(SketchShape::new(domain, 1), Epsilon::new(SMALL.1)?)?;
    let mut tally = mechanism.tally()?;
    for value in 0..1000 {
        mechanism.add(&mut tally, &mechanism.randomize(Some(&value), rng)?)?;
    }
    Ok(time(rounds, domain as usize, || {
        black_box(mechanism.estimate(&tally).expect("the tally fits"));
    }))
}

fn gradient_report(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = Gradient::new(DIMENSION, 1.0, Epsilon::new(1.9)?)?;
    let gradient: Vec<f32> = (0..DIMENSION).map(|i| (i as f32).sin() * 0.01).collect();
    let units = 1000;
    Ok(time(rounds, units, || {
        for _ in 0..units {
            black_box(mechanism.randomize(Some(&gradient), rng).expect("the gradient fits"));
        }
    }))
}

/// What the server does with a report: expand it and add it up.
fn gradient_add(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = Gradient::new(DIMENSION, 1.0, Epsilon::new(1.9)?)?;
    let reports: Vec<_> = (0..1000).map(|_| mechanism.randomize(None, rng)).collect::<Result2<_>>()?;
    let mut tally = mechanism.tally()?;
    Ok(time(rounds, reports.len(), || {
        for report in &reports {
            mechanism.add(&mut tally, report).expect("the tally fits");
        }
        black_box(&tally);
    }))
}

fn priv_unit_report(rounds: usize, rng: &mut ChaCha12Rng) -> Result2<Vec<f64>> {
    let mechanism = PrivUnit::new(DIMENSION, 1.0, Epsilon::new(1.9)?)?;
    let gradient: Vec<f32> = (0..DIMENSION).map(|i| (i as f32).sin() * 0.01).collect();
    Ok(time(rounds, 500, || {
        for _ in 0..500 {
            black_box(mechanism.randomize(Some(&gradient), rng).expect("the gradient fits"));
        }
    }))
}

fn direction_expand(rounds: usize) -> Vec<f64> {
    let mut direction = vec![0i16; DIMENSION];
    let units = 1000;
    time(rounds, units, || {
        for seed in 0..units as u128 {
            Direction::new(seed.to_le_bytes()).fill(&mut direction);
            black_box(&direction);
        }
    })
}

fn direction_expand_rand_distr(rounds: usize) -> Vec<f64> {
    let mut direction = vec![0f32; DIMENSION];
    let units = 1000;
    time(rounds, units, || {
        for seed in 0..units as u64 {
            let mut rng = chacha20::ChaCha8Rng::seed_from_u64(seed);
            direction.iter_mut().for_each(|x| *x = StandardNormal.sample(&mut rng));
            black_box(&direction);
        }
    })
}
