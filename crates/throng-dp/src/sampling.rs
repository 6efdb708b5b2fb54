//! Exact sampling: every draw compares random integers with integer thresholds.
//!
//! No floating-point number decides a coin. Probabilities are rounded once, towards more privacy, to multiples
//! of 2^-128; from then on the law that is sampled is exactly that of the rounded thresholds. The rng is always
//! an argument; a respondent's is the operating system's. Running times depend on the draws: these samplers are
//! not constant-time.

mod bernoulli;
mod binomial;
pub(crate) mod bracket;
mod deletion;
mod flips;
pub mod floored_normal;
mod laplace;
mod table;
mod uniform;

pub use bernoulli::Bernoulli;
pub(crate) use binomial::Binomial;
pub use deletion::DeletionNoise;
pub use flips::{FlippedBits, Flips};
pub use laplace::DiscreteLaplace;
pub use uniform::below;
pub(crate) use uniform::distinct_below;
