//! Fault injection: what tests do to a running party. Nothing of it is in a release build.
//!
//! | variable | what happens |
//! |---|---|
//! | `THRONG_TEST_ABORT_AFTER` | after so many operations of its store the process ends as if it had been killed |
//! | `THRONG_TEST_ABORT_AT` | it ends so at the place of this name |
//! | `THRONG_TEST_ABORT_STEP` | it ends so before it writes, syncs, names or removes a file, after so many such steps |
//! | `THRONG_TEST_CLOCK_FILE` | the file has seconds to add to the clock, and is read each time |

use std::path::Path;

/// What a store asks before each of its operations.
#[derive(Debug)]
pub struct Crash {
    #[cfg(debug_assertions)]
    left: Option<std::sync::atomic::AtomicU64>,
}

impl Crash {
    /// As the environment says.
    pub fn from_env() -> Self {
        Self::after("THRONG_TEST_ABORT_AFTER")
    }

    /// After as many operations as this variable says.
    fn after(_variable: &str) -> Self {
        Self {
            #[cfg(debug_assertions)]
            left: std::env::var(_variable).ok().and_then(|text| text.parse().ok()).map(u64::into),
        }
    }

    /// Counts one more operation, or ends the process before it.
    pub fn operation(&self) {
        #[cfg(debug_assertions)]
        if let Some(left) = &self.left
            && left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 0
        {
            std::process::abort();
        }
    }
}

/// Ends the process here, if the environment names this place.
pub fn abort_at(_place: &str) {
    #[cfg(debug_assertions)]
    if std::env::var("THRONG_TEST_ABORT_AT").is_ok_and(|wanted| wanted == _place) {
        std::process::abort();
    }
}

/// The time, as a test has stepped it.
pub(crate) fn stepped(now_ms: u64) -> u64 {
    #[cfg(debug_assertions)]
    if let Some(path) = std::env::var_os("THRONG_TEST_CLOCK_FILE")
        && let Ok(text) = std::fs::read_to_string(path)
        && let Ok(seconds) = text.trim().parse::<i64>()
    {
        return now_ms.saturating_add_signed(seconds.saturating_mul(1000));
    }
    now_ms
}

/// What is done to files, one step after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes were written, not yet for good.
    Write,
    /// A file or a directory is on disk.
    Sync,
    /// A file got its name.
    Name,
    /// A file was removed.
    Remove,
}

/// Notes a step for tests that look at it, or ends the process before it.
pub(crate) fn step(_step: Step, _path: &Path) {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;
        static STEPS: LazyLock<Crash> = LazyLock::new(|| Crash::after("THRONG_TEST_ABORT_STEP"));
        STEPS.operation();
        trace::note(_step, _path);
    }
}

/// What was done to files, for tests that look at it.
#[cfg(debug_assertions)]
pub mod trace {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};

    use super::Step;

    thread_local! {
        static STEPS: RefCell<Option<Vec<(Step, PathBuf)>>> = const { RefCell::new(None) };
    }

    pub(super) fn note(step: Step, path: &Path) {
        STEPS.with_borrow_mut(|steps| {
            if let Some(steps) = steps {
                steps.push((step, path.to_owned()));
            }
        });
    }

    /// The steps of some work in this thread. Temporary files are called `*`.
    pub fn of(directory: &Path, work: impl FnOnce()) -> Vec<(Step, String)> {
        STEPS.set(Some(Vec::new()));
        work();
        let name = |path: PathBuf| path.strip_prefix(directory).unwrap_or(&path).display().to_string();
        STEPS.take().unwrap_or_default().into_iter().map(|(step, path)| (step, name(path))).collect()
    }
}
