//! Many uploads, one fdatasync: they are taken in groups, and each is answered when its group is on disk.

use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use throng_shuffle::{Hop, Refusal, Upload};
use tokio::sync::{mpsc, oneshot};

use crate::clock::now_s;
use crate::entropy::system_rng;

/// The way into a hop. While one group is being synced the next one gathers, so that groups grow with the load.
#[derive(Clone)]
pub struct GroupCommit {
    queue: mpsc::Sender<Waiting>,
}

struct Waiting {
    upload: Upload,
    answer: oneshot::Sender<Result<u64, Refusal>>,
}

impl GroupCommit {
    /// Starts the thread that writes for a hop. It ends when all who could send are gone.
    pub fn start(hop: Arc<Hop>) -> Result<Self> {
        let (queue, mut waiting) = mpsc::channel::<Waiting>(GROUP_MAX);
        let mut rng = system_rng()?;
        let write = move || {
            let mut group = Vec::with_capacity(GROUP_MAX);
            while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
                let (uploads, answers): (Vec<Upload>, Vec<_>) =
                    group.drain(..).map(|Waiting { upload, answer }| (upload, answer)).unzip();
                for (answer, taken) in answers.into_iter().zip(hop.take(&uploads, now_s(), &mut rng)) {
                    // Who has gone away finds out by sending the same bytes again.
                    let _ = answer.send(taken);
                }
            }
        };
        thread::Builder::new().name("intake".into()).spawn(write).context("no thread for the intake")?;
        Ok(Self { queue })
    }

    /// Takes an upload; returns when it is on disk, with the time bucket of its receipt.
    pub async fn take(&self, upload: Upload) -> Result<u64, Refusal> {
        let (answer, taken) = oneshot::channel();
        let sent = self.queue.send(Waiting { upload, answer }).await;
        sent.map_err(|_| Refusal::Full)?;
        taken.await.unwrap_or(Err(Refusal::Full))
    }
}

/// Uploads that share a sync, at most.
const GROUP_MAX: usize = 512;
