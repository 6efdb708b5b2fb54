//! Sending, with idempotent retries: each body at its time, and the same bytes again with exponential backoff where nobody
//! answers, until the epoch is over.

use std::collections::BTreeMap;

use getrandom::rand_core::CryptoRng;
use throng_dp::sampling::below;
use throng_encode::Body;
use throng_wire::{Place, Receipt, SurveyHash};

use super::Respondent;
use super::answer::Answer;
use super::outbox::Outbox;
use super::receipts::verify_receipt;
use super::transport::{SendError, Transport};
use crate::error::{Context, Error, Result};
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock, rfc3339};
use throng_host::ensure;
use throng_host::entropy::system_rng;
use throng_host::net::Sender;
use throng_host::net::client::Limits;

/// What became of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is sent at its time.
    Waiting,
    /// Hop 1 signed that it has it.
    Acknowledged(Receipt),
    /// Hop 1 will not take it.
    Refused(String),
    /// The epoch closed before hop 1 acknowledged it. It is never made anew.
    Late,
}

/// One pass over the outbox.
#[derive(Debug, Default)]
pub struct Pass {
    /// When there is something to do again; `None` when all is done.
    pub next_ms: Option<u64>,
    /// How many bodies were acknowledged, now or before, of the epochs that are not over.
    pub acknowledged: u64,
    /// How many bodies are still to be sent.
    pub waiting: u64,
    /// What went wrong and is tried again.
    pub retried: Vec<String>,
    /// Bodies that were given up since the last pass: refused, or late.
    pub lost: Vec<String>,
    /// Answers that could not be worked on.
    pub problems: Vec<Error>,
}

impl Pass {
    /// An error if something was lost or could not be worked on.
    pub fn result(self) -> Result<()> {
        match self.problems.into_iter().next() {
            Some(problem) => Err(problem),
            None if self.lost.is_empty() => Ok(()),
            None => Err(Error::Lost(self.lost.join("; "))),
        }
    }
}

/// The backoff of a body: how often it was tried in vain, and when it is tried next.
#[derive(Clone, Debug, Default)]
pub(super) struct Retry {
    tries: u32,
    not_before_ms: u64,
    /// What there is to say about clocks, where the hop said that the epoch has not begun.
    clock: Option<String>,
}

pub(super) type Retries = BTreeMap<(SurveyHash, u64, u32), Retry>;

impl Respondent {
    /// Sends everything in the outbox over the network, each body at its time, and comes back when all of it was acknowledged
    /// or refused, or its epoch is over. Says what could not be sent as an error. It blocks: not for use inside an asynchronous
    /// runtime.
    pub fn send(&mut self) -> Result<()> {
        let network = Sender::new(Limits::default())?;
        self.send_with(&network, &SystemClock, |_, _| (), &mut system_rng()?)
    }

    /// The same by another transport, a clock and randomness. `watch` is called at least once a second, with what there is and
    /// the time.
    pub fn send_with(
        &mut self,
        transport: &dyn Transport,
        clock: &dyn Clock,
        mut watch: impl FnMut(&Pass, u64),
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let mut lost = Vec::new();
        loop {
            let mut pass = self.send_due(transport, clock.now_ms(), rng)?;
            lost.append(&mut pass.lost);
            watch(&pass, clock.now_ms());
            let Some(next_ms) = pass.next_ms else {
                return Pass { lost, ..pass }.result();
            };
            loop {
                let now_ms = clock.now_ms();
                if now_ms >= next_ms {
                    break;
                }
                watch(&pass, now_ms);
                clock.sleep_ms((next_ms - now_ms).min(TICK_MS));
            }
        }
    }

    /// Sends what is due now. A file that cannot be read stops the answer that it belongs to, and no other.
    pub fn send_due(
        &mut self,
        transport: &dyn Transport,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Pass> {
        let mut pass = Pass::default();
        for answer in Outbox(&self.state).all(&self.ledger)? {
            let sent = answer.and_then(|answer| self.send_answer(answer, transport, now_ms, &mut pass, rng));
            pass.problems.extend(sent.err());
        }
        Ok(pass)
    }

    fn send_answer(
        &mut self,
        mut answer: Answer,
        transport: &dyn Transport,
        now_ms: u64,
        pass: &mut Pass,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let outbox = Outbox(&self.state);
        let named = |instance: u32, what: &str| {
            format!("{}, epoch {}, instance {instance}: {what}", answer.name, answer.epoch)
        };
        if now_ms >= answer.epoch_end_ms() {
            for body in answer.bodies.iter().filter(|body| !body.bytes().is_empty()) {
                let instance = body.instance;
                if outbox.receipt(&answer, instance)?.is_none()
                    && outbox.refusal(&answer, instance)?.is_none()
                {
                    let tried = self.retries.get(&(answer.survey, answer.epoch, instance));
                    let clock = tried.and_then(|retry| retry.clock.as_deref());
                    let what = "the epoch closed before it was acknowledged";
                    let what = clock.map_or(what.to_owned(), |clock| format!("{what}; {clock}"));
                    pass.lost.push(named(instance, &what));
                }
            }
            return outbox.drop_bytes(&mut answer);
        }
        let bundle = self.bundle(&answer.survey)?;
        for body in &answer.bodies {
            match self.fate(&bundle, &answer, body, now_ms)? {
                Fate::Waiting => {}
                Fate::Acknowledged(_) => {
                    pass.acknowledged += 1;
                    continue;
                }
                Fate::Refused(_) | Fate::Late => continue,
            }
            let key = (answer.survey, answer.epoch, body.instance);
            let mut retry = self.retries.get(&key).cloned().unwrap_or_default();
            let due_ms = body.send_at_ms.max(retry.not_before_ms);
            let next_ms = if due_ms > now_ms {
                Some(due_ms)
            } else {
                match self.send_body(&bundle, &answer, body, transport, now_ms)? {
                    Attempt::Acknowledged => None,
                    Attempt::Refused(reason) => {
                        pass.lost.push(named(body.instance, &format!("hop 1 will not take it: {reason}")));
                        continue;
                    }
                    Attempt::Again { reason, after_ms, clock } => {
                        pass.retried.push(format!("instance {}: {reason}", body.instance));
                        retry.tries += 1;
                        retry.clock = clock;
                        let pause_ms = pause_ms(retry.tries, bundle.survey().survey().epoch_s, rng);
                        retry.not_before_ms = now_ms.saturating_add(pause_ms.max(after_ms));
                        let not_before_ms = retry.not_before_ms;
                        self.retries.insert(key, retry);
                        Some(not_before_ms)
                    }
                }
            };
            match next_ms {
                Some(next_ms) => {
                    pass.waiting += 1;
                    // At the end of the epoch there is something to do, too: its bytes are dropped.
                    let next_ms = next_ms.min(answer.epoch_end_ms());
                    pass.next_ms = Some(pass.next_ms.map_or(next_ms, |other| other.min(next_ms)));
                }
                None => pass.acknowledged += 1,
            }
        }
        Ok(())
    }

    /// One try. The receipt is checked and on the disk before it counts.
    fn send_body(
        &self,
        bundle: &Bundle,
        answer: &Answer,
        body: &Body,
        transport: &dyn Transport,
        now_ms: u64,
    ) -> Result<Attempt> {
        let hop = Place::hop(body.instance, 1);
        let token = self.credential(answer.credential.as_deref())?.token(&answer.survey, hop);
        let bytes = body.bytes();
        ensure!(!bytes.is_empty(), Damaged, "the bytes of an answer were dropped before its epoch was over");
        let route = answer.route(body);
        let outbox = Outbox(&self.state);
        match transport.send(bundle.address(hop)?, &route, &token, bytes) {
            Ok(receipt) => match verify_receipt(bundle.survey(), &route, &body.digest, &receipt) {
                Ok(_) => {
                    outbox.keep_receipt(answer, body.instance, &receipt)?;
                    Ok(Attempt::Acknowledged)
                }
                Err(error) => Ok(Attempt::again(format!("the receipt does not hold: {error:#}"))),
            },
            Err(SendError::Refused(reason)) => {
                outbox.keep_refusal(answer, body.instance, &reason)?;
                Ok(Attempt::Refused(reason))
            }
            Err(SendError::Unreachable(reason)) => Ok(Attempt::again(reason)),
            Err(SendError::Later { reason, after_s }) => {
                Ok(Attempt::Again { reason, after_ms: after_s.saturating_mul(1000), clock: None })
            }
            Err(SendError::WrongTime { reason, their_s, over }) => {
                let epoch_s = bundle.survey().survey().epoch_s;
                let clock = clock_off(their_s, now_ms / 1000, epoch_s);
                let reason = clock.as_ref().map_or(reason.clone(), |clock| format!("{reason}; {clock}"));
                if over {
                    outbox.keep_refusal(answer, body.instance, &reason)?;
                    return Ok(Attempt::Refused(reason));
                }
                // There is nothing to try before the epoch begins there.
                let wait_s = answer.epoch.saturating_mul(epoch_s).saturating_sub(their_s);
                Ok(Attempt::Again { reason, after_ms: wait_s.saturating_mul(1000), clock })
            }
        }
    }

    /// What became of a body, as its files say. A receipt that does not hold any more is an error.
    pub(super) fn fate(&self, bundle: &Bundle, answer: &Answer, body: &Body, now_ms: u64) -> Result<Fate> {
        let outbox = Outbox(&self.state);
        if let Some(bytes) = outbox.receipt(answer, body.instance)? {
            let receipt = verify_receipt(bundle.survey(), &answer.route(body), &body.digest, &bytes);
            return Ok(Fate::Acknowledged(receipt.damaged(|| {
                format!("the stored receipt of instance {} is damaged; put back a copy of it", body.instance)
            })?));
        }
        Ok(match outbox.refusal(answer, body.instance)? {
            Some(reason) => Fate::Refused(reason),
            None if now_ms >= answer.epoch_end_ms() => Fate::Late,
            None => Fate::Waiting,
        })
    }
}

/// One try to send a body, by what came of it.
enum Attempt {
    Acknowledged,
    Refused(String),
    /// Not before so many milliseconds have passed; and what there is to say about clocks.
    Again {
        reason: String,
        after_ms: u64,
        clock: Option<String>,
    },
}

impl Attempt {
    fn again(reason: String) -> Self {
        Self::Again { reason, after_ms: 0, clock: None }
    }
}

/// What to tell a respondent whose clock is not a hop's: which of the two is wrong a person can see. Nothing, where they
/// differ by less than the margin that times to send at leave.
fn clock_off(there_s: u64, here_s: u64, epoch_s: u64) -> Option<String> {
    let off_s = there_s.abs_diff(here_s);
    // What a hop says is in whole seconds, and some may pass on the way.
    if off_s <= (epoch_s / 20).clamp(2, PAUSE_MS_MAX / 1000) {
        return None;
    }
    let side = if here_s < there_s { "behind" } else { "ahead of" };
    Some(format!(
        "the clock of this machine is {off_s} s {side} the hop's: it says {} here and {} there. Set this machine's if it is \
         the wrong one, and answer again in a later epoch",
        rfc3339(here_s),
        rfc3339(there_s)
    ))
}

/// Exponential backoff with jitter: how long to wait after so many tries. Twice as long each time, up to a minute or a
/// twentieth of an epoch, and at random between half of that and all of it, so that a crowd whose hop was away does not come
/// back all at once.
fn pause_ms(tries: u32, epoch_s: u64, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
    let longest = (epoch_s.saturating_mul(1000) / 20).clamp(2, PAUSE_MS_MAX);
    let ceiling = (PAUSE_MS_MIN << (tries - 1).min(10)).min(longest);
    ceiling / 2 + below(ceiling / 2 + 1, rng)
}

const PAUSE_MS_MIN: u64 = 1000;
const PAUSE_MS_MAX: u64 = 60_000;
const TICK_MS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    #[test]
    fn pauses_grow_to_a_minute_and_differ() {
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        for (tries, ceiling) in [(1, 1000), (2, 2000), (6, 32_000), (7, 60_000), (4_000_000_000, 60_000)] {
            let pauses: Vec<u64> = (0..50).map(|_| pause_ms(tries, 86_400, rng)).collect();
            assert!(pauses.iter().all(|pause| (ceiling / 2..=ceiling).contains(pause)), "{pauses:?}");
            assert!(pauses.iter().min() < pauses.iter().max());
        }
        assert!((0..50).all(|_| pause_ms(5, 10, rng) <= 500));
    }
}
