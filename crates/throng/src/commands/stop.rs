//! Ctrl-C, and SIGTERM: work ends where it can be ended well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::commands::serve::stop_signal;

/// Whether somebody has asked to stop.
#[derive(Clone)]
pub(super) struct Stop {
    asked: Arc<AtomicBool>,
    message: &'static str,
}

impl Stop {
    /// Listens for the rest of the process's life; `message` says what is left once it was heard.
    pub(super) fn on_signal(message: &'static str) -> Result<Self> {
        let stop = Self { asked: Arc::default(), message };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("the operating system gives no thread")?;
        let asked = Arc::clone(&stop.asked);
        let listen = move || {
            runtime.block_on(stop_signal());
            asked.store(true, Ordering::SeqCst);
        };
        thread::Builder::new().name("signals".into()).spawn(listen).context("no thread for signals")?;
        Ok(stop)
    }

    /// Whether somebody has.
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// An error once somebody has asked.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.asked(), "{}", self.message);
        Ok(())
    }

    /// Waits until `done`, for as long as `most`; says whether it was.
    pub(super) fn wait(&self, most: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
        let start = Instant::now();
        loop {
            self.check()?;
            if done()? {
                return Ok(true);
            }
            if start.elapsed() >= most {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }
}

const PAUSE: Duration = Duration::from_millis(50);
