//! Rate limits, by token buckets: how many requests a server answers in a second.
//!
//! There is one limit for the server as a whole, and a share of it for every connection. Nothing is kept for addresses: who
//! sends from where is what a server of this project does not remember, not even for a second. One who opens many
//! connections is met by the number of connections and by the limit for all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A token bucket: a token falls into it at a steady rate, and it holds those of one second. A request takes one.
///
/// It is kept as the time at which it would be full again (the generic cell rate algorithm): one number, changed without a
/// lock.
#[derive(Debug)]
pub struct Rate {
    begun: Instant,
    /// Nanoseconds between two tokens.
    interval: u64,
    /// When the bucket is full again, in nanoseconds since the beginning.
    full_at: AtomicU64,
    /// One more than when somebody was last refused; 0 if nobody was.
    refused_at: AtomicU64,
}

impl Rate {
    /// So many requests in a second, and as many at once; at least one. `u32::MAX` is no limit.
    pub fn per_s(requests: u32) -> Self {
        let interval = if requests == u32::MAX { 0 } else { SECOND / u64::from(requests.max(1)) };
        Self { begun: Instant::now(), interval, full_at: AtomicU64::new(0), refused_at: AtomicU64::new(0) }
    }

    /// What one connection may take of a limit for all: a fifth of it.
    pub fn share_of(requests: u32) -> Self {
        Self::per_s(if requests == u32::MAX { requests } else { requests / 5 })
    }

    /// Takes a token; or says for how long there is none.
    pub fn take(&self, now: Instant) -> Result<(), Duration> {
        if self.interval == 0 {
            return Ok(());
        }
        self.take_at(self.since(now))
    }

    /// Whether somebody was refused within this time.
    pub fn has_refused_within(&self, time: Duration) -> bool {
        match self.refused_at.load(Ordering::Relaxed) {
            0 => false,
            at => u128::from(self.since(Instant::now()).saturating_sub(at)) < time.as_nanos(),
        }
    }

    fn take_at(&self, now: u64) -> Result<(), Duration> {
        let after = |full_at: u64| full_at.max(now) + self.interval;
        let taken = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_at| {
            (after(full_at) <= now + SECOND).then(|| after(full_at))
        });
        taken.map(drop).map_err(|full_at| {
            self.refused_at.store(now + 1, Ordering::Relaxed);
            Duration::from_nanos(after(full_at) - now - SECOND)
        })
    }

    fn since(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX / 2)
    }
}

const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand requests at one time are answered.
    fn answered(rate: &Rate, now: u64) -> usize {
        (0..1000).filter(|_| rate.take_at(now).is_ok()).count()
    }

    #[test]
    fn a_second_holds_as_many_as_it_is_told_however_they_come() {
        let rate = Rate::per_s(100);
        assert_eq!(answered(&rate, 0), 100, "at once");
        assert_eq!(rate.take_at(0), Err(Duration::from_millis(10)));
        assert_eq!(answered(&rate, SECOND / 2), 50, "what has come since");
        assert_eq!(answered(&rate, 1000 * SECOND), 100, "a bucket holds one second's");
        let steady = Rate::per_s(100);
        assert!((0..1000).all(|turn| steady.take_at(turn * SECOND / 100).is_ok()));
    }

    #[test]
    fn a_limit_is_at_least_one_and_the_largest_is_none() {
        assert_eq!(answered(&Rate::per_s(0), 0), 1);
        assert_eq!(answered(&Rate::share_of(3), 0), 1);
        assert_eq!(answered(&Rate::share_of(1000), 0), 200);
        assert_eq!(answered(&Rate::per_s(u32::MAX), 0), 1000);
        assert_eq!(answered(&Rate::share_of(u32::MAX), 0), 1000);
    }

    #[test]
    fn it_is_known_whether_somebody_was_refused_lately() {
        let rate = Rate::per_s(1);
        assert!(rate.take(Instant::now()).is_ok() && !rate.has_refused_within(Duration::MAX));
        assert!(rate.take(Instant::now()).is_err() && rate.has_refused_within(Duration::MAX));
        assert!(!rate.has_refused_within(Duration::ZERO));
    }
}
