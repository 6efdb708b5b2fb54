//! ANALYZE: batches become tallies, tallies become estimates with their errors, and those become releases.
//!
//! | question | where |
//! |---|---|
//! | what do hops say about a batch, and is it that one? | [`BatchHead`], [`BatchCheck`] |
//! | what is in the batch of an instance? | [`BatchCounter`], [`InstanceTally`] |
//! | what does it say about the crowd? | [`throng_dp::Mechanism::estimate`], [`ranking`] |
//! | what does it look like? | [`Picture`] |
//! | can it come from that crowd? | [`plausible`] |
//! | what is published, under which guarantee? | [`Release`] |
//! | how far is that from a known truth? | [`Accuracy`] |
//!
//! Pure: values in, values out.

mod accuracy;
mod batch;
mod batch_head;
mod error;
mod instance_tally;
pub mod picture;
pub mod plausible;
mod ranking;
mod release;
#[cfg(test)]
mod testing;

pub use accuracy::{Accuracy, rmse};
pub use batch::BatchCounter;
pub use batch_head::{BatchCheck, BatchHead};
pub use error::Error;
pub use instance_tally::{CountedBatch, HEAD_LEN, InstanceTally};
pub use picture::{Picture, PictureError};
pub use ranking::{RankedValue, log_spaced, ranking, ranking_among, ranks};
pub use release::{Announcement, Crowd, Release};
pub use throng_batch::Rejected;
