//! Permuting a batch in memory, beside a plain Fisher-Yates over the records.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::seq::SliceRandom;
use throng_shuffle::{Permutation, Records};

/// An envelope of two hops is about this long.
const LENGTH: usize = 128;

fn permute(c: &mut Criterion) {
    let mut group = c.benchmark_group("permute 128-byte records");
    group.sample_size(10);
    for count in [1_000_000usize, 10_000_000] {
        group.throughput(Throughput::Elements(count as u64));
        let records = Records::from_bytes(LENGTH, vec![7; count * LENGTH]).expect("whole records");
        let permutation = || Permutation::new(count as u64, &[1; 32]).expect("not too many");
        // As in a shuffle on disk, which goes on with the memory of the bucket before; rand's is in place.
        let mut used = records.permuted(&permutation()).into_bytes();
        group.bench_function(BenchmarkId::new("throng", count), |b| {
            b.iter(|| used = records.permuted_in(&permutation(), std::mem::take(&mut used)).into_bytes());
        });
        drop(used);
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
