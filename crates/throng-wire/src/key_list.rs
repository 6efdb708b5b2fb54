//! A party's public layer keys as it signs them: one list for everyone.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::digest::SurveyHash;
use crate::keys::{LayerKey, LayerKeys, check_distinct};
use crate::place::Place;
use crate::signed::{json_document, refused};

/// A key list. It is the same for all respondents: who was given a list of their own would stand out by its keys, so
/// an epoch's statements name the list that was in force, and respondents compare (`Signed::digest`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyList {
    /// The survey.
    pub survey: SurveyHash,
    /// Whose keys they are.
    pub party: Place,
    /// Which version of this list: each is one more than the one before.
    pub serial: u64,
    /// The keys, by number.
    pub keys: Vec<LayerKey>,
}

json_document!(KeyList, "key list");

impl KeyList {
    /// The key that everyone seals to for an epoch: the one that began last.
    pub fn key_for(&self, epoch: u64) -> Result<&LayerKey, Error> {
        self.keys
            .iter()
            .filter(|key| key.lifetime.covers(epoch))
            .max_by_key(|key| key.lifetime.first_epoch)
            .ok_or(Error::NoKey { party: self.party, epoch })
    }

    /// Refuses a list that may not follow `previous` in an epoch: an older one, one of somebody else, or one that puts
    /// another key in the place of one that is still in use.
    pub fn follows(&self, previous: &Self, epoch: u64) -> Result<(), Error> {
        if (self.survey, self.party) != (previous.survey, previous.party) {
            return Err(refused::<Self>("it is another party's"));
        }
        if self.serial <= previous.serial {
            return Err(refused::<Self>("it is not newer than the one before"));
        }
        for old in previous.keys.iter().filter(|old| old.lifetime.last_epoch >= epoch) {
            if self.keys.iter().any(|new| new.id == old.id && new.public != old.public) {
                return Err(refused::<Self>("it gives the number of a key in use to another"));
            }
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        check_distinct(&self.keys)?;
        if !self.keys.is_sorted_by_key(|key| key.id) {
            return Err(refused::<Self>("keys are listed by number"));
        }
        if self.keys.iter().any(|key| key.lifetime.first_epoch > key.lifetime.last_epoch) {
            return Err(refused::<Self>("a key ends before it begins"));
        }
        Ok(())
    }
}

impl LayerKeys {
    /// The key list to be signed and published.
    pub fn list(&self, survey: SurveyHash, party: Place, serial: u64) -> KeyList {
        KeyList { survey, party, serial, keys: self.public() }
    }
}
