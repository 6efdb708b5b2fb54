//! All key lists that the parties of a survey signed: the newest that everyone seals by, and those before, which statements
//! about earlier epochs name.

use std::collections::BTreeMap;

use crate::ensure;
use crate::error::Result;
use throng_wire::{Digest, KeyList, Place, Signed, SignedSurvey};

/// Key lists by party and serial. Their signatures were checked by whoever put them here.
#[derive(Clone, Debug, Default)]
pub struct KeyLists(BTreeMap<(Place, u64), Signed<KeyList>>);

impl KeyLists {
    /// Reads a file of them, and checks the signature of each.
    pub fn read(survey: &SignedSurvey, text: &str) -> Result<Self> {
        let mut lists = Self::default();
        for signed in Signed::<KeyList>::all_from_text(text)? {
            signed.verify(survey)?;
            lists.add(&signed)?;
        }
        Ok(lists)
    }

    /// Adds a list. A second one under the same serial is refused: a party has one list at a time, for everyone.
    pub fn add(&mut self, list: &Signed<KeyList>) -> Result<()> {
        let (party, serial) = (list.claimed_party(), list.claimed().serial);
        let there = self.0.entry((party, serial)).or_insert_with(|| list.clone());
        ensure!(
            there.digest() == list.digest(),
            Invalid,
            "{party} signed two key lists with the serial {serial}: ask its operator why"
        );
        Ok(())
    }

    /// Adds all of others, so that what was signed once stays known.
    pub fn add_all(&mut self, others: &Self) -> Result<()> {
        others.0.values().try_for_each(|list| self.add(list))
    }

    /// The newest list of every party.
    pub fn newest(&self) -> impl Iterator<Item = &Signed<KeyList>> {
        let newest: BTreeMap<Place, _> = self.0.iter().map(|((party, _), list)| (*party, list)).collect();
        newest.into_values()
    }

    /// A party's list with this hash, the newest or an older one.
    pub fn find(&self, party: Place, digest: Digest) -> Option<&KeyList> {
        let mut lists = self.0.range((party, 0)..=(party, u64::MAX)).map(|(_, list)| list);
        lists.find(|list| list.digest() == digest).map(Signed::claimed)
    }

    /// As they stand in a file.
    pub fn to_text(&self) -> String {
        self.0.values().map(Signed::to_text).collect()
    }
}
