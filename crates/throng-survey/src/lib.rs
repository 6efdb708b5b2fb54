//! The file that all parties of a survey agree on, and all that follows from it.
//!
//! | question | where |
//! |---|---|
//! | what is asked, how are answers randomized and sent, who runs it? | [`Survey`] |
//! | which hash names it? | [`Survey::hash`], [`jcs`], [`Digest`] |
//! | does it keep what it claims, and what does that mean to a respondent? | [`CheckedClaim`] |
//! | what is left whatever fails? | [`floor`] |
//! | what does an accountant have to know of it? | [`terms`] |
//! | which survey keeps a guarantee, what does it cost, and what do people sign? | [`plan()`], [`Target`], [`SurveyPlan`] |
//! | how does a result show a guarantee? | [`Promise`] |
//! | what can one respondent who lies do? | [`liar`] |
//! | how long is what travels? | [`lengths`] |
//!
//! Pure: no files, no sockets, no clock, no randomness. Public keys are bytes here; `throng-wire` verifies with them.

pub mod claim;
pub mod digest;
mod error;
pub mod hex;
pub mod jcs;
pub mod lengths;
pub mod liar;
pub mod place;
pub mod plan;
mod promise;
mod stated_guarantee;
pub mod survey;
mod verifying_key;

pub use claim::{CheckedClaim, floor, terms};
pub use digest::{Digest, HashedMap, HashedSet, Hasher, SurveyHash};
pub use error::Error;
pub use place::{ParsePlaceError, Place};
pub use plan::{SurveyPlan, Target, plan, plan_while};
pub use promise::{CentralPromise, CollusionPromise, LocalPromise, Promise};
pub use stated_guarantee::StatedGuarantee;
pub use survey::Survey;
pub use verifying_key::VerifyingKey;
