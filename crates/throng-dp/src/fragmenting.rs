//! Fragmenting: breaking what a respondent says into pieces that cannot be linked.
//!
//! Attribute fragments are the set bits of one report. Report fragments are several noisier reports that are all drawn from
//! one backstop, and permanent coins make the backstop of every answer.

pub mod coins;
pub mod no_backstop;
pub mod report;

pub use crate::assignment::Assignment;
pub use coins::{AnswerSeries, KEY_LEN, PermanentCoins};
pub use no_backstop::{error_factor_without_backstop, fragments_without_backstop};
pub use report::{Backstop, ReportFragments, exposed_epsilon, fragment_epsilon, fragment_epsilon_as_paper};
