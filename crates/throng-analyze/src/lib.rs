//! ANALYZE: batches become tallies, tallies become estimates with their errors, and those become releases.
//!
//! | question | where |
//! |---|---|
//! | what do hops say about a batch, and is it that one? | [`BatchHead`], [`BatchCheck`] |
//! | what is in the batch of an instance? | [`BatchCounter`], [`InstanceTally`] |
//! | what does it say about the crowd? | [`Analyzer`], [`ranking`] |
//! | can it come from that crowd? | [`plausible`] |
//! | what is published, under which guarantee? | [`Release`] |
//! | how far is that from a known truth? | [`Accuracy`] |
//!
//! Pure: values in, values out.

mod accuracy;
mod analyzer;
mod batch;
mod batch_head;
mod error;
mod instance_tally;
pub mod plausible;
mod ranking;
mod release;
#[cfg(test)]
mod testing;

pub use accuracy::{Accuracy, rmse};
pub use analyzer::Analyzer;
pub use batch::BatchCounter;
pub use batch_head::{BatchCheck, BatchHead};
pub use error::Error;
pub use instance_tally::{Counted, HEAD_LEN, InstanceTally};
pub use ranking::{Ranked, ranking, ranking_among};
pub use release::{Announced, Crowd, Release};
pub use throng_batch::Rejected;
