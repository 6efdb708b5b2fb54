//! Permuting a batch in memory, beside a plain Fisher-Yates over the records.
//!
//! As a shuffle does it: an order is drawn, and the records are gathered in it part by part, in memory that goes round to
//! who hashes and writes them. rand's is in place.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::seq::SliceRandom;
use throng_batch::{Permutation, Records};

/// An envelope of two hops is about this long.
const LENGTH: usize = 128;

/// What is gathered at once.
const PART: usize = 1 << 22;

fn permute(c: &mut Criterion) {
    let mut group = c.benchmark_group("permute 128-byte records");
    group.sample_size(10);
    for count in [1_000_000usize, 10_000_000] {
        group.throughput(Throughput::Elements(count as u64));
        let records = Records::from_bytes(LENGTH, vec![7; count * LENGTH]).expect("whole records");
        let permutation = || Permutation::new(count as u64, &[1; 32]).expect("not too many");
        let mut ring: Vec<Vec<u8>> = vec![Vec::new(); 6];
        group.bench_function(BenchmarkId::new("throng", count), |b| {
            b.iter(|| {
                for (part, places) in permutation().places().chunks(PART / LENGTH).enumerate() {
                    let used = &mut ring[part % 6];
                    *used = black_box(records.gathered(places, std::mem::take(used)));
                }
            });
        });
        group.bench_function(BenchmarkId::new("throng, in fresh memory", count), |b| {
            b.iter(|| records.permuted(&permutation()));
        });
        drop(records);
        let mut plain = vec![[7u8; LENGTH]; count];
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        group.bench_function(BenchmarkId::new("rand's slice shuffle", count), |b| {
            b.iter(|| plain.shuffle(&mut rng));
        });
    }
    group.finish();
}

criterion_group!(benches, permute);
criterion_main!(benches);
