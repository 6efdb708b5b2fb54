//! Putting together what the parties signed: the public files beside a survey.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use throng_wire::signed::TextDocument;
use throng_wire::{Address, Approval, KeyList, Place, Signed, SignedSurvey, Survey};

use super::files::{KeyDir, NewFile, read};
use super::signer::{ADDRESS, APPROVAL, KEY_LIST};
use crate::bundle::{Bundle, KeyLists};
use crate::error::{Context, Error, Result};
use crate::{bail, ensure};

/// Checks what the parties signed and writes it beside the survey, as `Bundle::read` reads it. Each party's directory needs
/// its three public documents only. Refused where a document is older than one that is there already; key lists that were
/// there stay, since statements about earlier epochs name them.
pub fn bundle(survey: &Path, dirs: &[impl AsRef<Path>], epoch: u64) -> Result<Bundle> {
    let parsed = Survey::from_toml(&read(survey)?).with_context(|| format!("in {}", survey.display()))?;
    let mut parties = BTreeMap::new();
    for dir in dirs {
        let documents = Documents::read(dir.as_ref())?;
        let place = documents.approval.claimed_party();
        if let Some(Documents { dir: other, .. }) = parties.get(&place) {
            bail!(Invalid, "{} and {} are both of {place}", other.display(), dir.as_ref().display());
        }
        parties.insert(place, documents);
    }
    let approvals: Vec<Signed<Approval>> = parties.values().map(|party| party.approval.clone()).collect();
    let signed = SignedSurvey::new(parsed, &approvals)?;
    // What is there already may be of a survey that was changed since, and is then no rule for this one.
    let old = Bundle::read(survey).ok();
    for (&place, party) in &parties {
        party
            .check(&signed, place, old.as_ref(), epoch)
            .with_context(|| format!("in {}", party.dir.display()))?;
    }
    let mut lists = old.map(|old| old.all_key_lists().clone()).unwrap_or_default();
    parties.values().try_for_each(|party| lists.add(&party.keys))?;
    write(survey, &signed.survey().canonical()?, &parties, &lists)?;
    Bundle::read(survey)
}

/// What one party signed.
struct Documents {
    dir: PathBuf,
    approval: Signed<Approval>,
    address: Signed<Address>,
    keys: Signed<KeyList>,
}

impl Documents {
    fn read(dir: &Path) -> Result<Self> {
        Ok(Self {
            dir: dir.to_owned(),
            approval: document(&dir.join(APPROVAL))?,
            address: document(&dir.join(ADDRESS))?,
            keys: document(&dir.join(KEY_LIST))?,
        })
    }

    fn check(&self, survey: &SignedSurvey, place: Place, old: Option<&Bundle>, epoch: u64) -> Result<()> {
        let (address, keys) = (self.address.verify(survey)?, self.keys.verify(survey)?);
        ensure!(
            (address.party, keys.party) == (place, place),
            Invalid,
            "the documents are of different parties: {place}, {} and {}",
            address.party,
            keys.party
        );
        let Some(old) = old else { return Ok(()) };
        if let Ok(before) = old.address(place)
            && before != address
        {
            ensure!(
                address.serial > before.serial,
                Invalid,
                "the address is not newer than the one beside the survey"
            );
        }
        if let Some(before) = old.key_lists().iter().find(|list| list.party == place)
            && before != keys
        {
            keys.follows(before, epoch)?;
        }
        Ok(())
    }
}

fn document<T: TextDocument>(path: &Path) -> Result<Signed<T>> {
    Signed::from_text(&read(path)?).with_context(|| format!("in {}", path.display()))
}

fn write(
    survey: &Path,
    canonical: &str,
    parties: &BTreeMap<Place, Documents>,
    lists: &KeyLists,
) -> Result<()> {
    let parent = survey.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = |extension: &str, text: String| {
        let path = survey.with_extension(extension);
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| Error::invalid("the name of the survey file is not UTF-8"))?;
        Ok(NewFile::public(name, text))
    };
    let files: Result<Vec<NewFile>> = [
        // For clients without a parser of TOML.
        file("json", canonical.to_owned()),
        file("signatures", parties.values().map(|party| party.approval.to_text()).collect()),
        file("addresses", parties.values().map(|party| party.address.to_text()).collect()),
        file("keys", lists.to_text()),
    ]
    .into_iter()
    .collect();
    KeyDir::open(parent)?.replace(&files?)
}
