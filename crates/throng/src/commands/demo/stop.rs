//! Ctrl-C, and SIGTERM: everything that the demo started ends, and everything that it made for itself is removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::commands::serve::stop_signal;

/// Whether somebody has asked to stop.
#[derive(Clone)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for the rest of the process's life.
    pub(super) fn on_signal() -> Result<Self> {
        let stop = Self(Arc::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("the operating system gives no thread")?;
        let asked = stop.clone();
        let listen = move || {
            runtime.block_on(stop_signal());
            asked.0.store(true, Ordering::SeqCst);
        };
        thread::Builder::new().name("signals".into()).spawn(listen).context("no thread for signals")?;
        Ok(stop)
    }

    /// An error once somebody has asked.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            !self.0.load(Ordering::SeqCst),
            "stopped; no process of the demo is left, and no temporary file"
        );
        Ok(())
    }

    /// Waits until `done`, for as long as `most`; says whether it was.
    pub(super) fn wait(&self, most: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
        let until = Instant::now() + most;
        loop {
            self.check()?;
            if done()? {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }
}

const PAUSE: Duration = Duration::from_millis(50);
