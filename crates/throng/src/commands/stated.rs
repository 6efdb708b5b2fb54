//! What is stated under a neighbor relation beside removal, as plans and accounts print it.

use serde::Serialize;
use throng_dp::{CentralGuarantee, Neighbors};

/// A guarantee under a neighbor relation, or why there is none.
#[derive(Debug, Serialize)]
pub(crate) struct Stated {
    /// Which worlds are compared.
    pub(super) neighbors: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epsilon_central: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delta: Option<f64>,
    /// Why nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_claimed: Option<String>,
}

impl Stated {
    /// Something that holds.
    pub(super) fn kept<N: Neighbors>(guarantee: CentralGuarantee<N>) -> Self {
        Self {
            neighbors: N::NAME,
            epsilon_central: Some(guarantee.epsilon().value()),
            delta: Some(guarantee.delta().value()),
            not_claimed: None,
        }
    }

    /// Nothing, for this reason.
    pub(super) fn nothing<N: Neighbors>(reason: impl Into<String>) -> Self {
        Self { neighbors: N::NAME, epsilon_central: None, delta: None, not_claimed: Some(reason.into()) }
    }

    /// Whether anything is promised.
    pub(super) fn is_claimed(&self) -> bool {
        self.not_claimed.is_none()
    }
}
