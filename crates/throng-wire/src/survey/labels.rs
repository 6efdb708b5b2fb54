//! Natural crowds: labels that a survey lists, each a channel of its own.

use serde::{Deserialize, Serialize};

/// The labels of a survey, and what hides how many respondents carry each. Paper: Section V.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The labels, such as languages or versions; never anything that is derived from the values.
    pub names: Vec<String>,
    /// The privacy loss of randomized deletion in one instance, when a respondent moves from one label to another.
    pub epsilon_deletion: f64,
    /// The probability that it is exceeded.
    pub delta_deletion: f64,
    /// What the respondent randomizes the label with. Absent: everyone knows a respondent's label anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_label: Option<f64>,
}

impl Labels {
    /// The number that stands for a label on the wire: its place in the list, from 1.
    pub fn number(&self, name: &str) -> Option<u32> {
        (1..).zip(&self.names).find(|(_, other)| *other == name).map(|(number, _)| number)
    }
}
