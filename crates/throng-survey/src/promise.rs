//! Promises: a differential privacy guarantee as results show it, with one name for each of its numbers.

use serde::{Deserialize, Serialize};
use throng_account::attacker::Exposure;
use throng_dp::{CentralGuarantee, Neighbors};

use crate::Error;
use crate::survey::Claim;

/// What is promised to a respondent: the central guarantee of a release, the crowd that it counts on, and what is left if that
/// fails. Its fields are flattened into every result that shows a guarantee.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// What one release guarantees.
    #[serde(flatten)]
    pub central: CentralPromise,
    /// How many honest respondents it counts on.
    pub honest_respondents: u64,
    /// What is left whatever fails.
    #[serde(flatten)]
    pub local: LocalPromise,
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

/// What is left whatever fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalPromise {
    /// The privacy loss of one epoch, or with a backstop of all epochs while the answer stays the same.
    pub epsilon_local: f64,
    /// Whether it is of all epochs in which the answer stays the same.
    pub backstop: bool,
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
    /// What this central guarantee comes to that a bound proves for so many honest respondents, with what is left without it.
    pub fn new<N: Neighbors>(
        (central, bound): (CentralGuarantee<N>, &str),
        honest_respondents: u64,
        exposure: &Exposure,
    ) -> Result<Self, Error> {
        Ok(Self {
            central: CentralPromise::new(central, bound),
            honest_respondents,
            local: LocalPromise::of(exposure),
            collusion: CollusionPromise::of(exposure)?,
        })
    }

    /// The same of another crowd: its own guarantee, resting on so many honest respondents.
    #[must_use]
    pub fn of_crowd<N: Neighbors>(&self, central: CentralGuarantee<N>, honest_respondents: u64) -> Self {
        let central = CentralPromise::new(central, &self.central.bound);
        Self { central, honest_respondents, ..self.clone() }
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

impl LocalPromise {
    /// Of all that a respondent sends.
    pub fn of(exposure: &Exposure) -> Self {
        Self { epsilon_local: exposure.epsilon_floor.value(), backstop: exposure.fragments.is_some() }
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
    use crate::{CheckedClaim, Survey};
    use throng_dp::{Delta, Epsilon, Removal};
    use throng_testing::survey::FRAGMENTED;

    /// The names, and their order, are those of files that are published.
    #[test]
    fn a_promise_has_one_name_for_each_number() {
        let survey = Survey::from_toml(FRAGMENTED).unwrap();
        let claim = CheckedClaim::check(&survey).unwrap();
        let promise = claim.promise;
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
        // Another crowd has another guarantee, by the same bound, and nothing else changes.
        let central = CentralGuarantee::<Removal>::new(Epsilon::new(0.5).unwrap(), Delta::new(1e-7).unwrap());
        let mut other = promise.of_crowd(central, 95_000);
        assert_eq!((other.central.epsilon_central, other.central.delta), (0.5, 1e-7));
        assert_eq!((other.honest_respondents, other.central.bound.as_str()), (95_000, "exact"));
        (other.central, other.honest_respondents) = (promise.central.clone(), promise.honest_respondents);
        assert_eq!(other, promise);
    }
}
