//! The target of a plan: the guarantee that is wanted, the crowd that is there, and what is asked.

use throng_account::planner::Distribution;

use crate::Error;
use crate::survey::{AnswerChanges, Attribute};

/// A target guarantee, the crowd that is there to reach it, and what is asked. Plain data: [`plan`](super::plan) checks it.
///
/// `respondents` and `asked` have no default that can be planned for; all the rest has.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The privacy loss of one release (removal neighbors).
    pub epsilon_central: f64,
    /// The allowance beside it.
    pub delta: f64,
    /// How many respondents are expected, and required for a release; with labels, of each.
    pub respondents: u64,
    /// The share of them that the guarantee counts on. A survey of several operators states it. `None`: all.
    pub honest_fraction: Option<f64>,
    /// What there is to choose from.
    pub asked: Domain,
    /// How a value is written as bits. `None`: what serves best.
    pub encoding: Option<EncodingChoice>,
    /// How the values are expected to be distributed: what collisions in a sketch cost.
    pub distribution: Distribution,
    /// How many report fragments each bit is sent in, behind a backstop; 1 means none.
    pub report_fragments: u32,
    /// Behind a backstop: whether answers may change. `None`: they may, and the file does not say it.
    pub answer_changes: Option<AnswerChanges>,
    /// How many independent shuffler instances.
    pub instances: u32,
    /// How many hops each instance is a cascade of.
    pub hops: u32,
    /// Crowds that are counted apart; none: there is one crowd.
    pub labels: Vec<LabelTarget>,
    /// What each instance deletes with from a crowd with a label. `None`: for all of them a fifth of `epsilon_central`.
    pub epsilon_deletion: Option<f64>,
    /// The allowance beside it. `None`: for all instances a hundredth of `delta`.
    pub delta_deletion: Option<f64>,
    /// Also say how many respondents it takes until a value held by this share of them can be told from zero.
    pub crowd_for_share: Option<f64>,
    /// What the public hash functions of a sketch are made from.
    pub hash_seed: u64,
    /// The survey's name.
    pub name: String,
    /// What is asked, in words that respondents see.
    pub question: String,
    /// The length of an epoch in seconds.
    pub epoch_s: u64,
}

/// The domain: what there is to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// One of this many values.
    Values(u64),
    /// A record: one value of each attribute, of which each respondent samples one.
    Record(Vec<Attribute>),
}

/// How a value is written as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingChoice {
    /// One bit per value.
    OneHot,
    /// A cell of a count-mean sketch.
    Sketch,
}

/// A crowd that is counted apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelTarget {
    /// What it is called.
    pub name: String,
    /// The trust profile: the instances that its fragments go to, in rising order. `None`: to all.
    pub profile: Option<Vec<u32>>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            epsilon_central: 1.0,
            delta: 1e-6,
            respondents: 0,
            honest_fraction: None,
            asked: Domain::Values(0),
            encoding: None,
            distribution: Distribution::Uniform,
            report_fragments: 1,
            answer_changes: None,
            instances: 3,
            hops: 2,
            labels: Vec::new(),
            epsilon_deletion: None,
            delta_deletion: None,
            crowd_for_share: None,
            hash_seed: 1,
            name: "survey".into(),
            question: String::new(),
            epoch_s: 86_400,
        }
    }
}

/// A parameter that makes no sense, by its name.
pub(super) fn wrong<E: std::fmt::Display>(field: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Target { field, reason: error.to_string() }
}
