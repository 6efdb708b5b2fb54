//! One epoch of one crowd of a survey, at one hop.

use std::fmt;

/// Which epoch of which crowd: survey and instance are the hop's own. Written `label-epoch` in file names.
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

impl Channel {
    /// The name of its file of some kind.
    pub(crate) fn file(&self, kind: &str) -> String {
        format!("{self}.{kind}")
    }

    /// The channel and the kind of a file.
    pub(crate) fn of_file(name: &str) -> Option<(Self, &str)> {
        let (channel, kind) = name.split_once('.')?;
        let (label, epoch) = channel.split_once('-')?;
        let channel = Self { label: label.parse().ok()?, epoch: epoch.parse().ok()? };
        (channel.file(kind) == name).then_some((channel, kind))
    }
}

/// The key that respondents are told apart by, while an epoch lasts. It is one for all labels.
pub(crate) const KEY: &str = "key";
/// What hop 1 took.
pub(crate) const UPLOADS: &str = "uploads";
/// How much of that was acknowledged.
pub(crate) const NOTED: &str = "noted";
/// What a later hop received.
pub(crate) const INCOMING: &str = "incoming";
/// What seed and noise follow from.
pub(crate) const DRAW: &str = "draw";
/// What was opened, in the order in which it came.
pub(crate) const SPOOL: &str = "spool";
/// How many envelopes are released, where the statement does not tell, with the salt of the commitment to that.
pub(crate) const COUNT: &str = "count";
/// What is released.
pub(crate) const BATCH: &str = "batch";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsing::check_text;

    #[test]
    fn the_name_of_a_file_is_read_exactly() {
        for channel in [Channel { label: 0, epoch: 100 }, Channel { label: u32::MAX, epoch: u64::MAX }] {
            check_text(&channel.file(UPLOADS), |name| {
                Channel::of_file(name).map(|(channel, kind)| channel.file(kind))
            });
        }
    }
}
