//! Receipts: what hop 1 signed for a body, and whether the hops' statements about the epoch fit to it.

use serde::Serialize;
use throng_wire::receipt_tree::SIGNED_RECEIPT_LEN;
use throng_wire::statement::check_cascade;
use throng_wire::{
    Digest, EpochStatement, Error as WireError, KeyList, LayerKey, Outcome, Place, Receipt, Route, Signed,
    SignedReceipt, SignedSurvey,
};

use super::Respondent;
use super::answer::Answer;
use crate::error::Result;
use throng_host::bundle::Bundle;
use throng_host::clock::rfc3339;
use throng_host::ensure;

/// Checks that a receipt is for this body: signed by hop 1 of its instance, with its route and hash, in its
/// epoch.
pub fn verify_receipt(
    survey: &SignedSurvey,
    route: &Route,
    body: &Digest,
    receipt: &[u8],
) -> Result<Receipt> {
    let receipt = *SignedReceipt::from_bytes(receipt)?.verify(survey)?;
    ensure!(receipt.route == *route, Invalid, "the receipt is for another survey, label, epoch or instance");
    ensure!(receipt.body == *body, Invalid, "the receipt is for other bytes");
    let (start_s, end_s) =
        (route.epoch.saturating_mul(survey.survey().epoch_s), survey.survey().epoch_end_s(route.epoch));
    let first = throng_wire::receipt::time_bucket(survey.survey(), start_s);
    ensure!((first..end_s).contains(&receipt.time_bucket), Invalid, "the receipt's time is not in its epoch");
    Ok(receipt)
}

/// The result of a check of any receipt that somebody has at hand; it may belong to no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptCheck {
    /// What it is worth.
    pub verdict: Verdict,
    /// The same in a sentence, with what it is for.
    pub finding: String,
}

/// What a receipt is worth to the person whose answers these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Hop 1 signed that it took the bytes of an answer of theirs.
    Right,
    /// Hop 1 signed it, for something else.
    NotYours,
    /// It is not what hop 1 signed.
    Forged,
    /// It is for a survey that they have not answered.
    OtherSurvey,
    /// It is something else.
    NoReceipt,
}

impl Respondent {
    /// Checks a receipt, wherever it comes from, against all answers. Needs no network.
    pub fn check_receipt(&self, receipt: &[u8]) -> Result<ReceiptCheck> {
        let found = |verdict, finding: String| Ok(ReceiptCheck { verdict, finding });
        let Ok(signed) = SignedReceipt::from_bytes(receipt) else {
            let len = receipt.len();
            return found(
                Verdict::NoReceipt,
                format!(
                    "This is no receipt: those have {SIGNED_RECEIPT_LEN} bytes of one form, and this has {len}."
                ),
            );
        };
        let answers = self.answers()?;
        for epochs in answers.chunk_by(|one, other| one.survey == other.survey) {
            let bundle = self.bundle(&epochs[0].survey)?;
            let name = &epochs[0].name;
            let said = match signed.verify(bundle.survey()) {
                Ok(said) => said,
                Err(WireError::OtherSurvey { .. }) => continue,
                Err(error) => {
                    let finding = format!(
                        "This receipt is forged or damaged. It names the survey {name}, but {error}."
                    );
                    return found(Verdict::Forged, finding);
                }
            };
            let Route { epoch, instance, .. } = said.route;
            let signer = format!("hop 1 of instance {instance} signed");
            let answered =
                epochs.iter().flat_map(|answer| answer.bodies.iter().map(move |body| (answer, body)));
            let mut same_route = answered.filter(|(answer, body)| answer.route(body) == said.route);
            let Some((answer, body)) = same_route.next() else {
                let finding = format!(
                    "This receipt is not yours: {signer} it for epoch {epoch} of {name}, and there is no such answer of yours."
                );
                return found(Verdict::NotYours, finding);
            };
            return match verify_receipt(bundle.survey(), &answer.route(body), &body.digest, receipt) {
                Ok(receipt) => found(
                    Verdict::Right,
                    format!(
                        "This receipt is right: {signer} that it took the bytes of your answer for epoch {epoch} of {name}, at \
                         {} or up to an hour later.",
                        rfc3339(receipt.time_bucket)
                    ),
                ),
                Err(error) => found(
                    Verdict::NotYours,
                    format!(
                        "This receipt is not yours: {signer} it for epoch {epoch} of {name}, but {error:#}."
                    ),
                ),
            };
        }
        found(
            Verdict::OtherSurvey,
            "This receipt is for another survey: none that was answered with this state directory.".into(),
        )
    }
}

/// The result of a check of one body: what hops signed about it. A [`BodyStatus`](crate::BodyStatus) is what this machine
/// knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BodyCheck {
    /// The survey's name.
    pub survey: String,
    /// The epoch.
    pub epoch: u64,
    /// The instance.
    pub instance: u32,
    /// Whether there is a receipt that holds.
    pub receipt: bool,
    /// What was found, in sentences.
    pub findings: Vec<String>,
    /// Whether something contradicts what was signed before.
    pub contradiction: bool,
}

/// Checks the receipt of one body, and the statements of the hops of its instance as far as there are any.
pub(super) fn check_body(
    bundle: &Bundle,
    answer: &Answer,
    instance: u32,
    receipt: Option<&[u8]>,
    statements: &[Signed<EpochStatement>],
) -> Result<BodyCheck> {
    let mut checked = BodyCheck {
        survey: answer.name.clone(),
        epoch: answer.epoch,
        instance,
        receipt: false,
        findings: Vec::new(),
        contradiction: false,
    };
    for body in answer.bodies.iter().filter(|body| body.instance == instance) {
        match receipt.map(|bytes| verify_receipt(bundle.survey(), &answer.route(body), &body.digest, bytes)) {
            None => checked.findings.push("there is no receipt".into()),
            Some(Ok(receipt)) => {
                checked.receipt = true;
                checked.findings.push(format!(
                    "hop 1 signed that it took these bytes, at {} or up to an hour later",
                    rfc3339(receipt.time_bucket)
                ));
            }
            Some(Err(error)) => {
                checked.contradict(format!("the receipt does not hold: {error:#}"));
            }
        }
    }
    let mut cascade = Vec::new();
    for signed in statements {
        let Ok(statement) = signed.verify(bundle.survey()) else { continue };
        let route = statement.route;
        if (route.label, route.epoch, route.instance) == (answer.label, answer.epoch, instance) {
            checked.statement(bundle, answer, statement);
            cascade.push(*statement);
        }
    }
    cascade.sort_by_key(|statement| statement.hop);
    cascade.dedup();
    if cascade.len() >= bundle.survey().survey().delivery.hops as usize {
        match check_cascade(bundle.survey().survey(), &cascade) {
            Ok(Some(crowd)) => {
                checked.findings.push(format!("all hops agree on a release from a crowd of {crowd}"));
            }
            Ok(None) => checked.findings.push("all hops agree that the epoch was destroyed".into()),
            Err(error) => {
                checked.contradict(error.to_string());
            }
        }
    }
    Ok(checked)
}

impl BodyCheck {
    fn statement(&mut self, bundle: &Bundle, answer: &Answer, statement: &EpochStatement) {
        let party = Place::hop(self.instance, statement.hop);
        self.findings.push(match statement.outcome {
            Outcome::Released { respondents, .. } => {
                format!("hop {} released the epoch, with {respondents} respondents", statement.hop)
            }
            Outcome::Destroyed => format!("hop {} destroyed the epoch", statement.hop),
        });
        let destroyed = statement.outcome == Outcome::Destroyed;
        for (owner, named) in [(party, statement.key_list), (Place::Analyzer, statement.analyzer_key_list)] {
            let (hop, whose) =
                (statement.hop, if owner == party { "its own".into() } else { owner.to_string() });
            match KeyProvenance::of(bundle, answer, owner, named, destroyed) {
                KeyProvenance::Everyones => {}
                KeyProvenance::Older => self.findings.push(format!(
                    "hop {hop} names a newer key list ({whose}) than the one you had, with another key for this epoch: your \
                     envelopes could be told from others'; fetch the survey's files shortly before you answer"
                )),
                KeyProvenance::Unknown => self.contradict(format!(
                    "hop {hop} names another key list ({whose}) than the ones you were given: fetch the survey's files again, \
                     name them with --survey, and if that does not help, you were shown a list of your own"
                )),
                KeyProvenance::Own => self.contradict(format!(
                    "hop {hop} names a key list ({whose}) without the key that you sealed to: unless that party was reset \
                     since, and opened nothing of yours, you were shown a list of your own"
                )),
            }
        }
    }

    fn contradict(&mut self, finding: String) {
        self.contradiction = true;
        self.findings.push(finding);
    }
}

/// What a list that a statement names says about the key that an answer was sealed to.
enum KeyProvenance {
    /// It is the key that everyone had.
    Everyones,
    /// Others had a newer list, in which it is not the key for this epoch any more.
    Older,
    /// There is no such list here.
    Unknown,
    /// Nobody else had it.
    Own,
}

impl KeyProvenance {
    /// Serials alone show nothing: a list may be newer and name the same key for the epoch, or be made for one person.
    fn of(bundle: &Bundle, answer: &Answer, owner: Place, named: Digest, destroyed: bool) -> Self {
        let Some(&sealed) = answer.key_lists.get(&owner) else { return Self::Unknown };
        if sealed == named {
            return Self::Everyones;
        }
        let lists = bundle.all_key_lists();
        let Some(named) = lists.find(owner, named) else { return Self::Unknown };
        // Lists that an answer was sealed by are kept for as long as the answer.
        let Some(sealed) = lists.find(owner, sealed) else { return Self::Unknown };
        let Ok(key) = sealed.key_for(answer.epoch) else { return Self::Own };
        let has = |list: &KeyList, key: &LayerKey| list.keys.iter().any(|one| one.public == key.public);
        match named.key_for(answer.epoch) {
            Ok(everyones) if everyones.public == key.public => Self::Everyones,
            Ok(_) if named.serial > sealed.serial && has(named, key) => Self::Older,
            // A party that has lost or forgotten its keys opens nothing.
            Err(_) if destroyed => Self::Everyones,
            _ => Self::Own,
        }
    }
}
