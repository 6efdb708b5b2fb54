//! The local guarantees of a training, against whoever can tell which reports are whose.

use throng_dp::{Epsilon, LocalGuarantee, Replacement};

use super::LdpSgd;
use crate::Error;

/// The local guarantees of a training, against someone who sees reports with their senders: no shuffling, and no
/// credit for being sampled.
///
/// # Paper
/// Section VI states the guarantee per epoch: one pass over all respondents. It assumes that each epoch goes through
/// another instance and that only one instance is observed. Without that assumption, what counts is the lifetime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalSpending {
    /// All reports of one respondent in one step.
    pub step: LocalGuarantee<Replacement>,
    /// One epoch that asks everybody once: its steps divide the respondents among them, and one instance sees it alone. Steps
    /// that draw anew, as those of [`LdpSgd`] do, have `epoch_worst` instead.
    pub epoch_if_asked_once: LocalGuarantee<Replacement>,
    /// One epoch of as many steps, each on a fresh sample, for someone who is in all of its samples.
    pub epoch_worst: LocalGuarantee<Replacement>,
    /// All steps, for someone who is in all of their samples.
    pub lifetime_worst: LocalGuarantee<Replacement>,
    /// In how many steps a respondent is asked on average.
    pub steps_expected: f64,
    /// How many steps an epoch has: as many as it takes to ask as many times as there are respondents.
    pub epoch_steps: u64,
}

impl LdpSgd {
    /// What the reports of one respondent guarantee by themselves: per step, per epoch and over the whole training.
    pub fn local(&self) -> Result<LocalSpending, Error> {
        let step = self.epsilon_local();
        let times = |count: u64| -> Result<LocalGuarantee<Replacement>, Error> {
            Ok(LocalGuarantee::pure(Epsilon::new(step * count as f64)?))
        };
        let epoch_steps = self.respondents.div_ceil(self.crowd);
        let steps_expected = self.steps as f64 * self.share.value();
        Ok(LocalSpending {
            step: times(1)?,
            epoch_if_asked_once: times(1.min(self.steps))?,
            epoch_worst: times(epoch_steps.min(self.steps))?,
            lifetime_worst: times(self.steps)?,
            steps_expected,
            epoch_steps: epoch_steps.min(self.steps),
        })
    }
}
