//! Answers on the respondent's disk: the bytes that are sent, and sent again, and what became of them.
//!
//! An answer is written as a draft, then recorded in the ledger, then given its name. A draft that the ledger
//! does not know has spent nothing and is removed; one that it knows is completed, with the same bytes. So
//! nothing is sent that was not recorded, nothing is spent twice, and no answer is made anew. The value is in
//! no file here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use throng_encode::Answer;
use throng_wire::{Digest, Place, Route, SurveyHash};

use super::personal_ledger::PersonalLedger;
use super::state_dir::{OUTBOX, StateDir};
use crate::error::{Context, Error, Result};
use throng_host::{bail, ensure};

/// One answer: what was made for an epoch of a survey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAnswer {
    /// The survey.
    pub survey: SurveyHash,
    /// Its name.
    pub name: String,
    /// The label that it is sent under, or 0.
    pub label: u32,
    /// The epoch that it is for.
    pub epoch: u64,
    /// When that ends, in seconds since 1970-01-01T00:00:00Z.
    pub epoch_end_s: u64,
    /// Where the respondent's credential is; absent with open enrolment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<PathBuf>,
    /// The hashes of the key lists that it was sealed by.
    pub key_lists: BTreeMap<Place, Digest>,
    /// One body for each instance.
    pub bodies: Vec<StoredBody>,
}

/// One body, as long as it may have to be sent again; then only its hash.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredBody {
    /// The instance.
    pub instance: u32,
    /// When it is sent: milliseconds since 1970-01-01T00:00:00Z.
    pub send_at_ms: u64,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// How many bytes it has.
    pub length: u64,
    kept: bool,
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl StoredAnswer {
    /// An answer that was just made.
    pub(super) fn new(
        answer: Answer,
        name: &str,
        epoch_end_s: u64,
        credential: Option<PathBuf>,
        key_lists: BTreeMap<Place, Digest>,
    ) -> Result<Self> {
        let Route { survey, label, epoch, .. } = answer
            .bodies
            .first()
            .ok_or_else(|| Error::invalid("an answer has a body for each instance"))?
            .route;
        let bodies = answer
            .bodies
            .into_iter()
            .map(|body| StoredBody {
                instance: body.route.instance,
                send_at_ms: body.send_at_ms,
                digest: body.digest,
                length: body.bytes.len() as u64,
                kept: true,
                bytes: body.bytes,
            })
            .collect();
        Ok(Self { survey, name: name.to_owned(), label, epoch, epoch_end_s, credential, key_lists, bodies })
    }

    /// What a body is bound to.
    pub fn route(&self, body: &StoredBody) -> Route {
        Route { survey: self.survey, label: self.label, epoch: self.epoch, instance: body.instance }
    }

    /// When the epoch ends, in milliseconds.
    pub(super) fn epoch_end_ms(&self) -> u64 {
        self.epoch_end_s.saturating_mul(1000)
    }

    /// What is in a file.
    #[doc(hidden)]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let manifest = serde_json::to_vec(self)?;
        let mut bytes = u32::try_from(manifest.len())
            .map_err(|_| Error::invalid("it is too long"))?
            .to_be_bytes()
            .to_vec();
        bytes.extend(manifest);
        self.bodies.iter().for_each(|body| bytes.extend(&body.bytes));
        Ok(bytes)
    }

    /// Reads what `to_bytes` wrote. For whoever tries all kinds of bytes on it: files have a checksum around this.
    #[doc(hidden)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (length, rest) =
            bytes.split_first_chunk::<4>().ok_or_else(|| Error::damaged("it is too short"))?;
        let (manifest, mut rest) = rest
            .split_at_checked(u32::from_be_bytes(*length) as usize)
            .ok_or_else(|| Error::damaged("it is too short"))?;
        let mut answer: Self = serde_json::from_slice(manifest)?;
        for body in answer.bodies.iter_mut().filter(|body| body.kept) {
            let length = usize::try_from(body.length).ok();
            let (bytes, after) = length
                .and_then(|length| rest.split_at_checked(length))
                .ok_or_else(|| Error::damaged("it is too short"))?;
            ensure!(Digest::of(bytes) == body.digest, Damaged, "a body has another hash");
            (body.bytes, rest) = (bytes.to_vec(), after);
        }
        ensure!(rest.is_empty(), Damaged, "it is too long");
        Ok(answer)
    }
}

impl StoredBody {
    /// Its bytes, unless they were dropped when the epoch was over.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.kept.then_some(&*self.bytes)
    }
}

/// Bytes that are sealed say nothing, and are many.
impl std::fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredBody(instance {}, {} bytes, {})", self.instance, self.length, self.digest)
    }
}

/// The outbox of a state directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outbox<'a>(pub(super) &'a StateDir);

impl Outbox<'_> {
    /// Completes or removes what a crash left as a draft. An answer that the ledger does not know is no such thing: the ledger is
    /// older than the answer, and would spend again.
    pub(super) fn recover(self, ledger: &PersonalLedger) -> Result<()> {
        for name in self.0.names(OUTBOX)?.iter().filter_map(|name| name.strip_suffix(ANSWER)) {
            let known = name
                .split_once('-')
                .and_then(|(survey, epoch)| ledger.entry(&survey.parse().ok()?, epoch.parse().ok()?));
            ensure!(
                known.is_some(),
                Damaged,
                "{} is an answer that the ledger does not know; put back the newest copy of the ledger. An older one has \
                 forgotten what was spent",
                self.0.path(&format!("{OUTBOX}/{name}{ANSWER}")).display()
            );
        }
        for name in self.0.names(OUTBOX)?.iter().filter(|name| name.ends_with(DRAFT)) {
            let draft = format!("{OUTBOX}/{name}");
            let bytes =
                self.0.read_checked(&draft, KIND)?.ok_or_else(|| Error::damaged("a draft has gone"))?;
            let answer = self.parse(&draft, &bytes)?;
            match ledger.entry(&answer.survey, answer.epoch) {
                None => self.0.remove(&draft)?,
                Some(entry) if entry.answer == Digest::of(&bytes) => {
                    self.0.rename(&draft, &file(&answer.survey, answer.epoch, ANSWER))?;
                }
                Some(_) => bail!(
                    Damaged,
                    "{} is not the answer that the ledger has for this epoch; put back a copy of the \
                     directory",
                    self.0.path(&draft).display()
                ),
            }
        }
        Ok(())
    }

    /// Writes an answer that is not to be sent yet; returns what the ledger has to name.
    pub(super) fn write_draft(self, answer: &StoredAnswer) -> Result<Digest> {
        let bytes = answer.to_bytes()?;
        self.0.write_checked(&file(&answer.survey, answer.epoch, DRAFT), KIND, &bytes)?;
        Ok(Digest::of(&bytes))
    }

    /// Gives a draft its name, now that the ledger has it.
    pub(super) fn commit(self, answer: &StoredAnswer) -> Result<()> {
        let name = |suffix| file(&answer.survey, answer.epoch, suffix);
        self.0.rename(&name(DRAFT), &name(ANSWER))
    }

    /// The answer for an epoch of a survey, if there is one. One that the ledger knows and the disk does not
    /// was lost.
    pub(super) fn find(
        self,
        ledger: &PersonalLedger,
        survey: &SurveyHash,
        epoch: u64,
    ) -> Result<Option<StoredAnswer>> {
        let name = file(survey, epoch, ANSWER);
        match self.0.read_checked(&name, KIND)? {
            Some(bytes) => Ok(Some(self.parse(&name, &bytes)?)),
            None if ledger.entry(survey, epoch).is_some() => Err(lost(self.0, &name)),
            None => Ok(None),
        }
    }

    /// All answers: by survey, then by epoch as text. Those that cannot be read, or that the ledger knows and the disk does not,
    /// are errors of their own.
    pub(super) fn all(self, ledger: &PersonalLedger) -> Result<Vec<Result<StoredAnswer>>> {
        let names = self.0.names(OUTBOX)?;
        let gone = ledger.entries().iter().filter_map(|entry| {
            // While somebody else answers, the last one may still be a draft.
            let own = [ANSWER, DRAFT].map(|suffix| file(&entry.survey, entry.epoch, suffix));
            let there = own.iter().any(|own| names.iter().any(|name| own.ends_with(name.as_str())));
            (!there).then(|| Err(lost(self.0, &own[0])))
        });
        Ok(names
            .iter()
            .filter(|name| name.ends_with(ANSWER))
            .map(|name| {
                let name = format!("{OUTBOX}/{name}");
                let bytes =
                    self.0.read_checked(&name, KIND)?.ok_or_else(|| Error::damaged("an answer has gone"))?;
                self.parse(&name, &bytes)
            })
            .chain(gone)
            .collect())
    }

    /// Drops the bytes of an answer whose epoch is over. Hashes and receipts stay.
    pub(super) fn drop_bytes(self, answer: &mut StoredAnswer) -> Result<()> {
        if answer.bodies.iter().all(|body| !body.kept) {
            return Ok(());
        }
        for body in &mut answer.bodies {
            (body.kept, body.bytes) = (false, Vec::new());
        }
        self.0.write_checked(&file(&answer.survey, answer.epoch, ANSWER), KIND, &answer.to_bytes()?)
    }

    /// The receipt of a body, as it came.
    pub(super) fn receipt(self, answer: &StoredAnswer, instance: u32) -> Result<Option<Vec<u8>>> {
        Ok(self.0.read(&beside(answer, "receipt", instance))?.map(|bytes| bytes.to_vec()))
    }

    /// Keeps the receipt of a body.
    pub(super) fn keep_receipt(self, answer: &StoredAnswer, instance: u32, receipt: &[u8]) -> Result<()> {
        self.0.write(&beside(answer, "receipt", instance), receipt)
    }

    /// Why a hop refused a body for good, if it did.
    pub(super) fn refusal(self, answer: &StoredAnswer, instance: u32) -> Result<Option<String>> {
        let bytes = self.0.read_checked(&beside(answer, "refused", instance), &refusal(instance))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Keeps why a hop refused a body for good.
    pub(super) fn keep_refusal(self, answer: &StoredAnswer, instance: u32, reason: &str) -> Result<()> {
        let name = beside(answer, "refused", instance);
        self.0.write_checked(&name, &refusal(instance), reason.as_bytes())
    }

    fn parse(self, name: &str, bytes: &[u8]) -> Result<StoredAnswer> {
        let path = || format!("{} cannot be read; put back a copy of it", self.0.path(name).display());
        let answer = StoredAnswer::from_bytes(bytes).damaged(path)?;
        let names = [ANSWER, DRAFT].map(|suffix| file(&answer.survey, answer.epoch, suffix));
        ensure!(
            names.iter().any(|own| own == name),
            Damaged,
            "{} has another answer's name",
            self.0.path(name).display()
        );
        Ok(answer)
    }
}

/// An answer that the ledger knows and the disk does not.
fn lost(state: &StateDir, name: &str) -> Error {
    Error::damaged(format!(
        "{} is missing, which the ledger says was made; put back a copy of it, or answer in another epoch. It is not made \
         anew, because that would randomize again",
        state.path(name).display()
    ))
}

/// What a refusal is authenticated as.
fn refusal(instance: u32) -> String {
    format!("refusal of instance {instance}")
}

fn file(survey: &SurveyHash, epoch: u64, suffix: &str) -> String {
    format!("{OUTBOX}/{survey}-{epoch}{suffix}")
}

fn beside(answer: &StoredAnswer, what: &str, instance: u32) -> String {
    file(&answer.survey, answer.epoch, &format!(".{what}-{instance}"))
}

const ANSWER: &str = ".answer";
const DRAFT: &str = ".draft";
const KIND: &str = "answer";

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::parsing::check_bytes;

    fn stored(instance: u32, bytes: &[u8], kept: bool) -> StoredBody {
        let bytes = if kept { bytes.to_vec() } else { Vec::new() };
        let (digest, length) = (Digest::of(b"the body"), 8);
        StoredBody { instance, send_at_ms: 7, digest, length, kept, bytes }
    }

    #[test]
    fn any_stored_answer_is_refused_or_has_the_bodies_that_it_names() {
        let answer = StoredAnswer {
            survey: SurveyHash::new([1; 32]),
            name: "survey".into(),
            label: 2,
            epoch: 3,
            epoch_end_s: 4 * 3600,
            credential: Some("credential".into()),
            key_lists: [(Place::Analyzer, Digest::NONE), (Place::hop(1, 1), Digest::NONE)].into(),
            bodies: vec![stored(1, b"the body", true), stored(2, b"", false), stored(3, b"the body", true)],
        };
        check_bytes(&answer.to_bytes().unwrap(), |bytes| {
            let read = StoredAnswer::from_bytes(bytes).ok()?;
            for body in read.bodies.iter().filter_map(|body| Some((body.bytes()?, body))) {
                assert_eq!((Digest::of(body.0), body.0.len() as u64), (body.1.digest, body.1.length));
            }
            assert_eq!(StoredAnswer::from_bytes(&read.to_bytes().unwrap()).unwrap(), read);
            // Spaces do not matter to JSON: the bytes may have been others.
            Some(bytes.to_vec())
        });
    }
}
