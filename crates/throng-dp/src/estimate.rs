//! Estimates that can be trusted: unbiased counts, each with its error, from the sums of randomized bits.

mod estimates;
mod noise;
mod postprocess;
mod tally;

pub use estimates::{Collisions, Estimates, HeavyHitters, Spread};
pub use noise::{BitNoise, Part};
pub use postprocess::{clip, non_negative, norm_sub};
pub use tally::Tally;
