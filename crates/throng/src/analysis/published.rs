//! Releases that were made, as they were published: the analyzer's own copy of their files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use throng_wire::SurveyHash;

use crate::out_dir::OutDir;
use crate::picture::Picture;

/// The published releases of an analyzer, in its data directory. Whoever reads them reads no tally, and spends nothing.
#[derive(Clone, Debug)]
pub struct PublishedReleases {
    dir: PathBuf,
}

/// Which release of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseName {
    /// Which epoch.
    pub epoch: u64,
    /// The number of the label, 0 in a survey without labels.
    pub label: u32,
}

/// One published release.
#[derive(Clone, Debug)]
pub struct Published {
    dir: PathBuf,
}

/// A line of its table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct EstimateLine {
    /// The value's number.
    pub value: u64,
    /// What it is called.
    pub name: String,
    /// How many are estimated to hold it; `None` if it is missing, because no instance that holds its fragments has come, or
    /// withheld.
    pub estimate: Option<f64>,
    /// The standard error of that.
    pub standard_error: Option<f64>,
    /// Whether it stands out of the noise.
    pub significant: bool,
    /// Why it is withheld or to be doubted: `impossible`, `implausible`, `liars`, `missing`, or nothing.
    #[serde(default)]
    pub mark: String,
}

impl PublishedReleases {
    /// Those in an analyzer's data directory, whether or not there are some yet.
    pub fn new(data: &Path) -> Self {
        Self { dir: data.join("releases") }
    }

    /// Where a release is, or will be.
    pub fn at(&self, survey: SurveyHash, name: ReleaseName) -> Published {
        let ReleaseName { epoch, label } = name;
        Published { dir: self.dir.join(survey.to_string()).join(format!("{label}-{epoch}")) }
    }

    /// The releases of a survey, the newest first.
    pub fn of(&self, survey: SurveyHash) -> Result<Vec<ReleaseName>> {
        let dir = self.dir.join(survey.to_string());
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("cannot read {}", dir.display()))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?.file_name();
            let parts = entry.to_str().and_then(|name| name.split_once('-'));
            if let Some((Ok(label), Ok(epoch))) = parts.map(|(label, epoch)| (label.parse(), epoch.parse()))
                && self.at(survey, ReleaseName { epoch, label }).exists()
            {
                names.push(ReleaseName { epoch, label });
            }
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }
}

impl Published {
    /// The directory of its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it has been published.
    pub fn exists(&self) -> bool {
        self.dir.join(RELEASE).exists()
    }

    /// Puts its files there, each whole or not at all.
    pub fn write(&self, files: &[(&'static str, Vec<u8>)]) -> Result<()> {
        OutDir::open(&self.dir)?.write(files)
    }

    /// `release.json`, as `throng release` printed it.
    pub fn json(&self) -> Result<Vec<u8>> {
        self.read(RELEASE)
    }

    /// `estimates.csv`.
    pub fn table(&self) -> Result<Vec<u8>> {
        self.read(TABLE)
    }

    /// The lines of its table, by value.
    pub fn lines(&self) -> Result<Vec<EstimateLine>> {
        let table = self.table()?;
        let lines: Result<Vec<EstimateLine>, _> = csv::Reader::from_reader(&*table).deserialize().collect();
        lines.with_context(|| format!("in {}", self.dir.join(TABLE).display()))
    }

    /// How wide the picture is that was asked for when it was made, if one was.
    pub fn picture_width(&self) -> Option<u32> {
        Picture::open(&self.dir.join(PICTURE)).ok().map(|picture| picture.width())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.dir.join(name);
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    }
}

/// The names of the files of a release: what it says.
pub const RELEASE: &str = "release.json";
/// Its table of all values.
pub const TABLE: &str = "estimates.csv";
/// The survey that it is of; its signatures and key lists are beside it, with their own extensions.
pub const SURVEY: &str = "survey.toml";
/// The signatures of all parties.
pub const SIGNATURES: &str = "survey.signatures";
/// The key lists that statements name.
pub const KEYS: &str = "survey.keys";
/// What the hops of its instances signed about the epoch: records as on the wire, by instance and hop.
pub const STATEMENTS: &str = "statements";
/// The lines of the analyzer's ledger about the population, with that of this release.
pub const LEDGER: &str = "ledger";
/// Its picture, where it has one.
pub const PICTURE: &str = "estimate.png";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_is_found_again() {
        let data = tempfile::tempdir().unwrap();
        let (releases, survey) = (PublishedReleases::new(data.path()), SurveyHash::new([7; 32]));
        assert_eq!(releases.of(survey).unwrap(), []);
        let name = |label, epoch| ReleaseName { epoch, label };
        let table = b"value,name,estimate,standard_error,significant,mark\n0,\"a, b\",-1.250,3.000,false,\n\
            1,c,,,false,impossible\n";
        for (label, epoch) in [(1, 9), (2, 9), (1, 100)] {
            let files = [(RELEASE, b"{}\n".to_vec()), (TABLE, table.to_vec())];
            releases.at(survey, name(label, epoch)).write(&files).unwrap();
        }
        // What is no release, or not whole, is none.
        fs::create_dir(data.path().join("releases").join(survey.to_string()).join("1-101")).unwrap();
        fs::create_dir(data.path().join("releases").join(survey.to_string()).join("x-1")).unwrap();
        assert_eq!(releases.of(survey).unwrap(), [name(1, 100), name(2, 9), name(1, 9)]);
        assert_eq!(releases.of(SurveyHash::new([8; 32])).unwrap(), []);
        let one = releases.at(survey, name(2, 9));
        assert_eq!((one.json().unwrap(), one.picture_width()), (b"{}\n".to_vec(), None));
        let [line, withheld] = <[_; 2]>::try_from(one.lines().unwrap()).unwrap();
        assert_eq!((line.name.as_str(), line.estimate, line.significant), ("a, b", Some(-1.25), false));
        assert_eq!((withheld.estimate, withheld.standard_error, withheld.significant), (None, None, false));
        assert_eq!((line.mark.as_str(), withheld.mark.as_str()), ("", "impossible"));
        assert!(releases.at(survey, name(3, 9)).json().is_err());
    }
}
