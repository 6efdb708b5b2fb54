//! A hop's memory has a limit, whatever the size of a batch. Alone in its process, since it reads the process's peak.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;

use throng_batch::{EmbeddedEngine, Engine, Partition, PermuteJob, Volume};
use throng_host::memory::peak_rss_bytes;
use throng_serve::file_store::FileStore;

#[test]
fn a_batch_eight_times_the_limit_stays_within_it() {
    const LENGTH: usize = 128;
    let (records, memory) = (1_u64 << 20, 16 << 20);
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::open(dir.path()).unwrap();
    let mut input = store.create("input").unwrap();
    let mut record = [0; LENGTH];
    for number in 0..records {
        record[..8].copy_from_slice(&number.to_be_bytes());
        input.write_all(&record).unwrap();
    }
    let before = peak_rss_bytes().unwrap();
    let job = PermuteJob {
        volume: &store,
        input: &[Partition::whole("input")],
        records,
        dropped: &[],
        added: &[],
        length: LENGTH,
        seed: &[1; 32],
        output: "batch",
    };
    let manifest = EmbeddedEngine::new(memory).permute(&job).unwrap();
    assert_eq!(manifest.records, records);
    let more = peak_rss_bytes().unwrap() - before;
    // The allocator and the threads of the pool have a share of their own.
    assert!(more < memory as u64 + (8 << 20), "{} KiB more than before", more >> 10);
    let mut seen = vec![false; records as usize];
    let batch = fs::read(dir.path().join("batch")).unwrap();
    let mut moved = 0;
    for (place, record) in batch.chunks_exact(LENGTH).enumerate() {
        let number = u64::from_be_bytes(record[..8].try_into().unwrap()) as usize;
        assert!(!std::mem::replace(&mut seen[number], true), "a record is there twice");
        moved += usize::from(number != place);
    }
    assert!(seen.iter().all(|&seen| seen) && moved > seen.len() - 100);
}
