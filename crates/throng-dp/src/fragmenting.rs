//! Fragmenting: breaking what a respondent says into pieces that cannot be linked.
//!
//! Attribute fragments are the set bits of one report; report fragments are several noisier reports behind one
//! permanent backstop.

pub mod assignment;
pub mod attribute;
pub mod report;

pub use assignment::Assignment;
pub use attribute::Attributes;
pub use report::{Backstop, ReportFragments, exposed_epsilon, fragment_epsilon, fragment_epsilon_as_paper};
