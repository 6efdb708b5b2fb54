//! Respondents who answer from seeds, and what an analyzer in memory makes of the same.

use std::fs;
use std::ops::Range;
use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use hyper::Method;
use throng_analyze::InstanceTally;
use throng_dp::estimate::InstanceSums;
use throng_dp::{Estimates, Value};
use throng_encode::{Body, EpochChoice, Routing, Schedule};
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::client::SendError;
use throng_serve::analysis::TallyFiles;
use throng_wire::{Place, Survey};

use crate::patience::until;
use crate::program::Program;
use crate::survey::{SURVEY, with};
use crate::town::{Town, sender};

/// A survey with an epoch that a test can wait for.
pub fn survey(encoding: &str, randomizer: &str, envelopes: u32, labels: &str) -> Survey {
    let delivery = format!("{{ instances = 2, hops = 2, envelopes = {envelopes}, cover = \"chaff\" }}");
    let fields = [
        ("name", r#""numbers""#),
        ("question", r#""Which number?""#),
        ("epoch_s", "4"),
        ("encoding", encoding),
        ("randomizer", randomizer),
        ("crowd", r#"{ respondents_min = 6, honest_fraction = 1.0, enrolment = "credential" }"#),
        ("claim", r#"{ epsilon_central = 8.0, delta = 1e-3, neighbors = "removal", bound = "exact" }"#),
        ("delivery", &delivery),
    ];
    Survey::from_toml(&(with(SURVEY, &fields) + labels)).unwrap()
}

/// One of eight values.
pub const ONE_HOT: &str = r#"{ kind = "one-hot", domain = 8 }"#;
/// A randomizer without a backstop.
pub const ATTRIBUTE_FRAGMENTS: &str = r#"{ kind = "attribute-fragments", epsilon_local = 4.0 }"#;

/// A randomizer with one.
pub const REPORT_FRAGMENTS: &str =
    r#"{ kind = "report-fragments", epsilon_backstop = 4.0, epsilon_fragment = 3.0, fragments = 4 }"#;

/// One instance of two hops.
pub fn one_instance() -> Survey {
    let mut survey = survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 16, "");
    survey.delivery.instances = 1;
    survey
}

/// Two instances of two hops, with more people than have to answer.
pub fn two_instances(program: Program) -> Town {
    Town::of(program, &survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""), true, 14)
}

/// Who answered in an epoch.
#[derive(Clone, Debug)]
pub struct Turnout {
    /// When.
    pub epoch: u64,
    /// How many: people `0..people`.
    pub people: u64,
    /// What they were asked.
    pub survey: Survey,
}

/// Everybody answers in one epoch. `between` is called once half of them have; if the epoch is over too early, as on a
/// machine that has much else to do, everything happens again in another one.
pub fn everyone(town: &mut Town, people: u64, mut between: impl FnMut(&mut Town, u64)) -> Turnout {
    loop {
        let epoch = town.next_epoch();
        let half = answer(town, epoch, 0..people / 2);
        between(town, epoch);
        if half.and_then(|()| answer(town, epoch, people / 2..people)).is_ok() {
            let survey = town.deployment.bundle.survey().survey().clone();
            return Turnout { epoch, people, survey };
        }
    }
}

/// Some people answer.
pub fn answer(town: &Town, epoch: u64, people: Range<u64>) -> Result<(), SendError> {
    let sender = sender();
    for person in people {
        for body in sealed(town, epoch, person) {
            town.send(&sender, town.route(body.instance, epoch), person as usize, body.bytes())?;
        }
    }
    Ok(())
}

/// One person's answer: its bodies. What is in them follows from a seed; the seals do not.
pub fn sealed(town: &Town, epoch: u64, person: u64) -> Vec<Body> {
    let bundle = &town.deployment.bundle;
    let survey = bundle.survey().survey();
    let (mechanism, mut rng) = (survey.mechanism().unwrap(), rng(epoch, person));
    let schedule = Schedule::new(survey, EpochChoice::CurrentEpoch, epoch * survey.epoch_s * 1000).unwrap();
    let value = value(person, survey);
    throng_encode::answer(
        bundle.survey(),
        bundle.key_lists(),
        &mechanism,
        0,
        &schedule,
        value.as_ref(),
        &mut rng,
    )
    .unwrap()
}

/// One of them has nothing to say.
fn value(person: u64, survey: &Survey) -> Option<Value> {
    (person > 0).then(|| Value::from(person % survey.domain()))
}

fn rng(epoch: u64, person: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1000 * epoch + person)
}

impl Turnout {
    /// The estimates and standard errors of an analyzer in memory that has what was routed to these instances.
    pub fn in_memory(&self, instances: &[u32]) -> Vec<(String, String)> {
        let mechanism = self.survey.mechanism().unwrap();
        let mut tallies = vec![mechanism.tally().unwrap(); self.survey.delivery.instances as usize];
        for person in 0..self.people {
            for (tally, fragments) in tallies.iter_mut().zip(self.routed(person)) {
                tally.add_fragments(&fragments).unwrap();
            }
        }
        tallies.iter_mut().for_each(|tally| tally.add_respondents(self.people));
        let part =
            |&instance: &u32| InstanceSums { position: instance - 1, tally: &tallies[instance as usize - 1] };
        let parts: Vec<_> = instances.iter().map(part).collect();
        formatted(&mechanism.estimate_from(&parts, self.survey.delivery.instances).unwrap())
    }

    /// How many fragments were routed to an instance.
    pub fn fragments(&self, instance: u32) -> u64 {
        (0..self.people).map(|person| self.routed(person)[instance as usize - 1].len() as u64).sum()
    }

    /// What one person's seed makes of their value: the fragments for each instance, in the order in which a respondent
    /// draws them.
    fn routed(&self, person: u64) -> Vec<Vec<u32>> {
        let mechanism = self.survey.mechanism().unwrap();
        let mut rng = rng(self.epoch, person);
        let fragments = mechanism.randomize(value(person, &self.survey).as_ref(), &mut rng).unwrap();
        let routing = Routing::of(&self.survey, 0, fragments.tau()).unwrap();
        routing.route(fragments.attributes(), &mut rng)
    }
}

fn formatted(estimates: &Estimates) -> Vec<(String, String)> {
    let line = |value| match estimates.count(value) {
        Some(count) => (format!("{count:.3}"), format!("{:.3}", estimates.standard_error(value))),
        None => (String::new(), String::new()),
    };
    (0..estimates.counts().len()).map(line).collect()
}

/// The estimates and standard errors of a release, as its table has them.
pub fn table(release: &serde_json::Value) -> Vec<(String, String)> {
    let dir = std::path::Path::new(release["directory"].as_str().unwrap());
    let text = fs::read_to_string(dir.join("estimates.csv")).unwrap();
    // The last columns: estimate, standard error, significant, mark.
    let line = |line: &str| {
        let mut cells = line.rsplit(',').skip(2).map(str::to_owned);
        let error = cells.next().unwrap();
        (cells.next().unwrap(), error)
    };
    text.lines().skip(1).map(line).collect()
}

/// What the analyzer has stored of an instance's batch.
pub fn tally(town: &Town, instance: u32, epoch: u64) -> Option<InstanceTally> {
    let survey = town.deployment.bundle.survey();
    let files = TallyFiles::new(&town.path(Place::Analyzer, "data"), survey.hash());
    files.read(survey.survey(), &town.route(instance, epoch)).unwrap()
}

/// The lines of the analyzer's ledger.
pub fn ledger(town: &Town) -> Vec<String> {
    let text = fs::read_to_string(town.path(Place::Analyzer, "data/ledger")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A release of an epoch whose batches are all there.
pub fn release(town: &Town, epoch: u64) -> serde_json::Value {
    town.release(&["--epoch", &epoch.to_string()]).unwrap_or_else(|(code, said)| panic!("{code}: {said}"))
}

/// Runs towns side by side, as most of their time is waiting for the end of an epoch. A panic names its thread.
pub fn side_by_side(towns: &[(&str, &(dyn Fn() + Sync))]) {
    thread::scope(|scope| {
        for (name, town) in towns {
            thread::Builder::new().name((*name).to_owned()).spawn_scoped(scope, town).unwrap();
        }
    });
}

/// The bytes of a batch that the analyzer has taken and not opened.
pub fn waiting(town: &Town, instance: u32, epoch: u64) -> Option<Vec<u8>> {
    let hash = town.deployment.bundle.survey().hash();
    fs::read(town.path(Place::Analyzer, &format!("data/sealed/{hash}/0-{epoch}-{instance}.sealed"))).ok()
}

/// Waits until the analyzer has what every one of these instances gave, sealed or counted.
pub fn until_taken(town: &Town, instances: &[u32], epoch: u64) {
    let taken = |one| waiting(town, one, epoch).is_some() || tally(town, one, epoch).is_some();
    until("they are taken", || instances.iter().all(|&one| taken(one)));
}

/// What a last hop gives to the analyzer, once it is there.
pub fn batch(town: &Town, instance: u32, epoch: u64) -> Vec<u8> {
    let (last, route) = (Place::hop(instance, town.shape.hops), town.route(instance, epoch));
    let mut bytes = Vec::new();
    until("the batch is there", || {
        let (status, body) = town.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]);
        bytes = body;
        status == 200
    });
    bytes
}

/// Waits for the end of an epoch.
pub fn tick(town: &Town, epoch: u64) {
    until("the tick", || SystemClock.now_s() >= (epoch + 1) * town.shape.epoch_s);
}
