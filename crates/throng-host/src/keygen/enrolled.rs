//! The lists by which first hops know respondents who have drawn their own secrets: made of what these handed in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use throng_wire::survey::Enrolment;
use throng_wire::{CredentialList, Digest, EnrolmentFile, Place, Survey};

use super::files::{KeyDir, NewFile};
use crate::error::{Context, Error, Result};
use crate::{bail, ensure};

/// Makes the list of a first hop, or of all, from enrolment files, and says how many respondents are on each. Files of another
/// survey or hop, damaged ones and respondents who are there twice are refused, before anything is written.
pub fn enrolled(
    survey: &Survey,
    place: Option<Place>,
    handed_in: &[PathBuf],
    dir: &Path,
) -> Result<BTreeMap<Place, u64>> {
    survey.ready()?;
    ensure!(
        survey.crowd.enrolment == Enrolment::Credential,
        Invalid,
        "the survey's enrolment is open: nobody has to be enrolled"
    );
    let first_hops: Vec<Place> =
        (1..=survey.delivery.instances).map(|instance| Place::hop(instance, 1)).collect();
    let wanted = match place {
        Some(place) => vec![place],
        None => first_hops.clone(),
    };
    ensure!(
        wanted.iter().all(|place| first_hops.contains(place)),
        Invalid,
        "--place is the first hop of an instance, {} for example",
        Place::hop(1, 1)
    );
    let hash = survey.hash()?;
    let mut found: BTreeMap<Place, BTreeMap<Digest, PathBuf>> =
        wanted.iter().map(|&place| (place, BTreeMap::new())).collect();
    for path in files(handed_in)? {
        let file = read(&path)?;
        ensure!(
            *file.survey() == hash,
            Invalid,
            "{} is for another survey than {}",
            path.display(),
            survey.name
        );
        let names = found.get_mut(&file.party());
        let names =
            names.ok_or_else(|| Error::invalid(format!("{} is for {}", path.display(), file.party())))?;
        if let Some(other) = names.insert(*file.id(), path.clone()) {
            bail!(
                Invalid,
                "{} and {} enrol the same respondent: take one of them away",
                other.display(),
                path.display()
            );
        }
    }
    let mut lists = Vec::new();
    let mut counts = BTreeMap::new();
    for (place, names) in found {
        ensure!(
            !names.is_empty(),
            Invalid,
            "nobody is enrolled at {place}: is its directory among those that are named?"
        );
        let list = CredentialList::of_names(names.into_keys())
            .ok_or_else(|| Error::invalid("a respondent is there twice"))?;
        counts.insert(place, list.len() as u64);
        lists.push(NewFile::public(&format!("{place}.credentials"), list.to_file()));
    }
    KeyDir::open(dir)?.create(&lists)?;
    Ok(counts)
}

/// What is named, and in directories what the name says is an enrolment, in order.
fn files(handed_in: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in handed_in {
        let unreadable = || format!("cannot read {}", path.display());
        if !fs::metadata(path).with_context(unreadable)?.is_dir() {
            all.push(path.clone());
            continue;
        }
        for entry in fs::read_dir(path).with_context(unreadable)? {
            let file = entry.with_context(unreadable)?.path();
            if file.extension().is_some_and(|extension| extension == "enrolment") {
                all.push(file);
            }
        }
    }
    all.sort();
    // Named twice, as itself and by its directory, it is one file.
    all.dedup();
    Ok(all)
}

/// Strangers may have written it: no more is read than an enrolment has.
fn read(path: &Path) -> Result<EnrolmentFile> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LEN_MAX).read_to_string(&mut text))
        .with_context(|| format!("cannot read {}", path.display()))?;
    EnrolmentFile::from_file(&text).with_context(|| format!("in {}", path.display()))
}

const LEN_MAX: u64 = 1 << 12;
