//! The file that an operator writes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use throng_wire::Place;

use crate::error::Result;
use crate::operate::config_file;
use throng_host::ensure;
use throng_host::net::server::Limits;

/// What a shuffler is told. Paths are relative to the file's directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShufflerConfig {
    /// Where it listens, for example `0.0.0.0:8443`.
    pub listen: SocketAddr,
    /// Where its operator asks for health and metrics, for example `127.0.0.1:9443`. Nowhere if it is not given.
    #[serde(default)]
    pub operator_listen: Option<SocketAddr>,
    /// Plain HTTP instead of TLS. For one machine only: refused unless `listen` is on loopback.
    #[serde(default)]
    pub plain_http: bool,
    /// The directory with its identity, made by `throng keygen --out`.
    pub identity: PathBuf,
    /// The directory for what must not be lost. Made if it is not there.
    pub data: PathBuf,
    /// About how much memory it may use, shared by all surveys.
    #[serde(default = "config_file::memory_mib")]
    pub memory_mib: u64,
    /// How many connections it has open at once.
    #[serde(default = "connections_max")]
    pub connections_max: usize,
    /// How many requests it answers in a second; one connection has a fifth of it.
    #[serde(default = "requests_per_s_max")]
    pub requests_per_s_max: u32,
    /// How long a hop that starts waits for the next hop to say which of its statements it has.
    #[serde(default = "neighbours_wait_s")]
    pub neighbours_wait_s: u64,
    /// The surveys that it is a hop of.
    pub surveys: Vec<SurveyConfig>,
}

/// One survey that a shuffler is a hop of.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyConfig {
    /// The survey file. The files of all parties are beside it.
    pub survey: PathBuf,
    /// The place in the survey, for example `instance-1-hop-1`.
    pub place: Place,
    /// The directory with what it signed for this survey and its layer keys, made by `throng keygen sign`. Default: the
    /// one with the identity.
    #[serde(default)]
    pub keys: Option<PathBuf>,
    /// The directory for the high-water mark of its journal, which shows that `data` was restored from a copy: one that is
    /// not restored with it. Default: the one with its keys.
    #[serde(default)]
    pub mark: Option<PathBuf>,
    /// The list of respondents' credentials, for a first hop; not with open enrolment.
    #[serde(default)]
    pub credentials: Option<PathBuf>,
}

impl ShufflerConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_text(&config_file::read(path)?, path)
    }

    /// What a file at this path would say with this text.
    pub fn from_text(text: &str, path: &Path) -> Result<Self> {
        let mut config: Self = config_file::parse(text, path)?;
        config_file::check(path, config.surveys.len(), config.memory_mib)?;
        ensure!(config.connections_max > 0, Invalid, "connections_max = 0 lets nobody in: give at least 1");
        ensure!(
            config.requests_per_s_max > 0,
            Invalid,
            "requests_per_s_max = 0 answers nobody: give at least 1"
        );
        let at_base = config_file::at_base(path);
        at_base(&mut config.identity);
        at_base(&mut config.data);
        for survey in &mut config.surveys {
            at_base(&mut survey.survey);
            let SurveyConfig { keys, mark, credentials, .. } = survey;
            keys.iter_mut().chain(mark).chain(credentials).for_each(at_base);
        }
        Ok(config)
    }

    /// How many bytes each survey may have in memory.
    pub fn memory_each(&self) -> usize {
        let all = usize::try_from(self.memory_mib << 20).unwrap_or(usize::MAX);
        all / self.surveys.len().max(1)
    }

    /// How many connections there may be, if each can bring a body of this length: all of them together take a quarter of
    /// the memory at most, but one is always allowed.
    pub fn connections_for(&self, body_len: usize) -> usize {
        let all = usize::try_from(self.memory_mib << 20).unwrap_or(usize::MAX);
        self.connections_max.min((all / 4 / body_len.max(1)).max(1))
    }
}

fn connections_max() -> usize {
    1024
}

fn neighbours_wait_s() -> u64 {
    10
}

fn requests_per_s_max() -> u32 {
    Limits::default().requests_per_s_max
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SAMPLE: &str = r#"
listen = "0.0.0.0:8443"
identity = "keys"
data = "/var/lib/throng"

[[surveys]]
survey = "survey.toml"
place = "instance-1-hop-1"
credentials = "instance-1-hop-1.credentials"
"#;

    fn read(text: &str) -> Result<ShufflerConfig> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("shuffler.toml");
        fs::write(&path, text)?;
        let mut config = ShufflerConfig::read(&path)?;
        config.identity = config.identity.strip_prefix(dir.path()).unwrap_or(&config.identity).to_owned();
        Ok(config)
    }

    #[test]
    fn a_sample_is_read_and_paths_are_relative_to_it() {
        let config = read(SAMPLE).unwrap();
        assert_eq!((config.memory_mib, config.plain_http), (512, false));
        assert_eq!(config.identity, Path::new("keys"));
        assert_eq!(config.data, Path::new("/var/lib/throng"));
        assert_eq!(config.memory_each(), 512 << 20);
        // Bodies of usual length leave all connections; long ones a part of them, and the longest one.
        let connections = [0, 2082, 1 << 20, 1 << 30].map(|body_len| config.connections_for(body_len));
        assert_eq!(connections, [1024, 1024, 128, 1]);
        assert_eq!((config.operator_listen, config.requests_per_s_max), (None, 5000));
        assert_eq!((config.neighbours_wait_s, &config.surveys[0].mark), (10, &None));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (from, to) in [
            ("[[surveys]]", "[[survey]]"),
            ("listen = \"0.0.0.0:8443\"", "listen = \"here\""),
            ("place = \"instance-1-hop-1\"", "place = \"hop-1\""),
            ("identity = \"keys\"", "identity = \"keys\"\nmemory_mib = 1"),
            ("identity = \"keys\"", "identity = \"keys\"\nmemory = 1"),
            ("identity = \"keys\"", "identity = \"keys\"\nconnections_max = 0"),
            ("identity = \"keys\"", "identity = \"keys\"\nrequests_per_s_max = 0"),
            ("identity = \"keys\"", "identity = \"keys\"\noperator_listen = \"9443\""),
        ] {
            let text = SAMPLE.replacen(from, to, 1);
            assert_ne!(text, SAMPLE);
            assert!(read(&text).is_err(), "{to}");
        }
    }
}
