//! Hops on a cluster: state in PostgreSQL and object storage, batch work on Ballista, replicas that agree on who leads.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use throng_batch::Engine;
use throng_serve::Result;
use throng_serve::shuffler::backend::{Backend, HopBackend, HopSite, LeaderFiles, Shadow};
use throng_shuffle::Store;
use throng_wire::{Place, SurveyHash};

use crate::engine::{ClusterEngine, Sizes};
use crate::jobs::Jobs;
use crate::objects::Objects;
use crate::postgres::{Lease, PgStore, Postgres};
use crate::ratchet::Ratchet;

/// What all hops of a shuffler share.
pub struct ClusterBackend {
    /// Their database.
    pub postgres: Postgres,
    /// Their objects.
    pub objects: Objects,
    /// Who does batch work; this process, if nobody else does.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// The directory with the ratchet of each hop.
    pub ratchets: PathBuf,
    /// For how long a replica leads without a sign of life.
    pub lease: Duration,
}

impl Backend for ClusterBackend {
    fn open(&self, site: &HopSite<'_>) -> Result<Box<dyn HopBackend>> {
        let store = self.store(site)?;
        let engine = self.jobs.as_ref().map(|jobs| (Arc::clone(jobs), self.objects.clone()));
        let prefix = format!("{}/{}", site.survey.hash(), site.place);
        Ok(Box::new(ReplicaBackend { store, engine, prefix, duration: self.lease, keeper: None }))
    }

    fn shadow(&self, site: &HopSite<'_>) -> Result<Shadow> {
        Ok(Shadow::Follower(Box::new(self.store(site)?)))
    }
}

impl ClusterBackend {
    fn store(&self, site: &HopSite<'_>) -> Result<PgStore> {
        let survey = site.survey.hash();
        let path = ratchet_path(&self.ratchets, survey, site.place);
        let ratchet = Ratchet::open(&path).map_err(|error| {
            let advice = "make it on one replica with `throng-cluster ratchets`, and copy it to the others";
            io::Error::other(format!("{}: {error}; {advice}", path.display()))
        })?;
        let (objects, ratchet) = (&self.objects, Arc::new(ratchet));
        Ok(PgStore::new(&self.postgres, objects, ratchet, survey, site.place, site.signing)?)
    }
}

/// The file of a hop's ratchet.
pub fn ratchet_path(directory: &Path, survey: SurveyHash, place: Place) -> PathBuf {
    directory.join(format!("{survey}-{place}.ratchet"))
}

/// What one replica of a hop runs on.
struct ReplicaBackend {
    store: PgStore,
    engine: Option<(Arc<dyn Jobs>, Objects)>,
    prefix: String,
    duration: Duration,
    keeper: Option<LeaseKeeper>,
}

impl HopBackend for ReplicaBackend {
    fn lead(&mut self) -> Result<Option<LeaderFiles>> {
        self.keeper = None;
        let Some((store, lease, mark)) = self.store.lead(self.duration)? else { return Ok(None) };
        self.keeper = Some(LeaseKeeper::start(lease, self.duration)?);
        Ok(Some(LeaderFiles { store: Box::new(store), mark: Box::new(mark) }))
    }

    fn leads(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| !keeper.lost.load(Ordering::Relaxed))
    }

    fn follow(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(self.store.clone()))
    }

    fn engine(&self) -> Option<Box<dyn Engine>> {
        let (jobs, objects) = self.engine.as_ref()?;
        Some(Box::new(ClusterEngine::new(Arc::clone(jobs), objects, &self.prefix, Sizes::default())))
    }

    fn forget_before(&self, epoch: u64) -> Result<()> {
        Ok(self.store.ratchet().forget_before(epoch)?)
    }
}

/// Renews a lease for as long as it lives, also while the hop is busy with a batch. Dropped, it gives the lease back.
struct LeaseKeeper {
    lost: Arc<AtomicBool>,
    _stop: Sender<()>,
}

impl LeaseKeeper {
    fn start(lease: Arc<Lease>, duration: Duration) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let lost = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&lost);
        thread::Builder::new().name("lease".into()).spawn(move || {
            let mut renewed = Instant::now();
            while stopped.recv_timeout(duration / 4) == Err(RecvTimeoutError::Timeout) {
                match lease.renew() {
                    Ok(()) => renewed = Instant::now(),
                    // A database that is away for a moment has not given it to anybody else yet.
                    Err(_) if renewed.elapsed() < duration => {}
                    Err(_) => return told.store(true, Ordering::Relaxed),
                }
            }
            // Whoever comes next need not wait for the deadline. If it fails, they do.
            let _ = lease.release();
        })?;
        Ok(Self { lost, _stop: stop })
    }
}
