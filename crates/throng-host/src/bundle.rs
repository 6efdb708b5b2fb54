//! The public files of a survey, as everyone has them: `NAME.toml`, and beside it `NAME.signatures`,
//! `NAME.addresses` and `NAME.keys`, in which the documents of all parties stand one after another; and where the
//! survey says so, a file with the names of values.

mod key_lists;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use throng_wire::survey::{Overlap, Warning};
use throng_wire::{Address, Digest, KeyList, Place, Signed, SignedSurvey};

use crate::ensure;
use crate::error::{Context, Error, Result};
use crate::net::endpoint::Endpoint;
pub use key_lists::KeyLists;

/// A survey that all its parties signed, with their addresses and keys. Every signature in it was checked.
#[derive(Debug)]
pub struct Bundle {
    survey: SignedSurvey,
    addresses: BTreeMap<Place, Address>,
    keys: Vec<KeyList>,
    key_digests: BTreeMap<Place, Digest>,
    all_lists: KeyLists,
    texts: [String; 4],
    names: Option<String>,
}

impl Bundle {
    /// Reads and checks the files beside a survey file.
    pub fn read(survey: impl AsRef<Path>) -> Result<Self> {
        let survey = survey.as_ref();
        let mut texts = [read(survey)?, String::new(), String::new(), String::new()];
        for (text, extension) in texts.iter_mut().zip(EXTENSIONS).skip(1) {
            *text = read(&survey.with_extension(extension))?;
        }
        let beside = |extension: &str| format!("in {}", survey.with_extension(extension).display());
        // A name of a file: it has no way out of the survey's directory.
        Self::assembled(texts, |file| read(&survey.with_file_name(file)), beside)
    }

    /// Checks the texts of files, as [`Self::files_after`] gives them, and after them [`Self::names_text`] where there is one;
    /// `beside` says where they are.
    pub fn of_texts(mut texts: Vec<String>, beside: impl Fn(&str) -> String) -> Result<Self> {
        let names = if texts.len() > EXTENSIONS.len() { texts.pop() } else { None };
        let texts = texts
            .try_into()
            .map_err(|_| Error::Invalid("a survey has four files, and one with names".into()))?;
        let missing = |file: &str| format!("{file}, which has the names of values, is missing");
        Self::assembled(texts, |file| names.ok_or_else(|| Error::Invalid(missing(file))), beside)
    }

    fn assembled(
        texts: [String; 4],
        names: impl FnOnce(&str) -> Result<String>,
        beside: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let [_, signatures, addresses, keys] = &texts;
        let signed = SignedSurvey::from_files(&texts[0], signatures)?;
        let names = signed.survey().names_file().map(names).transpose()?;
        let signed = match &names {
            Some(text) => signed.with_names(text)?,
            None => signed,
        };
        let addresses = newest_addresses(&signed, addresses).with_context(|| beside("addresses"))?;
        let all_lists = KeyLists::read(&signed, keys).with_context(|| beside("keys"))?;
        let keys = all_lists.newest().map(|list| list.claimed().clone()).collect();
        let key_digests = all_lists.newest().map(|list| (list.claimed_party(), list.digest())).collect();
        Ok(Self { survey: signed, addresses, keys, key_digests, all_lists, texts, names })
    }

    /// The survey.
    pub fn survey(&self) -> &SignedSurvey {
        &self.survey
    }

    /// Where a party answers.
    pub fn address(&self, party: Place) -> Result<&Address> {
        self.addresses.get(&party).ok_or_else(|| {
            Error::invalid(format!(
                "there is no address of {party}: add what it signed to the .addresses file beside the survey"
            ))
        })
    }

    /// The files as they were read, each with its extension: to be kept beside what was answered. Key lists of a bundle that
    /// was seen before stay among them.
    pub fn files_after(&self, seen: Option<&Self>) -> Result<[(&'static str, String); 4]> {
        let mut texts = self.texts.clone();
        if let Some(seen) = seen {
            let mut lists = self.all_lists.clone();
            lists.add_all(&seen.all_lists)?;
            texts[3] = lists.to_text();
        }
        let mut texts = texts.into_iter();
        Ok(EXTENSIONS.map(|extension| (extension, texts.next().unwrap_or_default())))
    }

    /// The file with the names of values, where the survey has one: to be kept beside the others.
    pub fn names_text(&self) -> Option<&str> {
        self.names.as_deref()
    }

    /// Everything to be warned about: what the survey shows, and machines that several parties share.
    pub fn warnings(&self) -> Vec<Warning> {
        let hosts = self.addresses.values().filter_map(|address| {
            let authority = Endpoint::new(address).ok()?.authority();
            let (host, _) = authority.rsplit_once(':')?;
            Some((Overlap::Host, host.to_owned(), address.party))
        });
        let certificates = self.addresses.values().filter_map(|address| {
            Some((Overlap::Certificate, address.certificate?.to_string(), address.party))
        });
        let mut warnings = self.survey.survey().warnings();
        warnings.extend(Warning::shared(hosts.chain(certificates)));
        warnings
    }

    /// Refuses to follow a bundle of the same survey that was seen before, if it takes something back: an older address
    /// or key list, another one under the same serial, or another key under a number that is in use in `epoch`.
    pub fn follows(&self, seen: &Self, epoch: u64) -> Result<()> {
        let advice = "fetch the survey's files again, and ask the operator if that does not help";
        for (place, old) in &seen.addresses {
            if let Some(new) = self.addresses.get(place) {
                let same = new.serial > old.serial || new == old;
                ensure!(
                    same,
                    Invalid,
                    "the address of {place} is not newer than one that was seen before; {advice}"
                );
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

    /// All key lists, also those that are superseded.
    pub fn all_key_lists(&self) -> &KeyLists {
        &self.all_lists
    }
}

/// The files of a survey, the survey itself first.
const EXTENSIONS: [&str; 4] = ["toml", "signatures", "addresses", "keys"];

/// The address with the highest serial of each party. All are checked, also those that are superseded.
fn newest_addresses(survey: &SignedSurvey, text: &str) -> Result<BTreeMap<Place, Address>> {
    let mut newest: BTreeMap<Place, Address> = BTreeMap::new();
    for signed in Signed::<Address>::all_from_text(text)? {
        let address = signed.verify(survey)?;
        let Address { party, serial, .. } = *address;
        match newest.get(&party) {
            Some(known) if known.serial == serial => ensure!(
                known == address,
                Invalid,
                "{party} signed two addresses with the serial {serial}: ask its operator why"
            ),
            Some(known) if known.serial > serial => {}
            _ => {
                newest.insert(party, address.clone());
            }
        }
    }
    Ok(newest)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
