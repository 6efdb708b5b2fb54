//! Answering: from a value to bodies in the outbox, and what it spends.

use getrandom::rand_core::CryptoRng;
use throng_dp::{Mechanism, Value};
use throng_encode::{Schedule, StoredBackstop, seal};
use throng_survey::CheckedClaim;
use throng_wire::survey::{AnswerChanges, Survey};

use super::answer::{Answer, AnswerOptions, Origin};
use super::outbox::Outbox;
use super::permanent::{Draw, Drawer};
use super::personal_ledger::{ChangingAnswer, Entry, PermanentDraw, Spending};
use super::{Respondent, complete};
use crate::error::{Refusal, Result};
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;

impl Respondent {
    /// Answers a survey in its next epoch: makes what is sent and puts it into the outbox. Refused where the survey does not
    /// keep what it claims, or where the person's limit is reached. A value is a number, or in a survey of several attributes a
    /// `Vec` with one number or `None` for each. An epoch has one answer: asked again, it is the same, whatever the value.
    pub fn answer(&mut self, bundle: &Bundle, value: impl Into<Value>) -> Result<Answer> {
        let options = AnswerOptions::default();
        self.answer_with(bundle, value, &options, SystemClock.now_ms(), &mut system_rng()?)
    }

    /// The same with a label, an epoch, a time and randomness of the caller's choice.
    pub fn answer_with(
        &mut self,
        bundle: &Bundle,
        value: impl Into<Value>,
        options: &AnswerOptions,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Answer> {
        self.make(bundle, Some(&value.into()), options, now_ms, rng)
    }

    /// Answers a survey in its next epoch for a person who has nothing to say. It looks like any other answer, and spends what
    /// the ledger says.
    pub fn abstain(&mut self, bundle: &Bundle) -> Result<Answer> {
        let options = AnswerOptions::default();
        self.abstain_with(bundle, &options, SystemClock.now_ms(), &mut system_rng()?)
    }

    /// The same with a label, an epoch, a time and randomness of the caller's choice.
    pub fn abstain_with(
        &mut self,
        bundle: &Bundle,
        options: &AnswerOptions,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Answer> {
        self.make(bundle, None, options, now_ms, rng)
    }

    /// Finds out whether a survey keeps what it claims and can be sent to, before anybody is asked for anything.
    pub fn would_take(&self, bundle: &Bundle) -> Result<()> {
        keeps_its_claim(bundle.survey().survey())?;
        complete(bundle)
    }

    fn make(
        &mut self,
        bundle: &Bundle,
        value: Option<&Value>,
        options: &AnswerOptions,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Answer> {
        let survey = bundle.survey().survey();
        keeps_its_claim(survey)?;
        let schedule = Schedule::new(survey, options.when, now_ms)?;
        let epoch = schedule.epoch();
        complete(bundle)?;
        self.remember(bundle, survey.epoch_at(now_ms / 1000))?;
        let hash = bundle.survey().hash();
        if let Some(answer) = Outbox(&self.state).find(&self.ledger, &hash, epoch)? {
            return Ok(answer);
        }
        let credential = self.credential_for(survey, &hash, rng)?;

        // Value -> report -> fragments. Nothing is written before the ledger has agreed.
        let mechanism = survey.mechanism()?;
        let drawer = Drawer { state: &self.state, secret: &self.secret, ledger: &self.ledger };
        let changes = survey.answer_changes().unwrap_or_default();
        let backstop = drawer.backstop(&hash, changes, &mechanism, value, rng)?;
        let fragments = match &backstop {
            Some(backstop) => backstop.what.fragments(&mechanism, rng)?,
            None => mechanism.randomize(value, rng)?,
        };
        let label = drawer.label(&hash, survey, options.label.as_deref(), rng)?;
        let answer_name = drawer.answer_name(&hash, value);
        let spending = spending(survey, &mechanism, backstop.as_ref(), answer_name, &label);
        self.ledger.check(&spending)?;
        let is_later = backstop.as_ref().is_some_and(|kept| !kept.is_new());
        let origin = if changes == AnswerChanges::Never && is_later { Origin::First } else { Origin::Now };
        if let Some(backstop) = &backstop {
            backstop.store(&self.state)?;
        }
        if epsilon_label(survey).is_some() {
            label.store(&self.state)?;
        }

        // Fragments -> bodies -> draft, ledger, outbox; in this order.
        let label = label.what;
        let bodies = seal(bundle.survey(), bundle.key_lists(), label, &schedule, &fragments, rng)?;
        let lists = survey.places().filter_map(|place| Some((place, bundle.key_list_digest(place)?)));
        let answer = Answer {
            survey: hash,
            name: survey.name.clone(),
            label,
            epoch,
            epoch_end_s: survey.epoch_end_s(epoch),
            credential,
            key_lists: lists.collect(),
            bodies,
            origin,
        };
        let digest = Outbox(&self.state).write_draft(&answer)?;
        let mut ledger = self.ledger.clone();
        ledger.record(Entry { survey: hash, name: survey.name.clone(), epoch, answer: digest, spending });
        ledger.write(&self.state)?;
        self.ledger = ledger;
        Outbox(&self.state).commit(&answer)?;
        Ok(answer)
    }
}

/// What an answer spends of the person's own limit.
fn spending(
    survey: &Survey,
    mechanism: &Mechanism,
    backstop: Option<&Draw<StoredBackstop>>,
    answer: Option<String>,
    label: &Draw<u32>,
) -> Spending {
    let floor = mechanism.floor().epsilon().value();
    let label_spent = epsilon_label(survey).map(|epsilon| PermanentDraw { id: label.id.clone(), epsilon });
    let mut spending =
        Spending { epsilon_local: 0.0, permanent: label_spent.into_iter().collect(), given: None };
    match (backstop, survey.answer_changes(), mechanism.series()) {
        (Some(coins), Some(AnswerChanges::Allowed), Some(series)) => {
            spending.given = Some(ChangingAnswer::new(coins.id.clone(), answer, &series));
        }
        // Which answer was the first is in no file.
        (Some(first), ..) => spending.permanent.push(PermanentDraw { id: first.id.clone(), epsilon: floor }),
        (None, ..) => spending.epsilon_local = floor,
    }
    spending
}

/// What a label is randomized with, where labels are not public.
fn epsilon_label(survey: &Survey) -> Option<f64> {
    survey.labels.as_ref().and_then(|labels| labels.epsilon_label)
}

/// A survey that does not keep what it claims is refused by a rule; anything else is a failure.
fn keeps_its_claim(survey: &Survey) -> Result<()> {
    match CheckedClaim::check(survey) {
        Ok(_) => Ok(()),
        Err(throng_survey::Error::Claim(reason)) => Err(Refusal::Claim(reason).into()),
        Err(other) => Err(other.into()),
    }
}
