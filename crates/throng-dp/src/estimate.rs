//! Estimates that can be trusted: unbiased counts, each with its error, from the sums of randomized bits.

mod channel;
mod estimates;
mod postprocess;
mod tally;

pub use channel::BitChannel;
pub use estimates::{Estimates, HeavyHitters, Spread};
pub use postprocess::{clip, non_negative, norm_sub};
pub use tally::Tally;
