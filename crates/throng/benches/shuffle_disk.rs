//! A shuffle of a file four times as large as the memory that it may take, beside a copy of the same file, both synced.
//!
//! `THRONG_BENCH_MIB` is the size of the file (default 1024); it is made in `TMPDIR`. Runs of both alternate, and medians
//! of five are compared, since a disk is not the same from one minute to the next.

#![allow(clippy::unwrap_used)] // A bench has nobody to report to.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_serve::file_store::FileStore;
use throng_shuffle::{Shuffle, Store};

/// An envelope of two hops is about this long.
const LENGTH: usize = 128;
const RUNS: usize = 5;

fn main() {
    let mib: usize =
        std::env::var("THRONG_BENCH_MIB").ok().and_then(|text| text.parse().ok()).unwrap_or(1024);
    let (bytes, memory) = (mib << 20, (mib << 20) / 4);
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::open(dir.path()).unwrap();
    let mut input = store.create("input").unwrap();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let mut part = vec![0; 1 << 20];
    for _ in 0..mib {
        rng.fill_bytes(&mut part);
        input.write_all(&part).unwrap();
    }
    input.sync().unwrap();
    let records = (bytes / LENGTH) as u64;
    println!("{records} records of {LENGTH} bytes, {mib} MiB; memory {} MiB", memory >> 20);
    let (mut copies, mut shuffles) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        copies.push(timed(|| copy(&dir.path().join("input"), &dir.path().join("copy")).unwrap()));
        let shuffle =
            Shuffle { store: &store, input: "input", length: LENGTH, records, output: "batch", memory };
        shuffles.push(timed(|| {
            shuffle.run(&[run as u8; 32], |_| true).unwrap();
        }));
        println!("run {}: copy {:.2} s, shuffle {:.2} s", run + 1, copies[run], shuffles[run]);
    }
    let (copy, shuffle) = (median(&mut copies), median(&mut shuffles));
    println!("median: copy {copy:.2} s, shuffle {shuffle:.2} s, ratio {:.2}", shuffle / copy);
}

/// A sequential copy, in parts that fit a cache, and synced.
fn copy(from: &std::path::Path, to: &std::path::Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    let mut part = vec![0; 1 << 20];
    loop {
        match from.read(&mut part)? {
            0 => return to.sync_data(),
            len => to.write_all(&part[..len])?,
        }
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
