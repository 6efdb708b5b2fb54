//! Signals: Ctrl-C and SIGTERM end work where it can be ended well.

use std::future::pending;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::FAILED;

/// Whether somebody has asked to stop.
#[derive(Clone)]
pub(super) struct StopSignal {
    asked: Arc<AtomicBool>,
    message: &'static str,
}

impl StopSignal {
    /// Listens for the rest of the process's life; `message` says what is left once it was heard.
    pub(super) fn on_signal(message: &'static str) -> Result<Self> {
        let stop = Self { asked: Arc::default(), message };
        let asked = Arc::clone(&stop.asked);
        listen(move || asked.store(true, Ordering::SeqCst))?;
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

/// Ends this process when somebody asks it to, for commands that leave nothing half done wherever they are stopped: even if it was
/// started to ignore Ctrl-C, as shells and `nohup` start what runs in the background.
pub(super) fn end_on_signal() -> Result<()> {
    listen(|| {
        eprintln!("error: stopped");
        process::exit(i32::from(FAILED));
    })
}

/// Waits for Ctrl-C, or for SIGTERM as service managers send it. Both are heard from this call on, whatever was inherited: a
/// signal that a parent ignores is ignored by its children until they ask for it. Called inside a runtime.
pub(super) fn stop_signal() -> impl Future<Output = ()> {
    let [interrupt, terminate] =
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    async move {
        tokio::select! {
            () = heard(interrupt) => {}
            () = heard(terminate) => {}
        }
    }
}

async fn heard(signal: Option<Signal>) {
    match signal {
        Some(mut signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// Has a thread of its own do something when somebody asks to stop.
fn listen(then: impl FnOnce() + Send + 'static) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime: Runtime = runtime.context("the operating system gives no thread")?;
    let asked = {
        let _inside = runtime.enter();
        stop_signal()
    };
    let wait = move || {
        runtime.block_on(asked);
        then();
    };
    thread::Builder::new().name("signals".into()).spawn(wait).context("no thread for signals")?;
    Ok(())
}

const PAUSE: Duration = Duration::from_millis(50);
