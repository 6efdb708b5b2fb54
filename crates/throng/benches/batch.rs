//! A million envelopes through the last hop and the analyzer, over a store on disk, beside bare opening of the same envelopes
//! on all cores.
//!
//! `THRONG_BENCH_ENVELOPES` sets another number. Sealing them takes longer than everything that is measured.

#![allow(clippy::unwrap_used)] // A bench has nobody to report to.

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use cpu_time::ProcessTime;
use rayon::prelude::*;
use throng::memory;
use throng_analyze::{BatchCounter, BatchHead};
use throng_batch::{EmbeddedEngine, Partition, Volume};
use throng_serve::file_store::FileStore;
use throng_shuffle::{Hop, HopConfig};
use throng_testing::cascade::{Cascade, FIRST, SMALL, day};
use throng_testing::wire::{EPOCH, Shape};
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::{
    BatchCount, Digest, EpochStatement, ForwardedCount, Fragment, HopContent, Outcome, Place, Signed, Stop,
};

/// Of each body, half of it chaff.
const ENVELOPES: u32 = 100;
const MEMORY: usize = 64 << 20;
const TURNS: usize = 3;

fn main() {
    let wanted = std::env::var("THRONG_BENCH_ENVELOPES").ok().and_then(|text| text.parse().ok());
    let respondents = wanted.unwrap_or(1_000_000_u64).div_ceil(u64::from(ENVELOPES));
    let cascade = Cascade::with_memory(Shape { envelopes: ENVELOPES, ..SMALL }, MEMORY);
    let (world, route) = (&cascade.world, cascade.world.route());
    let layout = cascade.hops[0].layout();
    let (first, second, last) = (world.keys(1, 1), world.keys(1, 2), &world.layers[&Place::Analyzer]);
    let fragments: Vec<Fragment> = (0..ENVELOPES / 2).map(Fragment::new).collect();
    let sealed: Vec<Vec<u8>> = (0..respondents)
        .into_par_iter()
        .map(|person| {
            let mut rng = ChaCha20Rng::seed_from_u64(person);
            let body = world.path(0, EPOCH, 1).body(&fragments, &mut rng).unwrap();
            open_body(&route, layout, first, &body).unwrap()
        })
        .collect();
    let envelopes = sealed.concat();
    drop(sealed);
    let length = layout.envelope_len(Stop::Hop(2));
    let count = (envelopes.len() / length) as u64;
    let (received, forwarded) = (Some(count), ForwardedCount::Told(count));
    let outcome = Outcome::Released { respondents, received, forwarded, batch: Digest::of(&envelopes) };
    let key_list = Digest::NONE;
    let statement = EpochStatement { route, hop: 1, outcome, key_list, analyzer_key_list: key_list };
    let statement = Signed::new(statement, &world.signing[&Place::hop(1, 1)]).unwrap();
    println!("{count} envelopes of {length} bytes, {} threads", rayon::current_num_threads());
    println!("memory before: {} MiB", memory::peak_rss_bytes().unwrap_or(0) >> 20);

    let bare = || {
        envelopes.par_chunks_exact(length).for_each(|envelope| {
            if let HopContent::Envelope(inner) = peel(&route, layout, 2, second, envelope).unwrap() {
                black_box(open_fragment(&route, layout, 784, last, &inner).unwrap());
            }
        });
    };
    let ours = || {
        let dir = tempfile::tempdir().unwrap();
        let store = Box::new(FileStore::open(dir.path()).unwrap());
        let mark = Box::new(store.mark(dir.path().join("mark")));
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let config = HopConfig { memory: MEMORY, ..cascade.config(2) };
        let hop = Hop::open(config, store, mark, day(EPOCH)).unwrap();
        let told = BatchCount::told(count);
        hop.receive(FIRST, vec![statement.clone()], told, &mut &envelopes[..], day(EPOCH + 1), &mut rng)
            .unwrap();
        hop.process(FIRST).unwrap();
        let mut outgoing = hop.outgoing(FIRST).unwrap();
        let head = BatchHead::check(&world.survey, route, &outgoing.statements, outgoing.count).unwrap();
        let counter = BatchCounter::new(world.survey.survey(), head, last).unwrap();
        let batch = FileStore::open(&dir.path().join("analyzer")).unwrap();
        std::io::copy(&mut outgoing.records, &mut batch.create("batch").unwrap()).unwrap();
        let engine = EmbeddedEngine::new(MEMORY);
        let counted = counter.count(&engine, (&batch, &[Partition::whole("batch")]), &mut |_| ()).unwrap();
        let tally = counted.counted.unwrap().tally;
        assert_eq!(tally.counts().sum::<u64>(), count / 2, "everything arrives");
    };
    let mut ratios = Vec::new();
    for turn in 1..=TURNS {
        let (bare, ours) = (timed(bare), timed(ours));
        println!(
            "turn {turn}: bare opening {:.1} s ({:.1} s of processor time), hop and analyzer {:.1} s ({:.1} s): {:.2} of its rate",
            bare.0,
            bare.1,
            ours.0,
            ours.1,
            bare.0 / ours.0
        );
        ratios.push(bare.0 / ours.0);
    }
    ratios.sort_by(f64::total_cmp);
    println!("rate / bare opening on all cores: {:.2}", ratios[TURNS / 2]);
    println!(
        "memory: {} MiB, of which the envelopes of the bench are {} MiB",
        memory::peak_rss_bytes().unwrap_or(0) >> 20,
        envelopes.len() >> 20
    );
}

/// Seconds on the wall, and of processor time.
fn timed(work: impl FnOnce()) -> (f64, f64) {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    work();
    (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64())
}
