//! The public file that a survey is: what is asked, how answers are randomized and sent, and what that guarantees.
//!
//! `throng plan` writes it; every party reads the same one. It is TOML; a field that is not described here is
//! refused, so that a misspelt one cannot be ignored.

use serde::{Deserialize, Serialize};
use throng_dp::{CountSketch, Epsilon, Mechanism, OneHot, ReportFragments, SketchShape};

use crate::Error;

/// A survey. Field by field what the file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// The version of this format: 1.
    pub version: u32,
    /// A short name, unique among the operator's surveys.
    pub name: String,
    /// What is asked, in words that respondents see.
    pub question: String,
    /// The length of an epoch in seconds. Each respondent answers at most once in it, and it is released or destroyed
    /// at its end.
    pub epoch_s: u64,
    /// How a value is written as bits.
    pub encoding: Encoding,
    /// How the bits are randomized.
    pub randomizer: Randomizer,
    /// Who has to take part for a release.
    pub crowd: Crowd,
    /// How fragments travel.
    pub delivery: Delivery,
    /// What is promised.
    pub claim: Claim,
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
    /// Several noisier reports per epoch, all drawn from one permanent backstop.
    ReportFragments {
        /// The privacy loss of all fragments of all epochs together (removal).
        epsilon_backstop: f64,
        /// What one fragment is randomized with.
        epsilon_fragment: f64,
        /// How many fragments each bit is sent in: tau.
        fragments: u32,
    },
}

/// Who has to take part for a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crowd {
    /// How many distinct respondents an epoch needs; with fewer it is destroyed.
    pub respondents_min: u64,
    /// The share of them that the guarantee assumes to be honest.
    pub honest_fraction: f64,
}

/// How fragments travel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// How many independent shuffler instances.
    pub instances: u32,
    /// How many hops each instance is a cascade of.
    pub hops: u32,
    /// How many envelopes every respondent sends to every instance in every epoch.
    pub envelopes: u32,
    /// Whether unused envelopes are filled.
    pub cover: Cover,
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
    /// The probability that it is exceeded, overflowing envelopes included.
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

    /// The number of values.
    pub fn domain(&self) -> u64 {
        match self.encoding {
            Encoding::OneHot { domain } | Encoding::Sketch { domain, .. } => domain,
        }
    }

    /// The mechanism that respondents and analyzer share.
    pub fn mechanism(&self) -> Result<Mechanism, throng_dp::Error> {
        let (floor, fragments) = match self.randomizer {
            Randomizer::AttributeFragments { epsilon_local } => (epsilon_local, None),
            Randomizer::ReportFragments { epsilon_backstop, epsilon_fragment, fragments } => {
                (epsilon_backstop, Some((Epsilon::new(epsilon_fragment)?, fragments)))
            }
        };
        let floor = Epsilon::new(floor)?;
        Ok(match (self.encoding.sketch_shape(), fragments) {
            (None, None) => Mechanism::OneHot(OneHot::new(self.domain(), floor)?),
            (None, Some((epsilon, tau))) => Mechanism::FragmentedOneHot(ReportFragments::new(
                OneHot::new(self.domain(), floor)?,
                epsilon,
                tau,
            )?),
            (Some(shape), None) => Mechanism::Sketch(CountSketch::new(shape, floor)?),
            (Some(shape), Some((epsilon, tau))) => Mechanism::FragmentedSketch(ReportFragments::new(
                CountSketch::new(shape, floor)?,
                epsilon,
                tau,
            )?),
        })
    }

    /// Everything that a single field or two can be wrong about. Whether the claim holds is for an accountant.
    fn check(&self) -> Result<(), Error> {
        let wrong = |field, reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
        if self.version != 1 {
            return wrong("version", "this program reads version 1");
        }
        if self.name.is_empty()
            || !self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        {
            return wrong("name", "use letters, digits, '-', '_' and '.'");
        }
        if self.epoch_s == 0 {
            return wrong("epoch_s", "an epoch lasts at least a second");
        }
        match self.encoding {
            Encoding::OneHot { domain } if domain == 0 || domain > 1 << 32 => {
                return wrong("encoding.domain", "give a size between 1 and 2^32");
            }
            Encoding::Sketch { domain, rows, cells, .. }
                if domain == 0
                    || rows == 0
                    || cells < 2
                    || u64::from(rows) * u64::from(cells) > 1 << 32
                    || domain >= 1 << 61 =>
            {
                return wrong(
                    "encoding",
                    "rows times cells may be at most 2^32, with at least one row and two cells",
                );
            }
            _ => {}
        }
        let epsilon = |field, value| match Epsilon::new(value) {
            Ok(epsilon) if epsilon > Epsilon::ZERO => Ok(()),
            _ => wrong(field, "give a finite number above 0"),
        };
        match self.randomizer {
            Randomizer::AttributeFragments { epsilon_local } => {
                epsilon("randomizer.epsilon_local", epsilon_local)?;
            }
            Randomizer::ReportFragments { epsilon_backstop, epsilon_fragment, fragments } => {
                epsilon("randomizer.epsilon_backstop", epsilon_backstop)?;
                epsilon("randomizer.epsilon_fragment", epsilon_fragment)?;
                if fragments == 0 {
                    return wrong("randomizer.fragments", "give at least 1");
                }
            }
        }
        if self.crowd.respondents_min < 2 {
            return wrong("crowd.respondents_min", "nobody is hidden in a crowd of one");
        }
        if !(self.crowd.honest_fraction > 0.0 && self.crowd.honest_fraction <= 1.0) {
            return wrong("crowd.honest_fraction", "give a number above 0 and at most 1");
        }
        if self.delivery.instances == 0 || self.delivery.hops == 0 || self.delivery.envelopes == 0 {
            return wrong("delivery", "instances, hops and envelopes are at least 1 each");
        }
        epsilon("claim.epsilon_central", self.claim.epsilon_central)?;
        if !(self.claim.delta > 0.0 && self.claim.delta < 1.0) {
            return wrong("claim.delta", "give a number between 0 and 1");
        }
        if self.claim.neighbors != "removal" {
            return wrong("claim.neighbors", "surveys are stated under \"removal\"");
        }
        if !BOUNDS.contains(&self.claim.bound.as_str()) {
            return wrong("claim.bound", "use exact, fmt23, clones21, blanket, lemma or theorem");
        }
        Ok(())
    }
}

impl Encoding {
    /// The sizes of a sketch, where it is one.
    pub fn sketch_shape(&self) -> Option<SketchShape> {
        match *self {
            Self::Sketch { domain, rows, cells, seed } => Some(SketchShape { domain, rows, cells, seed }),
            Self::OneHot { .. } => None,
        }
    }
}

/// The names of bounds, the same everywhere.
pub const BOUNDS: [&str; 6] = ["exact", "fmt23", "clones21", "blanket", "lemma", "theorem"];

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400

[encoding]
kind = "one-hot"
domain = 784

[randomizer]
kind = "attribute-fragments"
epsilon_local = 5.25

[crowd]
respondents_min = 3000
honest_fraction = 0.9

[delivery]
instances = 3
hops = 2
envelopes = 24
cover = "chaff"

[claim]
epsilon_central = 1.0
delta = 1e-6
neighbors = "removal"
bound = "exact"
"#;

    const FRAGMENTED: &str = r#"kind = "report-fragments"
epsilon_backstop = 5.25
epsilon_fragment = 4.0
fragments = 4"#;

    const SKETCHED: &str = r#"kind = "sketch"
domain = 1000000000000
rows = 1024
cells = 65536
seed = 7"#;

    #[test]
    fn samples_are_read_and_written_back() {
        let plain = SAMPLE.to_owned();
        let fragmented = plain.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
        let sketched = plain.replace("kind = \"one-hot\"\ndomain = 784", SKETCHED);
        for text in [plain, fragmented, sketched] {
            let survey = Survey::from_toml(&text).unwrap();
            assert_eq!(Survey::from_toml(&survey.to_toml().unwrap()).unwrap(), survey);
        }
        let survey = Survey::from_toml(SAMPLE).unwrap();
        assert_eq!((survey.domain(), survey.delivery.cover), (784, Cover::Chaff));
    }

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        for (from, to) in [
            ("hops = 2", "hops = 2\nhop = 3"),
            ("domain = 784", "domain = 784\nrows = 3"),
            ("cover = \"chaff\"", ""),
            ("cover = \"chaff\"", "cover = \"maybe\""),
            ("version = 1", "version = \"1\""),
        ] {
            let text = SAMPLE.replace(from, to);
            assert_ne!(text, SAMPLE);
            assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
        }
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_their_field() {
        for (from, to, named) in [
            ("version = 1", "version = 2", "version"),
            ("name = \"which-pixel\"", "name = \"a/b\"", "name"),
            ("epoch_s = 86400", "epoch_s = 0", "epoch_s"),
            ("domain = 784", "domain = 0", "encoding.domain"),
            ("epsilon_local = 5.25", "epsilon_local = nan", "randomizer.epsilon_local"),
            ("epsilon_local = 5.25", "epsilon_local = 0.0", "randomizer.epsilon_local"),
            ("respondents_min = 3000", "respondents_min = 1", "crowd.respondents_min"),
            ("honest_fraction = 0.9", "honest_fraction = 1.1", "crowd.honest_fraction"),
            ("instances = 3", "instances = 0", "delivery"),
            ("delta = 1e-6", "delta = 1.0", "claim.delta"),
            ("neighbors = \"removal\"", "neighbors = \"replacement\"", "claim.neighbors"),
            ("bound = \"exact\"", "bound = \"guess\"", "claim.bound"),
        ] {
            let text = SAMPLE.replace(from, to);
            assert_ne!(text, SAMPLE);
            match Survey::from_toml(&text) {
                Err(Error::Field { field, .. }) => assert_eq!(field, named),
                other => panic!("{to}: {other:?}"),
            }
        }
    }
}
