//! Guarantees under other neighbor relations than removal, as plans and accounts print them.

use serde::Serialize;
use throng_dp::{CentralGuarantee, Neighbors};

/// A guarantee under a neighbor relation, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedGuarantee {
    /// Which worlds are compared.
    pub neighbors: &'static str,
    /// The privacy loss of one release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_central: Option<f64>,
    /// The allowance beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Why nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_claimed: Option<String>,
}

impl StatedGuarantee {
    /// Something that holds.
    pub fn kept<N: Neighbors>(guarantee: CentralGuarantee<N>) -> Self {
        Self {
            neighbors: N::NAME,
            epsilon_central: Some(guarantee.epsilon().value()),
            delta: Some(guarantee.delta().value()),
            not_claimed: None,
        }
    }

    /// Nothing, for this reason.
    pub fn nothing<N: Neighbors>(reason: impl Into<String>) -> Self {
        Self { neighbors: N::NAME, epsilon_central: None, delta: None, not_claimed: Some(reason.into()) }
    }

    /// Whether anything is promised.
    pub fn is_claimed(&self) -> bool {
        self.not_claimed.is_none()
    }
}
