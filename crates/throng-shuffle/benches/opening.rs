//! A hop's whole work on a batch (open, drop, permute, write), beside bare opening of the same envelopes on one thread.
//!
//! The rate of the hop should be near that of one thread times the number of cores. Turns alternate, since a machine is
//! not the same from one second to the next; where others use its cores too, bare opening on all threads says what could
//! be had, and processor time what was used.

#![allow(clippy::unwrap_used)] // A bench has nobody to report to.

use std::hint::black_box;
use std::io::Read;
use std::time::Instant;

use cpu_time::ProcessTime;
use rayon::prelude::*;
use throng_testing::cascade::{Cascade, FIRST, SMALL, day};
use throng_testing::wire::EPOCH;
use throng_wire::{Stop, seal};

/// Respondents, each with ten envelopes.
const RESPONDENTS: u32 = 2000;
const TURNS: usize = 9;

fn main() {
    let mut cascade = Cascade::new(throng_testing::wire::Shape { envelopes: 10, ..SMALL });
    cascade.answer_all(FIRST, RESPONDENTS.min(700));
    for person in 700..RESPONDENTS {
        let body = cascade.body(FIRST, &[person % 784]);
        cascade.send(FIRST, person, &body, day(EPOCH)).unwrap();
    }
    let next_day = day(EPOCH + 1);
    cascade.hops[0].close_due(next_day).unwrap();
    cascade.hops[0].process(FIRST).unwrap();
    let mut envelopes = Vec::new();
    cascade.hops[0].outgoing(FIRST).unwrap().records.read_to_end(&mut envelopes).unwrap();
    cascade.pass(0, FIRST, next_day).unwrap();
    let (route, length) = (cascade.world.route(), cascade.hops[1].layout().envelope_len(Stop::Hop(2)));
    let count = (envelopes.len() / length) as u64;

    let keys = cascade.config(2).keys;
    let open = |envelope: &[u8]| drop(black_box(seal::open(&route, Stop::Hop(2), &keys, envelope).unwrap()));
    let threads = rayon::current_num_threads();
    println!("{count} envelopes of {length} bytes, {threads} threads, {TURNS} turns");
    let turns: Vec<[Times; 3]> = (0..TURNS)
        .map(|_| {
            let bare = timed(|| envelopes.chunks_exact(length).for_each(open));
            let all = timed(|| envelopes.par_chunks_exact(length).for_each(open));
            let hop = cascade.open_on(2, &cascade.stores[1].copy()).unwrap();
            [bare, all, timed(|| hop.process(FIRST).unwrap())]
        })
        .collect();
    let micros = |which: usize, time: fn(&Times) -> f64| {
        median(turns.iter().map(|turn| 1e6 * time(&turn[which]) / count as f64))
    };
    for (which, name) in ["bare, one thread", "bare, all threads", "a hop"].into_iter().enumerate() {
        let (wall, cpu) = (micros(which, |times| times.wall), micros(which, |times| times.cpu));
        println!("{name}: {wall:.2} us an envelope, {cpu:.2} us of processor time");
    }
    let ratio = |name: &str, of: &dyn Fn(&[Times; 3]) -> f64| {
        let mut all: Vec<f64> = turns.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        println!("{name}: {:.2} ({:.2} to {:.2})", all[TURNS / 2], all[0], all[TURNS - 1]);
    };
    ratio("rate / bare on one thread / threads", &|[bare, _, hop]| bare.wall / hop.wall / threads as f64);
    ratio("rate / bare on all threads", &|[_, all, hop]| all.wall / hop.wall);
    ratio("processor time of bare / of a hop", &|[bare, _, hop]| bare.cpu / hop.cpu);
}

/// Seconds on the wall and of processor time.
struct Times {
    wall: f64,
    cpu: f64,
}

fn timed(work: impl FnOnce()) -> Times {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    work();
    Times { wall: wall.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = numbers.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
