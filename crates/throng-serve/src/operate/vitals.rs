//! Readiness and metrics of a server, for its operator: whether it can do its work, and a few numbers about it.
//!
//! What is here leaves the process, so it tells nothing about respondents. **No number depends on one person more or less**:
//! uploads are not counted, neither those that were taken nor those that were refused. Rounding would not help. A number
//! that is rounded down to a power of two still changes with one upload, the one that completes the power, and whoever
//! can send a few can bring it there. Requests for statements, connections, processor time and memory in use are left
//! out for the same reason. What is counted is what a party does as such, once for an epoch and label, and says in its
//! public statements anyway.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::directory;
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::Server;

/// Readiness and metrics that a server's operator can ask for. Clones share them.
#[derive(Clone)]
pub struct Vitals(Arc<VitalsState>);

#[derive(Default)]
struct VitalsState {
    conditions: Mutex<Vec<Condition>>,
    families: Mutex<Vec<Family>>,
    /// Surveys that are not served, while others are: what each is called, and what is wrong.
    damaged: Mutex<Vec<(String, String)>>,
    started: AtomicBool,
    stopping: AtomicBool,
}

struct Condition {
    name: String,
    /// A party's place and the survey, where it is about one survey; nothing where it is about the whole server.
    whose: Option<(String, String)>,
    /// What is wrong, if something is.
    wrong: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// All samples of one name.
struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Info,
}

struct Sample {
    labels: String,
    value: Box<dyn Fn() -> Option<f64> + Send + Sync>,
}

impl Default for Vitals {
    fn default() -> Self {
        Self::new()
    }
}

impl Vitals {
    /// The vitals of a process that starts now.
    pub fn new() -> Self {
        let vitals = Self(Arc::default());
        let started_s = SystemClock.now_s() as f64;
        vitals.gauge(
            "process_start_time_seconds",
            "When this process began, in seconds since 1970.",
            &[],
            move || Some(started_s),
        );
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        vitals.sample("throng_build", Kind::Info, "Which program this is.", &version, Box::new(|| Some(1.0)));
        vitals
    }

    /// Something that has to be right for the server to be ready: `wrong` says what is not, without counts or addresses.
    pub fn condition(
        &self,
        name: impl Into<String>,
        wrong: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) {
        lock(&self.0.conditions).push(Condition { name: name.into(), whose: None, wrong: Box::new(wrong) });
    }

    /// The same for what a party needs in one survey: the server is ready for as long as all is right in another.
    pub fn condition_of(
        &self,
        what: &str,
        (party, survey): (&str, &str),
        wrong: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) {
        let (name, whose) = (format!("{what} of {party} in {survey}"), Some((party.into(), survey.into())));
        lock(&self.0.conditions).push(Condition { name, whose, wrong: Box::new(wrong) });
    }

    /// A number that only grows, by what this party does. The exposition adds `_total` to its name.
    pub fn counter(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)]) -> Counter {
        let counter = Counter::default();
        let value = counter.clone();
        let value = move || Some(value.0.load(Ordering::Relaxed) as f64);
        self.sample(name, Kind::Counter, help, labels, Box::new(value));
        counter
    }

    /// A number that goes up and down; left out while there is none.
    pub fn gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: impl Fn() -> Option<f64> + Send + Sync + 'static,
    ) {
        self.sample(name, Kind::Gauge, help, labels, Box::new(value));
    }

    /// The heartbeat of a thread that does a party's own work in one survey. All is right there while it lives and nothing
    /// that it tries fails.
    pub fn worker(&self, party: &str, survey: &str) -> Pulse {
        let pulse = Pulse(Arc::new(Beats::default()));
        let (beats, name) = (pulse.0.clone(), party.to_owned());
        self.condition_of("worker", (party, survey), move || {
            if beats.ended.load(Ordering::Relaxed) {
                return Some(format!("the thread of {name} has ended: start the server again"));
            }
            let failing = lock(&beats.failing);
            let failing: Vec<&str> = failing.iter().copied().collect();
            let failing = (!failing.is_empty()).then(|| failing.join(", "));
            failing.map(|works| format!("{name} fails at {works}: its log says why"))
        });
        let beats = pulse.0.clone();
        self.gauge(
            "throng_worker_round_age_seconds",
            "Seconds since the worker of a party last did all that was due, without a failure.",
            &[("party", party), ("survey", survey)],
            move || lock(&beats.round).map(|round| round.elapsed().as_secs() as f64),
        );
        pulse
    }

    /// The directory for what must not be lost: whether it can be written. How much room there is changes with what was
    /// sent, and is not told.
    pub fn data(&self, directory: &Path) {
        let path: PathBuf = directory.to_owned();
        self.condition("data", move || {
            let probed = directory::probe(&path);
            probed.err().map(|error| format!("the data directory cannot be written: {}", error.kind()))
        });
    }

    /// Whether the limit for all requests together was reached: not how often, since each time is a request.
    pub fn server(&self, server: &Server) {
        let rate = Arc::clone(server.rate());
        self.gauge(
            "throng_overloaded",
            "1 if requests beyond requests_per_s_max were refused within the last minute.",
            &[],
            move || Some(if rate.has_refused_within(OVERLOADED) { 1.0 } else { 0.0 }),
        );
    }

    /// About how much memory the server may use, as its file says.
    pub fn memory_limit(&self, bytes: u64) {
        let help = "About how much memory this server may use.";
        self.gauge("throng_memory_limit_bytes", help, &[], move || Some(bytes as f64));
    }

    /// A survey that is not served, while another is: the server is ready for the other, and says so.
    pub fn damaged(&self, name: impl Into<String>, wrong: impl Into<String>) {
        lock(&self.0.damaged).push((name.into(), wrong.into()));
    }

    /// From now on the server answers requests; before that it is not ready.
    pub fn start(&self) {
        self.0.started.store(true, Ordering::Relaxed);
    }

    /// From now on the server is not ready: it is about to stop.
    pub fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    /// How the server is. It may touch the disk.
    pub fn readiness(&self) -> Readiness {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let passing = match (is_set(&self.0.stopping), is_set(&self.0.started)) {
            (true, _) => Some("the server is about to stop"),
            (false, false) => Some("the server is about to start"),
            (false, true) => None,
        };
        if let Some(passing) = passing {
            return Readiness { ready: false, wrong: vec![passing.into()] };
        }
        let (mut ready, mut wrong) = (true, Vec::new());
        let (mut surveys, mut ill) = (BTreeSet::new(), BTreeSet::new());
        for condition in lock(&self.0.conditions).iter() {
            surveys.extend(condition.whose.clone());
            let Some(found) = (condition.wrong)() else { continue };
            match &condition.whose {
                Some(whose) => {
                    wrong.push(format!("in {}, {found}", whose.1));
                    ill.insert(whose.clone());
                }
                None => {
                    wrong.push(found);
                    ready = false;
                }
            }
        }
        wrong.extend(lock(&self.0.damaged).iter().map(|(_, found)| found.clone()));
        // Whoever decides by this leaves a server in peace that does its work in one of its surveys.
        let none_is_well = !surveys.is_empty() && ill.len() == surveys.len();
        Readiness { ready: ready && !none_is_well, wrong }
    }

    /// All numbers, as OpenMetrics 1.0 has them. It may touch the disk.
    pub fn open_metrics(&self) -> String {
        let mut text = String::new();
        for family in lock(&self.0.families).iter() {
            let (kind, suffix) = family.kind.names();
            head(&mut text, family.name, kind, family.help);
            for sample in &family.samples {
                if let Some(value) = (sample.value)() {
                    line(&mut text, &format!("{}{suffix}", family.name), &sample.labels, value);
                }
            }
        }
        head(&mut text, "throng_ready", "gauge", "Whether a condition of being ready holds.");
        for condition in lock(&self.0.conditions).iter() {
            let holds = if (condition.wrong)().is_none() { 1.0 } else { 0.0 };
            line(&mut text, "throng_ready", &label_text(&[("condition", &condition.name)]), holds);
        }
        for (name, _) in lock(&self.0.damaged).iter() {
            line(&mut text, "throng_ready", &label_text(&[("condition", name)]), 0.0);
        }
        text + "# EOF\n"
    }

    fn sample(
        &self,
        name: &'static str,
        kind: Kind,
        help: &'static str,
        labels: &[(&str, &str)],
        value: Box<dyn Fn() -> Option<f64> + Send + Sync>,
    ) {
        let sample = Sample { labels: label_text(labels), value };
        let mut families = lock(&self.0.families);
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push(sample),
            None => families.push(Family { name, kind, help, samples: vec![sample] }),
        }
    }
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it can do its work, in one survey at least.
    pub ready: bool,
    /// What is wrong, in sentences. A server that is ready has some if a survey is not served while another is.
    pub wrong: Vec<String>,
}

impl std::fmt::Debug for Vitals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vitals(..)")
    }
}

impl Kind {
    /// Its word, and what a sample's name ends with.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Counter => ("counter", "_total"),
            Self::Gauge => ("gauge", ""),
            Self::Info => ("info", "_info"),
        }
    }
}

/// How often a party has done something since it started.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Once more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A heartbeat, kept by a thread that does a party's own work, and dropped with it: a thread that panics is missed.
#[derive(Debug)]
pub struct Pulse(Arc<Beats>);

#[derive(Debug, Default)]
struct Beats {
    ended: AtomicBool,
    failing: Mutex<BTreeSet<&'static str>>,
    round: Mutex<Option<Instant>>,
}

impl Pulse {
    /// One kind of work fails, until `succeeds`.
    pub fn fails(&self, work: &'static str) {
        lock(&self.0.failing).insert(work);
    }

    /// One kind of work is done, or there is none.
    pub fn succeeds(&self, work: &'static str) {
        lock(&self.0.failing).remove(work);
    }

    /// All that was due was tried. A round counts if nothing failed in it.
    pub fn round(&self) {
        if lock(&self.0.failing).is_empty() {
            *lock(&self.0.round) = Some(Instant::now());
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {help}");
}

fn line(text: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(text, "{name}{labels} {value}");
}

/// Labels in braces, with their values escaped; nothing if there are none.
fn label_text(labels: &[(&str, &str)]) -> String {
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in them is never half-written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const OVERLOADED: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_open_metrics() {
        let vitals = Vitals::new();
        let epochs = |outcome| vitals.counter("throng_epochs", "Epochs.", &[("outcome", outcome)]);
        let (released, _destroyed) = (epochs("released"), epochs("destroyed"));
        vitals.gauge("throng_key_epochs_left", "Epochs with keys.", &[("survey", "a \"b\"\\c\n")], || {
            Some(12.0)
        });
        vitals.gauge("throng_nothing", "Not known.", &[], || None);
        vitals.condition("clock", || Some("the clock has jumped".into()));
        released.add();
        released.add();
        let text = vitals.open_metrics();
        let (first, rest) = text.split_once("# TYPE throng_build ").unwrap();
        assert!(first.contains("\nprocess_start_time_seconds "));
        let expected = "\
info
# HELP throng_build Which program this is.
throng_build_info{version=\"VERSION\"} 1
# TYPE throng_epochs counter
# HELP throng_epochs Epochs.
throng_epochs_total{outcome=\"released\"} 2
throng_epochs_total{outcome=\"destroyed\"} 0
# TYPE throng_key_epochs_left gauge
# HELP throng_key_epochs_left Epochs with keys.
throng_key_epochs_left{survey=\"a \\\"b\\\"\\\\c\\n\"} 12
# TYPE throng_nothing gauge
# HELP throng_nothing Not known.
# TYPE throng_ready gauge
# HELP throng_ready Whether a condition of being ready holds.
throng_ready{condition=\"clock\"} 0
# EOF
";
        assert_eq!(rest, expected.replace("VERSION", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn a_worker_that_fails_or_ends_is_missed() {
        let vitals = Vitals::new();
        let wrong = || {
            let Readiness { ready, wrong } = vitals.readiness();
            assert_eq!(ready, wrong.is_empty(), "{wrong:?}");
            wrong
        };
        assert_eq!(wrong(), ["the server is about to start"]);
        vitals.start();
        let pulse = vitals.worker("instance-1-hop-1", "flights");
        assert!(wrong().is_empty());
        assert!(!vitals.open_metrics().contains("round_age_seconds{"), "there was none");
        pulse.fails("keys");
        pulse.fails("clock");
        pulse.round();
        assert_eq!(wrong(), ["in flights, instance-1-hop-1 fails at clock, keys: its log says why"]);
        assert!(!vitals.open_metrics().contains("round_age_seconds{"));
        pulse.succeeds("clock");
        pulse.succeeds("keys");
        pulse.round();
        assert!(wrong().is_empty() && vitals.open_metrics().contains("round_age_seconds{"));
        drop(pulse);
        assert!(wrong()[0].contains("has ended"));
        vitals.stop();
        assert_eq!(wrong(), ["the server is about to stop"]);
    }

    /// One survey of several, whatever is wrong with it and whenever it is found.
    #[test]
    fn a_server_is_ready_as_long_as_one_survey_is_well() {
        let vitals = Vitals::new();
        vitals.start();
        let names = ["flights", "lunch"];
        let [flights, lunch] = names.map(|survey| vitals.worker("instance-1-hop-1", survey));
        vitals.condition_of("keys", ("instance-1-hop-1", "flights"), || None);
        flights.fails("close");
        let beside = "in flights, instance-1-hop-1 fails at close: its log says why";
        assert_eq!(vitals.readiness(), Readiness { ready: true, wrong: vec![beside.into()] });
        let numbers = vitals.open_metrics();
        assert!(numbers.contains("condition=\"worker of instance-1-hop-1 in flights\"} 0"), "{numbers}");
        // A survey that was damaged from the start is well for nobody.
        vitals.damaged("files of a third", "a third is not served");
        lunch.fails("close");
        assert!(!vitals.readiness().ready && vitals.readiness().wrong.len() == 3);
        flights.succeeds("close");
        assert!(vitals.readiness().ready && vitals.readiness().wrong.len() == 2);
        // The same survey at another instance is another one.
        let other = vitals.worker("instance-2-hop-1", "lunch");
        flights.fails("clock");
        assert!(vitals.readiness().ready);
        drop(other);
        assert!(!vitals.readiness().ready);
        flights.succeeds("clock");
        vitals.condition("data", || Some("the data directory cannot be written".into()));
        assert!(!vitals.readiness().ready, "what all surveys need");
    }

    #[test]
    fn a_data_directory_that_is_gone_is_missed() {
        let directory = tempfile::tempdir().unwrap();
        let vitals = Vitals::new();
        vitals.start();
        vitals.data(directory.path());
        assert!(vitals.readiness().ready);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
        drop(directory);
        let Readiness { ready, wrong } = vitals.readiness();
        assert!(!ready && wrong[0].contains("cannot be written"));
    }
}
