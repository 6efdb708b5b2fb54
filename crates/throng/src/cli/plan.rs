//! The arguments of `throng plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use throng_wire::survey::AnswerChanges;

use super::EncodingArg;

/// The arguments of `throng plan`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng plan --epsilon-central 1 --delta 1e-8 --respondents 2000000 --domain 87680
      what a picture of 274 x 320 pixels costs
  throng plan --epsilon-central 0.5 --delta 1e-7 --respondents 100000 --domain 500 \\
      --report-fragments 16 --instances 5 --hops 3 --honest-fraction 0.8 --out survey.toml
      behind a backstop, over five instances of three hops, counting on four in five; writes the survey file
  throng plan --epsilon-central 1 --delta 1e-6 --respondents 200000 --domain 4000000000 --zipf 1.2
      too many values for one bit each: a sketch of the best size
  throng plan --epsilon-central 1 --delta 1e-6 --respondents 100000 \\
      --attribute age=9 --attribute sex=2 --attribute county=100 --out people.toml
      records of three attributes, of which each respondent samples one
  throng plan --epsilon-central 1 --delta 1e-6 --respondents 100000 --domain 500 \\
      --label de --label fr --label no-instance-2=1,3 --out crowds.toml
      three crowds that are counted apart; fragments of the third go to instances 1 and 3 alone
  throng plan --epsilon-central 0.01 --delta 1e-9 --respondents 100 --domain 1000
      refused (exit code 1), with what would be feasible")]
pub struct PlanArgs {
    /// The privacy loss of a release (removal neighbors)
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_central: f64,

    /// The allowance beside epsilon_central
    #[arg(long, help = super::DELTA, value_name = "D", allow_negative_numbers = true)]
    pub delta: f64,

    /// How many respondents are expected, and required for a release; with labels, of each
    #[arg(long, value_name = "N")]
    pub respondents: u64,

    /// How many values there are
    #[arg(long, value_name = "K", required_unless_present = "attribute")]
    pub domain: Option<u64>,

    /// Instead of --domain: an attribute of a record, and how many values it has; once for each, in order
    #[arg(long, value_name = "NAME=VALUES", conflicts_with_all = ["domain", "encoding", "zipf", "sample"])]
    pub attribute: Vec<AttributeArg>,

    /// How many report fragments each bit is sent in, behind a backstop; 1 means none
    #[arg(long, value_name = "T", default_value_t = 1)]
    pub report_fragments: u32,

    /// Behind a backstop: may answers change from epoch to epoch, or does the first report count for all? [default: allowed]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub answer_changes: Option<AnswerChangesArg>,

    /// How many independent shuffler instances
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub instances: u32,

    /// How many hops each instance is a cascade of
    #[arg(long, value_name = "M", default_value_t = 2)]
    pub hops: u32,

    /// The share of the respondents that the guarantee counts on; state it where more than one operator signs [default: 1]
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    pub honest_fraction: Option<f64>,

    /// A public label whose crowd is counted apart; with =I,J its fragments go to these instances alone; once for each
    #[arg(long, value_name = "NAME[=I,J]")]
    pub label: Vec<LabelArg>,

    /// The epsilon with which each instance deletes answers at random from a crowd with a label, to hide who took part
    /// [default: for all of them a fifth of --epsilon-central]
    #[arg(long, value_name = "E", requires = "label", allow_negative_numbers = true)]
    pub epsilon_deletion: Option<f64>,

    /// The delta of that deletion [default: for all instances a hundredth of --delta]
    #[arg(long, value_name = "D", requires = "label", allow_negative_numbers = true)]
    pub delta_deletion: Option<f64>,

    /// How a value is written as bits [default: what serves best]
    #[arg(long, value_enum)]
    pub encoding: Option<EncodingArg>,

    /// The values follow a power law with this exponent: what collisions in a sketch cost [default: all alike]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub zipf: Option<f64>,

    /// The values are distributed like this sample: lines that end in a count, for example value,count
    #[arg(long, value_name = "FILE.csv", conflicts_with = "zipf")]
    pub sample: Option<PathBuf>,

    /// Also say how many respondents it takes until a value held by this share of them can be told from zero
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub crowd_for_share: Option<f64>,

    /// What the public hash functions of a sketch are made from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub hash_seed: u64,

    /// The survey's name
    #[arg(long, default_value = "survey")]
    pub name: String,

    /// What is asked, in words that respondents see
    #[arg(long, default_value = "")]
    pub question: String,

    /// The length of an epoch in seconds
    #[arg(long, value_name = "S", default_value_t = 86_400)]
    pub epoch_s: u64,

    /// Where to write the survey file
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
}

/// Whether answers may change, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerChangesArg {
    /// They may, and a respondent is told what each change costs
    Allowed,
    /// The first report counts for all epochs, also one of having nothing to say
    Never,
}

impl From<AnswerChangesArg> for AnswerChanges {
    fn from(typed: AnswerChangesArg) -> Self {
        match typed {
            AnswerChangesArg::Allowed => Self::Allowed,
            AnswerChangesArg::Never => Self::Never,
        }
    }
}

/// An attribute of a record as typed: its name, and how many values it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeArg {
    /// What it is called.
    pub name: String,
    /// How many values there are.
    pub values: u64,
}

impl std::str::FromStr for AttributeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || "write its name, =, and how many values it has, for example age=9".to_owned();
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), values: values.parse().map_err(|_| wrong())? })
    }
}

/// A label as typed: its name, and the instances of its trust profile, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelArg {
    /// What it is called.
    pub name: String,
    /// The instances that its fragments go to, in rising order. `None`: to all.
    pub profile: Option<Vec<u32>>,
}

impl std::str::FromStr for LabelArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |_: std::num::ParseIntError| {
            "write its name, or its name, = and numbers of instances, for example de=1,3".to_owned()
        };
        let Some((name, instances)) = text.split_once('=') else {
            return Ok(Self { name: text.to_owned(), profile: None });
        };
        let numbers: Result<Vec<u32>, _> = instances.split(',').map(|one| one.trim().parse()).collect();
        let mut profile = numbers.map_err(wrong)?;
        profile.sort_unstable();
        Ok(Self { name: name.to_owned(), profile: Some(profile) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_a_name_and_a_number_of_values() {
        let county = AttributeArg { name: "county".into(), values: 100 };
        assert_eq!("county=100".parse(), Ok(county));
        for wrong in ["county", "county=", "county=many", "county=-1", "county=1=2"] {
            assert!(wrong.parse::<AttributeArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_have_a_name_and_perhaps_a_trust_profile() {
        let label = |name: &str, profile| Ok(LabelArg { name: name.into(), profile });
        assert_eq!("de".parse(), label("de", None));
        assert_eq!("de=3, 1".parse(), label("de", Some(vec![1, 3])));
        for wrong in ["de=", "de=1,", "de=one", "de=-1", "de=1=2"] {
            assert!(wrong.parse::<LabelArg>().is_err(), "{wrong}");
        }
    }
}
