//! The MAC key by which an analyzer authenticates its own files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use throng_wire::{Digest, Mac, SigningKey};

use crate::error::Result;
use throng_host::keygen::Party;

/// A key that is derived from the analyzer's signing key, and the place of the ledger's mark: apart from the data, so that
/// each of the two tells when the other is lost or older.
#[derive(Clone)]
pub struct DataKey {
    mac: Arc<OnceLock<Mac>>,
    identity: PathBuf,
    mark: PathBuf,
}

impl DataKey {
    /// The key of the identity in a directory, which is read when it is needed.
    pub fn of(identity: &Path, mark: &Path) -> Self {
        Self { mac: Arc::default(), identity: identity.to_owned(), mark: mark.to_owned() }
    }

    /// The key of a signing key.
    pub fn new(signing: &SigningKey, mark: &Path) -> Self {
        let key = Self::of(Path::new(""), mark);
        key.mac.get_or_init(|| signing.derive(PURPOSE, &[]));
        key
    }

    /// Where the mark of the ledger is.
    pub fn mark(&self) -> &Path {
        &self.mark
    }

    /// What only the holder of the key can write beside some parts of a kind of file.
    pub(super) fn tag(&self, kind: &str, parts: &[&[u8]]) -> Result<Digest> {
        let mac = match self.mac.get() {
            Some(mac) => mac,
            None => {
                let signing = Party::read_signing_key(&self.identity)?;
                self.mac.get_or_init(|| signing.derive(PURPOSE, &[]))
            }
        };
        let mut all: Vec<&[u8]> = vec![kind.as_bytes(), &[0]];
        all.extend(parts);
        Ok(Digest::new(mac.tag(&all)))
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(not shown)")
    }
}

const PURPOSE: &str = "the files of an analyzer";
