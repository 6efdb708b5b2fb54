//! The live part of `throng audit wire`: real parties, respondents who answer them, and what is seen of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use rayon::prelude::*;
use throng_dp::Epsilon;
use throng_encode::{Body, EpochChoice, Schedule, answer};
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::{
    Address, AnalyzerContent, Channel, ForwardedCount, HopContent, LayerKeys, Layout, Outcome, Place, Route,
    Stop, Survey, Token,
};

use super::front::Front;
use crate::commands::deployment::{Deployment, outcomes};
use crate::commands::stop::StopSignal;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::read_layer_keys;
use throng_host::net::client::Limits;
use throng_host::net::{Sender, paths};
use throng_lab::audit::wire::{Case, Rule, Views};
use throng_respondent::{AnswerOptions, Respondent, SendError, Transport};

/// All parties of a small survey, with a front before every first hop.
pub(super) struct Town {
    deployment: Deployment,
    bundle: Bundle,
    fronts: Vec<Front>,
    keys: BTreeMap<Place, LayerKeys>,
}

/// How long uploads took, in microseconds: printed, not judged.
pub(super) type Latencies = [Vec<u64>; 3];

/// What one upload showed to hop 1.
struct UploadTrace {
    instance: u32,
    path_len: u64,
    body: Vec<u8>,
    route: Route,
    receipt_len: u64,
    took_us: u64,
}

/// The network, and a log of what was sent over it.
struct Recorder {
    sender: Sender,
    /// Whether bodies for all instances but the first are kept back.
    lazy: bool,
    sent: Mutex<Vec<UploadTrace>>,
}

impl Town {
    /// Plans and signs a survey for so many respondents, and starts every party of it.
    pub(super) fn start(
        mut deployment: Deployment,
        respondents: u64,
        epoch_s: u64,
        stop: &StopSignal,
    ) -> Result<Self> {
        let line = format!(
            "plan --epsilon-central 2 --delta 1e-6 --respondents {respondents} --domain {DOMAIN} --encoding one-hot \
             --honest-fraction 1 --instances 3 --hops 2 --epoch-s {epoch_s} --name audit --out survey.toml --json"
        );
        deployment.run(&line, &["--question", "Which of these?"])?;
        let draft = Survey::from_toml(&std::fs::read_to_string(deployment.survey())?)?;
        let mut fronts = Vec::new();
        for instance in 1..=draft.delivery.instances {
            let front = Front::start()?;
            deployment.set_front(Place::hop(instance, 1), front.port());
            fronts.push(front);
        }
        deployment.make_parties(&draft, || stop.check())?;
        for (instance, front) in (1..).zip(&fronts) {
            front.lead_to(deployment.port(Place::hop(instance, 1)));
        }
        deployment.enrol(respondents as usize)?;
        let bundle = Bundle::read(deployment.survey())?;
        // Parties erase keys that are done; what is opened here is opened with those of the beginning.
        let keys =
            draft.places().map(|place| Ok((place, read_layer_keys(&deployment.path(place.to_string()))?)));
        let keys = keys.collect::<Result<_>>()?;
        deployment.start(bundle.survey().survey(), || stop.check())?;
        Ok(Self { deployment, bundle, fronts, keys })
    }

    /// How many processes there are.
    pub(super) fn processes(&self) -> usize {
        self.deployment.processes().len()
    }

    /// Makes answers under an injected clock, without sending them: times, their order, and places in a body. Returns how
    /// long one takes, in seconds.
    pub(super) fn see_answers(
        &self,
        answers: u64,
        seed: u64,
        views: &mut Views,
        stop: &StopSignal,
    ) -> Result<f64> {
        let survey = self.bundle.survey().survey();
        let mechanism = survey.mechanism()?;
        let epoch = survey.epoch_at(SystemClock.now_s()) + 1;
        let start_ms = epoch * survey.epoch_s * 1000;
        let schedule = Schedule::new(survey, EpochChoice::NextEpoch, start_ms - 1)?;
        let started = Instant::now();
        for case in Case::ALL {
            let made: Vec<Vec<Body>> = (0..answers)
                .into_par_iter()
                .map(|number| {
                    stop.check()?;
                    let mut rng = rng(seed, 1 + case as u64, number);
                    let value = value(case).map(Into::into);
                    let (signed, lists) = (self.bundle.survey(), self.bundle.key_lists());
                    Ok(answer(signed, lists, &mechanism, 0, &schedule, value.as_ref(), &mut rng)?)
                })
                .collect::<Result<_>>()?;
            for bodies in &made {
                let times: Vec<u64> = bodies.iter().map(|body| body.send_at_ms - start_ms).collect();
                for (body, &time) in bodies.iter().zip(&times) {
                    let instance = body.instance;
                    let route = body.route(self.bundle.survey().hash(), Channel { label: 0, epoch });
                    let network = format!("network, instance {instance}");
                    views.see(network, "time in the epoch", Rule::Alike, case, time);
                    if let Some(place) = self.place_of_lowest(&route, body.bytes())? {
                        let hops = format!("instance {instance}, both hops and analyzer");
                        views.see(hops, "place of a fragment in a body", Rule::AlikeWhereSeen, case, place);
                    }
                }
                views.see("network", "order of instances", Rule::Alike, case, order(&times));
            }
        }
        Ok(started.elapsed().as_secs_f64() / (3 * answers) as f64)
    }

    /// Has the same respondents answer in three epochs, one for each case, and records what is seen. With `lazy` those who
    /// have nothing to say send to the first instance only.
    pub(super) fn see_epochs(
        &self,
        (respondents, answer_s): (u64, f64),
        seed: u64,
        lazy: bool,
        views: &mut Views,
        stop: &StopSignal,
    ) -> Result<Latencies> {
        let survey = self.bundle.survey().survey();
        let ready_s = 3.0 + (respondents * 3) as f64 * (answer_s + FILES_S);
        let first = survey.epoch_at(SystemClock.now_s() + ready_s as u64) + 1;
        let epoch_ms = survey.epoch_s * 1000;
        let mut people = Vec::new();
        for number in 0..respondents {
            let mut rng = rng(seed, 0, number);
            let name = format!("state/{:06}", number + 1);
            let mut one = Respondent::open_with(self.deployment.path(name), &mut rng)?;
            let credential = format!("enrolment/respondents/{:06}.credential", number + 1);
            // Nobody's: what is audited is the wire.
            one.set_epsilon_limit(Epsilon::new(1e6)?)?;
            one.use_credential(self.deployment.path(credential))?;
            for (epoch, case) in (first..).zip(Case::ALL) {
                stop.check()?;
                let (options, start_ms) = (AnswerOptions::default(), epoch * epoch_ms);
                let answer = match value(case) {
                    Some(value) => one.answer_with(&self.bundle, value, &options, start_ms - 1, &mut rng)?,
                    None => one.abstain_with(&self.bundle, &options, start_ms - 1, &mut rng)?,
                };
                let bodies = answer.bodies.iter();
                let times: Vec<_> =
                    bodies.map(|body| (body.instance, body.send_at_ms.saturating_sub(start_ms))).collect();
                see_stored(&times, case, views);
            }
            people.push((one, rng));
        }
        ensure!(
            SystemClock.now_ms() < first * epoch_ms,
            "the answers were not ready when the epoch began: this machine is busy; try a longer --epoch-s"
        );
        let mut latencies = Latencies::default();
        let mut reached = Vec::new();
        for (epoch, case) in (first..).zip(Case::ALL) {
            let mut instances = BTreeSet::new();
            let start_ms = epoch * epoch_ms;
            eprintln!("epoch      {} of 3: all {respondents} answer with {}", epoch - first + 1, case.name());
            stop.wait(Duration::from_millis(epoch_ms * 3), || Ok(SystemClock.now_ms() > start_ms))?;
            for (one, rng) in &mut people {
                stop.check()?;
                let lazy = lazy && case == Case::Nothing;
                let sent = send(one, lazy, start_ms + epoch_ms - 1, rng)?;
                self.see_upload(&sent, case, views)?;
                latencies[case as usize].extend(sent.iter().map(|sent| sent.took_us));
                instances.extend(sent.iter().map(|sent| sent.instance));
            }
            reached.push(instances);
            ensure!(
                SystemClock.now_ms() < start_ms + epoch_ms,
                "not everything could be sent while the epoch lasted: this machine is busy; try a longer --epoch-s"
            );
        }
        // Hops take a while after the end of an epoch; the next one does not wait for it.
        let mut statements = 0;
        for ((epoch, case), reached) in (first..).zip(Case::ALL).zip(&reached) {
            statements += self.see_hops(epoch, (case, reached), views, stop)?;
        }
        ensure!(
            statements > 0,
            "no hop has said what became of any epoch: this machine is busy; try a longer --epoch-s"
        );
        Ok(latencies)
    }

    /// What the network and the first hops see of one respondent.
    fn see_upload(&self, sent: &[UploadTrace], case: Case, views: &mut Views) -> Result<()> {
        let layout = Layout::of(self.bundle.survey().survey());
        for (instance, front) in (1..).zip(&self.fronts) {
            let passed = front.take()?;
            let network = format!("network, instance {instance}");
            let sum = |of: fn(&super::front::ConnectionBytes) -> u64| passed.iter().map(of).sum();
            views.see(&network, "connections", Rule::Same, case, passed.len() as u64);
            views.see(&network, "bytes sent, with TLS", Rule::Same, case, sum(|passed| passed.up));
            // A hop's signatures have no fixed length.
            views.see(&network, "bytes answered, with TLS", Rule::Alike, case, sum(|passed| passed.down));
            let hop = format!("instance {instance}, hop 1");
            let here: Vec<&UploadTrace> = sent.iter().filter(|sent| sent.instance == instance).collect();
            views.see(&hop, "requests", Rule::Same, case, here.len() as u64);
            for sent in here {
                views.see(&hop, "length of the path", Rule::Same, case, sent.path_len);
                views.see(&hop, "length of the body", Rule::Same, case, sent.body.len() as u64);
                views.see(&hop, "length of the receipt", Rule::Same, case, sent.receipt_len);
                let opened = open_body(&sent.route, &layout, self.key(Place::hop(instance, 1))?, &sent.body);
                let opened = opened.ok().context("a body that hop 1 cannot open")?;
                let envelope_len = layout.envelope_len(layout.after(1));
                views.see(
                    &hop,
                    "envelopes in the body",
                    Rule::Same,
                    case,
                    (opened.len() / envelope_len) as u64,
                );
                views.see(
                    &hop,
                    "bytes beside envelopes",
                    Rule::Same,
                    case,
                    (opened.len() % envelope_len) as u64,
                );
            }
        }
        Ok(())
    }

    /// What every hop has signed about an epoch, once it has, and how many have. A hop that nobody sent to may have
    /// nothing to sign, and is not waited for as long; whatever is missing is seen to be missing.
    fn see_hops(
        &self,
        epoch: u64,
        (case, reached): (Case, &BTreeSet<u32>),
        views: &mut Views,
        stop: &StopSignal,
    ) -> Result<usize> {
        let mut all = Vec::new();
        let hops = self.bundle.survey().survey().delivery.hops;
        let end_s = self.bundle.survey().survey().epoch_end_s(epoch);
        stop.wait(EPOCH_MAX, || Ok(SystemClock.now_s() >= end_s))?;
        let expected =
            |place: Place| matches!(place, Place::Hop { instance, .. } if reached.contains(&instance));
        for (most, awaits_all) in [(STATEMENTS_MAX, false), (QUIET_MAX, true)] {
            stop.wait(most, || {
                all = outcomes(&self.bundle, epoch)?;
                Ok(all.iter().all(|&(place, outcome)| outcome.is_some() || !(awaits_all || expected(place))))
            })?;
        }
        // Statements were asked for through the fronts, too.
        self.fronts.iter().try_for_each(|front| front.take().map(drop))?;
        for &(place, outcome) in &all {
            let Place::Hop { instance, hop } = place else { continue };
            let who = format!("instance {instance}, hop {hop}");
            ensure!(
                outcome.is_some() || !expected(place),
                "{who} has not said what became of an epoch ({}): this machine is busy; try a longer --epoch-s",
                case.name()
            );
            let (respondents, received, forwarded) = counted(&who, case, outcome)?;
            views.see(&who, "statements about the epoch", Rule::Same, case, outcome.is_some().into());
            views.see(&who, "respondents in the epoch", Rule::Same, case, respondents);
            views.see(&who, "envelopes in the epoch", Rule::Same, case, received);
            // The last hop leaves out chaff: what it hands on are the fragments, whose number it does not tell.
            if hop < hops {
                views.see(&who, "envelopes handed on", Rule::Same, case, forwarded);
            }
        }
        Ok(all.iter().filter(|(_, outcome)| outcome.is_some()).count())
    }

    /// Where in a body the fragment with the lowest number is, if there is any: for this all parties have to work together.
    fn place_of_lowest(&self, route: &Route, body: &[u8]) -> Result<Option<u64>> {
        let survey = self.bundle.survey().survey();
        let layout = Layout::of(survey);
        let wrong = "a body that its own parties cannot open";
        let instance = route.instance;
        let envelopes =
            open_body(route, &layout, self.key(Place::hop(instance, 1))?, body).ok().context(wrong)?;
        let mut lowest = None;
        for (place, envelope) in (0..).zip(envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2)))) {
            let peeled =
                peel(route, &layout, 2, self.key(Place::hop(instance, 2))?, envelope).ok().context(wrong)?;
            let HopContent::Envelope(inner) = peeled else { continue };
            let keys = self.key(Place::Analyzer)?;
            let opened =
                open_fragment(route, &layout, survey.attributes(), keys, &inner).ok().context(wrong)?;
            if let AnalyzerContent::Fragment(fragment) = opened {
                let here = (fragment.attribute(), place);
                lowest = Some(lowest.map_or(here, |lowest: (u32, u64)| lowest.min(here)));
            }
        }
        Ok(lowest.map(|(_, place)| place))
    }

    fn key(&self, place: Place) -> Result<&LayerKeys> {
        match self.keys.get(&place) {
            Some(keys) => Ok(keys),
            None => bail!("{place} has no keys"),
        }
    }
}

impl Transport for Recorder {
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError> {
        if self.lazy && route.instance > 1 {
            return Err(SendError::Unreachable(KEPT_BACK.into()));
        }
        let start = Instant::now();
        let receipt = self.sender.send(to, route, token, body)?;
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(UploadTrace {
            instance: route.instance,
            path_len: paths::path(route, "body").len() as u64,
            body: body.to_vec(),
            route: *route,
            receipt_len: receipt.len() as u64,
            took_us: start.elapsed().as_micros() as u64,
        });
        Ok(receipt)
    }
}

/// Sends all that one respondent has for an epoch, by a clock that says that it is due. What a first hop refused, or was not sent, is
/// missing, and whoever looks on sees that. A hop that could not be reached is no fault of respondents: then there is nothing to judge.
fn send(one: &mut Respondent, lazy: bool, now_ms: u64, rng: &mut ChaCha20Rng) -> Result<Vec<UploadTrace>> {
    // Nobody shares a connection with anybody.
    let sender = Sender::new(Limits { idle_connections_max: 0, ..Limits::default() })?;
    let recorder = Recorder { sender, lazy, sent: Mutex::default() };
    let pass = one.send_due(&recorder, now_ms, rng)?;
    if let Some(problem) = pass.problems.into_iter().next() {
        return Err(problem.into());
    }
    for excuse in &pass.lost {
        eprintln!("note       a first hop did not take a body: {excuse}");
    }
    if let Some(trouble) = pass.retried.iter().find(|excuse| !excuse.ends_with(KEPT_BACK)) {
        bail!("a first hop was out of reach: {trouble}; this machine is busy; try a longer --epoch-s");
    }
    Ok(recorder.sent.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// When a respondent's own program would send, in milliseconds after the epoch began, and in which order: as it is written in the
/// outbox, which is what sending goes by.
fn see_stored(times: &[(u32, u64)], case: Case, views: &mut Views) {
    for &(instance, time) in times {
        let network = format!("network, instance {instance}");
        views.see(network, "time in the epoch, as stored", Rule::Alike, case, time);
    }
    let times: Vec<u64> = times.iter().map(|&(_, time)| time).collect();
    views.see("network", "order of instances, as stored", Rule::Alike, case, order(&times));
}

/// The respondents, envelopes received and envelopes handed on that a hop signed for, zero where it does not tell. In the first case, where everybody sends, an
/// epoch that went no further leaves nothing to compare: zeros everywhere would look alike.
fn counted(who: &str, case: Case, outcome: Option<Outcome>) -> Result<(u64, u64, u64)> {
    match outcome {
        Some(Outcome::Released { respondents, received, forwarded, .. }) => {
            let told = if let ForwardedCount::Told(told) = forwarded { told } else { 0 };
            Ok((respondents, received.unwrap_or(0), told))
        }
        Some(Outcome::Destroyed) | None => {
            ensure!(
                case != Case::One,
                "{who} handed nothing on of the epoch in which all answered ({}), so there is nothing to compare: this machine is \
                 busy; try a longer --epoch-s",
                case.name()
            );
            Ok((0, 0, 0))
        }
    }
}

/// What a case answers with.
fn value(case: Case) -> Option<u64> {
    match case {
        Case::One => Some(3),
        Case::Other => Some(DOMAIN - 4),
        Case::Nothing => None,
    }
}

/// A number for each order of some times.
fn order(times: &[u64]) -> u64 {
    let rank = |time: &u64| times.iter().filter(|other| *other < time).count() as u64;
    times.iter().fold(0, |number, time| number * times.len() as u64 + rank(time))
}

fn rng(seed: u64, purpose: u64, number: u64) -> ChaCha20Rng {
    let mut key = *b"throng audit wire ..............";
    key[18] = purpose as u8;
    key[24..].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha20Rng::from_seed(key);
    rng.set_stream(number);
    rng
}

/// How many observations have to have the same distribution: for each of three instances times, times as stored, places and
/// bytes answered; and both orders of all.
pub(super) const ALIKE: usize = 3 * 4 + 2;

/// Why respondents who save traffic did not send a body.
const KEPT_BACK: &str = "kept back";
const DOMAIN: u64 = 16;
/// What the files of an answer may take.
const FILES_S: f64 = 0.05;
/// Longer than any epoch.
const EPOCH_MAX: Duration = Duration::from_secs(3700);
/// How long a hop that was sent something may take to say what became of it.
const STATEMENTS_MAX: Duration = Duration::from_secs(60);
/// How long one is waited for that was sent nothing.
const QUIET_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use throng_wire::Digest;

    use super::*;
    use throng_lab::audit::Verdict;

    /// An epoch that is destroyed is seen where others are released, and judges nothing where all are.
    #[test]
    fn nothing_is_compared_if_nothing_passed() {
        let released = |forwarded| Outcome::Released {
            respondents: 12,
            received: Some(132),
            forwarded,
            batch: Digest::NONE,
        };
        let said = |forwarded| counted("hop", Case::One, Some(released(forwarded))).unwrap();
        assert_eq!(said(ForwardedCount::Told(130)), (12, 132, 130));
        assert_eq!(said(ForwardedCount::Committed(Digest::of(b"130"))), (12, 132, 0));
        assert_eq!(counted("hop", Case::Nothing, Some(Outcome::Destroyed)).unwrap(), (0, 0, 0));
        assert_eq!(counted("hop", Case::Other, None).unwrap(), (0, 0, 0));
        for outcome in [Some(Outcome::Destroyed), None] {
            let failed = counted("instance 1, hop 2", Case::One, outcome).unwrap_err().to_string();
            assert!(failed.contains("instance 1, hop 2 handed nothing on"), "{failed}");
        }
    }

    /// What is in the outbox is compared: that those who have nothing to say would send at once, or to the last instance first.
    #[test]
    fn stored_times_and_orders_that_depend_on_the_answer_are_noticed() {
        let broken = |times: &dyn Fn(Case, u64) -> [u64; 3]| -> Vec<&'static str> {
            let mut views = Views::default();
            for case in Case::ALL {
                for person in 0..30 {
                    let times: Vec<_> = (1..).zip(times(case, person)).collect();
                    see_stored(&times, case, &mut views);
                }
            }
            let judged = views.judge(1e-3).unwrap().into_iter();
            judged.filter(|one| one.verdict == Verdict::Broken).map(|one| one.sight.what).collect()
        };
        let spread = |person: u64| [100 + 300 * person, 110 + 300 * person, 120 + 300 * person];
        assert!(broken(&|_, person| spread(person)).is_empty());
        let at_once = |case, person| if case == Case::Nothing { [0, 1, 2] } else { spread(person) };
        assert_eq!(broken(&at_once), ["time in the epoch, as stored"; 3]);
        let backwards = |case, person| {
            let [first, second, third] = spread(person);
            if case == Case::Other { [third, second, first] } else { [first, second, third] }
        };
        assert_eq!(broken(&backwards), ["order of instances, as stored"]);
    }
}
