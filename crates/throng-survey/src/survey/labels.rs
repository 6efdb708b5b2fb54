//! Natural crowds: labels that a survey lists, each a channel of its own.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Survey;
use crate::Error;

/// The labels of a survey, and what hides how many respondents carry each. Paper: Section V.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The labels, such as languages or versions; never anything that is derived from the values.
    pub names: Vec<String>,
    /// The privacy loss of randomized deletion in one instance, when a respondent moves from one label to another.
    pub epsilon_deletion: f64,
    /// The allowance beside it, as `claim.delta` is beside `epsilon_central`.
    pub delta_deletion: f64,
    /// What the respondent randomizes the label with. Absent: everyone knows a respondent's label anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_label: Option<f64>,
    /// Trust profiles: for a label, the instances that its fragments go to, in rising order. All others get chaff alone, in
    /// bodies that look the same. A label that is not in the table sends fragments to all instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<BTreeMap<String, Vec<u32>>>,
}

impl Labels {
    /// The number that stands for a label on the wire: its place in the list, from 1.
    pub fn number(&self, name: &str) -> Option<u32> {
        (1..).zip(&self.names).find(|(_, other)| *other == name).map(|(number, _)| number)
    }

    /// The label that a number stands for.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get((number as usize).checked_sub(1)?).map(String::as_str)
    }

    /// The trust profile of a label, if it has one: the instances that its fragments go to.
    pub fn profile(&self, number: u32) -> Option<&[u32]> {
        self.profiles.as_ref()?.get(self.name(number)?).map(Vec::as_slice)
    }
}

impl Survey {
    /// The numbers that answers travel under: those of all labels, or 0 alone where there are none.
    pub fn label_numbers(&self) -> RangeInclusive<u32> {
        match &self.labels {
            None => 0..=0,
            Some(labels) => 1..=u32::try_from(labels.names.len()).unwrap_or(u32::MAX),
        }
    }

    /// The number of the label that is meant, 0 where there are none. Refused where the survey does not have it, or has labels and
    /// none is named.
    pub fn label_number(&self, name: Option<&str>) -> Result<u32, Error> {
        let Some(labels) = &self.labels else {
            let none = || Error::Label("the survey has no labels; leave the label out".into());
            return name.map_or(Ok(0), |_| Err(none()));
        };
        name.and_then(|name| labels.number(name)).ok_or_else(|| {
            Error::Label(format!("choose one of the survey's labels: {}", labels.names.join(", ")))
        })
    }

    /// The instances that fragments under a label go to, in rising order: all, or those of its trust profile.
    pub fn receiving(&self, label: u32) -> Vec<u32> {
        match self.labels.as_ref().and_then(|labels| labels.profile(label)) {
            Some(profile) => profile.to_vec(),
            None => (1..=self.delivery.instances).collect(),
        }
    }
}
