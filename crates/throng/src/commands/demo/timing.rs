//! How long the demo takes here, and which epoch begins when everyone is ready.

use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result};
use throng_wire::{LayerSecretKey, Lifetime, Route, Stop, SurveyHash, seal};

use crate::entropy::system_rng;

/// How fast this machine is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speed {
    /// What one seal takes on one core, in microseconds.
    pub(super) seal_us: f64,
    cores: f64,
}

/// What there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Seals of all respondents.
    pub(super) seals: u64,
    /// Before the epoch: keys, credentials, seals.
    ready_s: f64,
    /// In it: connections, uploads.
    send_s: f64,
    /// After it: opening.
    open_s: f64,
}

/// When the demo's respondents answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// The length of an epoch.
    pub(super) epoch_s: u64,
    /// The epoch.
    pub(super) epoch: u64,
}

impl Speed {
    /// Seals a few envelopes.
    pub(super) fn measure() -> Result<Self> {
        let lifetime = Lifetime { first_epoch: 0, last_epoch: 0 };
        let key = LayerSecretKey::generate(0, lifetime, &mut system_rng()?)?;
        let route = Route { survey: SurveyHash::new([0; 32]), label: 0, epoch: 0, instance: 1 };
        // The middle of some tries: others may use this machine for a moment.
        let mut tries = Vec::new();
        for _ in 0..TRIES {
            let start = Instant::now();
            for _ in 0..SEALS {
                seal::seal(&route, Stop::Analyzer, key.key(), &[0; 64])?;
            }
            tries.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(SEALS));
        }
        tries.sort_by(f64::total_cmp);
        let cores = available_parallelism().context("cannot count the cores of this machine")?.get();
        Ok(Self { seal_us: tries[TRIES / 2], cores: cores as f64 })
    }

    /// What so many respondents take: each seals b envelopes for every instance, in a layer for each hop but the first and
    /// one for the analyzer, and each body once more.
    pub(super) fn work(&self, respondents: u64, instances: u64, hops: u64, envelopes: u64) -> Work {
        let (bodies, each) = (respondents * instances, 1 + envelopes * hops);
        let seals = bodies * each;
        let on_all_cores = |us: f64| us / 1e6 / self.cores;
        let sealing = on_all_cores(seals as f64 * self.seal_us);
        // Opening takes about two thirds of sealing, and is done once less for every envelope that is chaff.
        let opens = bodies * (1 + envelopes * (hops - 1));
        Work {
            seals,
            ready_s: SETUP_S + (respondents as f64 * CREDENTIAL_S).max(sealing * MARGIN),
            send_s: on_all_cores(bodies as f64 * self.seal_us * UPLOAD_SEALS),
            open_s: 1.0 + on_all_cores(opens as f64 * self.seal_us * 0.7),
        }
    }
}

impl Work {
    /// All of it together.
    pub(super) fn all_s(&self) -> f64 {
        self.ready_s + self.epoch_min_s() as f64 + self.open_s
    }

    fn epoch_min_s(&self) -> u64 {
        (self.send_s * MARGIN).ceil() as u64 + EPOCH_MIN_S
    }
}

impl Timing {
    /// Epochs are numbered from 1970 on: of the lengths that are enough, the one of which an epoch begins soonest after
    /// everyone is ready.
    pub(super) fn choose(now_s: u64, work: &Work) -> Self {
        let (ready, shortest) = (now_s + work.ready_s.ceil() as u64, work.epoch_min_s());
        let begins = |epoch_s: u64| ready.div_ceil(epoch_s) * epoch_s;
        let lengths = shortest..=2 * shortest;
        let epoch_s = lengths.min_by_key(|&length| begins(length) + length).unwrap_or(shortest);
        Self { epoch_s, epoch: ready.div_ceil(epoch_s) }
    }
}

const TRIES: usize = 9;
const SEALS: u32 = 30;
/// Keys, signatures and seven processes.
const SETUP_S: f64 = 3.0;
/// What one credential takes: a file of its own, on disk.
const CREDENTIAL_S: f64 = 0.002;
/// What a connection with TLS, an upload and its receipt take on both sides, in seals.
const UPLOAD_SEALS: f64 = 30.0;
/// How much longer things may take than was worked out.
const MARGIN: f64 = 1.3;
const EPOCH_MIN_S: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_begins_soon_after_everyone_is_ready() {
        let speed = Speed { seal_us: 50.0, cores: 2.0 };
        for now in (1_800_000_000..1_800_000_600).step_by(7) {
            let work = speed.work(3000, 3, 2, 23);
            assert_eq!(work.seals, 3000 * 3 * 47);
            let timing = Timing::choose(now, &work);
            let begins = timing.epoch * timing.epoch_s;
            let ready = now + work.ready_s.ceil() as u64;
            assert!(begins >= ready && timing.epoch_s >= work.epoch_min_s());
            // No longer than with the shortest epoch, and the demo's minute is not over.
            let shortest = work.epoch_min_s();
            assert!(begins + timing.epoch_s <= ready.div_ceil(shortest) * shortest + shortest);
            let all_s = (begins + timing.epoch_s - now) as f64 + work.open_s;
            assert!(all_s < 60.0, "{all_s} s, {work:?}");
        }
    }

    #[test]
    fn more_respondents_take_longer() {
        let speed = Speed::measure().unwrap();
        assert!(speed.seal_us > 0.0 && speed.cores >= 1.0);
        assert!(speed.work(9000, 3, 2, 23).all_s() > speed.work(300, 3, 2, 23).all_s());
    }
}
