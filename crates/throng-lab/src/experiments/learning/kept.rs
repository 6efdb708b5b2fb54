//! Finished runs, kept so that an experiment that was stopped goes on from there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use throng_wire::Digest;

use crate::learning::NetworkName;
use throng_host::out_dir::OutDir;

/// A directory of small JSON files, one for each finished run; or nothing, and every run is made anew.
#[derive(Debug)]
pub(super) struct Kept {
    folder: Option<PathBuf>,
}

/// All that decides a result: if anything here is another, it is another run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    /// Source, model, settings, question and seed, in words.
    pub(super) training: String,
    /// The hash of the examples that features are made of, those to train on and those to test with.
    pub(super) data: Digest,
    /// The [`numerics`](throng_learn::Protocol::numerics) of the program that made it.
    pub(super) numerics: u32,
    /// The network whose features it learned from, if they are learned ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<NetworkName>,
}

/// What is in a file.
#[derive(Deserialize, Serialize)]
struct Entry<T> {
    identity: Identity,
    result: T,
}

impl Kept {
    /// In a folder of a directory for results.
    pub(super) fn new(out: Option<&Path>) -> Self {
        Self { folder: out.map(|out| out.join("runs")) }
    }

    /// The result of a run with this name and identity, if it is finished.
    pub(super) fn find<T: DeserializeOwned>(&self, name: &str, identity: &Identity) -> Result<Option<T>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.join(format!("{name}.json"));
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        // What an older program wrote is not ours to use, and is replaced.
        let entry: Option<Entry<T>> = serde_json::from_slice(&bytes).ok();
        Ok(entry.filter(|entry| entry.identity == *identity).map(|entry| entry.result))
    }

    /// Keeps a result, whole or not at all.
    pub(super) fn keep(&self, name: &str, identity: &Identity, result: &impl Serialize) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let entry = Entry { identity: identity.clone(), result };
        let bytes = (serde_json::to_string(&entry)? + "\n").into_bytes();
        Ok(OutDir::open(folder)?.write(&[(format!("{name}.json"), bytes)])?)
    }

    /// The networks whose features the finished runs learned from, each once.
    pub(super) fn networks(&self) -> Result<Vec<NetworkName>> {
        let mut networks = Vec::new();
        let Some(folder) = self.folder.as_deref().filter(|folder| folder.is_dir()) else {
            return Ok(networks);
        };
        let unreadable = || format!("cannot read {}", folder.display());
        for file in fs::read_dir(folder).with_context(unreadable)? {
            let bytes = fs::read(file.with_context(unreadable)?.path()).unwrap_or_default();
            let entry: Option<Entry<IgnoredAny>> = serde_json::from_slice(&bytes).ok();
            networks.extend(
                entry.and_then(|entry| entry.identity.network).filter(|network| !networks.contains(network)),
            );
        }
        Ok(networks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::Public;

    fn identity() -> Identity {
        Identity { training: "one".into(), data: Digest::of(b"pictures"), numerics: 1, network: None }
    }

    #[test]
    fn a_run_is_found_again_unless_something_else_was_run() {
        let out = tempfile::tempdir().unwrap();
        let kept = Kept::new(Some(out.path()));
        let one = identity();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        kept.keep("a", &one, &[0.5, 0.1 + 0.2]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap().unwrap(), [0.5, 0.1 + 0.2]);
        let network =
            |weights: &[u8]| NetworkName { public: Public::StandIn, weights: Some(Digest::of(weights)) };
        for other in [
            Identity { training: "two".into(), ..one.clone() },
            Identity { data: Digest::of(b"other pictures"), ..one.clone() },
            Identity { numerics: 2, ..one.clone() },
            Identity { network: Some(network(b"weights")), ..one.clone() },
        ] {
            assert_eq!(kept.find::<Vec<f64>>("a", &other).unwrap(), None, "{other:?}");
        }
        assert_eq!(kept.find::<Vec<f64>>("b", &one).unwrap(), None);

        // Which networks runs are of is known without the networks.
        assert_eq!(kept.networks().unwrap(), []);
        for (name, weights) in [("b", b"weights"), ("c", b"weights"), ("d", b"another")] {
            kept.keep(name, &Identity { network: Some(network(weights)), ..one.clone() }, &1).unwrap();
            let known = kept.networks().unwrap();
            assert_eq!(known.len(), if name == "d" { 2 } else { 1 });
            assert!(known.contains(&network(weights)));
        }

        fs::write(out.path().join("runs/a.json"), "{\"identity\":\"one\",\"res").unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        let nowhere = Kept::new(None);
        nowhere.keep("a", &one, &1).unwrap();
        assert_eq!(nowhere.find::<u32>("a", &one).unwrap(), None);
        assert_eq!(nowhere.networks().unwrap(), []);
    }
}
