//! What a hop does by itself: the tick, the shuffle, handing on, and erasing keys.

use std::io::{Cursor, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::task::{Context as Poller, Poll};
use std::time::{Duration, Instant};

use hyper::{HeaderMap, Method};
use throng_shuffle::{Channel, Hop, HopConfig};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Address, Digest, EpochStatement, Outcome, Place, Route, Signed};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;

use super::backend::{HopBackend, LeaderFiles};
use super::{CurrentHop, HopTerms, Peers, SharedPeers};
use crate::error::{Context, Error, Result};
use crate::operate::layer_keys::LayerKeyFiles;
use crate::operate::log::Log;
use crate::operate::reasons::{self, Reason};
use crate::operate::survey_files::SurveyFiles;
use crate::operate::vitals::{Counter, Vitals};
use crate::operate::work_loop::{Failures, Kind, WorkLoop, Worker};
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::ensure;
use throng_host::entropy::system_rng;
use throng_host::net::client::Client;
use throng_host::net::{OutgoingBody, paths};

/// A hop's own thread.
pub(super) struct HopWorker {
    pub(super) hop: Arc<Hop>,
    /// The same, for whoever answers requests.
    pub(super) current: CurrentHop,
    pub(super) backend: Box<dyn HopBackend>,
    pub(super) terms: HopTerms,
    pub(super) keys: LayerKeyFiles,
    /// The survey's files, and who is beside this hop by them.
    pub(super) bundle: Bundle,
    pub(super) public: SurveyFiles,
    pub(super) peers: SharedPeers,
    /// Without TLS.
    pub(super) plain: bool,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) work_loop: WorkLoop<Work>,
    /// Whether the next hop has said what it has of this hop's statements.
    pub(super) asked: bool,
    /// For how long it waits for that.
    pub(super) patience: Duration,
    /// When a replica that follows last looked whether somebody leads.
    pub(super) looked: Option<Instant>,
    pub(super) log: Log,
    pub(super) counts: Counts,
}

/// What a hop has done since it started. An epoch is counted once for each label.
#[derive(Clone)]
pub(super) struct Counts {
    released: Counter,
    destroyed: Counter,
    pub(super) handed_on: Counter,
    erased: Counter,
    pub(super) failures: Failures<Work>,
}

impl Counts {
    pub(super) fn new(vitals: &Vitals, party: &str, survey: &str) -> Self {
        let whose = [("party", party), ("survey", survey)];
        let epoch = |outcome| {
            let help = "Epochs that were decided since the start, once for each label.";
            vitals.counter("throng_epochs", help, &[whose[0], whose[1], ("outcome", outcome)])
        };
        let handed_on = "Batches that the next hop or the analyzer has acknowledged since the start.";
        let erased = "Batches that nobody took in the time that the survey gives, and that were erased, since the start.";
        Self {
            released: epoch("released"),
            destroyed: epoch("destroyed"),
            handed_on: vitals.counter("throng_batches_handed_on", handed_on, &whose),
            erased: vitals.counter("throng_batches_erased", erased, &whose),
            failures: Failures::new(vitals, whose),
        }
    }
}

/// What a hop does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Clock,
    Lead,
    Close,
    Shuffle,
    HandOn,
    Erase,
    Keys,
    Neighbours,
}

impl Kind for Work {
    const ALL: &'static [Self] = &[
        Self::Clock,
        Self::Lead,
        Self::Close,
        Self::Shuffle,
        Self::HandOn,
        Self::Erase,
        Self::Keys,
        Self::Neighbours,
    ];
    const CLOCK: Self = Self::Clock;

    fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Lead => "lead",
            Self::Close => "close",
            Self::Shuffle => "shuffle",
            Self::HandOn => "hand-on",
            Self::Erase => "erase",
            Self::Keys => "keys",
            Self::Neighbours => "neighbours",
        }
    }

    /// A next hop that is away is no reason to send respondents away, too.
    fn is_own(self) -> bool {
        !matches!(self, Self::HandOn | Self::Neighbours)
    }
}

impl Worker for HopWorker {
    type Kind = Work;

    const CLOCK_JUMPED: &'static str =
        "the clock has jumped ahead: nothing is closed; set it right, or start again";

    fn work_loop(&mut self) -> &mut WorkLoop<Work> {
        &mut self.work_loop
    }

    fn pause(&self) -> Duration {
        PAUSE
    }

    fn round(&mut self, _stop: &Receiver<()>) {
        let to_look = !self.backend.leads() || !self.hop.leads();
        if to_look
            && self.work_loop.is_due(Work::Lead, None)
            && self.looked.is_none_or(|at| at.elapsed() >= LOOK)
        {
            self.looked = Some(Instant::now());
            let led = self.take_over_or_follow();
            self.work_loop.note(Work::Lead, None, led);
        }
        if !self.hop.leads() {
            return self.refresh();
        }
        self.ask_neighbours();
        let contradicted = self.hop.contradiction();
        if contradicted.is_err() {
            return self.work_loop.note(Work::Close, None, contradicted.map_err(Into::into));
        }
        if !self.asked && !self.hop.is_new() && self.work_loop.elapsed() < self.patience {
            return;
        }
        let closed = system_rng().map_err(Into::into).and_then(|mut rng| {
            self.hop.close_due(SystemClock.now_s())?;
            Ok(self.hop.open_due(SystemClock.now_s(), &mut rng)?)
        });
        self.work_loop.note(Work::Close, None, closed);
        for channel in self.hop.undecided() {
            if self.work_loop.is_due(Work::Shuffle, Some(channel)) {
                let shuffled = self.shuffle(channel);
                self.work_loop.note(Work::Shuffle, Some(channel), shuffled);
            }
        }
        // The last hop's analyzer comes for its batches.
        let next = self.peers.now().after;
        let waiting = if next.party == Place::Analyzer { Vec::new() } else { self.hop.waiting() };
        for channel in waiting {
            if self.work_loop.is_due(Work::HandOn, Some(channel)) {
                let handed = self.hand_on(&next, channel);
                self.work_loop.note(Work::HandOn, Some(channel), handed);
            }
        }
        let erased = self.erase_late();
        self.work_loop.note(Work::Erase, None, erased);
        self.refresh();
    }
}

impl HopWorker {
    /// Takes over where nobody leads; follows whoever does.
    fn take_over_or_follow(&mut self) -> Result<()> {
        if !self.hop.leads() {
            self.hop.refresh()?;
            let Some(LeaderFiles { store, mark }) = self.backend.lead()? else { return Ok(()) };
            let hop = Hop::open(self.config()?, store, mark, SystemClock.now_s())?;
            self.log.info("leading").write();
            self.exchange(hop);
        } else if !self.backend.leads() {
            let hop = Hop::follow(self.config()?, self.backend.follow()?)?;
            self.log.info("following").write();
            self.exchange(hop);
        }
        Ok(())
    }

    /// The hop's settings, with the keys as they are now.
    fn config(&mut self) -> Result<HopConfig> {
        let (survey, place) = (self.hop.survey(), self.hop.place());
        let keys = self.keys.read(survey, place, survey.survey().epoch_at(SystemClock.now_s()))?;
        self.terms.config(keys)
    }

    fn exchange(&mut self, hop: Hop) {
        let hop = match self.backend.engine() {
            Some(engine) => hop.with_engine(engine),
            None => hop,
        };
        if let Some(list) = self.bundle.key_list_digest(Place::Analyzer) {
            hop.set_analyzer_key_list(list);
        }
        self.hop = Arc::new(hop);
        self.current.replace(Arc::clone(&self.hop));
        // What the next hop has of its statements is asked again by whoever leads, and what has failed is no longer this one's.
        self.asked = false;
        self.work_loop.forget();
    }

    /// Takes over what has changed on disk.
    fn refresh(&mut self) {
        let refreshed = self.refresh_keys().and(self.refresh_survey());
        self.work_loop.note(Work::Keys, None, refreshed);
    }

    fn shuffle(&self, channel: Channel) -> Result<()> {
        self.hop.process(channel)?;
        let statement = self.hop.statement(channel).map_err(throng_shuffle::Error::from)?;
        let (outcome, count) = match statement.claimed().outcome {
            Outcome::Released { .. } => ("released", &self.counts.released),
            Outcome::Destroyed => ("destroyed", &self.counts.destroyed),
        };
        count.add();
        self.log.info("epoch-decided").epoch(channel.epoch).label(channel.label).outcome(outcome).write();
        Ok(())
    }

    /// Erases what the next party has not come for in time.
    fn erase_late(&self) -> Result<()> {
        for Channel { label, epoch } in self.hop.expire_due(SystemClock.now_s())? {
            self.counts.erased.add();
            self.log.warn("batch-erased").epoch(epoch).label(label).reason(Reason::NotTaken).write();
        }
        Ok(())
    }

    fn refresh_keys(&mut self) -> Result<()> {
        let now = SystemClock.now_s();
        let (survey, oldest) = (self.hop.survey(), self.hop.oldest_epoch(now, GRACE_EPOCHS));
        let expired = self.hop.has_keys_before(oldest).then_some(oldest);
        let epoch = survey.survey().epoch_at(now);
        if let Some((keys, list)) = self.keys.refresh(survey, self.hop.place(), expired, epoch)? {
            self.hop.set_keys(keys, list);
        }
        self.backend.forget_before(oldest)
    }

    /// Takes over other parties' addresses and the analyzer's key list, when there are new ones.
    fn refresh_survey(&mut self) -> Result<()> {
        let epoch = self.hop.survey().survey().epoch_at(SystemClock.now_s());
        // What cannot be used is not taken over, and said again the next time.
        let mut public = self.public.clone();
        if let Some(bundle) = public.refresh(&self.bundle, epoch)? {
            self.peers.set(Peers::of(&bundle, self.path_place(), self.plain)?);
            if let Some(list) = bundle.key_list_digest(Place::Analyzer) {
                self.hop.set_analyzer_key_list(list);
            }
            (self.bundle, self.public) = (bundle, public);
        }
        Ok(())
    }

    /// Asks the next hop, once, which statements of this one it has, before anything is closed or signed. That is how a hop
    /// finds out whose keys, data and mark were restored together. A next hop that cannot be reached is waited for, and
    /// then asked again and again beside the work.
    fn ask_neighbours(&mut self) {
        let next = self.peers.now().after;
        // An analyzer answers nobody; it takes no second batch of an epoch.
        self.asked |= next.party == Place::Analyzer;
        if self.asked || !self.work_loop.is_due(Work::Neighbours, None) {
            return;
        }
        let told = self.ask(&next);
        self.asked = told.is_ok();
        self.work_loop.note(Work::Neighbours, None, told);
    }

    fn ask(&self, next: &Address) -> Result<()> {
        let (instance, _) = self.path_place();
        let path = paths::seen(self.hop.survey().hash(), instance);
        let sent = self.handle.block_on(async {
            let body = OutgoingBody::bytes(Vec::new());
            let reply = self.client.request(next, Method::GET, &path, HeaderMap::new(), body).await?;
            Ok(match reply.status.is_success() {
                true => Ok(reply.bytes().await?),
                false => Err(reply.problem().await?),
            })
        });
        let answer = reasons::answer(next, sent)?;
        let told: Result<Vec<_>, _> = answer.chunks(STATEMENT_LEN).map(Signed::from_bytes).collect();
        let told: Vec<Signed<EpochStatement>> = told.context("the next hop answered something else")?;
        Ok(self.hop.compare(&told)?)
    }

    /// Sends a batch to the next hop, and erases it when that has it.
    fn hand_on(&self, next: &Address, channel: Channel) -> Result<()> {
        let batch = self.hop.outgoing(channel)?;
        let expected = batch.manifest.digest;
        let (body, len) = wire_batch(batch);
        let route = self.route(channel);
        let sent = self.handle.block_on(async {
            let body = OutgoingBody::reader(BlockingReader(body), len);
            let path = paths::path(&route, "batch");
            let reply = self.client.request(next, Method::PUT, &path, HeaderMap::new(), body).await?;
            Ok(match reply.status.is_success() {
                true => Ok(reply.bytes().await?),
                false => Err(reply.problem().await?),
            })
        });
        if let Ok(Err(problem)) = &sent
            && problem.name == "before"
        {
            // It never states anything about this epoch: it began later, or was reset. The batch is of no use to anybody.
            self.hop.acknowledge(channel, expected)?;
            let entry = self.log.warn("batch-refused").epoch(channel.epoch).label(channel.label);
            entry.reason(Reason::BeforeNext).write();
            return Ok(());
        }
        let answer = reasons::answer(next, sent)?;
        let acknowledged: [u8; 32] =
            answer.try_into().map_err(|_| Error::invalid("the next hop acknowledged something else"))?;
        ensure!(Digest::new(acknowledged) == expected, Invalid, "the next hop acknowledged another batch");
        self.hop.acknowledge(channel, expected)?;
        self.counts.handed_on.add();
        self.log.info("batch-handed-on").epoch(channel.epoch).label(channel.label).write();
        Ok(())
    }

    /// Which instance, and which hop of it.
    fn path_place(&self) -> (u32, u32) {
        match self.hop.place() {
            Place::Hop { instance, hop } => (instance, hop),
            Place::Analyzer => (0, 0),
        }
    }

    fn route(&self, channel: Channel) -> Route {
        let (instance, _) = self.path_place();
        Route { survey: self.hop.survey().hash(), label: channel.label, epoch: channel.epoch, instance }
    }
}

/// A batch as it travels: the statements, the number of records, then the records; and how many bytes that is.
pub(super) fn wire_batch(batch: throng_shuffle::OutgoingBatch) -> (Box<dyn Read + Send>, u64) {
    let mut head: Vec<u8> = batch.statements.iter().flat_map(|one| one.to_bytes()).collect();
    head.extend(batch.count.to_bytes());
    let len = head.len() as u64 + batch.len;
    (Box::new(Cursor::new(head).chain(batch.records)), len)
}

/// Reads a file where the runtime expects to wait for a socket. Parts are small and mostly in the page cache, and batches
/// are few: a thread of their own would cost more than it saves.
pub(super) struct BlockingReader(pub(super) Box<dyn Read + Send>);

impl AsyncRead for BlockingReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Poller<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled())?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

/// How often a replica that follows looks whether somebody leads, and reads the journal again.
const LOOK: Duration = Duration::from_millis(500);

/// How often the clock is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a later hop keeps keys for batches that have not come.
const GRACE_EPOCHS: u64 = 2;
