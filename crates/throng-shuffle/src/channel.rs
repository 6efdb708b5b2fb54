//! The files of a channel, by their names.

use throng_wire::Channel;

/// Names of files that belong to a channel: `label-epoch.kind`.
pub(crate) trait ChannelFile: Sized {
    /// The name of its file of some kind.
    fn file(&self, kind: &str) -> String;

    /// The channel and the kind of a file.
    fn of_file(name: &str) -> Option<(Self, &str)>;
}

impl ChannelFile for Channel {
    fn file(&self, kind: &str) -> String {
        format!("{self}.{kind}")
    }

    fn of_file(name: &str) -> Option<(Self, &str)> {
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
    use throng_testing::parsing::check_text;

    #[test]
    fn the_name_of_a_file_is_read_exactly() {
        for channel in [Channel { label: 0, epoch: 100 }, Channel { label: u32::MAX, epoch: u64::MAX }] {
            check_text(&channel.file(UPLOADS), |name| {
                Channel::of_file(name).map(|(channel, kind)| channel.file(kind))
            });
        }
    }
}
