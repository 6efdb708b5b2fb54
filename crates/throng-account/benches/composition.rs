//! Privacy-loss distributions: ten thousand Gaussian steps and ten thousand LDP-SGD steps, in under a second each.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use throng_account::composition::{LdpSgd, gaussian_epsilon};
use throng_account::gaussian::Gaussian;
use throng_dp::{Delta, Epsilon};

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
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = gaussian, ldp_sgd
}
criterion_main!(benches);
