//! Group commit: many uploads share one fdatasync, and each is answered when its group is on disk.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use getrandom::rand_core::CryptoRng;
use throng_shuffle::{Acknowledgement, Refusal, Upload};
use tokio::sync::{mpsc, oneshot};

use super::CurrentHop;
use crate::error::{Context, Result};
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;

/// The way into a hop. While one group is being synced the next one gathers, so that groups grow with the load. Where the
/// last group had several, the next one waits a moment for more: a sync takes as much processor time as several uploads.
#[derive(Clone)]
pub struct GroupCommit {
    queue: mpsc::Sender<WaitingUpload>,
    used: Arc<BodyPool>,
}

/// A pool of buffers: the memory of bodies that are on disk, for those that come. Without a pool one thread would take it and
/// another free it.
#[derive(Default)]
struct BodyPool(Mutex<Vec<Vec<u8>>>);

impl BodyPool {
    fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, uploads: Vec<Upload>) {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = GROUP_MAX.saturating_sub(used.len());
        used.extend(uploads.into_iter().take(room).map(Upload::into_body));
    }
}

/// Whether the thread that writes for a hop lives.
#[derive(Debug)]
pub struct IntakePulse(mpsc::WeakSender<WaitingUpload>);

impl IntakePulse {
    /// Whether it takes uploads.
    pub fn is_alive(&self) -> bool {
        self.0.upgrade().is_some_and(|queue| !queue.is_closed())
    }
}

struct WaitingUpload {
    upload: Upload,
    answer: oneshot::Sender<Result<Acknowledgement, Refusal>>,
}

/// A group that is on disk, or was refused: who waits, and what became of their uploads.
struct GroupOutcome {
    uploads: Vec<Upload>,
    answers: Vec<oneshot::Sender<Result<Acknowledgement, Refusal>>>,
    taken: Vec<Result<Acknowledgement, Refusal>>,
}

impl GroupCommit {
    /// Starts the thread that writes for a hop. It ends when all who could send are gone. Called within a runtime, which
    /// then gives the answers.
    pub fn start(hop: impl Into<CurrentHop>) -> Result<Self> {
        let hop = hop.into();
        let (queue, waiting) = mpsc::channel(GROUP_MAX);
        let (done, groups) = mpsc::unbounded_channel();
        let rng = system_rng()?;
        let write = move || write(&hop, waiting, &done, rng);
        thread::Builder::new().name("intake".into()).spawn(write).context("no thread for the intake")?;
        let used = Arc::new(BodyPool::default());
        tokio::spawn(answer(groups, Arc::clone(&used)));
        Ok(Self { queue, used })
    }

    /// For who watches it, without keeping the thread that writes alive.
    pub fn downgrade(&self) -> IntakePulse {
        IntakePulse(self.queue.downgrade())
    }

    /// Memory to read a body into, as an earlier one has left it.
    pub fn memory(&self) -> Vec<u8> {
        self.used.take()
    }

    /// Takes an upload; returns when it is on disk, with what its receipt is made from.
    pub async fn take(&self, upload: Upload) -> Result<Acknowledgement, Refusal> {
        let (answer, taken) = oneshot::channel();
        let sent = self.queue.send(WaitingUpload { upload, answer }).await;
        sent.map_err(|_| Refusal::Full)?;
        taken.await.unwrap_or(Err(Refusal::Full))
    }
}

/// Takes one group after another.
fn write(
    hop: &CurrentHop,
    mut waiting: mpsc::Receiver<WaitingUpload>,
    done: &mpsc::UnboundedSender<GroupOutcome>,
    mut rng: impl CryptoRng,
) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    let mut company = false;
    while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
        if company && group.len() < GROUP_MAX {
            thread::sleep(GATHER);
            group.extend(std::iter::from_fn(|| waiting.try_recv().ok()).take(GROUP_MAX - group.len()));
        }
        company = group.len() >= SIBLINGS;
        let (uploads, answers): (Vec<_>, Vec<_>) =
            group.drain(..).map(|WaitingUpload { upload, answer }| (upload, answer)).unzip();
        let taken = hop.now().take(&uploads, SystemClock.now_s(), &mut rng);
        // A runtime that is gone has nobody left who waits.
        let _ = done.send(GroupOutcome { uploads, answers, taken });
    }
}

/// Answers one group after another. From the thread that writes, each answer would wake the runtime by itself, with a
/// system call; from within, a group does.
async fn answer(mut groups: mpsc::UnboundedReceiver<GroupOutcome>, used: Arc<BodyPool>) {
    while let Some(GroupOutcome { uploads, answers, taken }) = groups.recv().await {
        for (answer, taken) in answers.into_iter().zip(taken) {
            // Who has gone away finds out by sending the same bytes again.
            let _ = answer.send(taken);
        }
        used.give_back(uploads);
    }
}

/// Uploads that share a sync, at most.
const GROUP_MAX: usize = 512;

/// How many uploads a group has to have for the next one to wait: who comes alone is answered at once.
const SIBLINGS: usize = 5;

/// How long it waits. Nobody notices it in an upload that is sent once in an epoch.
const GATHER: Duration = Duration::from_millis(2);
