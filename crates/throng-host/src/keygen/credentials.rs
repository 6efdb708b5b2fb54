//! Credentials of all respondents, drawn in one place for trials, and the lists by which first hops know them.

use std::io::Write;
use std::path::Path;

use getrandom::rand_core::CryptoRng;
use rayon::prelude::*;
use throng_wire::survey::Enrolment;
use throng_wire::{Credential, CredentialList, Place, Survey};

use super::files::{KeyDir, NewFile, sync};
use crate::atomic_file::{self, PRIVATE, PendingFile};
use crate::ensure;
use crate::error::{Context, Result};

/// Makes credentials for a survey: `respondents/000001.credential` and so on, each for one respondent, and
/// `instance-I-hop-1.credentials` for each first hop. Refused where there are some already.
///
/// The survey has to name all its parties: tokens are bound to its hash.
pub fn credentials(
    survey: &Survey,
    count: u64,
    dir: &Path,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<Credential>> {
    survey.ready()?;
    ensure!(count > 0, Invalid, "there should be at least one credential");
    ensure!(
        survey.crowd.enrolment == Enrolment::Credential,
        Invalid,
        "the survey's enrolment is open: respondents make credentials of their own"
    );
    let (out, hash) = (KeyDir::open(dir)?, survey.hash()?);
    let hops: Vec<Place> = (1..=survey.delivery.instances).map(|instance| Place::hop(instance, 1)).collect();
    let names: Vec<String> = hops.iter().map(|hop| format!("{hop}.credentials")).collect();
    out.refuse_existing(names.iter().map(String::as_str).chain([RESPONDENTS]))?;

    let credentials: Vec<Credential> = (0..count).map(|_| Credential::generate(rng)).collect();
    let lists: Vec<NewFile> = hops
        .par_iter()
        .zip(&names)
        .map(|(&hop, name)| NewFile::public(name, CredentialList::new(&credentials, &hash, hop).to_file()))
        .collect();
    let advice = || format!("cannot write the credentials in {}", dir.display());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".throng-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir_in(dir).with_context(advice)?;
    // Each file waits for the disk, so many are written at once.
    credentials.par_iter().enumerate().try_for_each(|(index, credential)| {
        let path = folder.path().join(format!("{:06}.credential", index + 1));
        let mut file = PendingFile::new(folder.path(), PRIVATE).with_context(advice)?;
        file.write_all(credential.to_file().as_bytes()).with_context(advice)?;
        // The names are synced below, all at once.
        file.complete().and_then(|file| file.name(&path)).with_context(advice)
    })?;
    sync(folder.path())?;
    out.create(&lists)?;
    atomic_file::rename(&folder.keep(), &out.path(RESPONDENTS)).with_context(advice)?;
    Ok(credentials)
}

const RESPONDENTS: &str = "respondents";
