//! Waiting for events, not for time.

use std::thread;
use std::time::{Duration, Instant};

/// Far more than anything takes on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for something that has to happen.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    until_some(what, || happened().then_some(()));
}

/// Waits for something that has to come, and returns it.
pub fn until_some<T>(what: &str, mut came: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(it) = came() {
            return it;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
