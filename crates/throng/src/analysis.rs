//! What an analyzer keeps on disk, and the releases that it makes of it.
//!
//! `sealed` has the batches that were taken and not opened; `ledger` every epoch that was, before it was opened; `tallies` a
//! file for every batch that was counted. The last two are only added to. A release is made of them again whenever somebody asks,
//! and is the same until another batch has come. `releases` has what was published of them.

pub mod lies;
mod opening;
pub mod published;
mod release_ledger;
mod released;
mod sealed_files;
mod tally_files;

pub(crate) use opening::abort_at;
pub use opening::{Booked, Delivered, Opener};
pub use published::{Published, PublishedReleases, ReleaseName};
pub use release_ledger::ReleaseLedger;
pub use released::{Released, ReleasedValue, Wanted, plot_title};
pub use sealed_files::{Arriving, Erased, SealedFiles, SealedLock};
pub use tally_files::TallyFiles;

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use throng_account::ledger::Entry;
use throng_account::terms::Kept;
use throng_analyze::{Crowd, Release};
use throng_encode::terms;
use throng_wire::SignedSurvey;

use crate::exit::Refusal;

/// Makes a directory that is its owner's alone, and puts the names of it and of all above it that are new on disk: what is
/// stored in it may be the only copy.
pub(crate) fn create_private(directory: &Path) -> Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|one| !one.exists()).collect();
    (|| {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for new in missing {
            let parent = new.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok::<(), std::io::Error>(())
    })()
    .with_context(|| format!("cannot make {}", directory.display()))
}

/// Makes a release of one epoch of a channel: works out what the crowd that hops have signed guarantees, writes that into the
/// ledger, and only then opens what waits and estimates. Also says of which instances batches stay sealed, since the budget
/// does not allow what they would cost.
pub fn release(
    opener: &Opener<'_>,
    channel: (u32, u64),
    read: &mut dyn FnMut(u64, u64),
) -> Result<(Release, Vec<u32>)> {
    let Booked { kept, recorded, parts, refused } = opener.open(channel, read)?;
    Ok((Release::new(opener.survey.survey(), &parts, kept, &recorded)?, refused))
}

/// What a release of a crowd guarantees, and what it spends: the same for the analyzer who makes it and for anyone who
/// checks it.
pub fn promised(survey: &SignedSurvey, crowd: &Crowd) -> Result<(Kept, Entry)> {
    let terms = terms(survey.survey(), crowd.route.label)?;
    let planned = survey.survey().crowd.respondents_min;
    let kept = terms.guarantee_at_least(crowd.respondents, planned).map_err(|error| {
        anyhow!(Refusal(format!("nothing is guaranteed of a crowd of {}: {error}", crowd.respondents)))
    })?;
    let (survey, epoch) = (survey.hash().to_string(), crowd.route.epoch);
    Ok((kept, Entry { survey, epoch, spending: terms.spending(&kept) }))
}
