//! Estimates that can be trusted: unbiased counts, each with its error, from the sums of randomized bits.

mod coins;
mod estimates;
mod levelled;
mod noise;
mod postprocess;
mod tally;

pub use coins::Coins;
pub use estimates::{Collisions, Estimates, HeavyHitters, Spread};
pub use levelled::InstanceSums;
pub(crate) use levelled::LevelledSums;
pub use noise::BitNoise;
pub use postprocess::{clip, non_negative, norm_sub};
pub use tally::Tally;
