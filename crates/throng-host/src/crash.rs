//! Ends the process without a word in the middle of things, so that tests can look at what is left. Not in builds that are
//! used.

/// What a store asks before each of its operations.
#[derive(Debug)]
pub struct Crash {
    #[cfg(debug_assertions)]
    left: Option<std::sync::atomic::AtomicU64>,
}

impl Crash {
    /// As the environment says.
    pub fn from_env() -> Self {
        Self {
            #[cfg(debug_assertions)]
            left: std::env::var(ABORT_AFTER).ok().and_then(|text| text.parse().ok()).map(u64::into),
        }
    }

    /// One more operation, which may be the one that is not come to.
    pub fn operation(&self) {
        #[cfg(debug_assertions)]
        if let Some(left) = &self.left
            && left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 0
        {
            std::process::abort();
        }
    }
}

/// In a debug build: after how many operations of its store a process ends as if it had been killed.
#[cfg(debug_assertions)]
const ABORT_AFTER: &str = "THRONG_TEST_ABORT_AFTER";
