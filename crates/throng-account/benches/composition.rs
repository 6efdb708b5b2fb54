//! Privacy-loss distributions: ten thousand Gaussian steps and ten thousand LDP-SGD steps, in under a second each;
//! PrivUnit's pair, and its composition at many numbers of steps.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use throng_account::composition::{LdpSgd, gaussian_epsilon};
use throng_account::gaussian::Gaussian;
use throng_dp::{Delta, Epsilon, PrivUnit};

fn gaussian(c: &mut Criterion) {
    let mut group = c.benchmark_group("pld gaussian");
    let one = Gaussian::new(100.0, 1.0).expect("a valid mechanism");
    let delta = Delta::new(1e-5).expect("a valid delta");
    for steps in [1, 1000, 10_000, 1_000_000] {
        group.bench_with_input(BenchmarkId::from_parameter(steps), &steps, |b, &steps| {
            b.iter(|| gaussian_epsilon(black_box(one), steps, delta));
        });
    }
    group.finish();
}

fn ldp_sgd(c: &mut Criterion) {
    let mut group = c.benchmark_group("pld ldp-sgd");
    let epsilon = Epsilon::new(1.9).expect("a valid epsilon");
    let delta = Delta::new(1e-5).expect("a valid delta");
    for (respondents, crowd, steps) in
        [(60_000, 4000, 1000), (60_000, 4000, 10_000), (100_000_000, 1_000_000, 10_000)]
    {
        let training = LdpSgd::new(respondents, crowd, epsilon, steps).expect("a valid training");
        group.bench_function(format!("{crowd} of {respondents}, {steps} steps"), |b| {
            b.iter(|| black_box(training).guarantee(delta));
        });
    }
    let mechanism = PrivUnit::new(26_010, 1.0, epsilon).expect("a valid mechanism");
    for (respondents, crowd, steps) in
        [(60_000, 10_000, 1000), (60_000, 60_000, 500), (100_000_000, 1_000_000, 10_000)]
    {
        let training = LdpSgd::priv_unit(respondents, crowd, &mechanism, steps).expect("a valid training");
        group.bench_function(format!("priv unit, {crowd} of {respondents}, {steps} steps"), |b| {
            b.iter(|| black_box(training).guarantee(delta));
        });
        let many: Vec<u64> = (1..=20).map(|i| i * steps / 20).collect();
        group.bench_function(
            format!("priv unit, {crowd} of {respondents}, 20 times up to {steps} steps"),
            |b| {
                b.iter(|| black_box(training).epsilons(&many, delta));
            },
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = gaussian, ldp_sgd
}
criterion_main!(benches);
