//! The public file that a survey is: what is asked, how answers are randomized and sent, and what that guarantees.
//!
//! `throng plan` writes it; every party reads the same one. It is TOML; a field that is not described here is
//! refused, so that a misspelt one cannot be ignored. Its hash is that of its canonical JSON, so that spaces, comments
//! and order in the file do not matter; docs/wire-format.md has the details.

mod check;
mod labels;
mod party;
mod warnings;

use serde::{Deserialize, Serialize};
use throng_dp::{Attributes, CountSketch, Epsilon, Mechanism, OneHot, Record, ReportFragments, SketchShape};

use crate::digest::SurveyHash;
use crate::place::Place;
use crate::{Error, jcs};

pub use labels::Labels;
pub use party::{Instance, Parties, Party};
pub use warnings::{Shared, Warning};

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
    /// at its end. Epochs are numbered from 1970-01-01T00:00:00Z on.
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
    /// Crowds that are counted apart. Absent: there is one crowd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Who runs it. Absent or incomplete in a draft, such as `throng plan` writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parties: Option<Parties>,
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
    /// How the first hop knows that respondents are distinct.
    pub enrolment: Enrolment,
}

/// How the first hop knows that respondents are distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enrolment {
    /// Each has a credential that was issued once.
    Credential,
    /// It does not: anyone may answer, as often as they can invent a name. The guarantee says so.
    Open,
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

    /// The number of values; of a record, those of all attributes together.
    pub fn domain(&self) -> u64 {
        match &self.encoding {
            Encoding::OneHot { domain } | Encoding::Sketch { domain, .. } => *domain,
            Encoding::Record { attributes } => sum_of_values(attributes),
        }
    }

    /// What a value is called where estimates are shown: its number, or in a survey of records the attribute and its value.
    pub fn value_name(&self, value: u64) -> String {
        let Encoding::Record { attributes } = &self.encoding else { return value.to_string() };
        let mut rest = value;
        for attribute in attributes {
            if rest < attribute.values {
                return format!("{} = {rest}", attribute.name);
            }
            rest -= attribute.values;
        }
        value.to_string()
    }

    /// The number of attributes: every fragment holds one number below it.
    pub fn attributes(&self) -> u64 {
        match &self.encoding {
            Encoding::OneHot { .. } | Encoding::Record { .. } => self.domain(),
            Encoding::Sketch { rows, cells, .. } => u64::from(*rows) * u64::from(*cells),
        }
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

    /// The mechanism that respondents and analyzer share.
    pub fn mechanism(&self) -> Result<Mechanism, throng_dp::Error> {
        let (floor, fragments) = match self.randomizer {
            Randomizer::AttributeFragments { epsilon_local } => (epsilon_local, None),
            Randomizer::ReportFragments { epsilon_backstop, epsilon_fragment, fragments } => {
                (epsilon_backstop, Some((Epsilon::new(epsilon_fragment)?, fragments)))
            }
        };
        let floor = Epsilon::new(floor)?;
        Ok(match &self.encoding {
            Encoding::OneHot { domain } => {
                let one_hot = OneHot::new(*domain, floor)?;
                match fragments {
                    None => Mechanism::OneHot(one_hot),
                    Some((epsilon, tau)) => {
                        Mechanism::FragmentedOneHot(ReportFragments::new(one_hot, epsilon, tau)?)
                    }
                }
            }
            &Encoding::Sketch { domain, rows, cells, seed } => {
                let sketch = CountSketch::new(SketchShape { domain, rows, cells, seed }, floor)?;
                match fragments {
                    None => Mechanism::Sketch(sketch),
                    Some((epsilon, tau)) => {
                        Mechanism::FragmentedSketch(ReportFragments::new(sketch, epsilon, tau)?)
                    }
                }
            }
            Encoding::Record { attributes } => {
                let sizes: Vec<u64> = attributes.iter().map(|attribute| attribute.values).collect();
                let record = Record::new(Attributes::new(&sizes)?, floor)?;
                match fragments {
                    None => Mechanism::Record(record),
                    Some((epsilon, tau)) => {
                        Mechanism::FragmentedRecord(ReportFragments::new(record, epsilon, tau)?)
                    }
                }
            }
        })
    }
}

/// As a check needs it: too many are too many, and not an overflow.
fn sum_of_values(attributes: &[Attribute]) -> u64 {
    attributes.iter().fold(0, |sum, attribute| sum.saturating_add(attribute.values))
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
enrolment = "credential"

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

    const RECORD: &str = r#"kind = "record"
attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, { name = "county", values = 773 }]"#;

    const LABELS: &str = r#"
[labels]
names = ["de", "fr"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
epsilon_label = 1.5
"#;

    /// Some of the parties, sharing all that they should not share.
    const PARTIES: &str = r#"
[parties.analyzer]
operator = "Z"
jurisdiction = "CH"
signing_key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

[[parties.instances]]
hops = [
  { operator = "X", jurisdiction = "DE", signing_key = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c" },
  { operator = "Y", jurisdiction = " ch", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]

[[parties.instances]]
hops = [
  { operator = "x ", jurisdiction = "US-CA", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]
"#;

    const KEY_A: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const KEY_B: &str = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";

    #[test]
    fn samples_are_read_and_written_back() {
        let plain = SAMPLE.to_owned();
        let fragmented = plain.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
        let sketched = plain.replace("kind = \"one-hot\"\ndomain = 784", SKETCHED);
        let record = plain.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
        let complete = plain.clone() + LABELS + PARTIES;
        for text in [plain, fragmented, sketched, record, complete] {
            let survey = Survey::from_toml(&text).unwrap();
            assert_eq!(Survey::from_toml(&survey.to_toml().unwrap()).unwrap(), survey);
        }
        let survey = Survey::from_toml(SAMPLE).unwrap();
        assert_eq!((survey.domain(), survey.delivery.cover), (784, Cover::Chaff));
    }

    /// Values side by side in the order of the file, in one report or in fragments of one.
    #[test]
    fn records_have_the_values_of_all_their_attributes() {
        let text = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
        let survey = Survey::from_toml(&text).unwrap();
        assert_eq!((survey.domain(), survey.attributes()), (784, 784));
        assert!(survey.canonical().unwrap().contains(
            r#""encoding":{"attributes":[{"name":"age","values":9},{"name":"sex","values":2},{"name":"county","values":773}],"kind":"record"}"#
        ));
        let Mechanism::Record(record) = survey.mechanism().unwrap() else { panic!("not a record") };
        let ranges: Vec<_> = (0..3).map(|attribute| record.layout().range(attribute)).collect();
        assert_eq!(ranges, [0..9, 9..11, 11..784]);
        let fragmented = text.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
        let mechanism = Survey::from_toml(&fragmented).unwrap().mechanism().unwrap();
        assert!(matches!(&mechanism, Mechanism::FragmentedRecord(tau) if tau.tau() == 4));
        assert_eq!(mechanism.record().unwrap().layout(), record.layout());
        // The order and the names are part of what is asked.
        let mut hashes = vec![survey.hash().unwrap()];
        for (from, to) in [
            ("\"sex\"", "\"gender\""),
            (
                "{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }",
                "{ name = \"sex\", values = 2 }, { name = \"age\", values = 9 }",
            ),
            ("values = 773", "values = 774"),
        ] {
            let other = text.replace(from, to);
            assert_ne!(other, text);
            hashes.push(Survey::from_toml(&other).unwrap().hash().unwrap());
        }
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 4);
    }

    #[test]
    fn records_that_make_no_sense_are_refused() {
        let text = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
        for (from, to) in [
            ("values = 2 }", "values = 1 }"),
            ("values = 2 }", "values = 0 }"),
            ("values = 2 }", "values = 4294966515 }"),
            ("\"sex\"", "\"age\""),
            ("\"sex\"", "\"\""),
            ("\"sex\"", "\"s=x\""),
            ("attributes = [{", "attributes = [] # [{"),
        ] {
            let wrong = text.replace(from, to);
            assert_ne!(wrong, text);
            match Survey::from_toml(&wrong) {
                Err(Error::Field { field, .. }) => assert_eq!(field, "encoding.attributes", "{to}"),
                other => panic!("{to}: {other:?}"),
            }
        }
        let largest = text.replace("values = 2 }", "values = 4294966514 }");
        assert_eq!(Survey::from_toml(&largest).unwrap().domain(), 1 << 32);
        for (from, to) in [
            ("values = 2 }", "values = 2, size = 2 }"),
            ("values = 2 }", "values = -2 }"),
            ("name = \"sex\", ", ""),
            ("kind = \"record\"", "kind = \"record\"\ndomain = 784"),
        ] {
            let wrong = text.replace(from, to);
            assert_ne!(wrong, text);
            assert!(matches!(Survey::from_toml(&wrong), Err(Error::Format(_))), "{to}");
        }
    }

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        for (from, to) in [
            ("hops = 2", "hops = 2\nhop = 3"),
            ("domain = 784", "domain = 784\nrows = 3"),
            ("cover = \"chaff\"", ""),
            ("cover = \"chaff\"", "cover = \"maybe\""),
            ("version = 1", "version = \"1\""),
            ("enrolment = \"credential\"", ""),
            ("enrolment = \"credential\"", "enrolment = \"anyone\""),
        ] {
            let text = SAMPLE.replace(from, to);
            assert_ne!(text, SAMPLE);
            assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
        }
    }

    #[test]
    fn unknown_fields_of_parties_and_labels_are_refused() {
        let complete = SAMPLE.to_owned() + LABELS + PARTIES;
        for (from, to) in [
            ("delta_deletion = 1e-9", "delta_deletion = 1e-9\nshift = 3"),
            ("operator = \"Z\"", "operator = \"Z\"\nurl = \"https://z.example\""),
            ("operator = \"Z\"", ""),
            ("[[parties.instances]]", "[[parties.instances]]\nname = \"first\""),
            (KEY_A, &KEY_A.to_uppercase()),
            (KEY_A, &KEY_A[..62]),
            (KEY_A, "0100000000000000000000000000000000000000000000000000000000000000"),
        ] {
            let text = complete.replacen(from, to, 1);
            assert_ne!(text, complete);
            assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
        }
    }

    #[test]
    fn the_hash_is_of_what_the_file_says_not_of_how() {
        let survey = Survey::from_toml(SAMPLE).unwrap();
        assert_eq!(
            survey.canonical().unwrap(),
            r#"{"claim":{"bound":"exact","delta":0.000001,"epsilon_central":1,"neighbors":"removal"},"crowd":{"enrolment":"credential","honest_fraction":0.9,"respondents_min":3000},"delivery":{"cover":"chaff","envelopes":24,"hops":2,"instances":3},"encoding":{"domain":784,"kind":"one-hot"},"epoch_s":86400,"name":"which-pixel","question":"Which pixel of the drawing do you hold?","randomizer":{"epsilon_local":5.25,"kind":"attribute-fragments"},"version":1}"#
        );
        let same = SAMPLE
            .replace("epsilon_central = 1.0", "epsilon_central = 1 # as an integer")
            .replace("1e-6", "0.000_001");
        assert_eq!(Survey::from_toml(&same).unwrap().hash(), survey.hash());
        let complete = SAMPLE.to_owned() + LABELS + PARTIES;
        let mut hashes = vec![survey.hash().unwrap()];
        for (from, to) in [
            ("", ""),
            ("5.25", "5.250000000000001"),
            ("3000", "2999"),
            ("\"de\", \"fr\"", "\"fr\", \"de\""),
            ("\"credential\"", "\"open\""),
            (KEY_A, KEY_B),
            ("\"CH\"", "\"IS\""),
            ("86400", "86399"),
        ] {
            hashes.push(Survey::from_toml(&complete.replace(from, to)).unwrap().hash().unwrap());
        }
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count, "one changed digit is another survey");
    }

    #[test]
    fn a_draft_says_who_is_missing() {
        let draft = Survey::from_toml(SAMPLE).unwrap();
        match draft.ready() {
            Err(Error::Draft(missing)) => assert_eq!(missing, draft.places().collect::<Vec<_>>()),
            other => panic!("{other:?}"),
        }
        let partly = Survey::from_toml(&(SAMPLE.to_owned() + PARTIES)).unwrap();
        assert_eq!(
            partly.ready().unwrap_err().to_string(),
            "the survey is a draft; it has no party yet for: instance-2-hop-2, instance-3-hop-1, instance-3-hop-2"
        );
        let smaller = SAMPLE.replace("instances = 3", "instances = 1") + PARTIES.rsplit_once("[[").unwrap().0;
        assert_eq!(Survey::from_toml(&smaller).unwrap().ready(), Ok(()));
    }

    #[test]
    fn what_parties_share_is_warned_about() {
        let survey = Survey::from_toml(&(SAMPLE.to_owned() + PARTIES)).unwrap();
        let warnings: Vec<String> = survey.warnings().iter().map(Warning::to_string).collect();
        assert_eq!(
            warnings,
            [
                "instance-1-hop-1, instance-2-hop-1 share the operator X: they may act as one".to_owned(),
                "analyzer, instance-1-hop-2 share the jurisdiction CH: they may act as one".to_owned(),
                format!(
                    "instance-1-hop-2, instance-2-hop-1 share the signing key {KEY_B}: they may act as one"
                ),
            ]
        );
        let open = SAMPLE.replace("\"credential\"", "\"open\"").replace("hops = 2", "hops = 1");
        assert_eq!(Survey::from_toml(&open).unwrap().warnings(), [Warning::OpenEnrolment, Warning::OneHop]);
        assert_eq!(Survey::from_toml(SAMPLE).unwrap().warnings(), []);
    }

    #[test]
    fn epochs_follow_the_clock() {
        let survey = Survey::from_toml(SAMPLE).unwrap();
        assert_eq!((survey.epoch_at(0), survey.epoch_at(86399), survey.epoch_at(86400)), (0, 0, 1));
        assert_eq!(survey.epoch_end_s(survey.epoch_at(1_700_000_000)) % 86400, 0);
        assert_eq!(survey.epoch_at(survey.epoch_end_s(7)), 8);
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
            ("epsilon_central = 1.0", "epsilon_central = inf", "claim.epsilon_central"),
            ("respondents_min = 3000", "respondents_min = 9007199254740992", "crowd.respondents_min"),
            ("hops = 2", "hops = 17", "delivery"),
            ("envelopes = 24", "envelopes = 4000000000", "delivery.envelopes"),
            ("instances = 3", "instances = 1", "parties.instances"),
            ("hops = 2", "hops = 1", "parties.instances"),
            ("operator = \"Z\"", "operator = \" \"", "parties"),
            ("\"CH\"", "\"C\\nH\"", "parties"),
            ("[\"de\", \"fr\"]", "[\"de\", \"de\"]", "labels.names"),
            ("[\"de\", \"fr\"]", "[]", "labels.names"),
            ("[\"de\", \"fr\"]", "[\"d/e\"]", "labels.names"),
            ("epsilon_deletion = 0.2", "epsilon_deletion = 0.0", "labels.epsilon_deletion"),
            ("delta_deletion = 1e-9", "delta_deletion = 0.0", "labels.delta_deletion"),
            ("epsilon_label = 1.5", "epsilon_label = -1.0", "labels.epsilon_label"),
        ] {
            let complete = SAMPLE.to_owned() + LABELS + PARTIES;
            let text = complete.replace(from, to);
            assert_ne!(text, complete);
            match Survey::from_toml(&text) {
                Err(Error::Field { field, .. }) => assert_eq!(field, named),
                other => panic!("{to}: {other:?}"),
            }
        }
    }
}
