//! The personal privacy budget: what a person has spent over all surveys, and the limit that they set themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use throng_dp::{AnswerSeries, Epsilon};
use throng_wire::{Digest, SurveyHash};

use super::state_dir::StateDir;
use crate::error::{Context, Refusal, Result};
use throng_host::ensure;

/// What a person has spent: the local guarantees of everything that was answered, composed (removal). It holds
/// whatever else fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonalLedger {
    version: u32,
    /// None until the person has said one: nothing is answered before that.
    epsilon_limit: Option<f64>,
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
    /// What was drawn once and for all, and is paid once however many answers use it: a randomized label, or the backstop of
    /// a first answer that counts for all epochs.
    pub permanent: Vec<PermanentDraw>,
    /// Which answer this was of those that share permanent coins and may change.
    pub given: Option<ChangingAnswer>,
}

/// An answer that was given in an epoch of a survey in which answers may change. What it spends depends on all others there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangingAnswer {
    /// The name of the coins in the state directory: one for a survey.
    pub coins: String,
    /// The name of the answer, which does not show it; none for having nothing to say.
    pub answer: Option<String>,
    /// epsilon_backstop, for each bit.
    pub epsilon_backstop: f64,
    /// epsilon_fragment, for each bit.
    pub epsilon_fragment: f64,
    /// How many report fragments an epoch has: tau.
    pub fragments: u32,
    /// How many bits an answer sets.
    pub bits: u32,
}

impl ChangingAnswer {
    /// An answer of this name under what a survey promises of answers that change.
    pub(super) fn new(coins: String, answer: Option<String>, series: &AnswerSeries) -> Self {
        Self {
            coins,
            answer,
            epsilon_backstop: series.epsilon_backstop.value(),
            epsilon_fragment: series.epsilon_fragment.value(),
            fragments: series.tau,
            bits: series.bits,
        }
    }

    fn series(&self) -> Result<AnswerSeries> {
        let epsilon_backstop = Epsilon::new(self.epsilon_backstop)?;
        let epsilon_fragment = Epsilon::new(self.epsilon_fragment)?;
        Ok(AnswerSeries { epsilon_backstop, epsilon_fragment, tau: self.fragments, bits: self.bits })
    }
}

/// What one more epoch of a survey would add to what was spent, while answers may change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextEpoch {
    /// In how many epochs there was an answer, or nothing to say.
    pub epochs: u32,
    /// With the answer of the last one.
    pub epsilon_same: f64,
    /// With an answer that was never given.
    pub epsilon_another: f64,
    /// With nothing to say.
    pub epsilon_nothing: f64,
}

/// Something that was drawn once and for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermanentDraw {
    /// Its name in the state directory, which does not show the value.
    pub id: String,
    /// What it spends: epsilon_backstop, or epsilon_label.
    pub epsilon: f64,
}

impl PersonalLedger {
    /// An empty ledger.
    pub(super) fn new(epsilon_limit: Option<Epsilon>) -> Self {
        Self { version: VERSION, epsilon_limit: epsilon_limit.map(Epsilon::value), entries: Vec::new() }
    }

    /// Reads the ledger, if it is there.
    pub(super) fn read(state: &StateDir) -> Result<Option<Self>> {
        let Some(bytes) = state.read_checked(LEDGER, LEDGER)? else { return Ok(None) };
        let unreadable = || format!("{} is not the ledger of this version", state.path(LEDGER).display());
        // An earlier one kept a backstop for each value, and promised of them what does not hold if answers change.
        #[derive(Deserialize)]
        struct FileVersion {
            version: Option<u32>,
        }
        let FileVersion { version } = serde_json::from_slice(&bytes).damaged(unreadable)?;
        ensure!(
            version == Some(VERSION),
            Invalid,
            "{} was written by another version of this program, whose backstops are not those of this one: go on with that \
             version, or answer with another directory for --state",
            state.path(LEDGER).display()
        );
        let ledger: Self = serde_json::from_slice(&bytes).damaged(unreadable)?;
        ledger.spent().damaged(unreadable)?;
        ledger.epsilon_limit.map(Epsilon::new).transpose().damaged(unreadable)?;
        Ok(Some(ledger))
    }

    /// Makes it durable.
    pub(super) fn write(&self, state: &StateDir) -> Result<()> {
        state.write_checked(LEDGER, LEDGER, &serde_json::to_vec_pretty(self)?)
    }

    /// The person's limit, once they have set one.
    pub fn epsilon_limit(&self) -> Option<f64> {
        self.epsilon_limit
    }

    pub(super) fn set_epsilon_limit(&mut self, limit: Epsilon) {
        self.epsilon_limit = Some(limit.value());
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
        self.entries.iter().any(|Entry { spending, .. }| {
            spending.permanent.iter().any(|permanent| permanent.id == id)
                || spending.given.as_ref().is_some_and(|given| given.coins == id)
        })
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

    /// What an answer adds to what was spent.
    pub(super) fn adds(&self, more: &Spending) -> Result<f64> {
        let after = total(self.entries.iter().map(|entry| &entry.spending).chain([more]))?;
        Ok(difference(after, self.spent()?))
    }

    /// What one more epoch of a survey would add, where answers may change and there was one.
    pub fn next_epoch(&self, survey: &SurveyHash) -> Result<Option<NextEpoch>> {
        let of_survey = self.entries.iter().filter(|entry| entry.survey == *survey);
        let given: Vec<&ChangingAnswer> =
            of_survey.filter_map(|entry| entry.spending.given.as_ref()).collect();
        let Some(last) = given.last() else { return Ok(None) };
        let adds = |answer: Option<String>| {
            let given = Some(ChangingAnswer { answer, ..(*last).clone() });
            self.adds(&Spending { epsilon_local: 0.0, permanent: Vec::new(), given })
        };
        Ok(Some(NextEpoch {
            epochs: given.len() as u32,
            epsilon_same: adds(last.answer.clone())?,
            // No name is empty.
            epsilon_another: adds(Some(String::new()))?,
            epsilon_nothing: adds(None)?,
        }))
    }

    /// What the answer for an epoch of a survey added to what was spent.
    pub fn added(&self, survey: &SurveyHash, epoch: u64) -> Result<Option<f64>> {
        let mut before = Epsilon::ZERO;
        for (entry, spent) in self.spent_after_each()? {
            if entry.survey == *survey && entry.epoch == epoch {
                return Ok(Some(difference(spent, before)));
            }
            before = spent;
        }
        Ok(None)
    }

    /// What the limit leaves for further answers: nothing before there is one.
    pub fn left(&self) -> Result<f64> {
        let spent = self.spent()?.value();
        Ok(self.epsilon_limit.map_or(0.0, |limit| (limit - spent).max(0.0)))
    }

    /// Refuses what would exceed the limit, and everything while there is none.
    pub(super) fn check(&self, more: &Spending) -> Result<()> {
        let spent = self.spent()?;
        let after = total(self.entries.iter().map(|entry| &entry.spending).chain([more]))?;
        let epsilon_added = difference(after, spent);
        match self.epsilon_limit {
            None => Err(Refusal::NoLimit { epsilon_added }.into()),
            Some(limit) if after.value() <= limit => Ok(()),
            Some(epsilon_limit) => {
                let (epsilon_left, epsilon_needed) = (self.left()?, after.value().ceil());
                Err(Refusal::Limit { epsilon_added, epsilon_limit, epsilon_left, epsilon_needed }.into())
            }
        }
    }

    pub(super) fn record(&mut self, entry: Entry) {
        self.entries.push(entry);
    }
}

/// What was added, without the last digits, which differ between sums that are rounded up.
pub(super) fn difference(after: Epsilon, before: Epsilon) -> f64 {
    ((after.value() - before.value()).max(0.0) * 1e9).round() / 1e9
}

/// The composition of all spending: the sum of the epsilons, with everything permanent counted once, and answers that share
/// coins as one series; rounded up.
fn total<'a>(all: impl Iterator<Item = &'a Spending>) -> Result<Epsilon> {
    let mut sum = Epsilon::ZERO;
    let mut paid = BTreeSet::new();
    let mut shared: BTreeMap<&str, (AnswerSeries, u32, BTreeMap<&str, u32>)> = BTreeMap::new();
    for spending in all {
        sum = sum + Epsilon::new(spending.epsilon_local)?;
        for permanent in &spending.permanent {
            let epsilon = Epsilon::new(permanent.epsilon)?;
            sum = if paid.insert(&permanent.id) { sum + epsilon } else { sum };
        }
        if let Some(given) = &spending.given {
            let series = given.series()?;
            let (of_coins, epochs, answers) =
                shared.entry(&given.coins).or_insert_with(|| (series, 0, BTreeMap::new()));
            ensure!(
                *of_coins == series,
                Damaged,
                "answers that share a survey's coins have different parameters"
            );
            *epochs += 1;
            if let Some(answer) = &given.answer {
                *answers.entry(answer).or_default() += 1;
            }
        }
    }
    let of_coins = shared.into_values();
    Ok(of_coins
        .map(|(series, epochs, answers)| series.epsilon(epochs, answers.into_values()))
        .fold(sum, |a, b| a + b))
}

const LEDGER: &str = "ledger";
/// Before the second there was no number.
const VERSION: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_dir::tests::plant;
    use throng_testing::parsing::check_bytes;

    fn entry(epoch: u64, epsilon_local: f64, permanent: &[(&str, f64)]) -> Entry {
        let permanent =
            permanent.iter().map(|&(id, epsilon)| PermanentDraw { id: id.to_owned(), epsilon }).collect();
        Entry {
            survey: SurveyHash::new([1; 32]),
            name: "survey".into(),
            epoch,
            answer: Digest::NONE,
            spending: Spending { epsilon_local, permanent, given: None },
        }
    }

    fn given(epoch: u64, answer: Option<&str>) -> Entry {
        let series = AnswerSeries {
            epsilon_backstop: Epsilon::new(5.0).unwrap(),
            epsilon_fragment: Epsilon::new(0.5).unwrap(),
            tau: 4,
            bits: 1,
        };
        let given = ChangingAnswer::new("coins".into(), answer.map(str::to_owned), &series);
        Entry {
            spending: Spending { epsilon_local: 0.0, permanent: vec![], given: Some(given) },
            ..entry(epoch, 0.0, &[])
        }
    }

    /// Two for an epoch, a backstop of five: the sum of min(2 m, 5 + 2 (T - m)) over all answers, whatever their order.
    #[test]
    fn answers_that_change_are_booked_as_the_series_that_they_are() {
        let mut ledger = PersonalLedger::new(Epsilon::new(14.5).ok());
        assert_eq!(ledger.next_epoch(&SurveyHash::new([1; 32])).unwrap(), None);
        for (epoch, answer, spent, next) in [
            (1, Some("a"), 2.0, (2.0, 2.0, 0.0)),
            (2, Some("a"), 4.0, (1.0, 2.0, 0.0)),
            (3, Some("a"), 5.0, (0.0, 3.0, 1.0)),
            (4, Some("a"), 5.0, (0.0, 4.0, 2.0)),
            (5, None, 7.0, (1.0, 3.0, 1.0)),
            (6, None, 8.0, (0.0, 2.0, 0.0)),
            (7, Some("b"), 10.0, (2.0, 2.0, 0.0)),
            (8, Some("b"), 12.0, (2.0, 2.0, 0.0)),
            (9, Some("a"), 14.0, (2.0, 2.0, 0.0)),
        ] {
            let more = given(epoch, answer);
            let before = ledger.spent().unwrap().value();
            assert_eq!(ledger.adds(&more.spending).unwrap(), spent - before);
            ledger.check(&more.spending).unwrap();
            ledger.record(more);
            assert_eq!(ledger.spent().unwrap().value(), spent, "{epoch}");
            let found = ledger.next_epoch(&SurveyHash::new([1; 32])).unwrap().unwrap();
            let found = (found.epochs, (found.epsilon_same, found.epsilon_another, found.epsilon_nothing));
            assert_eq!(found, (epoch as u32, next), "{epoch}");
        }
        let refused = ledger.check(&given(10, Some("c")).spending).unwrap_err();
        assert!(refused.to_string().contains("spends epsilon 2.0000"), "{refused}");
        ledger.check(&given(10, None).spending).unwrap();
        assert!(ledger.has_used("coins") && !ledger.has_used("a"));
    }

    /// Nothing of an earlier version is taken for something else.
    #[test]
    fn the_ledger_of_an_earlier_version_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let old = br#"{"epsilon_limit":50.0,"entries":[]}"#;
        plant(&state, LEDGER, LEDGER, old);
        let refused = PersonalLedger::read(&state).unwrap_err().to_string();
        assert!(refused.contains("another version") && refused.contains("--state"), "{refused}");
    }

    #[test]
    fn a_backstop_is_paid_once_and_a_report_every_time() {
        let mut ledger = PersonalLedger::new(Epsilon::new(20.0).ok());
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
        assert!(refused.refusal().is_some());
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
        let mut ledger = PersonalLedger::new(Epsilon::new(20.0).ok());
        ledger.record(entry(1, 3.5, &[("label", 0.5)]));
        ledger.record(entry(2, 0.0, &[("a", 4.0), ("label", 0.5)]));
        ledger.record(given(3, Some("b")));
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
