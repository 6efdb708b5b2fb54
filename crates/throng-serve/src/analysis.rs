//! What an analyzer keeps on disk, and the releases that it makes of it.
//!
//! `sealed` has the batches that were taken and not opened; `ledger` every epoch that was, before it was opened; `tallies` a
//! file for every batch that was counted. The last two are only added to. A release is made of them again whenever somebody asks,
//! and is the same until another batch has come. `releases` has what was published of them.
//!
//! None of it is believed because it is there: batches are what hops signed, tallies have a checksum, lines of the ledger and
//! what was published are authenticated by a key of the analyzer, and how long the ledger is stands elsewhere.

mod copied;
mod data_key;
mod ledger_line;
mod ledger_mark;
pub mod lies;
mod opening;
pub mod published;
mod release_ledger;
pub(crate) mod release_summary;
mod sealed_files;
mod tally_files;

pub use copied::CopiedRelease;
pub use data_key::DataKey;
pub use opening::{BookedEpoch, EpochDelivery, Opener};
pub use published::{PublishedFiles, PublishedRelease, PublishedReleases, ReleaseName};
pub use release_ledger::ReleaseLedger;
pub use release_summary::{DisplayOptions, ReleaseSummary, ReleasedValue, plot_title};
pub use sealed_files::{ErasedBatch, SealedBatchWriter, SealedFiles, SealedLock};
pub use tally_files::TallyFiles;

use std::path::Path;

use throng_account::TO_THE_END;
use throng_account::ledger::Entry;
use throng_account::terms::EpochGuarantee;
use throng_analyze::{Crowd, Release};
use throng_survey::terms;
use throng_wire::SignedSurvey;

use crate::error::Result;
use throng_account::Refusal;
use throng_host::private_dir::{self, Outsiders};

/// Makes a directory of an analyzer's data. Service managers and containers may let a group see it, and nobody else.
pub(crate) fn create_private(directory: &Path) -> Result<()> {
    Ok(private_dir::create(directory, Outsiders::Strangers)?)
}

/// Makes a release of one epoch of a channel: works out what the crowd that hops have signed guarantees, writes that into the
/// ledger, and only then opens what waits and estimates. Also says of which instances batches stay sealed, since the budget
/// does not allow what they would cost.
pub fn release(
    opener: &Opener<'_>,
    channel: (u32, u64),
    read: &mut dyn FnMut(u64, u64),
) -> Result<(Release, Vec<u32>)> {
    let BookedEpoch { kept, recorded, parts, refused } = opener.open(channel, read)?;
    Ok((Release::new(opener.survey.survey(), &parts, kept, &recorded)?, refused))
}

/// What a release of a crowd guarantees, and what it spends: the same for the analyzer who makes it and for anyone who
/// checks it.
pub fn promised(survey: &SignedSurvey, crowd: &Crowd) -> Result<(EpochGuarantee, Entry)> {
    let terms = terms(survey.survey(), crowd.route.label)?;
    let planned = survey.survey().crowd.respondents_min;
    let kept = terms.guarantee_at_least(crowd.respondents, planned, TO_THE_END).map_err(|error| {
        Refusal(format!("nothing is guaranteed of a crowd of {}: {error}", crowd.respondents))
    })?;
    let (survey, epoch) = (survey.hash().to_string(), crowd.route.epoch);
    Ok((kept, Entry { survey, epoch, spending: terms.spending(&kept) }))
}
