//! Wall-clock time, and waiting.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::faults::stepped;

/// A clock. Whoever asks for the time again and again takes one; all others take the time itself.
pub trait Clock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;

    /// Seconds since then.
    fn now_s(&self) -> u64 {
        self.now_ms() / 1000
    }

    /// Waits; it may come back early.
    fn sleep_ms(&self, ms: u64);
}

/// The machine's own clock. One that is set before 1970 says 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        stepped(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }

    fn sleep_ms(&self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }
}

/// Whether the wall clock has jumped ahead since a process began, by a monotonic clock, which nobody can set. What a
/// process does by a wrong time cannot be undone when the time is right again, so one whose clock has jumped closes no
/// epoch and erases no key.
pub fn has_jumped_ahead((began, began_s): (Instant, u64), now_s: u64) -> bool {
    now_s > began_s + (began.elapsed() + JUMP).as_secs()
}

/// A time as RFC 3339 writes it, in UTC: `2026-01-31T12:00:00Z`.
pub fn rfc3339(since_1970_s: u64) -> String {
    let (days, second) = (since_1970_s / 86_400, since_1970_s % 86_400);
    // Years begin in March here, so that a leap day is the last one; 400 of them have 146,097 days. Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms", civil_from_days, for days since 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A clock that is ahead by more than this has jumped.
const JUMP: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_far_ahead_of_the_other_one_has_jumped() {
        let (began, began_s) = (Instant::now(), SystemClock.now_s());
        assert!(!has_jumped_ahead((began, began_s), began_s));
        assert!(
            !has_jumped_ahead((began, began_s), began_s - 86_400),
            "one that goes back opens nothing again"
        );
        assert!(!has_jumped_ahead((began, began_s), began_s + 200), "clocks are corrected by little");
        assert!(has_jumped_ahead((began, began_s), began_s + 400));
    }

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        for (since_1970_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_769_860_800, "2026-01-31T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(since_1970_s), text);
        }
    }
}
