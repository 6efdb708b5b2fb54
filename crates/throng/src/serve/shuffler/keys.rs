//! A hop's layer keys on disk: `throng keygen rotate` adds to them, and the hop erases what is done.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use throng_shuffle::Hop;
use throng_wire::{Digest, KeyList, LayerKeys, Place, Signed, SignedSurvey};

use crate::keygen::{read_layer_keys, write_layer_keys};

/// The key files of a hop, and what was read from them last.
pub(in crate::serve) struct HopKeys {
    dir: PathBuf,
    seen: Option<std::time::SystemTime>,
}

impl HopKeys {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), seen: None }
    }

    /// Where they are.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The keys and the hash of the signed list that says so.
    pub(super) fn read(&mut self, survey: &SignedSurvey, place: Place) -> Result<(LayerKeys, Digest)> {
        self.seen = modified(&self.dir);
        let path = self.dir.join("key-list");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let list = Signed::<KeyList>::from_text(&text).with_context(|| format!("in {}", path.display()))?;
        let listed = list.verify(survey)?;
        ensure!(
            listed.party == place,
            "{} is the key list of {}, not of {place}",
            path.display(),
            listed.party
        );
        let keys = read_layer_keys(&self.dir)?;
        // Keys whose epochs are done are listed, but not there any more.
        ensure!(
            keys.public().iter().all(|key| listed.keys.contains(key)),
            "{} does not name the keys in layer.keys: sign them with `throng keygen rotate`",
            path.display()
        );
        Ok((keys, list.digest()))
    }

    /// Takes over what `keygen` changed, and erases keys that are for epochs before `oldest` only.
    pub(in crate::serve) fn refresh(&mut self, hop: &Hop, oldest: u64) -> Result<()> {
        let changed = modified(&self.dir) != self.seen;
        let mut erased = 0;
        if hop.has_keys_before(oldest) {
            let mut keys = read_layer_keys(&self.dir)?;
            erased = keys.erase_before(oldest);
            if erased > 0 {
                write_layer_keys(&self.dir, &keys)?;
            }
        }
        if changed || erased > 0 {
            let (keys, list) = self.read(hop.survey(), hop.place())?;
            hop.set_keys(keys, list);
        }
        Ok(())
    }
}

fn modified(dir: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(dir.join("key-list")).and_then(|metadata| metadata.modified()).ok()
}
