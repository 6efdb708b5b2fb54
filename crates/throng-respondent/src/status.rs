//! What was sent, when and under which guarantee: for the person who answered.

use serde::Serialize;
use throng_encode::Body;
use throng_survey::{CheckedClaim, Promise};
use throng_wire::{Digest, Layout, Place, SurveyHash};

use super::Respondent;
use super::answer::Answer;
use super::personal_ledger::NextEpoch;
use super::sending::Fate;
use crate::error::{Error, Result};
use throng_account::rounding::at_most;
use throng_host::bundle::Bundle;
use throng_host::clock::rfc3339;

/// What became of one answer, and what it guarantees: all that is shown of it, as text, JSON and on the page. An [`Answer`] is what
/// is stored; most of what is here follows from the survey, the ledger and the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerStatus {
    /// The survey's name.
    pub survey: String,
    /// Its hash.
    pub survey_hash: SurveyHash,
    /// What it asks.
    pub question: String,
    /// The label that it is sent under, where the survey has labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The epoch.
    pub epoch: u64,
    /// From when ...
    pub epoch_start: String,
    /// ... to when it lasts (UTC).
    pub epoch_end: String,
    /// What is left whatever fails: of one epoch, or with a backstop of all epochs while the answer stays the same.
    pub epsilon_floor: f64,
    /// What this answer added to what the person has spent.
    pub epsilon_added: f64,
    /// What another epoch would add, where answers may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_epoch: Option<NextEpoch>,
    /// What is left if a single fragment is known to be theirs.
    pub epsilon_fragment: f64,
    /// What is claimed ...
    #[serde(flatten)]
    pub promise: Promise,
    /// ... and what the respondent's own accountant found of a release.
    pub epsilon_central_found: f64,
    /// All of this in sentences, with what it rests on.
    pub guarantee: Vec<String>,
    /// One body for each instance.
    pub bodies: Vec<BodyStatus>,
}

/// What became of one body of an answer, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BodyStatus {
    /// The instance.
    pub instance: u32,
    /// Who runs its first hop, and under whose law.
    pub operator: String,
    /// How many envelopes it has.
    pub envelopes: u32,
    /// How many bytes.
    pub bytes: u64,
    /// SHA-256 of them.
    pub sha256: Digest,
    /// The first of them, in hexadecimal digits, as long as they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bytes: Option<String>,
    /// When it is, or was to be, sent (UTC).
    pub send_at: String,
    /// What became of it: waiting, acknowledged, refused, late, or damaged: a receipt that does not hold (any more).
    pub fate: &'static str,
    /// The same in words.
    pub fate_in_words: String,
}

impl Respondent {
    /// Everything that is in the outbox, by survey and epoch.
    pub fn show(&self, now_ms: u64) -> Result<Vec<AnswerStatus>> {
        let answers = self.answers()?;
        let mut shown = Vec::new();
        // A survey is read and accounted for once, however many of its epochs were answered under one label.
        for epochs in answers.chunk_by(|one, other| (one.survey, one.label) == (other.survey, other.label)) {
            let bundle = self.bundle(&epochs[0].survey)?;
            let claim = CheckedClaim::under(bundle.survey().survey(), epochs[0].label)?;
            for answer in epochs {
                shown.push(self.show_under(&bundle, &claim, answer, now_ms)?);
            }
        }
        Ok(shown)
    }

    /// One answer.
    pub fn show_answer(&self, answer: &Answer, now_ms: u64) -> Result<AnswerStatus> {
        let bundle = self.bundle(&answer.survey)?;
        let claim = CheckedClaim::under(bundle.survey().survey(), answer.label)?;
        self.show_under(&bundle, &claim, answer, now_ms)
    }

    fn show_under(
        &self,
        bundle: &Bundle,
        claim: &CheckedClaim,
        answer: &Answer,
        now_ms: u64,
    ) -> Result<AnswerStatus> {
        let survey = bundle.survey().survey();
        let start_s = answer.epoch.saturating_mul(survey.epoch_s);
        let mut bodies = Vec::new();
        for body in &answer.bodies {
            let party = survey
                .party(Place::hop(body.instance, 1))
                .ok_or_else(|| Error::invalid("the survey has no such instance"))?;
            let length = usize::try_from(body.length).ok();
            let envelopes = length.and_then(|length| Layout::of(survey).envelopes_in(length));
            let (fate, fate_in_words) = match self.fate(bundle, answer, body, now_ms) {
                Ok(fate) => (fate.word(), fate.in_words(body)),
                Err(error) => ("damaged", format!("{error:#}")),
            };
            bodies.push(BodyStatus {
                instance: body.instance,
                operator: format!("{} ({})", party.operator, party.jurisdiction),
                envelopes: envelopes
                    .ok_or_else(|| Error::damaged("a body has a length that the survey does not have"))?,
                bytes: body.length,
                sha256: body.digest,
                first_bytes: first_bytes(body),
                send_at: rfc3339(body.send_at_ms / 1000),
                fate,
                fate_in_words,
            });
        }
        let label = survey.labels.as_ref().and_then(|labels| labels.name(answer.label));
        let next_epoch = self.ledger.next_epoch(&answer.survey)?;
        let mut guarantee = claim.sentences();
        guarantee.extend(next_epoch.map(|next| next.in_words()));
        Ok(AnswerStatus {
            survey: answer.name.clone(),
            survey_hash: answer.survey,
            question: survey.question.clone(),
            label: label.map(str::to_owned),
            epoch: answer.epoch,
            epoch_start: rfc3339(start_s),
            epoch_end: rfc3339(answer.epoch_end_ms() / 1000),
            epsilon_floor: claim.floor.epsilon().value(),
            epsilon_added: self.ledger.added(&answer.survey, answer.epoch)?.unwrap_or_default(),
            next_epoch,
            epsilon_fragment: claim.fragment.epsilon().value(),
            promise: claim.promise.clone(),
            epsilon_central_found: claim.central.epsilon().value(),
            guarantee,
            bodies,
        })
    }
}

impl Fate {
    fn word(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Acknowledged(_) => "acknowledged",
            Self::Refused(_) => "refused",
            Self::Late => "late",
        }
    }

    fn in_words(&self, body: &Body) -> String {
        match self {
            Self::Waiting => format!("is sent at {}", rfc3339(body.send_at_ms / 1000)),
            Self::Acknowledged(receipt) => format!(
                "hop 1 signed that it has it, at {} or up to an hour later",
                rfc3339(receipt.time_bucket)
            ),
            Self::Refused(reason) => format!("hop 1 will not take it: {reason}"),
            Self::Late => "the epoch closed before hop 1 acknowledged it; it is not sent in another".into(),
        }
    }
}

impl NextEpoch {
    /// What a further epoch adds, for the person who decides about it.
    pub fn in_words(&self) -> String {
        format!(
            "You have answered {} of its epochs. One more adds epsilon {:.4} (removal) with the answer that you gave last, \
             {:.4} with one that you never gave, and {:.4} with nothing to say.",
            self.epochs,
            at_most(self.epsilon_same),
            at_most(self.epsilon_another),
            at_most(self.epsilon_nothing),
        )
    }
}

fn first_bytes(body: &Body) -> Option<String> {
    let first = body.bytes().iter().take(FIRST_BYTES);
    Some(first.map(|byte| format!("{byte:02x}")).collect()).filter(|digits: &String| !digits.is_empty())
}

const FIRST_BYTES: usize = 32;
