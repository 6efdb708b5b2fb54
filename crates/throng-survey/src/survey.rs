//! The survey file, a public configuration in TOML: what is asked, how answers are randomized and sent, and what that
//! guarantees.
//!
//! `throng plan` writes it; every party reads the same one. A field that is not described here is refused, so that a misspelt
//! one cannot be ignored. Its hash is that of its canonical JSON, so that spaces, comments and order in the file do not
//! matter; docs/wire-format.md has the details.

mod check;
mod labels;
mod party;
mod text;
mod values;
mod warnings;

use serde::{Deserialize, Serialize};
use throng_dp::{Attributes, CountSketch, Epsilon, Mechanism, OneHot, Record, SketchShape};

use crate::digest::SurveyHash;
use crate::lengths::INDEX_LEN;
use crate::place::Place;
use crate::{Error, jcs, lengths};

pub use labels::Labels;
pub use party::{Instance, Parties, Party};
pub use text::shows_as_written;
pub use values::{Values, value_meant};
pub use warnings::{Overlap, Warning};

/// A survey: field by field what the file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// The version of this format: 1.
    pub version: u32,
    /// A short name, unique among the operator's surveys.
    pub name: String,
    /// What is asked, in words that respondents see: one line, without characters that are not seen.
    pub question: String,
    /// The length of an epoch in seconds. Each respondent answers at most once in it, and it is released or destroyed
    /// at its end. Epochs are numbered from 1970-01-01T00:00:00Z on.
    pub epoch_s: u64,
    /// How answers become counts. Absent: "shuffled".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How a value is written as bits.
    pub encoding: Encoding,
    /// What values are called. Absent: by their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// How the bits are randomized.
    pub randomizer: Randomizer,
    /// Who has to take part for a release.
    pub crowd: Crowd,
    /// How fragments travel.
    pub delivery: Delivery,
    /// What is promised.
    pub claim: Claim,
    /// Crowds that are counted apart. Absent: there is one crowd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Who runs it. Absent or incomplete in a draft, such as `throng plan` writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parties: Option<Parties>,
}

/// How answers become counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// In the shuffle model: fragments that are randomized by respondents, mixed by hops, and counted by the analyzer.
    #[default]
    Shuffled,
}

/// How a value is written as bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoding {
    /// One bit per value.
    OneHot {
        /// How many values there are, at most 2^32; they are numbered from 0.
        domain: u64,
    },
    /// One cell of a sampled row of a count-mean sketch.
    Sketch {
        /// How many values there are.
        domain: u64,
        /// How many hash functions.
        rows: u32,
        /// How many cells in a row.
        cells: u32,
        /// What the public hash functions are made from.
        seed: u64,
    },
    /// Records of several attributes, of which each respondent samples one and sets the bit of its value. The values of
    /// an attribute come after those of all attributes before it.
    Record {
        /// At least one, in order.
        attributes: Vec<Attribute>,
    },
}

/// One question of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// What it is called; no other attribute of the survey has the same name.
    pub name: String,
    /// How many values there are, at least 2 and with all other attributes at most 2^32; they are numbered from 0.
    pub values: u64,
    /// What they are called, one name for each, in order. Absent: by their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// How the bits are randomized.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Randomizer {
    /// One report per epoch; its set bits travel alone.
    AttributeFragments {
        /// The privacy loss of a report whatever happens to it (removal).
        epsilon_local: f64,
    },
    /// Several noisier reports per epoch, all drawn from the backstop that permanent coins give the answer.
    ReportFragments {
        /// The privacy loss of all fragments of all epochs together while the answer stays the same, and of one epoch in
        /// any case (removal).
        epsilon_backstop: f64,
        /// What one fragment is randomized with.
        epsilon_fragment: f64,
        /// How many fragments each bit is sent in: tau.
        fragments: u32,
        /// Whether the answer of a later epoch may be another than that of the first: "allowed", which is what absent means,
        /// or "never".
        #[serde(skip_serializing_if = "Option::is_none")]
        answer_changes: Option<AnswerChanges>,
    },
}

/// Whether answers may change from epoch to epoch, behind a backstop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerChanges {
    /// They may, and a respondent is told what each of them costs.
    #[default]
    Allowed,
    /// The first report counts, also one of having nothing to say: all later epochs are drawn from its vector, whatever is
    /// answered, and epsilon_backstop is the loss of all of them together.
    Never,
}

/// Who has to take part for a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crowd {
    /// How many distinct respondents an epoch needs; with fewer it is destroyed.
    pub respondents_min: u64,
    /// The share of them that the guarantee assumes to be honest. A survey with more than one operator states it; absent it
    /// is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honest_fraction: Option<f64>,
    /// How the first hop knows that respondents are distinct.
    pub enrolment: Enrolment,
}

/// How the first hop knows that respondents are distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enrolment {
    /// Each has a credential that was issued once.
    Credential,
    /// It does not (no defence against Sybil attacks): anyone may answer, as often as they can invent a name. The guarantee
    /// says so.
    Open,
}

/// Who issues what respondents are enrolled with. Files of version 1 have no field for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Issuer {
    /// No party of its own: each first hop has a list of the credentials that it takes.
    FirstHops,
}

/// The noise that hops add to what they forward. Files of version 1 have no field for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HopNoise {
    /// None: a batch holds what respondents sent, and nothing else.
    None,
}

/// How fragments travel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// How many independent shuffler instances. Fragment t of attribute j goes to the one at position (j + t) mod K' of those that
    /// receive fragments.
    pub instances: u32,
    /// How many hops each instance is a cascade of.
    pub hops: u32,
    /// How many envelopes every respondent sends to every instance in every epoch.
    pub envelopes: u32,
    /// Whether unused envelopes are filled.
    pub cover: Cover,
    /// For how many seconds after an epoch's end its analyzer keeps batches of it that are not released: sealed, and erased
    /// unopened after that. Absent: 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_sealed_s: Option<u64>,
    /// For how many seconds after an epoch's end a hop keeps a batch that the next hop or the analyzer has not taken; it is
    /// erased after that, and what was stated about it stays. Absent: 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_batches_s: Option<u64>,
}

/// Whether unused envelopes are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cover {
    /// With chaff: how many bits are set is hidden.
    Chaff,
    /// Not at all: how many bits are set is visible, and only the local floor covers it.
    None,
}

/// What is promised, so that everyone can check it with an accountant of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The privacy loss of one release.
    pub epsilon_central: f64,
    /// The allowance beside it, overflowing envelopes included: with an answer nothing is more probable than e^epsilon_central
    /// times without it, plus delta. (Not the probability that the loss is larger, which is more.)
    pub delta: f64,
    /// Which worlds are compared: "removal".
    pub neighbors: String,
    /// The bound that proves it: exact, fmt23, clones21, blanket, lemma or theorem.
    pub bound: String,
}

impl Survey {
    /// Reads and checks a file.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let survey: Self = toml::from_str(text).map_err(|error| Error::Format(error.to_string()))?;
        survey.check()?;
        Ok(survey)
    }

    /// The file's text.
    pub fn to_toml(&self) -> Result<String, Error> {
        self.check()?;
        toml::to_string(self).map_err(|error| Error::Format(error.to_string()))
    }

    /// Reads and checks the canonical JSON of a survey, as it is published beside the file. Another form of the same is refused.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let survey: Self = serde_json::from_str(text).map_err(|error| Error::Format(error.to_string()))?;
        if survey.canonical()? != text {
            return Err(Error::Format("its JSON is not canonical (RFC 8785)".into()));
        }
        Ok(survey)
    }

    /// The share of a crowd that the guarantee assumes to be honest.
    pub fn honest_fraction(&self) -> f64 {
        self.crowd.honest_fraction.unwrap_or(1.0)
    }

    /// For how many seconds after an epoch's end its batches may wait sealed at the analyzer.
    pub fn keep_sealed_s(&self) -> u64 {
        self.delivery.keep_sealed_s.unwrap_or(KEEP_SEALED_S.max(self.epoch_s))
    }

    /// For how many seconds after an epoch's end a batch may wait at a hop for the next party.
    pub fn keep_batches_s(&self) -> u64 {
        self.delivery.keep_batches_s.unwrap_or(KEEP_SEALED_S.max(self.epoch_s))
    }

    /// The number of values; of a record, those of all attributes together.
    pub fn domain(&self) -> u64 {
        match &self.encoding {
            Encoding::OneHot { domain } | Encoding::Sketch { domain, .. } => *domain,
            Encoding::Record { attributes } => sum_of_values(attributes),
        }
    }

    /// How answers become counts.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// The number of attributes: every fragment holds one number below it.
    pub fn attributes(&self) -> u64 {
        match &self.encoding {
            Encoding::OneHot { .. } | Encoding::Record { .. } => self.domain(),
            Encoding::Sketch { rows, cells, .. } => u64::from(*rows) * u64::from(*cells),
        }
    }

    /// The length of a payload: what the analyzer finds in an envelope once all layers are opened. It follows from how answers
    /// become counts and how values are written; in every survey of version 1 it is one attribute's index.
    pub fn payload_len(&self) -> u64 {
        match (self.mode(), &self.encoding) {
            (Mode::Shuffled, Encoding::OneHot { .. } | Encoding::Sketch { .. } | Encoding::Record { .. }) => {
                INDEX_LEN
            }
        }
    }

    /// The length of a body: what a respondent sends to one instance in one epoch, with all its envelopes.
    pub fn body_len(&self) -> u64 {
        lengths::body_len(self.payload_len(), self.delivery.hops, self.delivery.envelopes)
    }

    /// Who issues what respondents are enrolled with.
    pub fn issuer(&self) -> Issuer {
        Issuer::FirstHops
    }

    /// The noise that hops add to what they forward.
    pub fn hop_noise(&self) -> HopNoise {
        HopNoise::None
    }

    /// The canonical JSON that everyone hashes.
    pub fn canonical(&self) -> Result<String, Error> {
        self.check()?;
        jcs::to_string(self)
    }

    /// The hash that names this survey everywhere.
    pub fn hash(&self) -> Result<SurveyHash, Error> {
        Ok(SurveyHash::of(&self.canonical()?))
    }

    /// Whether it can be run: refuses a draft, and names the parties that are missing.
    pub fn ready(&self) -> Result<(), Error> {
        let missing: Vec<Place> = self.places().filter(|&place| self.party(place).is_none()).collect();
        if missing.is_empty() { Ok(()) } else { Err(Error::Draft(missing)) }
    }

    /// The place of every party that it takes: the analyzer, then hop by hop.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let hops = self.delivery.hops;
        let cascade = move |instance| (1..=hops).map(move |hop| Place::Hop { instance, hop });
        std::iter::once(Place::Analyzer).chain((1..=self.delivery.instances).flat_map(cascade))
    }

    /// The party at a place, where it is named.
    pub fn party(&self, place: Place) -> Option<&Party> {
        self.parties.as_ref()?.at(place)
    }

    /// The epoch that a time is in, in seconds since 1970-01-01T00:00:00Z.
    pub fn epoch_at(&self, now_s: u64) -> u64 {
        now_s / self.epoch_s.max(1)
    }

    /// When an epoch ends, and is released or destroyed.
    pub fn epoch_end_s(&self, epoch: u64) -> u64 {
        epoch.saturating_add(1).saturating_mul(self.epoch_s)
    }

    /// Whether answers may change from epoch to epoch; `None` without a backstop, where every epoch is a report of its own.
    pub fn answer_changes(&self) -> Option<AnswerChanges> {
        match self.randomizer {
            Randomizer::AttributeFragments { .. } => None,
            Randomizer::ReportFragments { answer_changes, .. } => Some(answer_changes.unwrap_or_default()),
        }
    }

    /// The mechanism that respondents and analyzer share.
    pub fn mechanism(&self) -> Result<Mechanism, throng_dp::Error> {
        let (floor, fragments) = match self.randomizer {
            Randomizer::AttributeFragments { epsilon_local } => (epsilon_local, None),
            Randomizer::ReportFragments { epsilon_backstop, epsilon_fragment, fragments, .. } => {
                (epsilon_backstop, Some((Epsilon::new(epsilon_fragment)?, fragments)))
            }
        };
        let floor = Epsilon::new(floor)?;
        let encoding: throng_dp::Encoding = match &self.encoding {
            Encoding::OneHot { domain } => OneHot::new(*domain, floor)?.into(),
            &Encoding::Sketch { domain, rows, cells, seed } => {
                CountSketch::new(SketchShape { domain, rows, cells, seed }, floor)?.into()
            }
            Encoding::Record { attributes } => {
                let sizes: Vec<u64> = attributes.iter().map(|attribute| attribute.values).collect();
                Record::new(Attributes::new(&sizes)?, floor)?.into()
            }
        };
        Ok(match fragments {
            None => Mechanism::plain(encoding),
            Some((epsilon, tau)) => Mechanism::fragments(encoding, epsilon, tau)?,
        })
    }
}

/// The number of values of all attributes. It saturates, so that a check finds too many where others would overflow.
pub(crate) fn sum_of_values(attributes: &[Attribute]) -> u64 {
    attributes.iter().fold(0, |sum, attribute| sum.saturating_add(attribute.values))
}

/// The names of bounds, the same everywhere.
pub const BOUNDS: [&str; 6] = ["exact", "fmt23", "clones21", "blanket", "lemma", "theorem"];

/// 30 days.
const KEEP_SEALED_S: u64 = 30 * 86400;

#[cfg(test)]
mod tests;
