//! ENCODE: a respondent's value becomes a report, the report becomes fragments, and the fragments become one
//! sealed body for each instance.
//!
//! | question | where |
//! |---|---|
//! | which fragments are sent? | [`throng_dp::Mechanism`]; over several epochs [`StoredCoins`], [`StoredBackstop`] |
//! | to which instance does each of them go? | [`Routing`] |
//! | under which label? | [`label`] |
//! | when? | [`Schedule`] |
//! | what is sent? | [`answer()`], [`seal`], [`Body`] |
//!
//! Pure: randomness and time are arguments. Files, sockets and the clock are in `throng-host` and `throng-respondent`.

pub mod answer;
pub mod backstop;
mod error;
pub mod label;
pub mod routing;
pub mod schedule;
#[cfg(test)]
mod testing;

pub use answer::{Body, answer, seal};
pub use backstop::{StoredBackstop, StoredCoins};
pub use error::Error;
pub use routing::Routing;
pub use schedule::{EpochChoice, Schedule};
