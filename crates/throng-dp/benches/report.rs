//! The cost of one report, stage by stage: randomize, fragment, add up, estimate.

use chacha20::ChaCha12Rng;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand_core::SeedableRng;
use std::hint::black_box;
use throng_dp::randomizer::gradient::Direction;
use throng_dp::sampling::floored_normal;
use throng_dp::{
    CountSketch, Epsilon, Estimator, Gradient, GradientRandomizer, OneHot, PrivUnit, Randomizer,
    ReportFragments, SketchShape, fragmenting,
};

/// Domain sizes and epsilons of the paper: a small one, Horse, and the heavy-hitter data set.
const SHAPES: [(u64, f64); 3] = [(100, 8.55), (87_680, 8.55), (1_778_120, 12.99)];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("it is a constant of this bench")
}

fn one_hot(size: u64, value: f64) -> OneHot {
    OneHot::new(size, epsilon(value)).expect("it is a constant of this bench")
}

fn randomize(c: &mut Criterion) {
    let mut group = c.benchmark_group("randomize");
    group.throughput(Throughput::Elements(1));
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    for (size, value) in SHAPES {
        let mechanism = one_hot(size, value);
        let mut report = Vec::new();
        group.bench_function(BenchmarkId::new("one_hot", size), |b| {
            b.iter(|| mechanism.randomize_into(Some(&7), &mut report, &mut rng));
        });
        let tau = 16;
        let fragment = fragmenting::fragment_epsilon(epsilon(value), tau).expect("tau is not zero");
        let fragments = ReportFragments::new(mechanism, fragment, tau).expect("tau is not zero");
        let backstop = fragments.draw_backstop(Some(&7), &mut rng).expect("7 is in the domain");
        group.bench_function(BenchmarkId::new("16_report_fragments", size), |b| {
            b.iter(|| fragments.fragment(&backstop, &mut rng));
        });
    }
    group.bench_function("floored_normal", |b| b.iter(|| floored_normal::draw(&mut rng)));
    let sketch =
        CountSketch::new(SketchShape::new(1 << 40, 1), epsilon(8.55)).expect("the shape is the paper's");
    group.bench_function("count_sketch", |b| b.iter(|| sketch.randomize(Some(&7), &mut rng)));
    for dimension in [1000, 26_010] {
        let gradient = Gradient::new(dimension, 1.0, epsilon(1.9)).expect("it is a constant of this bench");
        let value = vec![0.001; dimension];
        group.bench_function(BenchmarkId::new("gradient", dimension), |b| {
            b.iter(|| gradient.randomize(Some(&value), &mut rng));
        });
        let cap = PrivUnit::new(dimension, 1.0, epsilon(1.9)).expect("it is a constant of this bench");
        group.bench_function(BenchmarkId::new("priv_unit", dimension), |b| {
            b.iter(|| cap.randomize(Some(&value), &mut rng));
        });
        group.bench_function(BenchmarkId::new("priv_unit_along", dimension), |b| {
            b.iter(|| cap.along(0.5, &mut rng));
        });
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    for (size, value) in SHAPES {
        group.bench_function(BenchmarkId::new("one_hot", size), |b| {
            b.iter(|| one_hot(black_box(size), value));
        });
    }
    group.finish();
}

fn add(c: &mut Criterion) {
    let mut group = c.benchmark_group("add");
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    for (size, value) in SHAPES {
        let mechanism = one_hot(size, value);
        let reports: Vec<_> = (0..10_000)
            .map(|i| mechanism.randomize(Some(&(i % 100)), &mut rng).expect("in the domain"))
            .collect();
        let mut tally = mechanism.tally().expect("it fits");
        group.throughput(Throughput::Elements(reports.len() as u64));
        group.bench_function(BenchmarkId::new("one_hot", size), |b| {
            b.iter(|| reports.iter().try_for_each(|report| mechanism.add(&mut tally, report)));
        });
    }
    let gradient = Gradient::new(26_010, 1.0, epsilon(1.9)).expect("it is a constant of this bench");
    let report = gradient.randomize(None, &mut rng).expect("there is no gradient to refuse");
    let mut tally = gradient.tally().expect("it fits");
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::new("gradient", 26_010), |b| {
        b.iter(|| gradient.add(&mut tally, &report));
    });
    // Normals a second.
    group.throughput(Throughput::Elements(26_010));
    let mut direction = vec![0; 26_010];
    group.bench_function(BenchmarkId::new("direction", 26_010), |b| {
        b.iter(|| Direction::new(black_box([3; 16])).fill(&mut direction));
    });
    group.finish();
}

fn estimate(c: &mut Criterion) {
    let mut group = c.benchmark_group("estimate");
    group.sample_size(10);
    for (size, value) in SHAPES {
        let mechanism = one_hot(size, value);
        let tally = mechanism.tally().expect("it fits");
        group.throughput(Throughput::Elements(size));
        group.bench_function(BenchmarkId::new("one_hot", size), |b| b.iter(|| mechanism.estimate(&tally)));
    }
    let sketch =
        CountSketch::new(SketchShape::new(87_680, 1), epsilon(8.55)).expect("the shape is the paper's");
    let tally = sketch.tally().expect("it fits");
    group.throughput(Throughput::Elements(87_680));
    group.bench_function(BenchmarkId::new("count_sketch", 87_680), |b| b.iter(|| sketch.estimate(&tally)));
    group.finish();
}

criterion_group!(benches, randomize, build, add, estimate);
criterion_main!(benches);
