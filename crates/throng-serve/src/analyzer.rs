//! `throng serve analyzer`: one process that comes for the batches of any number of surveys, and keeps them sealed until their
//! epoch is in the ledger.

mod config;
mod health_checks;
mod puller;
mod releasing;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use axum::Router;
use throng_batch::{EmbeddedEngine, Engine};
use throng_wire::{LayerKeys, Place, Route};
use tokio::runtime::Handle;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::analysis::{ReleaseLedger, SealedFiles, TallyFiles, create_private};
use crate::dashboard::{self, Dashboard, DashboardSurvey};
use crate::error::{Context, Error, Result};
use crate::operate::about::{self, unique_name};
use crate::operate::contacts::Contacts;
use crate::operate::damage::Damage;
use crate::operate::directory::ensure_writable;
use crate::operate::layer_keys::LayerKeyFiles;
use crate::operate::log::Log;
use crate::operate::operator_port::{OperatorPort, is_for_one_machine};
use crate::operate::reasons::Reason;
use crate::operate::survey_files::SurveyFiles;
use crate::operate::vitals::Vitals;
use crate::operate::work_loop::{self, WorkLoop};
use crate::studio::Studio;
pub use config::{AnalyzedSurvey, AnalyzerConfig, Budget, OpeningPolicy};
use health_checks::HealthChecks;
use puller::{Puller, SurveyVitals};
pub use releasing::{Analyzer, ReleaseOptions};
use throng_host::atomic_file::parent;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::ensure;
use throng_host::entropy::system_rng;
use throng_host::keygen::Party;
use throng_host::net::{Client, client};
use throng_host::operator_token::OperatorToken;
use throng_host::private_dir::{self, Outsiders};

/// An analyzer whose files were read and found to be right.
pub struct AnalyzerServer {
    config: AnalyzerConfig,
    party: Party,
    surveys: Vec<SurveyAnalysis>,
    /// Those that are not served.
    damages: Vec<Damage>,
    /// Who opens batches; without one, each instance has an embedded engine.
    engine: Option<Arc<dyn Engine>>,
}

/// One survey of an analyzer.
struct SurveyAnalysis {
    bundle: Bundle,
    files: AnalyzedSurvey,
    keys: LayerKeyFiles,
    layers: LayerKeys,
    tallies: TallyFiles,
    sealed: SealedFiles,
    public: SurveyFiles,
}

impl AnalyzerServer {
    /// Reads and checks everything that an analyzer runs on, but for its data. Changes nothing. A survey that is not as it
    /// should be does not keep the others from being analyzed; if there is no other, that is an error.
    pub fn prepare(config: AnalyzerConfig) -> Result<Self> {
        let party = Party::read(&config.identity)?;
        ensure_writable(&config.data)?;
        private_dir::check(&config.data, Outsiders::Strangers)?;
        let mark = config.ledger_mark();
        ensure_writable(parent(&mark))
            .context("the mark of the ledger is kept there: say with ledger_mark where it may be")?;
        ensure!(
            !parent(&mark).starts_with(&config.data),
            Invalid,
            "ledger_mark is in the data directory, and would be lost with the ledger: keep it apart"
        );
        // A ledger that cannot be gone on with is found out now, and not when somebody waits for a release.
        ReleaseLedger::look_at(&config.data, &config.data_key(), config.budget.guarantee()?)?;
        let (mut surveys, mut damages): (Vec<SurveyAnalysis>, _) = (Vec::new(), Vec::new());
        for survey in &config.surveys {
            let prepared = match SurveyAnalysis::new(survey, &config, &party) {
                Ok(prepared) => prepared,
                Err(error) => {
                    damages.push(Damage::new(&survey.survey, Place::Analyzer, error));
                    continue;
                }
            };
            let same =
                |other: &SurveyAnalysis| other.bundle.survey().hash() == prepared.bundle.survey().hash();
            ensure!(!surveys.iter().any(same), Invalid, "{} is listed twice", survey.survey.display());
            surveys.push(prepared);
        }
        if surveys.is_empty() {
            Damage::none(std::mem::take(&mut damages))?;
        }
        Ok(Self { config, party, surveys, damages, engine: None })
    }

    /// The same server, with another engine for its batches than the embedded one of `throng-batch`.
    #[must_use]
    pub fn with_engine(self, engine: Arc<dyn Engine>) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// Reads all that the server and a release would, and fails on what is damaged. Changes nothing, and does not disturb a
    /// server that runs on the same files.
    pub fn check(mut self) -> Result<()> {
        let Self { config, .. } = &self;
        ReleaseLedger::look_at(&config.data, &config.data_key(), config.budget.guarantee()?)?;
        let mut damages = std::mem::take(&mut self.damages);
        for survey in &self.surveys {
            if let Err(error) = survey.check() {
                damages.push(Damage::new(&survey.files.survey, Place::Analyzer, error));
            }
        }
        Damage::none(damages)
    }

    /// Takes the ledger as it is for the whole one; says how many lines it has.
    pub fn accept_ledger(config: &AnalyzerConfig) -> Result<u64> {
        ReleaseLedger::accept(&config.data, &config.data_key(), config.budget.guarantee()?)
    }

    /// What it analyzes, with a warning for everything that parties share.
    pub fn summary(&self) -> Vec<serde_json::Value> {
        let summary = |one: &SurveyAnalysis| {
            let population = one.files.population.as_str().into();
            about::summary(&one.bundle, Place::Analyzer, ("population", population))
        };
        self.surveys.iter().map(summary).collect()
    }

    /// What its operator should look at again.
    pub fn warnings(&self) -> Vec<String> {
        about::warnings(self.surveys.iter().map(|one| &one.bundle), self.config.operator_listen)
    }

    /// Works until `shutdown` is over. `ready` is called once it does, with the address of the dashboard if there is one.
    pub async fn serve(
        self,
        log: &Log,
        studio: Option<Arc<dyn Studio>>,
        shutdown: impl Future<Output = ()>,
        ready: impl FnOnce(Option<&str>),
    ) -> Result<()> {
        self.warnings()
            .into_iter()
            .for_each(|warning| log.warn("warning").reason(Reason::Warning(warning)).write());
        let Self { config, party, surveys, mut damages, engine } = self;
        let (vitals, contacts) = (Vitals::new(), Contacts::default());
        let has_dashboard = config.operator_listen.is_some_and(is_for_one_machine);
        let pages = match has_dashboard {
            true => dashboard(&config, &surveys, (&vitals, &contacts), studio)?,
            false => Router::new(),
        };
        let port = OperatorPort::open(config.operator_listen, &vitals, pages).await?;
        let all: usize = surveys.iter().map(|one| one.instances() as usize).sum();
        let memory = (config.memory() / all.max(1)).max(MEMORY_EACH_MIN);
        let engine = engine.unwrap_or_else(|| Arc::new(EmbeddedEngine::new(memory)));
        // Keys are not copied around in memory, but read where they are needed.
        let identity = Party::read(&config.identity)?.into_identity();
        let client = Client::new(Some(identity), client::Limits::default());
        let (mut stops, (ended, mut ends)) = (Vec::new(), unbounded_channel());
        for survey in &surveys {
            // Each instance has what it needs of the survey; all of them are begun, or none.
            let begun = survey.create().and_then(|()| {
                let again = |_| SurveyAnalysis::new(&survey.files, &config, &party);
                (1..=survey.instances()).map(again).collect::<Result<Vec<_>>>()
            });
            let begun = match begun {
                Ok(begun) => begun,
                Err(error) => {
                    damages.push(Damage::new(&survey.files.survey, Place::Analyzer, error));
                    continue;
                }
            };
            let (name, watched) =
                (unique_name(survey.bundle.survey()), SurveyVitals::new(survey, log, &vitals));
            for (instance, survey) in (1..).zip(begun) {
                let work_loop = WorkLoop::new(
                    vitals.worker(&format!("analyzer for instance {instance}"), &name),
                    watched.failures.clone(),
                    watched.log.clone(),
                    Some(instance),
                );
                let puller = Puller {
                    survey,
                    instance,
                    client: client.clone(),
                    handle: Handle::current(),
                    engine: Arc::clone(&engine),
                    data: config.data.clone(),
                    budget: config.budget.guarantee()?,
                    key: config.data_key(),
                    open: config.open,
                    late_epochs: config.late_epochs,
                    work_loop,
                    watched: watched.clone(),
                    contacts: contacts.clone(),
                    // For those who look at the dashboard, and for nobody else.
                    asking: has_dashboard.then(HealthChecks::default),
                    missing: RefCell::default(),
                };
                let (stop, stopped) = mpsc::channel();
                let ended = ended.clone();
                let run = move || {
                    let _ = catch_unwind(AssertUnwindSafe(|| work_loop::run(puller, &stopped)));
                    // If nobody waits for it any more, that is fine.
                    let _ = ended.send(());
                };
                thread::Builder::new().name(format!("instance-{instance}")).spawn(run)?;
                stops.push(stop);
            }
        }
        drop(ended);
        // Others run, whatever became of one of them.
        if stops.is_empty() {
            return Damage::none(damages);
        }
        damages.iter().for_each(|damage| damage.tell(log, &vitals));
        vitals.data(&config.data);
        vitals.memory_limit(config.memory_mib << 20);
        vitals.start();
        log.info("serving").write();
        ready(port.url().filter(|_| has_dashboard));
        tokio::select! {
            () = shutdown => {}
            // Whoever watches over the process starts it again.
            _ = ends.recv() => return Err(Error::Panicked("a thread of the analyzer has panicked")),
        }
        vitals.stop();
        log.info("stopping").write();
        // A batch that it is in the middle of is read again after the next start; one that it has read is stored first.
        drop(stops);
        let rest = async { while ends.recv().await.is_some() {} };
        // A hop that sends slowly does not keep it from ending.
        let _ = timeout(SHUTDOWN, rest).await;
        port.close().await?;
        log.info("stopped").write();
        Ok(())
    }
}

/// What the operator's port shows besides numbers.
fn dashboard(
    config: &AnalyzerConfig,
    surveys: &[SurveyAnalysis],
    (vitals, contacts): (&Vitals, &Contacts),
    studio: Option<Arc<dyn Studio>>,
) -> Result<Router> {
    create_private(&config.data)?;
    let shown = |one: &SurveyAnalysis| DashboardSurvey {
        survey: one.bundle.survey().clone(),
        population: one.files.population.clone(),
        first_epoch: one.layers.public().iter().map(|key| key.lifetime.first_epoch).min().unwrap_or(0),
    };
    Ok(dashboard::router(Dashboard {
        data: config.data.clone(),
        budget: config.budget.guarantee()?,
        key: config.data_key(),
        surveys: surveys.iter().map(shown).collect(),
        token: OperatorToken::at(&config.operator_token(), &mut system_rng()?)?,
        vitals: vitals.clone(),
        contacts: contacts.clone(),
        studio,
    }))
}

impl SurveyAnalysis {
    fn instances(&self) -> u32 {
        self.bundle.survey().survey().delivery.instances
    }

    fn create(&self) -> Result<()> {
        self.tallies.create()?;
        self.sealed.create()
    }

    /// Reads every sealed batch, tally and statement of the survey.
    fn check(&self) -> Result<()> {
        let signed = self.bundle.survey();
        for (label, epoch, instance) in self.sealed.waiting()? {
            self.sealed.check(signed, &Route { survey: signed.hash(), label, epoch, instance })?;
        }
        for label in signed.survey().label_numbers() {
            for epoch in self.tallies.epochs(label)?.into_iter().chain(self.sealed.epochs(label)?) {
                self.tallies.of_epoch(signed.survey(), label, epoch)?;
                for instance in 1..=self.instances() {
                    let route = Route { survey: signed.hash(), label, epoch, instance };
                    if self.tallies.was_counted(&route)? == Some(true) || self.sealed.waits(&route) {
                        self.tallies.statements(signed, &route)?;
                    }
                    self.sealed.erased(&route)?;
                }
            }
        }
        Ok(())
    }

    fn new(files: &AnalyzedSurvey, config: &AnalyzerConfig, party: &Party) -> Result<Self> {
        let (public, bundle) = SurveyFiles::read(&files.survey)?;
        let survey = bundle.survey().survey();
        let pinned =
            survey.party(Place::Analyzer).ok_or_else(|| Error::invalid("the survey has no analyzer"))?;
        ensure!(
            pinned.signing_key == party.signing_key().public(),
            Invalid,
            "the survey pins another signing key for its analyzer than the identity has"
        );
        let own = bundle.address(Place::Analyzer)?;
        ensure!(
            own.certificate.is_none_or(|certificate| certificate == party.identity().digest()),
            Invalid,
            "the address names another certificate than the identity has: sign it with `throng keygen address`"
        );
        for instance in 1..=survey.delivery.instances {
            bundle.address(Place::hop(instance, survey.delivery.hops))?;
        }
        let mut keys = LayerKeyFiles::new(config.keys(files));
        ensure_writable(keys.dir()).context("layer keys are erased once their epochs are over")?;
        let (layers, _) =
            keys.read(bundle.survey(), Place::Analyzer, survey.epoch_at(SystemClock.now_s()))?;
        let tallies = TallyFiles::new(&config.data, bundle.survey().hash());
        let sealed = SealedFiles::new(&config.data, bundle.survey().hash());
        Ok(Self { bundle, files: files.clone(), keys, layers, tallies, sealed, public })
    }
}

/// Every instance of every survey has its part of the memory, but not less than this.
const MEMORY_EACH_MIN: usize = 4 << 20;

/// How long batches that are being read may still take when the analyzer ends.
const SHUTDOWN: Duration = Duration::from_secs(10);
