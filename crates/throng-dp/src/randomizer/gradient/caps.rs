//! The share of directions in a cap, by another way than near_normal.rs: the law of <u,g> itself, from the table.
//!
//! Of two coordinates it is summed over all pairs of table entries; of many equal ones it is convolved on the integers; of one
//! large and many equal ones both are combined. Nothing here is a bound: these are the shares, for gradients of every kind
//! that could be far from normal.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::near_normal::SHARE_ERROR;
use super::{Direction, UNIT, direction};
use crate::{Epsilon, PrivUnit, normal};

/// All values of one coordinate, each as likely, in order.
fn coordinates() -> Vec<f64> {
    let mut all: Vec<f64> =
        direction::sizes().iter().flat_map(|&size| [f64::from(size), -f64::from(size)]).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Pr[x + small·X > t·UNIT] averaged over x = large·(one coordinate), where X has this upper tail.
fn share(large: f64, small: f64, t: f64, coordinates: &[f64], above: impl Fn(f64) -> f64) -> f64 {
    let limit = t * f64::from(UNIT);
    let sum: f64 = coordinates.iter().map(|x| above((limit - large * x) / small)).sum();
    sum / coordinates.len() as f64
}

/// Pr[sum of `count` coordinates > k] for k from −HALF on.
fn upper_tails(count: i32) -> Vec<f64> {
    let mut masses = vec![Complex::new(0.0, 0.0); 2 * HALF];
    let each = 0.5 / direction::sizes().len() as f64;
    for &size in direction::sizes() {
        masses[size as usize].re += each;
        masses[(2 * HALF - size as usize) % (2 * HALF)].re += each;
    }
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(2 * HALF).process(&mut masses);
    masses.iter_mut().for_each(|value| *value = value.powi(count));
    planner.plan_fft_inverse(2 * HALF).process(&mut masses);
    let mut above = 0.0;
    let mut tails: Vec<f64> = (0..2 * HALF)
        .rev()
        .map(|i| {
            let before = above;
            above += masses[(i + HALF) % (2 * HALF)].re / (2 * HALF) as f64;
            before
        })
        .collect();
    tails.reverse();
    assert!((above - 1.0).abs() < 1e-9, "{above}");
    tails
}

/// The starts of caps that are used from ε = 0.1 to 8, and some others.
const STARTS: [f64; 6] = [0.0, 0.4, 0.905, 1.1, 1.6, 2.0];

/// The largest distance of a share from the normal one, over gradients that are one coordinate, two at many angles, up to 300
/// equal ones, or one and 64 small ones.
fn largest_error() -> f64 {
    let coordinates = coordinates();
    let within = |limit: f64| coordinates.partition_point(|&x| x <= limit);
    let above = |limit: f64| 1.0 - within(limit) as f64 / coordinates.len() as f64;
    let mut largest = 0.0f64;
    let mut see = |share: f64, t: f64| largest = largest.max((share - normal::upper_tail(t)).abs());
    for t in STARTS {
        see(above(t * f64::from(UNIT)), t);
        for angle in [std::f64::consts::FRAC_PI_4, 0.463_647_609, 0.1, 0.01, 0.3, 1e-4, 0.6, 0.78] {
            let (large, small) = (f64::cos(angle), f64::sin(angle));
            see(share(large, small, t, &coordinates, above), t);
        }
    }
    for count in [2, 3, 4, 8, 64, 300] {
        let tails = upper_tails(count);
        let above = |limit: f64| {
            let k = limit.floor() as i64 + HALF as i64;
            if k < 0 { 1.0 } else { tails.get(k as usize).copied().unwrap_or(0.0) }
        };
        for t in STARTS {
            see(above(t * f64::from(UNIT) * f64::from(count).sqrt()), t);
            for large in [0.2, 0.7, 0.95, 0.999] {
                let small = ((1.0 - large * large) / f64::from(count)).sqrt();
                see(share(large, small, t, &coordinates, above), t);
            }
        }
    }
    largest
}

#[test]
fn caps_of_every_kind_hold_nearly_the_normal_share() {
    let error = largest_error();
    // Twenty times nearer than is proved for all.
    assert!(error <= SHARE_ERROR / 10.0, "{error}");
    assert!(error > 1e-7, "{error}: a table of so many entries is not that good, so this is no test");
}

/// What a mechanism counts on is below the share of every such cap, and by no more than what is proved.
#[test]
fn what_is_counted_on_is_less_than_what_caps_hold() {
    let error = largest_error();
    for epsilon in [0.1, 0.5, 1.0, 1.9, 4.0, 8.0] {
        let mechanism = PrivUnit::new(10, 1.0, Epsilon::new(epsilon).unwrap()).unwrap();
        let least = normal::upper_tail(mechanism.start()) - error;
        assert!(mechanism.share() <= least, "{epsilon}: {} {least}", mechanism.share());
        assert!(mechanism.share() >= least - 2.0 * SHARE_ERROR, "{epsilon}");
    }
}

/// How many of so many real seeds are in the cap of a gradient that is all in one coordinate, falls off, or is spread out.
fn drawn(seeds: u64) {
    // Six gradients and two sides each: a correct table fails with probability 1e-6 (Bernstein).
    let l = (2.0 * 6.0 / 1e-6f64).ln();
    for (number, dimension) in [(0u64, 1), (1, 2), (2, 16)] {
        for falling in [0.5f64, 1.0] {
            let gradient: Vec<f64> = (0..dimension).map(|i| falling.powi(i)).collect();
            let norm = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
            let mut rng = ChaCha20Rng::from_seed([7; 32]);
            rng.set_stream(2 * number + u64::from(falling < 1.0));
            let t = 0.905;
            let (mut hits, mut block) = (0u64, vec![0i16; dimension as usize]);
            for _ in 0..seeds {
                let mut seed = [0; 16];
                rng.fill_bytes(&mut seed);
                Direction::new(seed).fill(&mut block);
                let dot: f64 = gradient.iter().zip(&block).map(|(x, &g)| x * f64::from(g)).sum();
                hits += u64::from(dot > t * norm * f64::from(UNIT));
            }
            let (q, n) = (normal::upper_tail(t), seeds as f64);
            let allowed =
                l / 3.0 + (l * l / 9.0 + 2.0 * n * q * (1.0 - q) * l).sqrt() + n * SHARE_ERROR / 10.0;
            let off = (hits as f64 - n * q).abs();
            assert!(off <= allowed, "{dimension} {falling}: {hits} of {seeds} seeds, {q} expected");
            println!(
                "{dimension} coordinates, each {falling} of the one before: {hits} of {seeds}, {:.1e} from {q:.6}",
                off / n
            );
        }
    }
}

#[test]
fn real_seeds_fall_into_caps_as_often() {
    drawn(100_000);
}

/// `cargo test --release -p throng-dp --lib caps -- --ignored --nocapture`
#[test]
#[ignore = "a hundred million seeds for each gradient: minutes"]
fn a_hundred_million_seeds_fall_into_caps_as_often() {
    drawn(100_000_000);
}

/// Sums of coordinates are counted from −HALF to HALF: 300 of them have a standard deviation of 71,000.
const HALF: usize = 1 << 20;
