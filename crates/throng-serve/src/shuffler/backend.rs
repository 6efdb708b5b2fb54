//! The backend of a shuffler: where its hops keep what they know, and who does their batch work.
//!
//! One machine has [`Embedded`]: files in the data directory, and the engine of `throng-batch`. A cluster has another, with
//! replicas of one hop, one of which leads.

use std::io;
use std::path::Path;
use std::sync::Arc;

use throng_batch::Engine;
use throng_shuffle::{Mark, Store};
use throng_wire::{Place, SignedSurvey};

use crate::error::{Context, Result};
use crate::file_store::FileStore;

/// Gives every hop what it runs on.
pub trait Backend: Send + Sync {
    /// What a hop runs on.
    fn open(&self, site: &HopSite<'_>) -> Result<HopBackend>;
}

/// Which hop it is, and where the files of one machine would be.
#[derive(Clone, Copy, Debug)]
pub struct HopSite<'a> {
    /// Its survey.
    pub survey: &'a SignedSurvey,
    /// Its place in it.
    pub place: Place,
    /// The directory for its data.
    pub data: &'a Path,
    /// The file of its mark.
    pub mark: &'a Path,
}

/// What a hop runs on.
pub struct HopBackend {
    /// Where its state is.
    pub store: Box<dyn Store>,
    /// Where its mark is.
    pub mark: Box<dyn Mark>,
    /// Who does its batch work; the embedded engine, with the memory of the hop, if nobody else does.
    pub engine: Option<Box<dyn Engine>>,
    /// How replicas of the hop agree on who leads; `None` where there is one process.
    pub leadership: Option<Arc<dyn Leadership>>,
}

/// How replicas of a hop agree on who takes its steps (leader election by a lease).
pub trait Leadership: Send + Sync {
    /// Takes the lease if it is free, or renews it: whether this replica has it now. Called in every round of the hop's worker.
    fn hold(&self) -> io::Result<bool>;

    /// Gives the lease back, so that another replica need not wait for its end.
    fn release(&self) -> io::Result<()>;
}

/// One machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Backend for Embedded {
    fn open(&self, site: &HopSite<'_>) -> Result<HopBackend> {
        let store =
            FileStore::open(site.data).with_context(|| format!("cannot use {}", site.data.display()))?;
        let mark = Box::new(store.mark(site.mark.to_owned()));
        Ok(HopBackend { store: Box::new(store), mark, engine: None, leadership: None })
    }
}
