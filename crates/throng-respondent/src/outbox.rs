//! A transactional outbox: answers on the respondent's disk, with the bytes that are sent, and sent again, and what became
//! of them.
//!
//! An answer is written as a draft, then recorded in the ledger, then given its name. A draft that the ledger
//! does not know has spent nothing and is removed; one that it knows is completed, with the same bytes. So
//! nothing is sent that was not recorded, nothing is spent twice, and no answer is made anew. The value is in
//! no file here.

use throng_encode::Body;
use throng_wire::{Digest, SurveyHash};

use super::answer::Answer;
use super::personal_ledger::PersonalLedger;
use super::state_dir::{OUTBOX, StateDir};
use crate::error::{Context, Error, Result};
use throng_host::{bail, ensure};

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
    pub(super) fn write_draft(self, answer: &Answer) -> Result<Digest> {
        let bytes = answer.to_bytes()?;
        self.0.write_checked(&file(&answer.survey, answer.epoch, DRAFT), KIND, &bytes)?;
        Ok(Digest::of(&bytes))
    }

    /// Gives a draft its name, now that the ledger has it.
    pub(super) fn commit(self, answer: &Answer) -> Result<()> {
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
    ) -> Result<Option<Answer>> {
        let name = file(survey, epoch, ANSWER);
        match self.0.read_checked(&name, KIND)? {
            Some(bytes) => Ok(Some(self.parse(&name, &bytes)?)),
            None if ledger.entry(survey, epoch).is_some() => Err(lost(self.0, &name)),
            None => Ok(None),
        }
    }

    /// All answers: by survey, then by epoch as text. Those that cannot be read, or that the ledger knows and the disk does not,
    /// are errors of their own.
    pub(super) fn all(self, ledger: &PersonalLedger) -> Result<Vec<Result<Answer>>> {
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
    pub(super) fn drop_bytes(self, answer: &mut Answer) -> Result<()> {
        if answer.bodies.iter().all(|body| body.bytes().is_empty()) {
            return Ok(());
        }
        answer.bodies.iter_mut().for_each(Body::drop_bytes);
        self.0.write_checked(&file(&answer.survey, answer.epoch, ANSWER), KIND, &answer.to_bytes()?)
    }

    /// The receipt of a body, as it came.
    pub(super) fn receipt(self, answer: &Answer, instance: u32) -> Result<Option<Vec<u8>>> {
        Ok(self.0.read(&beside(answer, "receipt", instance))?.map(|bytes| bytes.to_vec()))
    }

    /// Keeps the receipt of a body.
    pub(super) fn keep_receipt(self, answer: &Answer, instance: u32, receipt: &[u8]) -> Result<()> {
        self.0.write(&beside(answer, "receipt", instance), receipt)
    }

    /// Why a hop refused a body for good, if it did.
    pub(super) fn refusal(self, answer: &Answer, instance: u32) -> Result<Option<String>> {
        let bytes = self.0.read_checked(&beside(answer, "refused", instance), &refusal(instance))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Keeps why a hop refused a body for good.
    pub(super) fn keep_refusal(self, answer: &Answer, instance: u32, reason: &str) -> Result<()> {
        let name = beside(answer, "refused", instance);
        self.0.write_checked(&name, &refusal(instance), reason.as_bytes())
    }

    fn parse(self, name: &str, bytes: &[u8]) -> Result<Answer> {
        let path = || format!("{} cannot be read; put back a copy of it", self.0.path(name).display());
        let answer = Answer::from_bytes(bytes).damaged(path)?;
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

fn beside(answer: &Answer, what: &str, instance: u32) -> String {
    file(&answer.survey, answer.epoch, &format!(".{what}-{instance}"))
}

const ANSWER: &str = ".answer";
const DRAFT: &str = ".draft";
const KIND: &str = "answer";
