//! A party's layer keys on disk: `throng keygen rotate` adds to them, and the party erases what is done.

use std::fs;
use std::path::{Path, PathBuf};

use throng_wire::{Digest, KeyList, LayerKeys, Place, Signed, SignedSurvey};

use crate::error::{Context, Result};
use throng_host::ensure;
use throng_host::keygen::{erase_layer_keys, read_layer_keys};

/// The key files of a party, and what was read from them last.
pub(crate) struct LayerKeyFiles {
    dir: PathBuf,
    seen: Option<std::time::SystemTime>,
}

impl LayerKeyFiles {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), seen: None }
    }

    /// Where they are.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The keys and the hash of the signed list that says so.
    pub(crate) fn read(
        &mut self,
        survey: &SignedSurvey,
        place: Place,
        epoch: u64,
    ) -> Result<(LayerKeys, Digest)> {
        let seen = modified(&self.dir);
        let path = self.dir.join("key-list");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let list = Signed::<KeyList>::from_text(&text).with_context(|| format!("in {}", path.display()))?;
        let listed = list.verify(survey)?;
        ensure!(
            listed.party == place,
            Invalid,
            "{} is the key list of {}, not of {place}",
            path.display(),
            listed.party
        );
        let keys = read_layer_keys(&self.dir)?;
        let private = keys.public();
        let unlisted = private.iter().any(|key| !listed.keys.contains(key));
        // Keys whose epochs are done are listed, but not there any more.
        let missing =
            listed.keys.iter().any(|key| key.lifetime.last_epoch >= epoch && !private.contains(key));
        ensure!(
            !unlisted && !missing,
            Invalid,
            "{} and layer.keys do not name the same keys: make and sign them again with `throng keygen rotate`",
            path.display()
        );
        self.seen = seen;
        Ok((keys, list.digest()))
    }

    /// What `keygen` changed, if it did. Keys that are for epochs before `expired` only are erased first.
    pub(crate) fn refresh(
        &mut self,
        survey: &SignedSurvey,
        place: Place,
        expired: Option<u64>,
        epoch: u64,
    ) -> Result<Option<(LayerKeys, Digest)>> {
        if let Some(oldest) = expired {
            erase_layer_keys(&self.dir, oldest)?;
        }
        if expired.is_some() || modified(&self.dir) != self.seen {
            return self.read(survey, place, epoch).map(Some);
        }
        Ok(None)
    }
}

fn modified(dir: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(dir.join("key-list")).and_then(|metadata| metadata.modified()).ok()
}
