//! Other shares of honest respondents: what a planned survey guarantees if all of them are honest, and if half of them are.

use std::collections::BTreeSet;

use serde::Serialize;
use throng_account::terms::Terms;
use throng_account::{CancelToken, Error as AccountError};

use crate::{Error, Survey, terms};
use throng_account::rounding::at_most;

/// The guarantee of a release at the plan's delta, if this share of the crowd is honest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HonestShare {
    /// The share.
    pub honest_fraction: f64,
    /// The privacy loss of one release. Absent where the crowd adds nothing that can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_central: Option<f64>,
}

impl HonestShare {
    pub(super) fn in_words(&self) -> String {
        match self.epsilon_central {
            Some(epsilon) => format!("epsilon_central {:.4}", at_most(epsilon)),
            None => "nothing but what is left whatever fails".into(),
        }
    }
}

/// For all of the crowd and for half of it, whatever was planned for: under the label with the weakest guarantee.
pub(super) fn of(survey: &Survey, go_on: CancelToken<'_>) -> Result<[HonestShare; 2], Error> {
    Ok([at(survey, 1.0, go_on)?, at(survey, 0.5, go_on)?])
}

fn at(survey: &Survey, honest_fraction: f64, go_on: CancelToken<'_>) -> Result<HonestShare, Error> {
    let mut worst = Some(0.0_f64);
    let mut known = BTreeSet::new();
    for label in survey.label_numbers() {
        // Of a label, it depends on how many instances get fragments and on nothing else.
        if !known.insert(survey.receiving(label).len()) {
            continue;
        }
        let terms = Terms { honest_fraction, ..terms(survey, label)? };
        worst = match terms.guarantee_while(survey.crowd.respondents_min, go_on) {
            Ok(kept) => worst.map(|worst| worst.max(kept.central.epsilon().value())),
            Err(AccountError::NotApplicable(_)) => None,
            Err(other) => return Err(other.into()),
        };
    }
    Ok(HonestShare { honest_fraction, epsilon_central: worst })
}
