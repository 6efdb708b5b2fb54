//! A channel: one epoch of one crowd of a survey, at one instance.

use std::fmt;

/// Which epoch of which crowd: survey and instance are known where it is named. Written `label-epoch` in file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The crowd's label: its number in the survey's list, from 1, or 0 in a survey without labels.
    pub label: u32,
    /// The epoch.
    pub epoch: u64,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.label, self.epoch)
    }
}
