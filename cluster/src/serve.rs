//! A shuffler or an analyzer on a cluster: the same party, with the same keys, files, wire and promises.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand_core::Rng;
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_serve::{Analyzer, AnalyzerConfig, AnalyzerServer, Error, Log, Result, Shuffler, ShufflerConfig};
use zeroize::Zeroizing;

use crate::backend::{ClusterBackend, ratchet_path};
use crate::bridge::Bridge;
use crate::config::{ClusterFile, scheduler_address};
use crate::engine::{ClusterEngine, Sizes};
use crate::jobs::{BallistaJobs, Jobs, Patience};
use crate::objects::Objects;
use crate::postgres::Postgres;
use crate::ratchet::Ratchet;
use crate::tls::Tls;

/// A shuffler that is ready to serve, or to be reset: then its layer keys may be lost.
pub fn shuffler(path: &Path, reset: bool) -> Result<Shuffler> {
    let (file, rest) = ClusterFile::read(path)?;
    let config = ShufflerConfig::from_text(&rest, path)?;
    let owner = owner(&file, &config.identity)?;
    let ratchets = file.ratchets.clone().unwrap_or_else(|| config.identity.clone());
    let Some(store) = &file.store else {
        return Err(invalid("a shuffler on a cluster has a store: give store = \"postgres://...\""));
    };
    let bridge = Bridge::new()?;
    let objects = Objects::open(&file.objects, bridge.clone())?;
    objects.claim(&owner)?;
    let postgres = Postgres::open(store, &owner, bridge.clone())?;
    let jobs = jobs(&file, bridge)?;
    let lease = Duration::from_secs(file.lease_s.max(1));
    let backend = ClusterBackend { postgres, objects, jobs, ratchets, lease };
    let prepare = if reset { Shuffler::prepare_reset } else { Shuffler::prepare };
    Ok(prepare(config)?.with_backend(Arc::new(backend)))
}

/// An analyzer that is ready to serve. Its ledger, tallies and sealed batches are in its data directory, as on one machine; what it
/// counts goes through objects to executors.
pub fn analyzer(path: &Path) -> Result<AnalyzerServer> {
    let (config, engine) = analyzer_parts(path)?;
    let server = AnalyzerServer::prepare(config)?;
    Ok(match engine {
        Some(engine) => server.with_engine(engine),
        None => server,
    })
}

/// The same analyzer, for releases.
pub fn analyzer_releases(path: &Path) -> Result<Analyzer> {
    let (config, engine) = analyzer_parts(path)?;
    let analyzer = Analyzer::new(config);
    Ok(match engine {
        Some(engine) => analyzer.with_engine(engine),
        None => analyzer,
    })
}

fn analyzer_parts(path: &Path) -> Result<(AnalyzerConfig, Option<Arc<ClusterEngine>>)> {
    let (file, rest) = ClusterFile::read(path)?;
    let config = AnalyzerConfig::from_text(&rest, path)?;
    if file.store.is_some() {
        return Err(invalid("an analyzer keeps its ledger in its data directory: leave out store"));
    }
    let bridge = Bridge::new()?;
    let objects = Objects::open(&file.objects, bridge.clone())?;
    objects.claim(&owner(&file, &config.identity)?)?;
    let engine = jobs(&file, bridge)?;
    let engine = engine.map(|jobs| Arc::new(ClusterEngine::new(jobs, &objects, ANALYZER, Sizes::default())));
    Ok((config, engine))
}

/// Makes the ratchets of all hops in a shuffler's file that have none here, and says where. They are copied to the other
/// replicas by hand, before the first of them is started.
pub fn make_ratchets(path: &Path) -> Result<Vec<std::path::PathBuf>> {
    let (file, rest) = ClusterFile::read(path)?;
    let config = ShufflerConfig::from_text(&rest, path)?;
    let directory = file.ratchets.unwrap_or_else(|| config.identity.clone());
    let mut made = Vec::new();
    for one in &config.surveys {
        let bundle = throng_host::bundle::Bundle::read(&one.survey)?;
        let survey = bundle.survey();
        let ratchet = ratchet_path(&directory, survey.hash(), one.place);
        if ratchet.exists() {
            continue;
        }
        let mut key = Zeroizing::new([0; 32]);
        system_rng()?.fill_bytes(&mut key[..]);
        // A hop may be given epochs from a little before now.
        let first = survey.survey().epoch_at(SystemClock.now_s()).saturating_sub(2);
        Ratchet::create(&ratchet, first, &key)?;
        made.push(ratchet);
    }
    Ok(made)
}

/// Whose database and objects they are.
pub fn owner(file: &ClusterFile, identity: &Path) -> Result<String> {
    match &file.owner {
        Some(owner) => Ok(owner.clone()),
        None => {
            let public = identity.join("signing.pub");
            let key = std::fs::read_to_string(&public)
                .map_err(|error| invalid(format!("cannot read {}: {error}", public.display())))?;
            Ok(format!("party {}", key.trim()))
        }
    }
}

fn jobs(file: &ClusterFile, bridge: Bridge) -> Result<Option<Arc<dyn Jobs>>> {
    let Some(scheduler) = &file.engine else { return Ok(None) };
    let (host, _) = scheduler_address(scheduler)?;
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    if file.tls.is_none() && !is_here {
        return Err(invalid(
            "the scheduler is on another machine: give [tls], made by `throng-cluster certificates`",
        ));
    }
    let tls = file.tls.as_ref().map(Tls::read).transpose()?;
    let patience = Patience { deadline: Duration::from_secs(file.job_s.max(1)), ..Patience::default() };
    Ok(Some(Arc::new(BallistaJobs::new(scheduler, tls, bridge, patience))))
}

/// What a file says that cannot be.
fn invalid(text: impl Into<String>) -> Error {
    std::io::Error::other(text.into()).into()
}

/// A log that says who it is.
pub fn log(party: &'static str, json: bool) -> Log {
    Log::new(if json { throng_serve::LogFormat::Json } else { throng_serve::LogFormat::Text }, party)
}

/// The prefix of an analyzer's objects.
const ANALYZER: &str = "analyzer";
