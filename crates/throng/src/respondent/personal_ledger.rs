//! What a person has spent over all surveys, and the limit that they set themselves.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use throng_dp::Epsilon;
use throng_wire::{Digest, SurveyHash};

use super::state_dir::StateDir;
use crate::exit::Refusal;
use crate::rounding::{at_least, at_most};

/// The local guarantees of everything that was answered, added up (removal): what is left whatever fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonalLedger {
    epsilon_limit: f64,
    entries: Vec<Entry>,
}

/// What one answer spent. It is written before anything is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The survey.
    pub survey: SurveyHash,
    /// Its name.
    pub name: String,
    /// The epoch.
    pub epoch: u64,
    /// SHA-256 of the answer in the outbox, so that a crash in between can be told from a loss.
    pub answer: Digest,
    /// What it spent.
    pub spending: Spending,
}

/// What an answer spends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    /// A report of its own: every epoch spends epsilon_local again. 0 behind a backstop.
    pub epsilon_local: f64,
    /// What was drawn once and for all, and is paid once however many answers use it: a backstop, a
    /// randomized label.
    pub permanent: Vec<Permanent>,
}

/// Something that was drawn once and for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permanent {
    /// Its name in the state directory, which does not show the value.
    pub id: String,
    /// What it spends: epsilon_backstop, or epsilon_label.
    pub epsilon: f64,
}

/// The limit of someone who sets none: a handful of single answers, or as many backstops.
pub const EPSILON_LIMIT_DEFAULT: f64 = 50.0;

impl PersonalLedger {
    /// An empty ledger.
    pub(super) fn new(epsilon_limit: Epsilon) -> Self {
        Self { epsilon_limit: epsilon_limit.value(), entries: Vec::new() }
    }

    /// Reads the ledger, if it is there.
    pub(super) fn read(state: &StateDir) -> Result<Option<Self>> {
        let Some(bytes) = state.read_checked(LEDGER, LEDGER)? else { return Ok(None) };
        let unreadable = || format!("{} is not the ledger of this version", state.path(LEDGER).display());
        let ledger: Self = serde_json::from_slice(&bytes).with_context(unreadable)?;
        ledger.spent().with_context(unreadable)?;
        Epsilon::new(ledger.epsilon_limit).with_context(unreadable)?;
        Ok(Some(ledger))
    }

    /// Makes it durable.
    pub(super) fn write(&self, state: &StateDir) -> Result<()> {
        state.write_checked(LEDGER, LEDGER, &serde_json::to_vec_pretty(self)?)
    }

    /// The person's limit.
    pub fn epsilon_limit(&self) -> f64 {
        self.epsilon_limit
    }

    pub(super) fn set_epsilon_limit(&mut self, limit: Epsilon) {
        self.epsilon_limit = limit.value();
    }

    /// What was answered, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of an epoch of a survey.
    pub fn entry(&self, survey: &SurveyHash, epoch: u64) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.survey == *survey && entry.epoch == epoch)
    }

    /// Whether an answer has used what has this name.
    pub(super) fn has_used(&self, id: &str) -> bool {
        self.entries.iter().flat_map(|entry| &entry.spending.permanent).any(|permanent| permanent.id == id)
    }

    /// What everything together has spent.
    pub fn spent(&self) -> Result<Epsilon> {
        total(self.entries.iter().map(|entry| &entry.spending))
    }

    /// The answers in order, each with what had been spent once it was made.
    pub fn spent_after_each(&self) -> Result<Vec<(&Entry, Epsilon)>> {
        let until = |index: usize| self.entries.iter().take(index + 1).map(|entry| &entry.spending);
        let each = self.entries.iter().enumerate();
        each.map(|(index, entry)| Ok((entry, total(until(index))?))).collect()
    }

    /// What the limit leaves for further answers.
    pub fn left(&self) -> Result<f64> {
        Ok((self.epsilon_limit - self.spent()?.value()).max(0.0))
    }

    /// Refuses what would exceed the limit.
    pub(super) fn check(&self, more: &Spending) -> Result<()> {
        let spent = self.spent()?;
        let after = total(self.entries.iter().map(|entry| &entry.spending).chain([more]))?;
        if after.value() <= self.epsilon_limit {
            return Ok(());
        }
        let left = self.left()?;
        Err(Refusal(format!(
            "this answer spends epsilon {:.4}, and of your limit of {} only {:.4} is left; \
             --epsilon-limit {} would allow it, at the price of your privacy",
            at_most(after.value() - spent.value()),
            self.epsilon_limit,
            at_least(left),
            after.value().ceil(),
        ))
        .into())
    }

    pub(super) fn record(&mut self, entry: Entry) {
        self.entries.push(entry);
    }
}

/// The sum of the epsilons, with everything permanent counted once; rounded up.
fn total<'a>(all: impl Iterator<Item = &'a Spending>) -> Result<Epsilon> {
    let mut sum = Epsilon::ZERO;
    let mut paid = BTreeSet::new();
    for spending in all {
        sum = sum + Epsilon::new(spending.epsilon_local)?;
        for permanent in &spending.permanent {
            let epsilon = Epsilon::new(permanent.epsilon)?;
            sum = if paid.insert(&permanent.id) { sum + epsilon } else { sum };
        }
    }
    Ok(sum)
}

const LEDGER: &str = "ledger";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsing::check_bytes;
    use crate::respondent::state_dir::tests::plant;

    fn entry(epoch: u64, epsilon_local: f64, permanent: &[(&str, f64)]) -> Entry {
        let permanent =
            permanent.iter().map(|&(id, epsilon)| Permanent { id: id.to_owned(), epsilon }).collect();
        Entry {
            survey: SurveyHash::new([1; 32]),
            name: "survey".into(),
            epoch,
            answer: Digest::NONE,
            spending: Spending { epsilon_local, permanent },
        }
    }

    #[test]
    fn a_backstop_is_paid_once_and_a_report_every_time() {
        let mut ledger = PersonalLedger::new(Epsilon::new(20.0).unwrap());
        let (a, b, label) = (("a", 4.0), ("b", 4.0), ("label", 0.5));
        for (entry, spent) in [
            (entry(1, 3.5, &[]), 3.5),
            (entry(2, 3.5, &[label]), 7.5),
            (entry(3, 0.0, &[a, label]), 11.5),
            (entry(4, 0.0, &[a]), 11.5),
            (entry(5, 0.0, &[b, label]), 15.5),
        ] {
            ledger.check(&entry.spending).unwrap();
            ledger.record(entry);
            assert_eq!(ledger.spent().unwrap().value(), spent);
        }
        let after: Vec<f64> =
            ledger.spent_after_each().unwrap().iter().map(|(_, spent)| spent.value()).collect();
        assert_eq!((after, ledger.left().unwrap()), (vec![3.5, 7.5, 11.5, 11.5, 15.5], 4.5));
        assert!(ledger.has_used("a") && !ledger.has_used("c"));
        let refused = ledger.check(&entry(6, 5.0, &[]).spending).unwrap_err();
        assert_eq!(crate::exit::code(&refused), crate::exit::REFUSED);
        assert!(
            refused.to_string().contains("spends epsilon 5.0000")
                && refused.to_string().contains("only 4.5000 is left")
        );
        ledger.check(&entry(6, 4.5, &[]).spending).unwrap();
        ledger.check(&entry(6, 4.5, &[a, label]).spending).unwrap();
    }

    /// With a checksum that fits: what is read can be added up, written and read again.
    #[test]
    fn any_ledger_is_refused_or_adds_up() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let mut ledger = PersonalLedger::new(Epsilon::new(20.0).unwrap());
        ledger.record(entry(1, 3.5, &[("label", 0.5)]));
        ledger.record(entry(2, 0.0, &[("a", 4.0), ("label", 0.5)]));
        check_bytes(&serde_json::to_vec_pretty(&ledger).unwrap(), |bytes| {
            plant(&state, LEDGER, LEDGER, bytes);
            let read = PersonalLedger::read(&state).ok().flatten()?;
            assert!(read.spent().is_ok() && read.left().unwrap() >= 0.0 && read.spent_after_each().is_ok());
            plant(&state, LEDGER, LEDGER, &serde_json::to_vec_pretty(&read).unwrap());
            assert_eq!(PersonalLedger::read(&state).unwrap().unwrap(), read);
            // Spaces do not matter to JSON: the bytes may have been others.
            Some(bytes.to_vec())
        });
    }
}
