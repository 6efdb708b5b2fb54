//! On threads of this process.

use std::collections::HashMap;
use std::sync::Arc;

use throng_batch::{EmbeddedEngine, Engine, Partition, PermuteJob, Volume};
use throng_cluster::bridge::Bridge;
use throng_cluster::engine::{ClusterEngine, Sizes};
use throng_cluster::function::Bench;
use throng_cluster::jobs::LocalJobs;
use throng_cluster::objects::Objects;

use crate::epoch::{Epoch, read, write};

/// Objects in a directory of the test.
pub(crate) fn objects(dir: &tempfile::TempDir) -> Objects {
    Objects::open(&format!("file://{}", dir.path().display()), Bridge::new().unwrap()).unwrap()
}

fn engine(epoch: &Epoch, objects: &Objects, sizes: Sizes) -> ClusterEngine {
    let bench = Bench { objects: objects.clone(), keys: Box::new(epoch.key_files()) };
    ClusterEngine::new(Arc::new(LocalJobs(bench)), objects, "hop", sizes)
}

/// From bodies to counts, with failures, duplicates, chaff, a deletion and added records; in few large pieces and in many small
/// ones. What is left in object storage is what the hop names.
#[test]
fn both_engines_do_the_same_work() {
    for hops in 1..=3 {
        let epoch = Epoch::new(hops, 60);
        let dir = tempfile::tempdir().unwrap();
        let all = objects(&dir);
        let embedded = epoch.run(&EmbeddedEngine::new(1 << 24), &all.below("embedded"));
        assert_eq!(embedded.opened[0].1.len(), 58, "two bodies do not open");
        assert_eq!((embedded.rejected.duplicates, embedded.rejected.key + embedded.rejected.seal), (3, 20));
        for sizes in [Sizes::default(), Sizes { task: 5000, bucket: 3000 }] {
            let here = all.below("hop");
            let cluster = epoch.run(&engine(&epoch, &all, sizes), &here);
            assert!(cluster == embedded, "{hops} hops, {sizes:?}");
            let mut left = here.names().unwrap();
            left.retain(|name| !name.starts_with("segment") && !name.starts_with("batch"));
            left.sort();
            assert_eq!(left, ["added", "last"]);
        }
    }
}

/// The same job gives the same bytes, whatever the order in which its input came; another seed gives another order.
#[test]
fn the_order_follows_from_the_seed_and_the_records_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (all, epoch) = (objects(&dir), Epoch::new(1, 40));
    let (engine, here) = (engine(&epoch, &all, Sizes { task: 400, bucket: 300 }), all.below("hop"));
    let records: Vec<Vec<u8>> = (0..200_u8).map(|number| vec![number; 8]).collect();
    let shuffled = |records: &[Vec<u8>], seed: u8, output: &str| {
        write(&here, "input", &records.concat());
        let job = PermuteJob {
            volume: &here,
            input: &[Partition::first("input", 8 * records.len() as u64)],
            records: records.len() as u64,
            dropped: &[],
            added: &[],
            length: 8,
            seed: &[seed; 32],
            output,
        };
        engine.permute(&job).unwrap();
        read(&here, output)
    };
    let first = shuffled(&records, 1, "a");
    let reversed: Vec<Vec<u8>> = records.iter().rev().chain(&records[..9]).cloned().collect();
    assert!(shuffled(&reversed, 1, "b") == first);
    assert!(shuffled(&records, 2, "c") != first);
}

/// Every order of four records is equally likely, over seeds: 24 orders over 600 seeds, chi-square with 23 degrees of freedom;
/// a limit of 80 is exceeded by chance less than once in 10 million fresh sets of seeds.
#[test]
fn every_order_is_equally_likely() {
    let dir = tempfile::tempdir().unwrap();
    let (all, epoch) = (objects(&dir), Epoch::new(1, 40));
    // Two buckets or four, so that both parts of the order are seen.
    let (engine, here) = (engine(&epoch, &all, Sizes { task: 64, bucket: 8 }), all.below("hop"));
    let mut seen = HashMap::new();
    for seed in 0..600_u32 {
        write(&here, "input", &[[1; 8], [2; 8], [3; 8], [4; 8]].concat());
        let mut whole = [0; 32];
        whole[..4].copy_from_slice(&seed.to_be_bytes());
        let input = [Partition::first("input", 32)];
        let job = PermuteJob {
            volume: &here,
            input: &input,
            records: 4,
            dropped: &[],
            added: &[],
            length: 8,
            seed: &whole,
            output: "batch",
        };
        engine.permute(&job).unwrap();
        *seen.entry(read(&here, "batch")).or_insert(0_u32) += 1;
    }
    assert_eq!(seen.len(), 24);
    let chi: f64 = seen.values().map(|&count| (f64::from(count) - 25.0).powi(2) / 25.0).sum();
    assert!(chi < 80.0, "{chi}");
}

/// A segment that is not as it was stored, or half of a record, stops the job and nothing else.
#[test]
fn what_rots_in_object_storage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (all, epoch) = (objects(&dir), Epoch::new(2, 60));
    let (engine, here) = (engine(&epoch, &all, Sizes::default()), all.below("hop"));
    let segments = epoch.store(&here);
    let bytes = read(&here, "segment-1");
    for change in [0, bytes.len() / 2, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[change] ^= 1;
        here.put("segment-1", changed).unwrap();
        assert!(epoch.open_first(&engine, &here, &segments).unwrap_err().to_string().contains("damaged"));
    }
    here.put("segment-1", bytes[..bytes.len() - 1].to_vec()).unwrap();
    assert!(epoch.open_first(&engine, &here, &segments).is_err());
    here.remove("segment-1").unwrap();
    assert!(epoch.open_first(&engine, &here, &segments).is_err());
    here.put("segment-1", bytes).unwrap();
    epoch.open_first(&engine, &here, &segments).unwrap();
}
