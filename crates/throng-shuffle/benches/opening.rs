//! A hop's whole work on a batch (open, drop, permute, write), beside bare opening of the same envelopes on one thread.
//!
//! The rate of the hop should be near that of one thread times the number of cores.

#![allow(clippy::unwrap_used)] // A bench has nobody to report to.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::io::Read;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use common::world::EPOCH;
use common::{Cascade, FIRST, SMALL, day};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use throng_shuffle::Hop;
use throng_wire::{Stop, seal};

/// Respondents, each with ten envelopes.
const RESPONDENTS: u32 = 2000;

fn opening(c: &mut Criterion) {
    let mut cascade = Cascade::new(common::world::Shape { envelopes: 10, ..SMALL });
    cascade.answer_all(FIRST, RESPONDENTS.min(700));
    for person in 700..RESPONDENTS {
        let body = cascade.body(FIRST, &[person % 784]);
        cascade.send(FIRST, person, &body, day(EPOCH)).unwrap();
    }
    let next_day = day(EPOCH + 1);
    cascade.hops[0].close_due(next_day, &mut cascade.rng).unwrap();
    cascade.hops[0].process(FIRST).unwrap();
    let mut envelopes = Vec::new();
    cascade.hops[0].outgoing(FIRST).unwrap().records.read_to_end(&mut envelopes).unwrap();
    cascade.pass(0, FIRST, next_day).unwrap();
    let (route, length) = (cascade.world.route(), cascade.hops[1].layout().envelope_len(Stop::Hop(2)));
    let count = (envelopes.len() / length) as u64;

    let mut group = c.benchmark_group("open a batch of envelopes");
    group.sample_size(10).throughput(Throughput::Elements(count));
    let keys = cascade.config(2).keys;
    group.bench_function("bare opening, one thread", |b| {
        b.iter(|| {
            for envelope in envelopes.chunks_exact(length) {
                black_box(seal::open(&route, Stop::Hop(2), &keys, envelope).unwrap());
            }
        });
    });
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    group.bench_function(format!("a hop, {} threads", rayon::current_num_threads()), |b| {
        b.iter_batched(
            || {
                let store = Box::new(cascade.stores[1].copy());
                Hop::open(cascade.config(2), store, &mut rng).unwrap()
            },
            |hop| hop.process(FIRST).unwrap(),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, opening);
criterion_main!(benches);
