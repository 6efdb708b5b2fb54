//! What an analyzer keeps on disk, and the releases that it makes of it.
//!
//! `tallies` has a file for every batch that was counted; `ledger` every release, before it was made. Both are only added
//! to. A release is made of them again whenever somebody asks, and is the same until another batch has come. `releases` has
//! what was published of them.

pub mod lies;
pub mod published;
mod release_ledger;
mod released;
mod tally_files;

pub use published::{Published, PublishedReleases, ReleaseName};
pub use release_ledger::ReleaseLedger;
pub use released::{Released, ReleasedValue, Wanted, plot_title};
pub use tally_files::TallyFiles;

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use throng_account::ledger::Entry;
use throng_account::terms::Kept;
use throng_analyze::{Crowd, Release};
use throng_dp::{CentralGuarantee, Removal};
use throng_encode::{CheckedClaim, terms};
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

/// Makes a release of one epoch of a channel: checks what the instances counted, works out what that guarantees, writes it
/// into the ledger, and only then estimates.
pub fn release(
    data: &Path,
    survey: &SignedSurvey,
    (label, epoch): (u32, u64),
    population: &str,
    budget: CentralGuarantee<Removal>,
) -> Result<Release> {
    // A survey that does not keep what it claims is not answered, and not released either.
    CheckedClaim::check(survey.survey()).map_err(|error| anyhow!(Refusal(error.to_string())))?;
    let tallies = TallyFiles::new(data, survey.hash());
    let parts = tallies.of_epoch(survey.survey(), label, epoch)?;
    if parts.is_empty() {
        let known: Vec<String> = tallies.epochs(label)?.iter().map(u64::to_string).collect();
        let known = if known.is_empty() { "none yet".into() } else { known.join(", ") };
        bail!("no batch of epoch {epoch} has been counted; there are batches of epochs: {known}");
    }
    // Whoever keeps to the label's trust profile sends fragments to these alone.
    let receiving = survey.survey().receiving(label);
    let mut inside = parts.iter().filter(|part| receiving.contains(&part.route.instance)).peekable();
    if inside.peek().is_none() {
        let receiving: Vec<String> = receiving.iter().map(u32::to_string).collect();
        bail!(
            "no batch of epoch {epoch} has come from the instances that fragments under this label go to: {}",
            receiving.join(", ")
        );
    }
    if inside.all(|part| part.counted.is_none()) {
        let sentence = format!(
            "epoch {epoch} was destroyed by every instance that has answered: fewer than {} respondents took part",
            survey.survey().crowd.respondents_min
        );
        return Err(Refusal(sentence).into());
    }
    let (kept, entry) = promised(survey, &Crowd::of(survey.survey(), &parts)?)?;
    // Written before the release exists.
    let recorded = ReleaseLedger::open(data, budget)?.record(population, entry)?;
    Ok(Release::new(survey.survey(), &parts, kept, &recorded)?)
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
