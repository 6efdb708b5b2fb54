//! `throng serve shuffler`: one process, a hop of any number of surveys.

pub mod backend;
mod config;
mod current_hop;
pub mod group_commit;
mod handlers;
mod peers;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use throng_account::deletion::Deletion;
use throng_dp::{Delta, Epsilon};
use throng_shuffle::{CrowdRule, Cut, Hop, HopConfig};
use throng_wire::survey::Enrolment;
use throng_wire::{CredentialList, Digest, LayerKeys, Place, SignedSurvey, SigningKey, Survey, SurveyHash};
use tokio::runtime::Handle;

use crate::error::{Context, Error, Result};
use crate::operate::about::{self, unique_name};
use crate::operate::damage::Damage;
use crate::operate::directory::ensure_writable;
use crate::operate::layer_keys::LayerKeyFiles;
use crate::operate::log::{Log, LogThrottle};
use crate::operate::operator_port::OperatorPort;
use crate::operate::reasons::Reason;
use crate::operate::survey_files::SurveyFiles;
use crate::operate::vitals::{Counter, Vitals};
use crate::operate::work_loop::{self, WorkLoop};
use backend::{Backend, Embedded, HopBackend, HopSite, LeaderFiles};
pub use config::{ShufflerConfig, SurveyConfig};
pub use current_hop::CurrentHop;
use group_commit::GroupCommit;
pub(super) use peers::{Peers, SharedPeers};
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_host::keygen::{Party, Schedule, Signer};
use throng_host::net::server::Limits;
use throng_host::net::{Client, Server, Transport, client, open_files};
use throng_host::private_dir::{self, Outsiders};
use throng_host::private_file;
use throng_host::{bail, ensure};
use worker::{Counts, HopWorker};

/// A shuffler whose files were read and found to be right.
pub struct Shuffler {
    config: ShufflerConfig,
    party: Party,
    surveys: Vec<SurveySetup>,
    /// Those that are not served.
    damages: Vec<Damage>,
    backend: Arc<dyn Backend>,
}

/// One survey of a shuffler, before anything is opened.
struct SurveySetup {
    file: PathBuf,
    bundle: Bundle,
    public: SurveyFiles,
    instance: u32,
    hop: u32,
    rule: CrowdRule,
    keys: LayerKeyFiles,
    /// Where its mark is.
    mark: PathBuf,
    credentials: Option<CredentialList>,
    peers: Peers,
}

impl Shuffler {
    /// Reads and checks everything that a shuffler runs on, but for its data. Changes nothing. A survey that is not as it should
    /// be does not keep the others from being served; if there is no other, that is an error.
    pub fn prepare(config: ShufflerConfig) -> Result<Self> {
        Self::prepare_with(config, SurveySetup::read_keys)
    }

    /// The same for `reset`, which makes new layer keys: the old ones may be lost, since a backup need not have them.
    pub fn prepare_reset(config: ShufflerConfig) -> Result<Self> {
        Self::prepare_with(config, |_| Ok(()))
    }

    fn prepare_with(
        config: ShufflerConfig,
        read_more: impl Fn(&mut SurveySetup) -> Result<()>,
    ) -> Result<Self> {
        let party = Party::read(&config.identity)?;
        ensure!(
            config.listen.ip().is_loopback() || !config.plain_http,
            Invalid,
            "plain HTTP is for one machine only, and {} can be reached from others: listen on 127.0.0.1, or use TLS",
            config.listen
        );
        ensure!(
            config.listen.port() == 0 || config.operator_listen.is_none_or(|listen| listen != config.listen),
            Invalid,
            "operator_listen is {}, as listen is: give the operator a port of its own",
            config.listen
        );
        ensure_writable(&config.data)?;
        private_dir::check(&config.data, Outsiders::Strangers)?;
        let (mut surveys, mut damages) = (Vec::new(), Vec::new());
        for survey in &config.surveys {
            let prepared = SurveySetup::new(survey, &config, &party);
            match prepared.and_then(|mut one| read_more(&mut one).map(|()| one)) {
                Ok(prepared) => surveys.push(prepared),
                Err(error) => damages.push(Damage::new(&survey.survey, survey.place, error)),
            }
        }
        if surveys.is_empty() {
            Damage::none(std::mem::take(&mut damages))?;
        }
        for (index, one) in surveys.iter().enumerate() {
            let same = |other: &SurveySetup| other.key() == one.key();
            ensure!(!surveys[..index].iter().any(same), Invalid, "a survey and instance is listed twice");
        }
        Ok(Self { config, party, surveys, damages, backend: Arc::new(Embedded) })
    }

    /// The same shuffler, on another backend than the embedded one.
    #[must_use]
    pub fn with_backend(self, backend: Arc<dyn Backend>) -> Self {
        Self { backend, ..self }
    }

    /// Reads all that the server would, its data included, and fails on what is damaged. Changes nothing, and does not
    /// disturb a server that runs on the same files.
    pub fn check(mut self) -> Result<()> {
        let mut damages = std::mem::take(&mut self.damages);
        for mut survey in self.surveys.drain(..) {
            if let Err(error) = survey.check((&self.config, &*self.backend), &self.party) {
                damages.push(Damage::new(&survey.file, survey.place(), error));
            }
        }
        Damage::none(damages)
    }

    /// What it is a hop of, with a warning for everything that parties share.
    pub fn summary(&self) -> Vec<serde_json::Value> {
        let summary = |one: &SurveySetup| {
            let credentials = one.credentials.as_ref().map(CredentialList::len).into();
            about::summary(&one.bundle, one.place(), ("credentials", credentials))
        };
        self.surveys.iter().map(summary).collect()
    }

    /// What its operator should look at again.
    pub fn warnings(&self) -> Vec<String> {
        about::warnings(self.surveys.iter().map(|one| &one.bundle), self.config.operator_listen)
    }

    /// Keeps the surveys of this name, and no others, for `reset`.
    pub fn select(&mut self, name: &str) -> Result<()> {
        let name_of = |one: &SurveySetup| one.bundle.survey().survey().name.clone();
        let names: Vec<String> = self.surveys.iter().map(name_of).collect();
        self.surveys.retain(|one| name_of(one) == name);
        let damages = std::mem::take(&mut self.damages);
        if self.surveys.is_empty() {
            // It may be one that cannot be read.
            Damage::none(damages)?;
            bail!(Invalid, "there is no survey {name} here, but {}", names.join(", "));
        }
        Ok(())
    }

    /// Gives up what every hop has not released yet, the current epoch included, and makes layer keys that begin with the
    /// next one. Nothing is stated about what is given up: whoever restores a hop from a copy cannot know what it has
    /// stated since. Batches that are released stay until they are taken. Besides them only the identity and the journal
    /// are kept. Only these have to be readable, the journal as far as it is whole.
    pub fn reset(mut self) -> Result<()> {
        Damage::none(std::mem::take(&mut self.damages))?;
        private_dir::create(&self.config.data, Outsiders::Strangers)?;
        for survey in self.surveys.drain(..) {
            // Nothing is opened, and nothing is stated about epochs that the old keys were for.
            let (hop, data) =
                survey.hop_config(&self.config, &self.party, (LayerKeys::new(), Digest::NONE))?;
            let mut backend = self.backend.open(&survey.site(&data, &hop.signing))?;
            let Some(LeaderFiles { store, mark }) = backend.lead()? else {
                bail!(Invalid, "another replica leads this hop: stop all of them before a reset");
            };
            let hop = Hop::reset(hop, store, mark, SystemClock.now_s())?;
            let published = survey
                .bundle
                .key_lists()
                .iter()
                .filter(|list| list.party == hop.place())
                .max_by_key(|list| list.serial);
            let named = hop.survey().survey();
            let next = named.epoch_at(SystemClock.now_s()) + 1;
            let signer = Signer::new(&self.party, named, hop.place())?;
            signer.renew(survey.keys.dir(), published, next, Schedule::of(named), &mut system_rng()?)?;
        }
        Ok(())
    }

    /// Serves until `shutdown` is over. `ready` is called with the address once requests are answered.
    pub async fn serve(
        self,
        log: &Log,
        shutdown: impl Future<Output = ()>,
        ready: impl FnOnce(&str),
    ) -> Result<()> {
        self.warnings()
            .into_iter()
            .for_each(|warning| log.warn("warning").reason(Reason::Warning(warning)).write());
        let Self { config, party, surveys, mut damages, backend } = self;
        private_dir::create(&config.data, Outsiders::Strangers)?;
        let vitals = Vitals::new();
        let port = OperatorPort::open(config.operator_listen, &vitals, Router::new()).await?;
        // Keys are not copied around in memory, but read where they are needed.
        let identity = Party::read(&config.identity)?.into_identity();
        let client = Client::new(Some(identity), client::Limits::default());
        let (mut served, mut workers) = (Vec::new(), Vec::new());
        for survey in surveys {
            let (file, place) = (survey.file.clone(), survey.place());
            match survey.start((&config, &*backend), &party, client.clone(), log, &vitals) {
                Ok((running, worker)) => {
                    served.push(running);
                    workers.push(worker);
                }
                Err(error) => damages.push(Damage::new(&file, place, error)),
            }
        }
        // Others run, whatever became of one of them.
        if served.is_empty() {
            return Damage::none(damages);
        }
        damages.iter().for_each(|damage| damage.tell(log, &vitals));
        let transport = if config.plain_http { Transport::Plain } else { Transport::Tls(party.identity()) };
        // Only first hops take bodies as a whole; batches are read in parts.
        let body_len = |one: &HopServer| {
            let hop = one.hop.now();
            hop.layout().body_len(hop.layout().envelopes())
        };
        let longest = served.iter().filter(|one| one.number == 1).map(body_len).max();
        let connections = config.connections_for(longest.unwrap_or(0));
        // Without room for files nothing is stored, whoever is connected.
        let files = open_files::allow((connections + OPEN_FILES) as u64).saturating_sub(OPEN_FILES as u64);
        let connections_max = connections.min(usize::try_from(files).unwrap_or(usize::MAX)).max(1);
        if connections_max < connections {
            log.warn("warning").reason(Reason::OpenFiles).write();
        }
        let limits =
            Limits { connections_max, requests_per_s_max: config.requests_per_s_max, ..Limits::default() };
        let server = Server::bind(config.listen, transport, limits).await?;
        vitals.data(&config.data);
        vitals.server(&server);
        vitals.memory_limit(config.memory_mib << 20);
        let scheme = if config.plain_http { "http" } else { "https" };
        let url = format!("{scheme}://{}", server.address()?);
        vitals.start();
        log.info("serving").write();
        ready(&url);
        let stopping = async {
            shutdown.await;
            vitals.stop();
            log.info("stopping").write();
        };
        let hops: Vec<CurrentHop> = served.iter().map(|one: &HopServer| one.hop.clone()).collect();
        let served = Arc::new(ShufflerState { running: served, damages });
        let uploads = handlers::Uploads(Arc::clone(&served));
        server.serve_with(uploads, handlers::router(served), stopping).await?;
        // What a worker is in the middle of it does again, with the same result, at the next start: but let it finish.
        for (stop, worker) in workers {
            drop(stop);
            tokio::task::spawn_blocking(move || worker.join())
                .await?
                .map_err(|_| Error::Panicked("a hop's own thread panicked"))?;
        }
        tokio::task::spawn_blocking(move || hops.iter().try_for_each(|hop| hop.now().sync())).await??;
        port.close().await?;
        log.info("stopped").write();
        Ok(())
    }
}

/// A hop's own thread, which ends when the sender is gone.
type WorkerThread = (mpsc::Sender<()>, JoinHandle<()>);

/// What a server answers for.
struct ShufflerState {
    running: Vec<HopServer>,
    damages: Vec<Damage>,
}

/// A hop that answers requests.
struct HopServer {
    hop: CurrentHop,
    survey: SurveyHash,
    intake: GroupCommit,
    credentials: Option<CredentialList>,
    peers: SharedPeers,
    /// Without TLS.
    plain: bool,
    instance: u32,
    number: u32,
    log: Log,
    /// When its log last said that a request failed.
    seldom: LogThrottle,
    handed_on: Counter,
    /// When it began, by two clocks.
    started: (Instant, u64),
}

impl SurveySetup {
    fn new(config: &SurveyConfig, shuffler: &ShufflerConfig, party: &Party) -> Result<Self> {
        let Place::Hop { instance, hop } = config.place else {
            bail!(Invalid, "a shuffler's place is a hop, for example instance-1-hop-1");
        };
        let (public, bundle) = SurveyFiles::read(&config.survey)?;
        let survey = bundle.survey().survey();
        let pinned = survey
            .party(config.place)
            .ok_or_else(|| Error::invalid(format!("the survey has no {}", config.place)))?;
        ensure!(
            pinned.signing_key == party.signing_key().public(),
            Invalid,
            "the survey pins another signing key for {} than the identity has",
            config.place
        );
        let own = bundle.address(config.place)?;
        ensure!(
            own.url.starts_with("https://") != shuffler.plain_http,
            Invalid,
            "the address {} does not fit plain_http = {}",
            own.url,
            shuffler.plain_http
        );
        ensure!(
            own.certificate.is_none_or(|certificate| certificate == party.identity().digest()),
            Invalid,
            "the address names another certificate than the identity has: sign it with `throng keygen address`"
        );
        let peers = Peers::of(&bundle, (instance, hop), shuffler.plain_http)?;
        ensure!(
            bundle.key_list_digest(Place::Analyzer).is_some(),
            Invalid,
            "there is no key list of the analyzer: add what it signed to the .keys file beside the survey"
        );
        let credentials = match (&config.credentials, hop, survey.crowd.enrolment) {
            (Some(path), 1, Enrolment::Credential) => {
                let text = private_file::read_own(path)?;
                Some(CredentialList::from_file(&text).with_context(|| format!("in {}", path.display()))?)
            }
            (None, 1, Enrolment::Credential) => {
                bail!(Invalid, "credentials are missing: the list of who may answer")
            }
            (Some(_), ..) => {
                bail!(Invalid, "credentials belong to a first hop of a survey without open enrolment")
            }
            (None, ..) => None,
        };
        let rule = crowd_rule(survey)?;
        let keys = LayerKeyFiles::new(config.keys.as_ref().unwrap_or(&shuffler.identity));
        ensure_writable(keys.dir()).context("layer keys are erased once their epochs are over")?;
        let mark = config.mark.as_deref().unwrap_or(keys.dir());
        ensure_writable(mark).context("the mark of the journal is written with every step")?;
        let mark = mark.join(format!("{}-{}.mark", bundle.survey().hash(), config.place));
        let file = config.survey.clone();
        Ok(Self { file, instance, hop, rule, keys, mark, credentials, peers, bundle, public })
    }

    fn place(&self) -> Place {
        Place::Hop { instance: self.instance, hop: self.hop }
    }

    fn key(&self) -> (SurveyHash, u32) {
        (self.bundle.survey().hash(), self.instance)
    }

    /// Its layer keys and the hash of the list that says so, or that they are not as they should be.
    fn layer_keys(&mut self) -> Result<(LayerKeys, Digest)> {
        let (survey, place) = (self.bundle.survey(), self.place());
        self.keys.read(survey, place, survey.survey().epoch_at(SystemClock.now_s()))
    }

    fn read_keys(&mut self) -> Result<()> {
        self.layer_keys().map(drop)
    }

    /// Which hop it is, for the backend.
    fn site<'a>(&'a self, data: &'a Path, signing: &'a SigningKey) -> HopSite<'a> {
        HopSite { survey: self.bundle.survey(), place: self.place(), signing, data, mark: &self.mark }
    }

    /// What the hop is told, and where its data is.
    fn hop_config(
        &self,
        config: &ShufflerConfig,
        party: &Party,
        (keys, key_list): (LayerKeys, Digest),
    ) -> Result<(HopConfig, PathBuf)> {
        let survey = self.bundle.survey().clone();
        let data = config.data.join(format!("{}-{}", survey.hash(), self.place()));
        let hop = HopConfig {
            instance: self.instance,
            hop: self.hop,
            rule: self.rule,
            signing: SigningKey::from_file(&party.signing_key().to_file())?,
            keys,
            key_list,
            memory: config.memory_each(),
            survey,
        };
        Ok((hop, data))
    }

    /// Opens the hop as the server would, on files that it cannot change, and reads what it would read later.
    fn check(&mut self, (config, backend): (&ShufflerConfig, &dyn Backend), party: &Party) -> Result<()> {
        for again in (0..CHECKS).rev() {
            let keys = self.layer_keys()?;
            let (hop, data) = self.hop_config(config, party, keys)?;
            let checked = backend.shadow(&self.site(&data, &hop.signing))?.open(hop);
            let checked = checked.and_then(|hop| hop.check_files());
            match checked {
                Ok(()) => return Ok(()),
                // A server that runs may have taken a step meanwhile: what is damaged stays so.
                Err(_) if again > 0 => thread::sleep(CHECK_PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn name_analyzer_key_list(&self, hop: &Hop) {
        hop.set_analyzer_key_list(self.bundle.key_list_digest(Place::Analyzer).unwrap_or(Digest::NONE));
    }

    fn start(
        mut self,
        (config, backend): (&ShufflerConfig, &dyn Backend),
        party: &Party,
        client: Client,
        log: &Log,
        vitals: &Vitals,
    ) -> Result<(HopServer, WorkerThread)> {
        let (instance, number) = (self.instance, self.hop);
        let keys = self.layer_keys()?;
        let (hop, data) = self.hop_config(config, party, keys)?;
        let mut backend = backend.open(&self.site(&data, &hop.signing))?;
        let terms = HopTerms::of(&hop, &config.identity);
        let hop = Arc::new(open_hop(&mut *backend, hop)?);
        self.name_analyzer_key_list(&hop);
        let current = CurrentHop::from(Arc::clone(&hop));
        let Self { keys, credentials, peers, bundle, public, .. } = self;
        let peers = SharedPeers::new(peers);
        let (place, survey) = (hop.place().to_string(), unique_name(hop.survey()));
        let log = log.of(&place, &hop.survey().survey().name);
        hop.cuts().into_iter().for_each(|cut| tell_cut(&log, cut));
        let counts = Counts::new(vitals, &place, &survey);
        let handed_on = counts.handed_on.clone();
        let intake = GroupCommit::start(current.clone())?;
        watch((&hop, &current), &intake, vitals);
        let started = (Instant::now(), SystemClock.now_s());
        let work_loop =
            WorkLoop::new(vitals.worker(&place, &survey), counts.failures.clone(), log.clone(), None);
        let worker = HopWorker {
            hop: Arc::clone(&hop),
            current: current.clone(),
            backend,
            terms,
            keys,
            peers: peers.clone(),
            plain: config.plain_http,
            bundle,
            public,
            client,
            handle: Handle::current(),
            work_loop,
            asked: false,
            looked: None,
            patience: Duration::from_secs(config.neighbours_wait_s),
            log: log.clone(),
            counts,
        };
        let (stop, stopped) = mpsc::channel();
        let name = format!("{instance}-{number}");
        let thread = thread::Builder::new().name(name).spawn(move || work_loop::run(worker, &stopped));
        let (plain, seldom) = (config.plain_http, LogThrottle::default());
        let running = HopServer {
            hop: current,
            survey: hop.survey().hash(),
            intake,
            credentials,
            peers,
            plain,
            instance,
            number,
            log,
            seldom,
            handed_on,
            started,
        };
        Ok((running, (stop, thread.context("no thread for a hop")?)))
    }
}

/// What a hop is told, but for keys: they are read where they are needed, and not copied around in memory.
struct HopTerms {
    survey: SignedSurvey,
    place: (u32, u32),
    rule: CrowdRule,
    memory: usize,
    identity: PathBuf,
}

impl HopTerms {
    fn of(hop: &HopConfig, identity: &Path) -> Self {
        let HopConfig { survey, instance, hop, rule, memory, .. } = hop;
        let (survey, place) = (survey.clone(), (*instance, *hop));
        Self { survey, place, rule: *rule, memory: *memory, identity: identity.to_owned() }
    }

    /// The same again, with these layer keys.
    fn config(&self, (keys, key_list): (LayerKeys, Digest)) -> Result<HopConfig> {
        let signing = SigningKey::from_file(&Party::read(&self.identity)?.signing_key().to_file())?;
        let (survey, rule, memory) = (self.survey.clone(), self.rule, self.memory);
        let (instance, hop) = self.place;
        Ok(HopConfig { survey, instance, hop, rule, signing, keys, key_list, memory })
    }
}

/// Opens a hop to lead, or to follow whoever does.
fn open_hop(backend: &mut dyn HopBackend, config: HopConfig) -> Result<Hop> {
    let hop = match backend.lead()? {
        Some(LeaderFiles { store, mark }) => Hop::open(config, store, mark, SystemClock.now_s())?,
        None => Hop::follow(config, backend.follow()?)?,
    };
    Ok(match backend.engine() {
        Some(engine) => hop.with_engine(engine),
        None => hop,
    })
}

/// A file whose end was cut off when it was opened. How long that was would tell of uploads.
fn tell_cut(log: &Log, cut: Cut) {
    let entry = log.warn("tail-cut");
    match cut {
        Cut::Journal => entry.reason(Reason::JournalCut),
        Cut::Uploads(channel) => entry.epoch(channel.epoch).label(channel.label).reason(Reason::UploadsCut),
    }
    .write();
}
/// How often files are read before they are said to be damaged, and the pause between.
const CHECKS: u32 = 3;
const CHECK_PAUSE: Duration = Duration::from_millis(200);

/// Files that a shuffler has open besides its connections, at most about.
const OPEN_FILES: usize = 128;

/// What a hop's operator watches beside its worker.
fn watch((hop, current): (&Hop, &CurrentHop), intake: &GroupCommit, vitals: &Vitals) {
    let (place, survey) = (hop.place().to_string(), unique_name(hop.survey()));
    let whose = [("party", place.as_str()), ("survey", survey.as_str())];
    let keys_left = {
        let current = current.clone();
        move || {
            let hop = current.now();
            hop.key_epochs_from(hop.survey().survey().epoch_at(SystemClock.now_s()))
        }
    };
    let (left, name) = (keys_left.clone(), place.clone());
    vitals.condition_of("keys", (&place, &survey), move || {
        let advice = "add some with `throng keygen rotate`, and give the signed list to everyone";
        (left() < 2).then(|| format!("{name} has no layer keys for this epoch and the next: {advice}"))
    });
    let help = "Epochs that there are layer keys for, this one included.";
    vitals.gauge("throng_key_epochs_left", help, &whose, move || Some(keys_left() as f64));
    let current = current.clone();
    let help = "Batches that wait for the next hop or the analyzer.";
    vitals.gauge("throng_batches_waiting", help, &whose, move || Some(current.now().waiting().len() as f64));
    // A clone would keep the thread that writes alive.
    let intake = intake.downgrade();
    let name = place.clone();
    vitals.condition_of("intake", (&place, &survey), move || {
        (!intake.is_alive())
            .then(|| format!("the thread that writes for {name} has ended: start the server again"))
    });
}

/// What an epoch of a survey needs. Labelled crowds are thinned before they are counted.
pub fn crowd_rule(survey: &Survey) -> Result<CrowdRule> {
    let deletion = survey.labels.as_ref().map(|labels| {
        let (epsilon, delta) = (Epsilon::new(labels.epsilon_deletion)?, Delta::new(labels.delta_deletion)?);
        Ok::<_, Error>(Deletion::new(epsilon, delta)?.noise()?)
    });
    Ok(CrowdRule::new(survey.crowd.respondents_min, deletion.transpose()?))
}
