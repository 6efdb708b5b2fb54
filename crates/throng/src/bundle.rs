//! The public files of a survey, as everyone has them: `NAME.toml`, and beside it `NAME.signatures`,
//! `NAME.addresses` and `NAME.keys`, in which the documents of all parties stand one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use throng_wire::signed::TextDocument;
use throng_wire::{Address, Digest, KeyList, Place, Signed, SignedSurvey};

/// A survey that all its parties signed, with their addresses and keys. Every signature in it was checked.
#[derive(Debug)]
pub struct Bundle {
    survey: SignedSurvey,
    addresses: BTreeMap<Place, Address>,
    keys: Vec<KeyList>,
    key_digests: BTreeMap<Place, Digest>,
    all_key_digests: BTreeSet<(Place, Digest)>,
    texts: [String; 4],
}

impl Bundle {
    /// Reads and checks the files beside a survey file.
    pub fn read(survey: &Path) -> anyhow::Result<Self> {
        let mut texts = [read(survey)?, String::new(), String::new(), String::new()];
        for (text, extension) in texts.iter_mut().zip(EXTENSIONS).skip(1) {
            *text = read(&survey.with_extension(extension))?;
        }
        let [_, signatures, addresses, keys] = &texts;
        let signed = SignedSurvey::from_files(&texts[0], signatures)?;
        let path = survey.with_extension("addresses");
        let addresses = newest(&signed, (&path, addresses), |address: &Address| address.serial)?
            .into_iter()
            .map(|(place, address)| Ok((place, address.verify(&signed)?.clone())))
            .collect::<anyhow::Result<_>>()?;
        let lists = newest(&signed, (&survey.with_extension("keys"), keys), |list: &KeyList| list.serial)?;
        // All of them were verified just now.
        let all_key_digests = Signed::<KeyList>::all_from_text(keys)?
            .iter()
            .map(|list| (list.claimed_party(), list.digest()))
            .collect();
        let keys =
            lists.values().map(|list| Ok(list.verify(&signed)?.clone())).collect::<anyhow::Result<_>>()?;
        let key_digests = lists.into_iter().map(|(place, list)| (place, list.digest())).collect();
        Ok(Self { survey: signed, addresses, keys, key_digests, all_key_digests, texts })
    }

    /// The survey.
    pub fn survey(&self) -> &SignedSurvey {
        &self.survey
    }

    /// Where a party answers.
    pub fn address(&self, party: Place) -> anyhow::Result<&Address> {
        self.addresses.get(&party).ok_or_else(|| {
            anyhow!(
                "there is no address of {party}: add what it signed to the .addresses file beside the survey"
            )
        })
    }

    /// The files as they were read, each with its extension: to be kept beside what was answered.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        EXTENSIONS.into_iter().zip(self.texts.iter().map(String::as_str))
    }

    /// Refuses to follow a bundle of the same survey that was seen before, if it takes something back: an older address
    /// or key list, another one under the same serial, or another key under a number that is in use in `epoch`.
    pub fn follows(&self, seen: &Self, epoch: u64) -> anyhow::Result<()> {
        let advice = "fetch the survey's files again, and ask the operator if that does not help";
        for (place, old) in &seen.addresses {
            if let Some(new) = self.addresses.get(place) {
                let same = new.serial > old.serial || new == old;
                ensure!(same, "the address of {place} is not newer than one that was seen before; {advice}");
            }
        }
        for old in &seen.keys {
            if let Some(new) = self.keys.iter().find(|new| new.party == old.party && *new != old) {
                new.follows(old, epoch)
                    .with_context(|| format!("the key list of {}; {advice}", old.party))?;
            }
        }
        Ok(())
    }

    /// The newest key list of every party that has one.
    pub fn key_lists(&self) -> &[KeyList] {
        &self.keys
    }

    /// The hash of a party's key list, which the party's epoch statements have to name.
    pub fn key_list_digest(&self, party: Place) -> Option<Digest> {
        self.key_digests.get(&party).copied()
    }

    /// Whether a key list with this hash is among those that the party signed, the newest or an older one.
    pub fn has_key_list(&self, party: Place, digest: Digest) -> bool {
        self.all_key_digests.contains(&(party, digest))
    }
}

/// The files of a survey, the survey itself first.
const EXTENSIONS: [&str; 4] = ["toml", "signatures", "addresses", "keys"];

/// The document with the highest serial of each party. All are checked, also those that are superseded.
fn newest<T: TextDocument>(
    survey: &SignedSurvey,
    (path, text): (&Path, &str),
    serial: impl Fn(&T) -> u64,
) -> anyhow::Result<BTreeMap<Place, Signed<T>>> {
    let mut newest: BTreeMap<Place, (u64, Signed<T>)> = BTreeMap::new();
    for signed in Signed::<T>::all_from_text(text).with_context(|| format!("in {}", path.display()))? {
        let document = signed.verify(survey).with_context(|| format!("in {}", path.display()))?;
        let (place, number) = (document.party(), serial(document));
        match newest.get(&place) {
            Some((known, other)) if *known == number => ensure!(
                other.digest() == signed.digest(),
                "{place} signed two documents with the serial {number}: ask its operator why (in {})",
                path.display()
            ),
            Some((known, _)) if *known > number => {}
            _ => {
                newest.insert(place, (number, signed));
            }
        }
    }
    Ok(newest.into_iter().map(|(place, (_, signed))| (place, signed)).collect())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
