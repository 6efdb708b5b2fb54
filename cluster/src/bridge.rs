//! From blocking code to asynchronous clients, and back.
//!
//! A hop's doors are blocking calls; PostgreSQL, object storage and Ballista are reached by futures. They run on a
//! runtime of their own, and whoever needs one waits for it, whatever thread that is.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime for clients. Clones share it; it ends with the last of them.
#[derive(Clone, Debug)]
pub struct Bridge {
    handle: Handle,
    _runtime: Arc<Owned>,
}

#[derive(Debug)]
struct Owned(Option<Runtime>);

/// It may be dropped on a thread of another runtime, where waiting is not allowed.
impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bridge {
    /// A new runtime with a few threads.
    pub fn new() -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_name("clients").enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), _runtime: Arc::new(Owned(Some(runtime))) })
    }

    /// Waits for a future. The thread is blocked meanwhile.
    pub fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let (done, result) = sync_channel(1);
        self.handle.spawn(async move {
            // If nobody waits any more, that is fine.
            let _ = done.send(future.await);
        });
        result.recv().unwrap_or_else(|_| Err(io::Error::other("a client has ended before its answer came")))
    }

    /// Lets a future run by itself.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }
}
