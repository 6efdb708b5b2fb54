//! `throng serve analyzer`: one process that comes for the batches of any number of surveys, and counts them.

mod config;
mod puller;

use std::sync::mpsc;
use std::thread;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, ensure};
use throng_wire::{LayerKeys, Place};
use tokio::runtime::Handle;

use super::directory::ensure_writable;
use super::layer_keys::LayerKeyFiles;
use super::log::Log;
use super::operator_port::{self, OperatorPort};
use super::vitals::Vitals;
use super::waits::Waits;
use crate::analysis::TallyFiles;
use crate::bundle::Bundle;
use crate::clock::now_s;
use crate::keygen::Party;
use crate::net::{Client, client};
pub use config::{AnalyzedSurvey, AnalyzerConfig, Budget};
use puller::{Puller, Watched};

/// An analyzer whose files were read and found to be right.
pub struct AnalyzerServer {
    config: AnalyzerConfig,
    party: Party,
    surveys: Vec<Analyzed>,
}

/// One survey of an analyzer.
struct Analyzed {
    bundle: Bundle,
    files: AnalyzedSurvey,
    keys: LayerKeyFiles,
    layers: LayerKeys,
    tallies: TallyFiles,
    /// When the files beside the survey were changed last.
    changed: Option<SystemTime>,
}

impl AnalyzerServer {
    /// Reads and checks everything that an analyzer runs on. Changes nothing.
    pub fn prepare(config: AnalyzerConfig) -> Result<Self> {
        let party = Party::read(&config.identity)?;
        ensure_writable(&config.data)?;
        let mut surveys: Vec<Analyzed> = Vec::new();
        for survey in &config.surveys {
            let prepared = Analyzed::new(survey, &config, &party);
            let prepared = prepared.with_context(|| format!("for {}", survey.survey.display()))?;
            let same = |other: &Analyzed| other.bundle.survey().hash() == prepared.bundle.survey().hash();
            ensure!(!surveys.iter().any(same), "{} is listed twice", survey.survey.display());
            surveys.push(prepared);
        }
        Ok(Self { config, party, surveys })
    }

    /// What it analyzes, with a warning for everything that parties share.
    pub fn summary(&self) -> Vec<serde_json::Value> {
        self.surveys
            .iter()
            .map(|one| {
                let survey = one.bundle.survey();
                let warnings: Vec<String> =
                    survey.survey().warnings().iter().map(ToString::to_string).collect();
                serde_json::json!({
                    "survey": survey.hash(),
                    "name": survey.survey().name,
                    "place": Place::Analyzer,
                    "population": one.files.population,
                    "warnings": warnings,
                })
            })
            .collect()
    }

    /// What its operator should look at again.
    pub fn warnings(&self) -> Vec<String> {
        let surveys = self.surveys.iter().flat_map(|one| one.bundle.survey().survey().warnings());
        let surveys = surveys.map(|warning| warning.to_string());
        surveys.chain(operator_port::warning(self.config.operator_listen)).collect()
    }

    /// Works until `shutdown` is over. `ready` is called once it does.
    pub async fn serve(
        self,
        log: &Log,
        shutdown: impl Future<Output = ()>,
        ready: impl FnOnce(),
    ) -> Result<()> {
        self.warnings().into_iter().for_each(|warning| log.warn("warning").reason(warning).write());
        let Self { config, party, surveys } = self;
        let vitals = Vitals::new();
        let port = OperatorPort::open(config.operator_listen, &vitals).await?;
        for survey in &surveys {
            survey.tallies.create()?;
        }
        let identity = party.into_identity();
        let client = Client::new(Some(identity), client::Limits::default());
        vitals.data(&config.data);
        vitals.memory_limit(config.memory_mib << 20);
        let watched = surveys.iter().map(|one| Watched::new(one, log, &vitals)).collect();
        let puller = Puller {
            surveys,
            watched,
            client,
            handle: Handle::current(),
            memory: config.memory(),
            late_epochs: config.late_epochs,
            waits: Waits::default(),
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("analyzer".into()).spawn(move || puller.run(&stopped));
        let thread = thread.context("no thread for the analyzer")?;
        vitals.start();
        log.info("serving").write();
        ready();
        shutdown.await;
        vitals.stop();
        log.info("stopping").write();
        // A batch that it is in the middle of is read again after the next start; one that it has counted is stored first.
        drop(stop);
        let joined = tokio::task::spawn_blocking(move || thread.join()).await?;
        joined.map_err(|_| anyhow!("the analyzer's own thread panicked"))?;
        port.close().await?;
        log.info("stopped").write();
        Ok(())
    }
}

impl Analyzed {
    fn new(files: &AnalyzedSurvey, config: &AnalyzerConfig, party: &Party) -> Result<Self> {
        let bundle = Bundle::read(&files.survey)?;
        let survey = bundle.survey().survey();
        let pinned = survey.party(Place::Analyzer).ok_or_else(|| anyhow!("the survey has no analyzer"))?;
        ensure!(
            pinned.signing_key == party.signing_key().public(),
            "the survey pins another signing key for its analyzer than the identity has"
        );
        let own = bundle.address(Place::Analyzer)?;
        ensure!(
            own.certificate.is_none_or(|certificate| certificate == party.identity().digest()),
            "the address names another certificate than the identity has: sign it with `throng keygen address`"
        );
        for instance in 1..=survey.delivery.instances {
            bundle.address(Place::hop(instance, survey.delivery.hops))?;
        }
        let mut keys = LayerKeyFiles::new(files.keys.as_ref().unwrap_or(&config.identity));
        ensure_writable(keys.dir()).context("layer keys are erased once their epochs are over")?;
        let (layers, _) = keys.read(bundle.survey(), Place::Analyzer, survey.epoch_at(now_s()))?;
        let tallies = TallyFiles::new(&config.data, bundle.survey().hash());
        let changed = puller::modified(&files.survey);
        Ok(Self { bundle, files: files.clone(), keys, layers, tallies, changed })
    }
}
