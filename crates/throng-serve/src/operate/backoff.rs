//! Exponential backoff: pauses between tries, twice as long each time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Until when each of several things waits before it is tried again.
pub(crate) struct Backoff<K>(HashMap<K, (Instant, Duration)>);

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Backoff<K> {
    pub(crate) fn are_over(&self, what: &K) -> bool {
        self.0.get(what).is_none_or(|(until, _)| Instant::now() >= *until)
    }

    /// Whether something waits that fits.
    pub(crate) fn any(&self, fits: impl Fn(&K) -> bool) -> bool {
        self.0.keys().any(fits)
    }

    pub(crate) fn longer(&mut self, what: K) -> Duration {
        let wait = self.0.get(&what).map_or(WAIT_MIN, |(_, last)| (*last * 2).min(WAIT_MAX));
        self.0.insert(what, (Instant::now() + wait, wait));
        wait
    }

    pub(crate) fn end(&mut self, what: &K) {
        self.0.remove(what);
    }
}

const WAIT_MIN: Duration = Duration::from_millis(250);
const WAIT_MAX: Duration = Duration::from_secs(60);
