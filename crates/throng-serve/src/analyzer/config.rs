//! The file that an analyzer's operator writes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::analysis::DataKey;
use crate::error::{Context, Result};
use crate::operate::config_file;

/// What an analyzer is told. Paths are relative to the file's directory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyzerConfig {
    /// The directory with its identity, made by `throng keygen --out`.
    pub identity: PathBuf,
    /// The directory for what must not be lost: sealed batches, tallies, and the ledger of releases. Made if it is not there.
    pub data: PathBuf,
    /// The file that says how long the ledger is, so that a ledger which lost its end is known: apart from `data`, where the
    /// analyzer and `throng release` can write. Default: `ledger.mark` where the layer keys of the first survey are.
    #[serde(default)]
    pub ledger_mark: Option<PathBuf>,
    /// Where its operator asks for health and metrics, and sees the dashboard, for example `127.0.0.1:9444`. Nowhere if it
    /// is not given.
    #[serde(default)]
    pub operator_listen: Option<SocketAddr>,
    /// The file with the token that the dashboard asks for; made if it is not there. Default: `operator.token` in `data`.
    #[serde(default)]
    pub operator_token: Option<PathBuf>,
    /// About how much memory it may use, besides the sums themselves.
    #[serde(default = "config_file::memory_mib")]
    pub memory_mib: u64,
    /// For how many epochs after their last one layer keys are kept, for batches that come late.
    #[serde(default = "late_epochs")]
    pub late_epochs: u64,
    /// When batches are opened. Whenever that is, their epoch is in the ledger first.
    #[serde(default)]
    pub open: OpeningPolicy,
    /// What all releases about one population may spend together.
    pub budget: Budget,
    /// The surveys that it analyzes.
    pub surveys: Vec<AnalyzedSurvey>,
}

/// When an analyzer opens batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpeningPolicy {
    /// When a release of their epoch is asked for; until then they wait, sealed.
    #[default]
    WhenReleased,
    /// As soon as they are there: every epoch that is delivered is spent.
    AtOnce,
}

/// What all releases about one population may spend together.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Its epsilon.
    pub epsilon_central: f64,
    /// Its delta.
    pub delta: f64,
}

/// One survey that is analyzed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyzedSurvey {
    /// The survey file. The files of all parties are beside it.
    pub survey: PathBuf,
    /// The directory with what it signed for this survey and its layer keys. Default: the one with the identity.
    #[serde(default)]
    pub keys: Option<PathBuf>,
    /// Who is asked. Surveys that ask the same people name the same population, and share its budget.
    #[serde(default = "population")]
    pub population: String,
}

impl AnalyzerConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_text(&config_file::read(path)?, path)
    }

    /// What a file at this path would say with this text.
    pub fn from_text(text: &str, path: &Path) -> Result<Self> {
        let mut config: Self = config_file::parse(text, path)?;
        config_file::check(path, config.surveys.len(), config.memory_mib)?;
        config.budget.guarantee().with_context(|| format!("[budget] in {}", path.display()))?;
        let at_base = config_file::at_base(path);
        at_base(&mut config.identity);
        at_base(&mut config.data);
        config.operator_token.iter_mut().for_each(at_base);
        config.ledger_mark.iter_mut().for_each(at_base);
        for survey in &mut config.surveys {
            at_base(&mut survey.survey);
            survey.keys.iter_mut().for_each(at_base);
        }
        Ok(config)
    }

    /// Where the operator's token is.
    pub fn operator_token(&self) -> PathBuf {
        self.operator_token.clone().unwrap_or_else(|| self.data.join("operator.token"))
    }

    /// Where the mark of the ledger is.
    pub fn ledger_mark(&self) -> PathBuf {
        let keys = self.surveys.first().map_or(self.identity.as_path(), |survey| self.keys(survey));
        self.ledger_mark.clone().unwrap_or_else(|| keys.join("ledger.mark"))
    }

    /// What its data is authenticated by.
    pub fn data_key(&self) -> DataKey {
        DataKey::of(&self.identity, &self.ledger_mark())
    }

    /// The directory with the layer keys for a survey.
    pub fn keys<'a>(&'a self, survey: &'a AnalyzedSurvey) -> &'a Path {
        survey.keys.as_ref().unwrap_or(&self.identity)
    }

    /// How many bytes it may use.
    pub fn memory(&self) -> usize {
        usize::try_from(self.memory_mib << 20).unwrap_or(usize::MAX)
    }
}

impl Budget {
    /// The same, checked.
    pub fn guarantee(&self) -> Result<CentralGuarantee<Removal>> {
        Ok(CentralGuarantee::new(Epsilon::new(self.epsilon_central)?, Delta::new(self.delta)?))
    }
}

fn late_epochs() -> u64 {
    8
}

fn population() -> String {
    "everyone".into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SAMPLE: &str = r#"
identity = "keys"
data = "/var/lib/throng"

[budget]
epsilon_central = 10
delta = 1e-5

[[surveys]]
survey = "survey.toml"
"#;

    fn read(text: &str) -> Result<AnalyzerConfig> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("analyzer.toml");
        fs::write(&path, text)?;
        AnalyzerConfig::read(&path)
    }

    #[test]
    fn a_sample_is_read_with_its_defaults() {
        let config = read(SAMPLE).unwrap();
        assert_eq!((config.memory(), config.late_epochs), (512 << 20, 8));
        assert_eq!(config.data, Path::new("/var/lib/throng"));
        assert_eq!(config.operator_token(), Path::new("/var/lib/throng/operator.token"));
        assert!(config.identity.ends_with("keys") && config.identity.is_absolute());
        assert_eq!(config.ledger_mark(), config.identity.join("ledger.mark"));
        let elsewhere = read(&SAMPLE.replacen("identity", "ledger_mark = \"/mark\"\nidentity", 1)).unwrap();
        assert_eq!(elsewhere.ledger_mark(), Path::new("/mark"));
        let keys = read(&format!("{SAMPLE}keys = \"layers\"\n")).unwrap();
        assert!(keys.ledger_mark().ends_with("layers/ledger.mark"));
        assert_eq!(config.surveys[0].population, "everyone");
        assert_eq!(config.open, OpeningPolicy::WhenReleased);
        let at_once = SAMPLE.replacen("identity", "open = \"at-once\"\nidentity", 1);
        assert_eq!(read(&at_once).unwrap().open, OpeningPolicy::AtOnce);
        assert_eq!(config.budget.guarantee().unwrap().epsilon(), Epsilon::new(10.0).unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (from, to) in [
            ("[[surveys]]", "[[survey]]"),
            ("epsilon_central = 10", "epsilon_central = -10"),
            ("delta = 1e-5", "delta = 2"),
            ("delta = 1e-5", ""),
            ("identity = \"keys\"", "identity = \"keys\"\nopen = \"never\""),
            ("identity = \"keys\"", "identity = \"keys\"\nmemory_mib = 1"),
            ("identity = \"keys\"", "identity = \"keys\"\nlisten = \"127.0.0.1:1\""),
        ] {
            let text = SAMPLE.replacen(from, to, 1);
            assert_ne!(text, SAMPLE);
            assert!(read(&text).is_err(), "{to}");
        }
    }
}
