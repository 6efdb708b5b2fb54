//! The backend of a shuffler: where its hops keep what they know, and who does their batch work.
//!
//! One machine has [`Embedded`]: files in the data directory, and the engine of `throng-batch`. A cluster has another, with
//! replicas of a hop, one of which leads (leader election by a lease): it takes the steps of the hop's journal. The others follow.

use std::path::{Path, PathBuf};

use throng_batch::Engine;
use throng_host::clock::{Clock, SystemClock};
use throng_shuffle::{Hop, HopConfig, Mark, Store};
use throng_wire::{Place, SignedSurvey, SigningKey};

use crate::error::{Context, Error, Result};
use crate::file_store::{FileStore, ShadowMark, ShadowStore};

/// Gives every hop what it runs on.
pub trait Backend: Send + Sync {
    /// What a hop runs on.
    fn open(&self, site: &HopSite<'_>) -> Result<Box<dyn HopBackend>>;

    /// The same to look at alone: nothing of it is changed, and nobody who works on it is disturbed.
    fn shadow(&self, site: &HopSite<'_>) -> Result<Shadow>;
}

/// The state of a hop, to look at.
pub enum Shadow {
    /// As whoever leads would find it. What is written is not kept.
    Leader(LeaderFiles),
    /// As a replica that follows finds it.
    Follower(Box<dyn Store>),
}

impl Shadow {
    pub(super) fn open(self, config: HopConfig) -> std::result::Result<Hop, throng_shuffle::Error> {
        match self {
            Self::Leader(LeaderFiles { store, mark }) => Hop::open(config, store, mark, SystemClock.now_s()),
            Self::Follower(store) => Hop::follow(config, store),
        }
    }
}

/// Which hop it is, and where the files of one machine would be.
#[derive(Clone, Copy)]
pub struct HopSite<'a> {
    /// Its survey.
    pub survey: &'a SignedSurvey,
    /// Its place in it.
    pub place: Place,
    /// Its signing key.
    pub signing: &'a SigningKey,
    /// The directory for its data.
    pub data: &'a Path,
    /// The file of its mark.
    pub mark: &'a Path,
}

/// What a process that leads works on.
pub struct LeaderFiles {
    /// Where the hop's state is.
    pub store: Box<dyn Store>,
    /// Where its mark is.
    pub mark: Box<dyn Mark>,
}

/// What one hop runs on. Dropped, it lets another replica lead.
pub trait HopBackend: Send {
    /// What it works on if it may lead now; `None` while another replica does.
    fn lead(&mut self) -> Result<Option<LeaderFiles>>;

    /// Whether it still leads.
    fn leads(&self) -> bool;

    /// The store of a replica that follows.
    fn follow(&self) -> Result<Box<dyn Store>>;

    /// Who does its batch work; the embedded engine, with the memory of the hop, if nobody else does.
    fn engine(&self) -> Option<Box<dyn Engine>>;

    /// Nothing of epochs before this one is needed any more: what their secrets are sealed under is forgotten.
    fn forget_before(&self, epoch: u64) -> Result<()>;
}

/// One machine, whose files belong to one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Backend for Embedded {
    fn open(&self, site: &HopSite<'_>) -> Result<Box<dyn HopBackend>> {
        Ok(Box::new(EmbeddedHop { data: site.data.to_owned(), mark: site.mark.to_owned() }))
    }

    fn shadow(&self, site: &HopSite<'_>) -> Result<Shadow> {
        let (store, mark) = (Box::new(ShadowStore::of(site.data)), Box::new(ShadowMark::of(site.mark)));
        Ok(Shadow::Leader(LeaderFiles { store, mark }))
    }
}

struct EmbeddedHop {
    data: PathBuf,
    mark: PathBuf,
}

impl HopBackend for EmbeddedHop {
    fn lead(&mut self) -> Result<Option<LeaderFiles>> {
        let store =
            FileStore::open(&self.data).with_context(|| format!("cannot use {}", self.data.display()))?;
        let mark = Box::new(store.mark(self.mark.clone()));
        Ok(Some(LeaderFiles { store: Box::new(store), mark }))
    }

    fn leads(&self) -> bool {
        true
    }

    fn follow(&self) -> Result<Box<dyn Store>> {
        Err(Error::invalid("files of one machine have one process"))
    }

    fn engine(&self) -> Option<Box<dyn Engine>> {
        None
    }

    fn forget_before(&self, _: u64) -> Result<()> {
        Ok(())
    }
}
