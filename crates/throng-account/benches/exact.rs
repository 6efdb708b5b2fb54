//! How fast the accountant answers: `cargo bench -p throng-account --bench exact`.
//!
//! Targets: exact ε at a = 0 for n = 2·10^8 under 100 µs at ε_local 12.99 and under 50 ms at 2.0; one certified
//! inverse under 50 ms where ε_central ≥ 0.25 and under 2 s below.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use throng_account::amplification::clones::Clones;
use throng_account::amplification::exact;
use throng_dp::{Delta, Epsilon};

/// Name, respondents and δ of the paper's four data sets.
const DATASETS: [(&str, u64, f64); 4] = [
    ("map", 236_559_063, 5e-10),
    ("horse", 1_914_589, 5e-8),
    ("child", 50_409_435, 5e-9),
    ("heavy", 203_950_512, 5e-10),
];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("the benches use valid epsilons")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("the benches use valid deltas")
}

fn others_zero(c: &mut Criterion) {
    for local in [12.99, 2.0] {
        c.bench_function(&format!("epsilon_a0/n=2e8/epsilon_local={local}"), |b| {
            b.iter(|| exact::epsilon_a0(black_box(200_000_000), epsilon(local), delta(5e-10)));
        });
    }
}

fn any_data(c: &mut Criterion) {
    for local in [12.99, 2.0] {
        c.bench_function(&format!("delta_a/n=2e8/epsilon_local={local}"), |b| {
            let central = exact::epsilon_a0(200_000_000, epsilon(local), delta(5e-10)).expect("in range");
            b.iter(|| exact::delta_a(black_box(200_000_000), 70_000_000, epsilon(local), central));
        });
    }
}

fn certified(c: &mut Criterion) {
    for (name, n, d) in DATASETS {
        for central in [0.05, 0.25, 1.0] {
            c.bench_function(&format!("epsilon_local_certified/{name}/epsilon_central={central}"), |b| {
                b.iter(|| exact::epsilon_local_certified(black_box(n), epsilon(central), delta(d)));
            });
        }
    }
    c.bench_function("epsilon_certified/n=2e8/epsilon_local=2", |b| {
        b.iter(|| exact::epsilon_certified(black_box(200_000_000), epsilon(2.0), delta(5e-10)));
    });
}

fn clones(c: &mut Criterion) {
    for (name, pair) in [("standard", Clones::Standard), ("stronger", Clones::Stronger)] {
        c.bench_function(&format!("clones/{name}/epsilon_local/heavy/epsilon_central=0.25"), |b| {
            b.iter(|| pair.epsilon_local(black_box(203_950_512), epsilon(0.25), delta(5e-10)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = others_zero, any_data, certified, clones
}
criterion_main!(benches);
