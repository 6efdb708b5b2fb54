//! Promises: a differential privacy guarantee as results show it, with one name for each of its numbers.

use serde::{Deserialize, Serialize};
use throng_account::attacker::Exposure;
use throng_dp::{CentralGuarantee, Neighbors};

use crate::survey::Claim;
use crate::{CheckedClaim, Error, Survey};

/// What is promised to a respondent: the central guarantee of a release, the crowd that it counts on, and what is left if that
/// fails. Its fields are flattened into every result that shows a guarantee.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// What one release guarantees.
    #[serde(flatten)]
    pub central: CentralPromise,
    /// How many honest respondents it counts on.
    pub honest_respondents: u64,
    /// What is left whatever fails: of one epoch, or with a backstop of all epochs while the answer stays the same.
    pub epsilon_local: f64,
    /// Whether that is of all epochs in which the answer stays the same.
    pub backstop: bool,
    /// What collusion leaves.
    #[serde(flatten)]
    pub collusion: CollusionPromise,
}

/// What one release guarantees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CentralPromise {
    /// The privacy loss of one release.
    pub epsilon_central: f64,
    /// The allowance beside it: `throng_dp::Delta` says what that is.
    pub delta: f64,
    /// Which worlds are compared.
    pub neighbors: String,
    /// The bound that proves it.
    pub bound: String,
}

/// What is left if the analyzer and all hops of some instances work together. The first number is for one such instance, the
/// second for two, and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollusionPromise {
    /// The loss of the fragments alone that they can tie to a respondent.
    pub epsilon_if_instances_compromised: Vec<f64>,
    /// The loss of these fragments and the release together, both of which they see.
    pub epsilon_with_release_if_instances_compromised: Vec<f64>,
}

impl Promise {
    /// What holds of a crowd: this central guarantee, resting on so many honest respondents.
    pub fn kept<N: Neighbors>(
        survey: &Survey,
        claim: &CheckedClaim,
        central: CentralGuarantee<N>,
        honest_respondents: u64,
    ) -> Result<Self, Error> {
        Ok(Self {
            central: CentralPromise::new(central, &survey.claim.bound),
            honest_respondents,
            epsilon_local: claim.floor.epsilon().value(),
            backstop: claim.exposure.fragments.is_some(),
            collusion: CollusionPromise::of(&claim.exposure)?,
        })
    }
}

impl CentralPromise {
    /// A guarantee, and the name of the bound that proves it.
    pub fn new<N: Neighbors>(central: CentralGuarantee<N>, bound: &str) -> Self {
        Self {
            epsilon_central: central.epsilon().value(),
            delta: central.delta().value(),
            neighbors: N::NAME.to_owned(),
            bound: bound.to_owned(),
        }
    }
}

/// What a survey claims.
impl From<&Claim> for CentralPromise {
    fn from(claim: &Claim) -> Self {
        let Claim { epsilon_central, delta, neighbors, bound } = claim.clone();
        Self { epsilon_central, delta, neighbors, bound }
    }
}

impl CollusionPromise {
    /// For one instance, two, ... all of those that get fragments.
    pub fn of(exposure: &Exposure) -> Result<Self, Error> {
        let collusions = exposure.collusions()?;
        Ok(Self {
            epsilon_if_instances_compromised: collusions.iter().map(|left| left.exposed.value()).collect(),
            epsilon_with_release_if_instances_compromised: collusions
                .iter()
                .map(|left| left.with_release.value())
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::survey::FRAGMENTED;

    /// The names, and their order, are those of files that are published.
    #[test]
    fn a_promise_has_one_name_for_each_number() {
        let survey = Survey::from_toml(FRAGMENTED).unwrap();
        let claim = CheckedClaim::check(&survey).unwrap();
        let promise = Promise::kept(&survey, &claim, claim.claimed, claim.honest).unwrap();
        let text = serde_json::to_string(&promise).unwrap();
        let mut from = 0;
        for part in [
            "{\"epsilon_central\":1.0,",
            "\"delta\":1e-6,",
            "\"neighbors\":\"removal\",",
            "\"bound\":\"exact\",",
            "\"honest_respondents\":90000,",
            "\"epsilon_local\":5.25,",
            "\"backstop\":true,",
            "\"epsilon_if_instances_compromised\":[",
            "\"epsilon_with_release_if_instances_compromised\":[5.25,5.25,5.25]}",
        ] {
            let at = text[from..].find(part).unwrap_or_else(|| panic!("{part} in {text}"));
            from += at + part.len();
        }
        assert_eq!(from, text.len());
        assert_eq!(serde_json::from_str::<Promise>(&text).unwrap(), promise);
        let alone = &promise.collusion.epsilon_if_instances_compromised;
        assert_eq!(alone.len(), 3);
        assert!(alone.is_sorted() && alone[0] < 5.25, "{alone:?}");
    }
}
