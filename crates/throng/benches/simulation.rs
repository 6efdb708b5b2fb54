//! The cost of a simulated crowd, in both modes: per fragment, per value and per row.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use throng_dp::{CountSketch, Epsilon, Mechanism, OneHot, SketchShape};
use throng_simulate::dataset::{Dataset, Generator};
use throng_simulate::simulation::{Mode, Simulation, SimulationOutcome};

const THREADS: [usize; 2] = [1, 2];

/// The paper's heavy-hitter survey with its whole domain and 200,000 of its respondents: 5 fragments from each.
fn respondents(c: &mut Criterion) {
    let data = heavy_hitters(200_000);
    let mechanism = one_hot(data.domain(), 12.99);
    let fragments = data.respondents() as f64 * mechanism.fragments_expected();
    let mut group = c.benchmark_group("respondent_per_fragment");
    group.sample_size(20).throughput(Throughput::Elements(fragments as u64));
    for threads in THREADS {
        group.bench_function(BenchmarkId::new("heavy_hitters", threads), |b| {
            b.iter(|| simulate(&mechanism, &data, Mode::Respondent, threads));
        });
    }
    group.finish();
}

/// The whole survey: the cost does not depend on the crowd.
fn values(c: &mut Criterion) {
    let data = heavy_hitters(Generator::RESPONDENTS);
    let mechanism = one_hot(data.domain(), 12.99);
    let mut group = c.benchmark_group("aggregate_per_value");
    group.sample_size(20).throughput(Throughput::Elements(data.domain()));
    for threads in THREADS {
        group.bench_function(BenchmarkId::new("heavy_hitters", threads), |b| {
            b.iter(|| simulate(&mechanism, &data, Mode::Aggregate, threads));
        });
    }
    group.finish();
}

/// A sketch with rows as long as the paper's, but only 16 of them.
fn rows(c: &mut Criterion) {
    let data = Dataset::built_in("flights").expect("it comes with the program");
    let shape = SketchShape { rows: 16, ..SketchShape::new(data.domain(), 1) };
    let mechanism = Mechanism::plain(CountSketch::new(shape, epsilon(8.0)).expect("a small sketch"));
    let mut group = c.benchmark_group("aggregate_per_row");
    group.sample_size(20).throughput(Throughput::Elements(u64::from(shape.rows)));
    for threads in THREADS {
        group.bench_function(BenchmarkId::new("sketch", threads), |b| {
            b.iter(|| simulate(&mechanism, &data, Mode::Aggregate, threads));
        });
    }
    group.finish();
}

fn heavy_hitters(respondents: u64) -> Dataset {
    let generator =
        Generator::HeavyHitters { share: Generator::SHARE, respondents, domain: Generator::DOMAIN };
    Dataset::generate(&generator).expect("it is a constant of this bench")
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("it is a constant of this bench")
}

fn one_hot(domain: u64, local: f64) -> Mechanism {
    Mechanism::plain(OneHot::new(domain, epsilon(local)).expect("it is a constant of this bench"))
}

fn simulate(mechanism: &Mechanism, data: &Dataset, mode: Mode, threads: usize) -> SimulationOutcome {
    let simulation = Simulation { mechanism, counts: data.counts(), mode, seed: 1, threads };
    black_box(simulation.run(|_| ()).expect("the crowd is not too large"))
}

criterion_group!(benches, respondents, values, rows);
criterion_main!(benches);
