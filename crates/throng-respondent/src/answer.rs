//! An answer: what was made for one epoch of a survey, and how it stands in a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use throng_encode::{Body, EpochChoice};
use throng_wire::{Channel, Digest, Place, Route, SurveyHash};

use crate::error::{Error, Result};
use throng_host::ensure;

/// One answer, as it is made, stored and sent. The value is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
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
    pub bodies: Vec<Body>,
    /// What it was drawn from. It is in no file: an answer that is read from one was made before.
    #[serde(skip)]
    pub origin: Origin,
}

/// What an answer was drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// From what was answered now.
    Now,
    /// From the first report: in this survey that one counts for all epochs, whatever is answered now.
    First,
    /// It was made before. An epoch has one answer, whatever is answered later.
    #[default]
    Before,
}

/// Under which label and in which epoch to answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerOptions {
    /// The label, in a survey that has some.
    pub label: Option<String>,
    /// In which epoch.
    pub when: EpochChoice,
}

impl Answer {
    /// What a body is bound to.
    pub fn route(&self, body: &Body) -> Route {
        body.route(self.survey, Channel { label: self.label, epoch: self.epoch })
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
        self.bodies.iter().for_each(|body| bytes.extend(body.bytes()));
        Ok(bytes)
    }

    /// Reads what `to_bytes` wrote. For whoever tries all kinds of bytes on it: files have a checksum around this.
    #[doc(hidden)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let too_short = || Error::damaged("it is too short");
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(too_short)?;
        let (manifest, mut rest) =
            rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(too_short)?;
        let mut answer: Self = serde_json::from_slice(manifest)?;
        for body in &mut answer.bodies {
            rest = body
                .read_bytes(rest)
                .ok_or_else(|| Error::damaged("a body is cut off, or has another hash"))?;
        }
        ensure!(rest.is_empty(), Damaged, "it is too long");
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::parsing::check_bytes;

    /// A body as a file has it; its bytes, where they are kept, stand behind all of them.
    fn body(instance: u32, kept: bool) -> Body {
        let digest = Digest::of(b"the body");
        let text = format!(
            r#"{{"instance":{instance},"send_at_ms":7,"digest":"{digest}","length":8,"kept":{kept}}}"#
        );
        let mut body: Body = serde_json::from_str(&text).unwrap();
        assert_eq!(body.read_bytes(if kept { b"the body" } else { b"" }), Some(&[][..]));
        assert_eq!(serde_json::to_string(&body).unwrap(), text);
        body
    }

    #[test]
    fn any_stored_answer_is_refused_or_has_the_bodies_that_it_names() {
        let answer = Answer {
            survey: SurveyHash::new([1; 32]),
            name: "survey".into(),
            label: 2,
            epoch: 3,
            epoch_end_s: 4 * 3600,
            credential: Some("credential".into()),
            key_lists: [(Place::Analyzer, Digest::NONE), (Place::hop(1, 1), Digest::NONE)].into(),
            bodies: vec![body(1, true), body(2, false), body(3, true)],
            origin: Origin::Before,
        };
        check_bytes(&answer.to_bytes().unwrap(), |bytes| {
            let read = Answer::from_bytes(bytes).ok()?;
            for body in read.bodies.iter().filter(|body| !body.bytes().is_empty()) {
                assert_eq!((Digest::of(body.bytes()), body.bytes().len() as u64), (body.digest, body.length));
            }
            assert_eq!(Answer::from_bytes(&read.to_bytes().unwrap()).unwrap(), read);
            // Spaces do not matter to JSON: the bytes may have been others.
            Some(bytes.to_vec())
        });
    }

    /// Answers that are on disks stay readable: every byte of a file is as it was. No other body is taken for the one that was made.
    #[test]
    fn a_stored_answer_has_these_bytes_and_no_others() {
        let answer = Answer {
            survey: SurveyHash::new([1; 32]),
            name: "survey".into(),
            label: 2,
            epoch: 3,
            epoch_end_s: 4,
            credential: None,
            key_lists: [(Place::Analyzer, Digest::NONE)].into(),
            bodies: vec![body(1, true)],
            origin: Origin::Now,
        };
        let manifest = format!(
            r#"{{"survey":"{}","name":"survey","label":2,"epoch":3,"epoch_end_s":4,"key_lists":{{"analyzer":"{}"}},"bodies":[{{"instance":1,"send_at_ms":7,"digest":"{}","length":8,"kept":true}}]}}"#,
            "01".repeat(32),
            Digest::NONE,
            Digest::of(b"the body")
        );
        let file = [&(manifest.len() as u32).to_be_bytes(), manifest.as_bytes(), b"the body"].concat();
        assert_eq!(answer.to_bytes().unwrap(), file);
        assert_eq!(Answer::from_bytes(&file).unwrap(), Answer { origin: Origin::Before, ..answer });
        for at in file.len() - 8..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(
                Answer::from_bytes(&changed).is_err() && Answer::from_bytes(&file[..at]).is_err(),
                "{at}"
            );
        }
        assert!(Answer::from_bytes(&[&file[..], b"!"].concat()).is_err());
    }
}
