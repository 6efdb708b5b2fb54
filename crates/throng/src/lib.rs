//! Statistics from a crowd of people without data about any of them.
//!
//! Five verbs, each a few lines. **Plan** a survey from the guarantee that it should have:
//!
//! ```
//! use throng::{Domain, Target, plan};
//!
//! let planned = plan(&Target { epsilon_central: 1.0, respondents: 100_000, asked: Domain::Values(10), ..Target::default() })?;
//! assert!(planned.survey.claim.epsilon_central <= 1.0);
//! # Ok::<(), throng_survey::Error>(())
//! ```
//!
//! **Account** for a crowd, under every bound:
//!
//! ```
//! let bounds = throng::account(&throng::Crowd { respondents: 100_000, epsilon_local: 3.0, delta: 1e-6 })?;
//! println!("{} says {:?}", bounds[0].bound, bounds[0].epsilon_central);
//! # Ok::<(), throng::Error>(())
//! ```
//!
//! **Simulate** it on a known truth (feature `lab`, on by default):
//!
//! ```
//! # #[cfg(feature = "lab")] {
//! # use throng::{Domain, Target, plan};
//! # let target = Target { respondents: 100_000, asked: Domain::Values(3), ..Target::default() };
//! # let survey = plan(&target)?.survey;
//! let estimates = throng::simulate(&survey, &[60_000, 10_000, 30_000], 7)?;
//! assert!((estimates.counts()[0] - 60_000.0).abs() < 600.0);
//! # }
//! # Ok::<(), throng::Error>(())
//! ```
//!
//! **Respond**, with a value or with nothing to say (an app needs no more than the crate `throng-respondent`):
//!
//! ```
//! # fn main() -> throng_respondent::Result<()> {
//! use throng::{Bundle, Epsilon, Respondent};
//!
//! # let desk = throng_testing::desk::Desk::today();
//! # std::env::set_current_dir(&desk.folder)?;
//! # for person in ["my-answers", "another"] {
//! #     Respondent::open(person)?.set_epsilon_limit(Epsilon::new(20.0)?)?;
//! # }
//! let survey = Bundle::read("survey.toml")?;
//! let answer = Respondent::open("my-answers")?.answer(&survey, 42)?;
//! let nothing = Respondent::open("another")?.abstain(&survey)?;
//! assert_eq!(nothing.bodies[0].length, answer.bodies[0].length); // Whoever sees them sent cannot tell which is which.
//! # Ok(())
//! # }
//! ```
//!
//! **Release** what an epoch says, once all hops are done with it. The directory has the analyzer's file, keys and data:
//!
//! ```
//! # let finished = throng_testing::finished_epoch::FinishedEpoch::new(3000);
//! # let (dir, survey, epoch) = (finished.analyzer(), finished.bundle(), finished.epoch);
//! let released = throng::Analyzer::open(dir)?.release(&survey, epoch)?;
//! println!("{}: {} values stand out of the noise", released.question, released.significant);
//! # assert!(released.significant > 20 && released.promise.central.epsilon_central <= 1.0);
//! # Ok::<(), throng_serve::Error>(())
//! ```
//!
//! | question | where |
//! |---|---|
//! | which parameters does a survey need? | [`plan()`] |
//! | what does a crowd guarantee? | [`account`] |
//! | what would a survey say about a known truth? | [`simulate`] |
//! | what does an epoch say, and what does that spend? | [`Analyzer`] |
//! | how is a survey answered? | [`Respondent`], [`Bundle`] |
//! | what does the program do? | [`commands`], [`cli`] |

pub mod cli;
pub mod commands;
pub mod exit;
pub use throng_host::memory;
pub mod progress;
pub mod questions;
mod verbs;

pub use throng_respondent::{Bundle, Epsilon, Respondent};
pub use throng_serve::Analyzer;
pub use throng_survey::plan::Domain;
pub use throng_survey::{Survey, SurveyPlan, Target, plan};
#[cfg(feature = "lab")]
pub use verbs::simulate;
pub use verbs::{BoundResult, Crowd, Error, account};
