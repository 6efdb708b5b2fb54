//! The log of finished runs, so that an experiment that was stopped goes on from there.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use throng_wire::Digest;

use crate::learning::NetworkName;

/// An append-only file of JSON lines, one for each finished run; or nothing, and every run is made anew.
///
/// Lines are only ever appended, so that experiments that run beside one another lose nothing. The last line of a name counts.
#[derive(Debug)]
pub(super) struct RunLog {
    file: Option<PathBuf>,
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

/// What is in a line.
#[derive(Deserialize, Serialize)]
struct Entry<T> {
    name: String,
    identity: Identity,
    result: T,
}

impl RunLog {
    /// In a directory for results.
    pub(super) fn new(out: Option<&Path>) -> Self {
        Self { file: out.map(|out| out.join(RUNS)) }
    }

    /// The result of a run with this name and identity, if it is finished.
    pub(super) fn find<T: DeserializeOwned>(&self, name: &str, identity: &Identity) -> Result<Option<T>> {
        // What an older program wrote is not ours to use, and the next line of its name replaces it.
        let text = self.text()?;
        let mut last = text.lines().rev().filter(|line| is_of(line, name));
        let entry: Option<Entry<T>> = last.find_map(|line| serde_json::from_str(line).ok());
        Ok(entry.filter(|entry| entry.identity == *identity).map(|entry| entry.result))
    }

    /// Keeps a result: a line is whole, or it is not read.
    pub(super) fn keep(&self, name: &str, identity: &Identity, result: &impl Serialize) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let entry = Entry { name: name.to_owned(), identity: identity.clone(), result };
        let mut line = serde_json::to_string(&entry)? + "\n";
        // A line that was cut off stays a line of its own.
        if self.text()?.ends_with(|c| c != '\n') {
            line.insert(0, '\n');
        }
        let append = || -> std::io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        };
        append().with_context(|| format!("cannot write {}", path.display()))
    }

    /// The networks whose features the finished runs learned from, each once.
    pub(super) fn networks(&self) -> Result<Vec<NetworkName>> {
        let mut networks = Vec::new();
        for line in self.text()?.lines() {
            let entry: Option<Entry<IgnoredAny>> = serde_json::from_str(line).ok();
            networks.extend(
                entry.and_then(|entry| entry.identity.network).filter(|network| !networks.contains(network)),
            );
        }
        Ok(networks)
    }

    /// All lines, or none where nothing was kept yet.
    fn text(&self) -> Result<String> {
        let Some(path) = &self.file else { return Ok(String::new()) };
        match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            // Bytes that are no text spoil their own line alone.
            bytes => Ok(String::from_utf8_lossy(
                &bytes.with_context(|| format!("cannot read {}", path.display()))?,
            )
            .into_owned()),
        }
    }
}

/// Whether a line is of the run with this name: `name` comes first in a line, so that the others need not be parsed.
fn is_of(line: &str, name: &str) -> bool {
    line.strip_prefix("{\"name\":\"")
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('"'))
}

/// The file of finished runs in a directory for results.
pub(super) const RUNS: &str = "runs.jsonl";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::PublicPictures;

    fn identity() -> Identity {
        Identity { training: "one".into(), data: Digest::of(b"pictures"), numerics: 1, network: None }
    }

    #[test]
    fn a_run_is_found_again_unless_something_else_was_run() {
        let out = tempfile::tempdir().unwrap();
        let kept = RunLog::new(Some(out.path()));
        let one = identity();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        kept.keep("a", &one, &[0.5, 0.1 + 0.2]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap().unwrap(), [0.5, 0.1 + 0.2]);
        let network = |weights: &[u8]| NetworkName {
            public: PublicPictures::StandIn,
            weights: Some(Digest::of(weights)),
        };
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

        // The last line of a name counts.
        kept.keep("a", &Identity { numerics: 2, ..one.clone() }, &[0.75]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        kept.keep("a", &one, &[0.25]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap().unwrap(), [0.25]);

        // A line that was cut off is not read, and spoils no other.
        let path = out.path().join(RUNS);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 6);
        fs::write(&path, &text[..text.len() - 10]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        assert_eq!(kept.networks().unwrap().len(), 2);
        kept.keep("e", &one, &[1.0]).unwrap();
        assert_eq!(kept.find::<Vec<f64>>("e", &one).unwrap().unwrap(), [1.0]);
        fs::write(&path, "{\"name\":\"a\",\"identity\":\"one\",\"res").unwrap();
        assert_eq!(kept.find::<Vec<f64>>("a", &one).unwrap(), None);
        let nowhere = RunLog::new(None);
        nowhere.keep("a", &one, &1).unwrap();
        assert_eq!(nowhere.find::<u32>("a", &one).unwrap(), None);
        assert_eq!(nowhere.networks().unwrap(), []);
    }
}
