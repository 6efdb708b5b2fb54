//! A conformance test for clients that other people write: the first hops of a tiny survey whose keys are all known.
//!
//! A receipt says that a body is stored, not that it opens: at a real hop a wrong seal shows in nothing but an answer
//! that is missing at the end. Here a body is opened at once, layer by layer, and what is wrong is said in words. The
//! rules are those of docs/wire-format.md.

mod body;
mod examiner;
mod mistakes;
mod rehearsal;
mod verdict;

pub use examiner::Examiner;
pub use rehearsal::{Door, Rehearsal, Shape};
pub use verdict::{Finding, Rule, SeenBody, Verdict};
