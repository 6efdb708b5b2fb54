//! Finished runs, kept so that an experiment that was stopped goes on from there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::out_dir::OutDir;

/// A directory of small JSON files, one for each finished run; or nothing, and every run is made anew.
#[derive(Debug)]
pub(super) struct Kept {
    folder: Option<PathBuf>,
}

/// What is in a file.
#[derive(Deserialize, Serialize)]
struct Entry<T> {
    /// All that decides the result, in words: of another program or other settings it is another run.
    identity: String,
    result: T,
}

impl Kept {
    /// In a folder of a directory for results.
    pub(super) fn new(out: Option<&Path>) -> Self {
        Self { folder: out.map(|out| out.join("runs")) }
    }

    /// The result of a run with this name and identity, if it is finished.
    pub(super) fn find<T: DeserializeOwned>(&self, name: &str, identity: &str) -> Result<Option<T>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.join(format!("{name}.json"));
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        // What an older program wrote is not ours to use, and is replaced.
        let entry: Option<Entry<T>> = serde_json::from_slice(&bytes).ok();
        Ok(entry.filter(|entry| entry.identity == identity).map(|entry| entry.result))
    }

    /// Keeps a result, whole or not at all.
    pub(super) fn keep(&self, name: &str, identity: &str, result: &impl Serialize) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let entry = Entry { identity: identity.to_owned(), result };
        OutDir::open(folder)?
            .write(&[(format!("{name}.json"), (serde_json::to_string(&entry)? + "\n").into_bytes())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_again_unless_something_else_was_run() {
        let out = tempfile::tempdir().unwrap();
        let kept = Kept::new(Some(out.path()));
        assert_eq!(kept.find::<Vec<f64>>("a", "one").unwrap(), None);
        kept.keep("a", "one", &[0.5, 0.1 + 0.2]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", "one").unwrap().unwrap(), [0.5, 0.1 + 0.2]);
        assert_eq!(kept.find::<Vec<f64>>("a", "two").unwrap(), None);
        assert_eq!(kept.find::<Vec<f64>>("b", "one").unwrap(), None);
        fs::write(out.path().join("runs/a.json"), "{\"identity\":\"one\",\"res").unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", "one").unwrap(), None);
        let nowhere = Kept::new(None);
        nowhere.keep("a", "one", &1).unwrap();
        assert_eq!(nowhere.find::<u32>("a", "one").unwrap(), None);
    }
}
