//! What a respondent draws once and for all and keeps: the backstop of each survey and value (also of having
//! nothing to say), and the randomized label of each survey and label. Drawn again, each would spend again.

use anyhow::{Context, Result, bail};
use getrandom::rand_core::CryptoRng;
use throng_dp::Value;
use throng_encode::{Encoder, StoredBackstop, label};
use throng_wire::{Survey, SurveyHash};
use zeroize::Zeroizing;

use super::personal_ledger::PersonalLedger;
use super::state_dir::{NamingSecret, PERMANENT, StateDir};

/// Where permanent things are, under which names, and which of them were used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawer<'a> {
    pub(super) state: &'a StateDir,
    pub(super) secret: &'a NamingSecret,
    pub(super) ledger: &'a PersonalLedger,
}

/// Something that is stored, or will be once the ledger allows it.
#[derive(Debug)]
pub(super) struct Kept<T> {
    /// Its name, which shows neither the survey nor the value.
    pub(super) id: String,
    pub(super) what: T,
    /// The bytes that are still to be stored.
    new: Option<Zeroizing<Vec<u8>>>,
}

impl<T> Kept<T> {
    /// Stores it, if that is still to be done.
    pub(super) fn store(&self, state: &StateDir) -> Result<()> {
        self.new.as_ref().map_or(Ok(()), |bytes| state.write_checked(&path(&self.id), KIND, bytes))
    }
}

impl Drawer<'_> {
    /// The backstop of a value; `None` where the survey has none.
    pub(super) fn backstop(
        self,
        survey: &SurveyHash,
        encoder: &Encoder,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<Kept<StoredBackstop>>> {
        let id = self.secret.name(&[b"throng-v1 backstop\0", survey.as_bytes(), &value_bytes(value)]);
        if let Some(bytes) = self.find(&id)? {
            return Ok(Some(Kept { id, what: StoredBackstop::from_bytes(&bytes)?, new: None }));
        }
        let drawn = encoder.draw_backstop(value, rng)?;
        Ok(drawn.map(|what| Kept { new: Some(what.to_bytes()), id, what }))
    }

    /// The number that a label is sent under, where it is randomized.
    pub(super) fn label(
        self,
        hash: &SurveyHash,
        survey: &Survey,
        name: Option<&str>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Kept<u32>> {
        let label = name.unwrap_or_default().as_bytes();
        let id = self.secret.name(&[b"throng-v1 label\0", hash.as_bytes(), label]);
        if let Some(bytes) = self.find(&id)? {
            let bytes = bytes[..].try_into().context("a stored label has another length")?;
            return Ok(Kept { id, what: u32::from_be_bytes(bytes), new: None });
        }
        let what = label::draw(survey, name, rng)?;
        Ok(Kept { id, what, new: Some(Zeroizing::new(what.to_be_bytes().to_vec())) })
    }

    /// What is stored. Something that the ledger knows and the disk does not was lost.
    fn find(self, id: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let found = self.state.read_checked(&path(id), KIND)?;
        if found.is_none() && self.ledger.has_used(id) {
            bail!(
                "{} is missing, from which earlier answers were drawn; put back a copy of it. It is not made \
                 anew, because that would randomize again",
                self.state.path(&path(id)).display()
            );
        }
        Ok(found)
    }
}

/// What stands for a value in the name of its backstop: no two values have the same bytes. A record without any value is
/// reported as having nothing to say, so it has the same backstop and is spent for once.
fn value_bytes(value: Option<&Value>) -> Zeroizing<Vec<u8>> {
    let value = value.filter(|value| !value.is_empty());
    let length = match value {
        Some(Value::Record(record)) => 1 + 5 * record.len(),
        Some(Value::One(_)) | None => 9,
    };
    // The size is reserved, so that no half-written copy is left in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    match value {
        None => bytes.extend([0; 9]),
        Some(Value::One(value)) => {
            bytes.push(1);
            bytes.extend(value.to_be_bytes());
        }
        Some(Value::Record(record)) => {
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
    use crate::parsing::check_bytes;
    use crate::respondent::state_dir::tests::plant;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::{Epsilon, Mechanism, OneHot, ReportFragments};

    fn encoder() -> Encoder {
        let epsilon = |value| Epsilon::new(value).unwrap();
        let one_hot = OneHot::new(300, epsilon(2.0)).unwrap();
        Encoder::new(Mechanism::FragmentedOneHot(ReportFragments::new(one_hot, epsilon(1.0), 2).unwrap()))
    }

    /// Ten thousand uses, and the directory opened again in between: one backstop for each survey and value.
    #[test]
    fn a_backstop_is_drawn_once() {
        let folder = tempfile::tempdir().unwrap();
        let (encoder, rng) = (encoder(), &mut ChaCha20Rng::from_seed([1; 32]));
        let ledger = PersonalLedger::new(Epsilon::ZERO);
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
                let kept = drawer.backstop(&hash, &encoder, value.as_ref(), rng).unwrap().unwrap();
                let bytes = kept.what.to_bytes();
                if first[case].is_empty() {
                    assert!(round == 0 && kept.new.is_some());
                    kept.store(&state).unwrap();
                    first[case] = bytes;
                } else {
                    assert!(kept.new.is_none());
                    assert_eq!(bytes, first[case]);
                }
            }
            assert_eq!(state.names(PERMANENT).unwrap().len(), cases.len());
        }
    }

    /// Names that are in use stay as they are; other values have other names.
    #[test]
    fn every_value_has_bytes_of_its_own() {
        assert_eq!(*value_bytes(None), [0; 9]);
        assert_eq!(*value_bytes(Some(&Value::One(258))), [1, 0, 0, 0, 0, 0, 0, 1, 2]);
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
        let mut all: Vec<Vec<u8>> = values.iter().map(|value| value_bytes(Some(value)).to_vec()).collect();
        all.push(value_bytes(None).to_vec());
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!(value_bytes(Some(&vec![None, None].into())), value_bytes(None));
    }

    /// With a checksum that fits: a label has four bytes, and a backstop is one or is refused.
    #[test]
    fn any_permanent_draw_is_refused_or_read_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let (encoder, rng) = (encoder(), &mut ChaCha20Rng::from_seed([1; 32]));
        let (secret, ledger) = (NamingSecret::generate(rng), PersonalLedger::new(Epsilon::ZERO));
        let drawer = Drawer { state: &state, secret: &secret, ledger: &ledger };
        let (hash, survey) = (SurveyHash::new([1; 32]), labelled());
        let rng = || ChaCha20Rng::from_seed([2; 32]);
        let label = drawer.label(&hash, &survey, Some("de"), &mut rng()).unwrap();
        check_bytes(&label.what.to_be_bytes(), |bytes| {
            plant(&state, &path(&label.id), KIND, bytes);
            let read = drawer.label(&hash, &survey, Some("de"), &mut rng()).ok()?;
            Some(read.what.to_be_bytes().to_vec())
        });
        let backstop = drawer.backstop(&hash, &encoder, None, &mut rng()).unwrap().unwrap();
        check_bytes(&backstop.what.to_bytes(), |bytes| {
            plant(&state, &path(&backstop.id), KIND, bytes);
            let read = drawer.backstop(&hash, &encoder, None, &mut rng()).ok()??;
            Some(read.what.to_bytes().to_vec())
        });
    }

    fn labelled() -> Survey {
        Survey::from_toml(
            r#"
version = 1
name = "labelled"
question = "Which one?"
epoch_s = 3600
encoding = { kind = "one-hot", domain = 300 }
randomizer = { kind = "attribute-fragments", epsilon_local = 2.0 }
crowd = { respondents_min = 100, honest_fraction = 1.0, enrolment = "open" }
delivery = { instances = 1, hops = 1, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
labels = { names = ["de", "fr"], epsilon_deletion = 0.2, delta_deletion = 1e-9, epsilon_label = 1.0 }
"#,
        )
        .unwrap()
    }
}
