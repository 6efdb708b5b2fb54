//! Memoized randomness: what a respondent draws once and for all and keeps. That is the permanent coins of each survey
//! (where answers may not change, the backstop of the first one alone), and the randomized label of each survey and label.
//! Drawn again, each would spend again.

use getrandom::rand_core::CryptoRng;
use throng_dp::{Mechanism, Value};
use throng_encode::{StoredBackstop, StoredCoins, label};
use throng_wire::survey::AnswerChanges;
use throng_wire::{Survey, SurveyHash};
use zeroize::Zeroizing;

use super::personal_ledger::PersonalLedger;
use super::state_dir::{NamingSecret, PERMANENT, StateDir};
use crate::error::{Error, Result};
use throng_host::bail;

/// Where memoized randomness is stored, under which names, and which of it was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawer<'a> {
    pub(super) state: &'a StateDir,
    pub(super) secret: &'a NamingSecret,
    pub(super) ledger: &'a PersonalLedger,
}

/// Something that was drawn once and for all: it is stored, or will be once the ledger allows it.
#[derive(Debug)]
pub(super) struct Draw<T> {
    /// Its name, which shows neither the survey nor the value.
    pub(super) id: String,
    pub(super) what: T,
    /// The bytes that are still to be stored.
    new: Option<Zeroizing<Vec<u8>>>,
}

impl<T> Draw<T> {
    /// Whether it was drawn just now.
    pub(super) fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// Stores it, if that is still to be done.
    pub(super) fn store(&self, state: &StateDir) -> Result<()> {
        self.new.as_ref().map_or(Ok(()), |bytes| state.write_checked(&path(&self.id), KIND, bytes))
    }
}

impl Drawer<'_> {
    /// The backstop of an answer; `None` where the survey has none.
    pub(super) fn backstop(
        self,
        survey: &SurveyHash,
        changes: AnswerChanges,
        mechanism: &Mechanism,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<Draw<StoredBackstop>>> {
        match changes {
            AnswerChanges::Allowed => self.backstop_of_coins(survey, mechanism, value, rng),
            AnswerChanges::Never => self.first_backstop(survey, mechanism, value, rng),
        }
    }

    /// What the survey's permanent coins make of an answer. The coins are kept, and depend on no answer.
    fn backstop_of_coins(
        self,
        survey: &SurveyHash,
        mechanism: &Mechanism,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<Draw<StoredBackstop>>> {
        let id = self.secret.name(&[b"throng-v1 permanent coins\0", survey.as_bytes()]);
        if let Some(bytes) = self.find(&id)? {
            let what = StoredCoins::from_bytes(&bytes)?.backstop(mechanism, value)?;
            return Ok(Some(Draw { id, what, new: None }));
        }
        let Some(coins) = StoredCoins::draw(mechanism, rng)? else { return Ok(None) };
        Ok(Some(Draw { what: coins.backstop(mechanism, value)?, new: Some(coins.to_bytes()), id }))
    }

    /// The backstop of the first answer, whatever this one is. It is all that is kept: beside it, the coins that it was made
    /// from would tell the answer. They are in no file, and erased when this returns.
    fn first_backstop(
        self,
        survey: &SurveyHash,
        mechanism: &Mechanism,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<Draw<StoredBackstop>>> {
        let id = self.secret.name(&[b"throng-v1 first backstop\0", survey.as_bytes()]);
        let found = self.find(&id)?;
        let Some(coins) = StoredCoins::draw(mechanism, rng)? else { return Ok(None) };
        // Of a later answer this is found out and forgotten: whether the survey asks for such a value.
        let what = coins.backstop(mechanism, value)?;
        Ok(Some(match found {
            Some(bytes) => Draw { id, what: StoredBackstop::from_bytes(&bytes)?, new: None },
            None => Draw { new: Some(what.to_bytes()), id, what },
        }))
    }

    /// The pseudonym of an answer in the ledger, which counts how often it was given. Having nothing to say has none, as
    /// that is what all others are compared with.
    pub(super) fn answer_name(self, survey: &SurveyHash, value: Option<&Value>) -> Option<String> {
        let value = value.filter(|value| !value.is_empty())?;
        Some(self.secret.name(&[b"throng-v1 answer\0", survey.as_bytes(), &value_bytes(value)]))
    }

    /// The number that a label is sent under, where it is randomized.
    pub(super) fn label(
        self,
        hash: &SurveyHash,
        survey: &Survey,
        name: Option<&str>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Draw<u32>> {
        let label = name.unwrap_or_default().as_bytes();
        let id = self.secret.name(&[b"throng-v1 label\0", hash.as_bytes(), label]);
        if let Some(bytes) = self.find(&id)? {
            let bytes =
                bytes[..].try_into().map_err(|_| Error::damaged("a stored label has another length"))?;
            return Ok(Draw { id, what: u32::from_be_bytes(bytes), new: None });
        }
        let what = label::draw(survey, name, rng)?;
        Ok(Draw { id, what, new: Some(Zeroizing::new(what.to_be_bytes().to_vec())) })
    }

    /// What is stored. Something that the ledger knows and the disk does not was lost.
    fn find(self, id: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let found = self.state.read_checked(&path(id), KIND)?;
        if found.is_none() && self.ledger.has_used(id) {
            bail!(
                Damaged,
                "{} is missing, from which earlier answers were drawn; put back a copy of it. It is not made \
                 anew, because that would randomize again",
                self.state.path(&path(id)).display()
            );
        }
        Ok(found)
    }
}

/// The bytes of a value from which its name is made: no two values have the same.
fn value_bytes(value: &Value) -> Zeroizing<Vec<u8>> {
    let length = match value {
        Value::Record(record) => 1 + 5 * record.len(),
        Value::One(_) => 9,
    };
    // The size is reserved, so that no half-written copy is left in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    match value {
        Value::One(value) => {
            bytes.push(1);
            bytes.extend(value.to_be_bytes());
        }
        Value::Record(record) => {
            bytes.push(2);
            for value in record {
                bytes.push(u8::from(value.is_some()));
                bytes.extend(value.unwrap_or_default().to_be_bytes());
            }
        }
    }
    bytes
}

fn path(id: &str) -> String {
    format!("{PERMANENT}/{id}")
}

const KIND: &str = "permanent draw";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::state_dir::tests::plant;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::{Epsilon, OneHot};
    use throng_testing::parsing::check_bytes;
    use throng_testing::survey;

    fn mechanism() -> Mechanism {
        let epsilon = |value| Epsilon::new(value).unwrap();
        let one_hot = OneHot::new(300, epsilon(2.0)).unwrap();
        Mechanism::fragments(one_hot, epsilon(1.0), 2).unwrap()
    }

    /// Ten thousand uses, and the directory opened again in between: one file for each survey, and one backstop for each
    /// answer, which are alike but for the answer's own bit.
    #[test]
    fn coins_are_drawn_once_for_a_survey_whatever_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (mechanism, rng) = (mechanism(), &mut ChaCha20Rng::from_seed([1; 32]));
        let ledger = PersonalLedger::new(None);
        NamingSecret::generate(rng).write(&StateDir::open(folder.path()).unwrap()).unwrap();
        let cases = [(1, Some(7)), (1, Some(8)), (1, None), (2, Some(7)), (1, Some(0))]
            .map(|(survey, value)| (survey, value.map(Value::One)));
        let mut first = vec![Zeroizing::new(Vec::new()); cases.len()];
        for round in 0..10_u32 {
            let state = StateDir::open(folder.path()).unwrap();
            let secret = NamingSecret::read(&state).unwrap().unwrap();
            let drawer = Drawer { state: &state, secret: &secret, ledger: &ledger };
            for use_number in 0..1000 {
                let case = (use_number % cases.len() as u32) as usize;
                let (survey, value) = &cases[case];
                let hash = SurveyHash::new([*survey; 32]);
                let allowed = AnswerChanges::Allowed;
                let kept = drawer.backstop(&hash, allowed, &mechanism, value.as_ref(), rng).unwrap().unwrap();
                let bytes = kept.what.to_bytes();
                assert_eq!(kept.is_new(), round == 0 && [0, 3].contains(&use_number), "{case}");
                kept.store(&state).unwrap();
                if round == 0 && use_number < cases.len() as u32 {
                    first[case] = bytes;
                } else {
                    assert_eq!(bytes, first[case]);
                }
            }
            assert_eq!(state.names(PERMANENT).unwrap().len(), 2, "two surveys");
        }
        let bits = |case: usize| -> BTreeSet<u32> {
            let numbers = first[case][21..].as_chunks().0.iter();
            numbers.map(|four| u32::from_be_bytes(*four)).collect()
        };
        let (seven, eight, silent, other, zero) = (bits(0), bits(1), bits(2), bits(3), bits(4));
        for (set, own) in [(&seven, 7), (&eight, 8), (&zero, 0)] {
            assert!(set.symmetric_difference(&silent).all(|&bit| bit == own), "{set:?} {silent:?}");
        }
        assert!(other.symmetric_difference(&silent).count() > 5, "another survey has other coins");
    }

    /// Where answers may not change, the first backstop is all that is kept, and all that is used.
    #[test]
    fn the_first_backstop_is_kept_alone() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let (mechanism, rng) = (mechanism(), &mut ChaCha20Rng::from_seed([1; 32]));
        let (secret, ledger) = (NamingSecret::generate(rng), PersonalLedger::new(None));
        let drawer = Drawer { state: &state, secret: &secret, ledger: &ledger };
        let hash = SurveyHash::new([1; 32]);
        let mut draw = |value: Option<u64>| {
            let value = value.map(Value::One);
            drawer.backstop(&hash, AnswerChanges::Never, &mechanism, value.as_ref(), rng)
        };
        // What is not stored is not kept: another draw is another one.
        let lost = draw(Some(7)).unwrap().unwrap();
        let first = draw(Some(7)).unwrap().unwrap();
        assert!(lost.is_new() && first.is_new() && lost.what.to_bytes() != first.what.to_bytes());
        first.store(&state).unwrap();
        for value in [Some(7), Some(8), None] {
            let later = draw(value).unwrap().unwrap();
            assert!(!later.is_new());
            assert_eq!(later.what.to_bytes(), first.what.to_bytes());
        }
        assert!(draw(Some(300)).is_err(), "whatever is answered has to be an answer");
        let names = state.names(PERMANENT).unwrap();
        assert_eq!(names.len(), 1);
        let stored = state.read_checked(&path(&names[0]), KIND).unwrap().unwrap();
        assert_eq!(*stored, *first.what.to_bytes(), "the vector, and neither key nor r0");
    }

    /// Names that are in use stay as they are; other values have other names.
    #[test]
    fn every_value_has_bytes_of_its_own() {
        assert_eq!(*value_bytes(&Value::One(258)), [1, 0, 0, 0, 0, 0, 0, 1, 2]);
        let values: [Value; 9] = [
            Value::One(0),
            Value::One(1),
            vec![Some(0)].into(),
            vec![Some(1)].into(),
            vec![Some(0), None].into(),
            vec![None, Some(0)].into(),
            vec![Some(0), Some(0)].into(),
            vec![Some(0), Some(1)].into(),
            vec![Some(1), Some(0)].into(),
        ];
        let mut all: Vec<Vec<u8>> = values.iter().map(|value| value_bytes(value).to_vec()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// With a checksum that fits: a label has four bytes, and coins or a backstop are some or are refused.
    #[test]
    fn any_permanent_draw_is_refused_or_read_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let (mechanism, rng) = (mechanism(), &mut ChaCha20Rng::from_seed([1; 32]));
        let (secret, ledger) = (NamingSecret::generate(rng), PersonalLedger::new(None));
        let drawer = Drawer { state: &state, secret: &secret, ledger: &ledger };
        let (hash, survey) = (SurveyHash::new([1; 32]), labelled());
        let rng = || ChaCha20Rng::from_seed([2; 32]);
        let label = drawer.label(&hash, &survey, Some("de"), &mut rng()).unwrap();
        check_bytes(&label.what.to_be_bytes(), |bytes| {
            plant(&state, &path(&label.id), KIND, bytes);
            let read = drawer.label(&hash, &survey, Some("de"), &mut rng()).ok()?;
            Some(read.what.to_be_bytes().to_vec())
        });
        for changes in [AnswerChanges::Allowed, AnswerChanges::Never] {
            let backstop = drawer.backstop(&hash, changes, &mechanism, None, &mut rng()).unwrap().unwrap();
            check_bytes(&backstop.new.unwrap(), |bytes| {
                plant(&state, &path(&backstop.id), KIND, bytes);
                let read = drawer.backstop(&hash, changes, &mechanism, None, &mut rng()).ok()??;
                match changes {
                    // Of coins, the backstop of having nothing to say is a part: what was read is another question.
                    AnswerChanges::Allowed => Some(bytes.to_vec()),
                    AnswerChanges::Never => Some(read.what.to_bytes().to_vec()),
                }
            });
        }
    }

    fn labelled() -> Survey {
        let fields = [
            ("name", r#""labelled""#),
            ("question", r#""Which one?""#),
            ("encoding", r#"{ kind = "one-hot", domain = 300 }"#),
            ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 2.0 }"#),
            ("crowd", r#"{ respondents_min = 100, honest_fraction = 1.0, enrolment = "open" }"#),
            ("delivery", r#"{ instances = 1, hops = 1, envelopes = 80, cover = "chaff" }"#),
            (
                "labels",
                r#"{ names = ["de", "fr"], epsilon_deletion = 0.2, delta_deletion = 1e-9, epsilon_label = 1.0 }"#,
            ),
        ];
        Survey::from_toml(&survey::with(survey::hourly::ONE_HOT, &fields)).unwrap()
    }
}
