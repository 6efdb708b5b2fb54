//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970-01-01T00:00:00Z. A clock that is set before that says 0.
pub fn now_s() -> u64 {
    now_ms() / 1000
}

/// Milliseconds since 1970-01-01T00:00:00Z.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
