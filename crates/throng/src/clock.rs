//! What time it is.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seconds since 1970-01-01T00:00:00Z. A clock that is set before that says 0.
pub fn now_s() -> u64 {
    now_ms() / 1000
}

/// Milliseconds since 1970-01-01T00:00:00Z.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    stepped(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// Whether the clock has jumped ahead since a process began, which a second clock shows that nobody can set. What such a
/// process does by the time cannot be undone when the time is right again: it closes no epoch and erases no key.
pub fn has_jumped_ahead((began, began_s): (Instant, u64)) -> bool {
    now_s() > began_s + (began.elapsed() + JUMP).as_secs()
}

/// A debug build takes a clock that tests can step: `THRONG_TEST_CLOCK_FILE` names a file with the seconds to add, which is
/// read each time.
fn stepped(now_ms: u64) -> u64 {
    #[cfg(debug_assertions)]
    if let Some(path) = std::env::var_os("THRONG_TEST_CLOCK_FILE")
        && let Ok(text) = std::fs::read_to_string(path)
        && let Ok(seconds) = text.trim().parse::<i64>()
    {
        return now_ms.saturating_add_signed(seconds.saturating_mul(1000));
    }
    now_ms
}

/// A clock that is ahead by more than this has jumped.
const JUMP: Duration = Duration::from_secs(300);
