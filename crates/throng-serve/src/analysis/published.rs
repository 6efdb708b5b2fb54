//! Releases that were made, as they were published: the analyzer's own copy of their files.
//!
//! A release is a directory that is replaced whole by one rename: whoever reads it finds a consistent snapshot.
//! `release.files` in it has the hashes of the other files, under a key of the analyzer, so that what is read from there is
//! what was published.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use throng_wire::{Digest, SurveyHash};

use super::{DataKey, ReleaseSummary};
use crate::error::{Context, Error, Result};
use throng_host::atomic_dir::{AtomicDir, OpenDir};
use throng_host::{bail, ensure};

/// The published releases of an analyzer, in its data directory. Whoever reads them reads no tally, and spends nothing.
#[derive(Clone, Debug)]
pub struct PublishedReleases {
    dir: PathBuf,
    key: DataKey,
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
pub struct PublishedRelease {
    dir: AtomicDir,
    key: DataKey,
    /// What its files are authenticated as.
    whose: String,
}

/// One that is open: all that is read of it is one consistent snapshot.
#[derive(Debug)]
pub struct PublishedFiles {
    dir: OpenDir,
    /// The list of its files, which is authentic.
    list: String,
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
    /// The published releases in an analyzer's data directory, whether or not there are any yet.
    pub fn new(data: &Path, key: &DataKey) -> Self {
        Self { dir: data.join("releases"), key: key.clone() }
    }

    /// Where a release is, or will be.
    pub fn at(&self, survey: SurveyHash, name: ReleaseName) -> PublishedRelease {
        let ReleaseName { epoch, label } = name;
        let whose = format!("{survey}/{label}-{epoch}");
        PublishedRelease { dir: AtomicDir::new(self.dir.join(&whose)), key: self.key.clone(), whose }
    }

    /// The surveys of which something was published.
    pub fn surveys(&self) -> Result<Vec<SurveyHash>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("cannot read {}", self.dir.display()))?,
        };
        let mut surveys = Vec::new();
        for entry in entries {
            surveys.extend(entry?.file_name().to_str().and_then(|name| name.parse::<SurveyHash>().ok()));
        }
        Ok(surveys)
    }

    /// The releases of a survey, the newest first.
    pub fn of(&self, survey: SurveyHash) -> Result<Vec<ReleaseName>> {
        let dir = self.dir.join(survey.to_string());
        let mut names = Vec::new();
        for name in AtomicDir::names(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
            let parts = name.split_once('-').map(|(label, epoch)| (label.parse(), epoch.parse()));
            if let Some((Ok(label), Ok(epoch))) = parts
                && self.at(survey, ReleaseName { epoch, label }).exists()
            {
                names.push(ReleaseName { epoch, label });
            }
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }
}

impl PublishedRelease {
    /// The directory of its files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Whether it has been published.
    pub fn exists(&self) -> bool {
        self.length(RELEASE).is_some()
    }

    /// Publishes it, in place of what was published before: all its files, or none.
    pub fn write(&self, files: &[(&'static str, Vec<u8>)]) -> Result<()> {
        let hashes = files.iter().map(|(name, bytes)| format!("{} {name}\n", Digest::of(bytes)));
        let list = format!("{HEADER}{}", hashes.collect::<String>());
        let text = format!("{list}{}\n", self.tag(&list)?);
        let mut all = files.to_vec();
        all.push((LIST, text.into_bytes()));
        Ok(self.dir.write(&all)?)
    }

    /// Opens it, for one who reads more than one of its files. It is not published again meanwhile.
    pub fn open(&self) -> Result<PublishedFiles> {
        let dir = self.dir.open().with_context(|| format!("cannot read {}", self.dir().display()))?;
        let dir = dir.ok_or_else(|| {
            Error::damaged(format!("cannot read {}: it is not there", self.dir().display()))
        })?;
        let path = dir.path().join(LIST);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let authentic = text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n'));
        let Some((hashes, tag)) = authentic else { bail!(Damaged, "{} is damaged: {AGAIN}", path.display()) };
        let tag_expected = self.tag(&format!("{hashes}\n"))?.to_string();
        ensure!(tag == tag_expected, Damaged, "{} is damaged: {AGAIN}", path.display());
        Ok(PublishedFiles { dir, list: text })
    }

    /// `release.json`, as `throng release` printed it.
    pub fn json(&self) -> Result<Vec<u8>> {
        self.read(RELEASE)
    }

    /// What that says.
    pub fn release(&self) -> Result<ReleaseSummary> {
        self.open()?.release()
    }

    /// `estimates.csv`.
    pub fn table(&self) -> Result<Vec<u8>> {
        self.read(TABLE)
    }

    /// The lines of its table, by value.
    pub fn lines(&self) -> Result<Vec<EstimateLine>> {
        self.open()?.lines()
    }

    /// How wide the picture is that was asked for when it was made, if one was.
    pub fn picture_width(&self) -> Option<u32> {
        self.open().ok()?.picture_width()
    }

    /// A file as it was published.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        self.open()?.read(name)
    }

    /// How long a file is, if it is there.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        let dir = self.dir.open().ok()??;
        fs::metadata(dir.path().join(name)).ok().map(|file| file.len())
    }

    fn tag(&self, list: &str) -> Result<Digest> {
        self.key.tag("published release", &[self.whose.as_bytes(), &[0], list.as_bytes()])
    }
}

impl PublishedFiles {
    /// A file as it was published.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        if name == LIST {
            return Ok(self.list.clone().into_bytes());
        }
        let path = self.dir.path().join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let line = format!("{} {name}", Digest::of(&bytes));
        let published = self.list.lines().skip(1).any(|known| known == line);
        ensure!(published, Damaged, "{} is not what was published: {AGAIN}", path.display());
        Ok(bytes)
    }

    /// What `release.json` says.
    pub fn release(&self) -> Result<ReleaseSummary> {
        let read = serde_json::from_slice(&self.read(RELEASE)?);
        read.damaged(|| format!("in {}: {AGAIN}", self.dir.path().join(RELEASE).display()))
    }

    /// The lines of its table, by value.
    pub fn lines(&self) -> Result<Vec<EstimateLine>> {
        let table = self.read(TABLE)?;
        let lines: Result<Vec<EstimateLine>, _> = csv::Reader::from_reader(&*table).deserialize().collect();
        lines.with_context(|| format!("in {}", self.dir.path().join(TABLE).display()))
    }

    /// How wide the picture is that was asked for when it was made, if one was.
    pub fn picture_width(&self) -> Option<u32> {
        let bytes = self.read(PICTURE).ok()?;
        // A PNG file begins with its signature and the chunk of its size: length, name, width.
        let after = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
        after.first_chunk().map(|width| u32::from_be_bytes(*width))
    }
}

const HEADER: &str = "throng-v1 release files\n";
const AGAIN: &str = "make the release again with `throng release`, which costs nothing";
/// The hashes of all other files of a release, for the analyzer.
pub(super) const LIST: &str = "release.files";

/// The names of the files of a release: what it says.
pub const RELEASE: &str = "release.json";
/// Its table of all values.
pub const TABLE: &str = "estimates.csv";
/// The survey that it is of; its signatures and key lists are beside it, with their own extensions.
pub const SURVEY: &str = "survey.toml";
/// The signatures of all parties.
pub const SIGNATURES: &str = "survey.signatures";
/// The names of values, where the survey has them in a file.
pub const NAMES: &str = "survey.names";
/// The key lists that statements name.
pub const KEYS: &str = "survey.keys";
/// What the hops of its instances signed about the epoch: records as on the wire, by instance and hop.
pub const STATEMENTS: &str = "statements";
/// The lines of the analyzer's ledger about the population, with that of this release.
pub const LEDGER: &str = "ledger";
/// Its picture, where it has one.
pub const PICTURE: &str = "estimate.png";
/// Its plot by rank, where it has one instead.
pub(super) const PLOTS: [&str; 2] = ["ranks.svg", "ranks.png"];

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::SigningKey;

    #[test]
    fn what_was_published_is_found_again() {
        let data = tempfile::tempdir().unwrap();
        let key = DataKey::new(&SigningKey::from_seed(&[1; 32]).unwrap(), &data.path().join("mark"));
        let (releases, survey) = (PublishedReleases::new(data.path(), &key), SurveyHash::new([7; 32]));
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
        assert_eq!(releases.surveys().unwrap(), [survey]);
        // What was changed or moved since is not what was published.
        let path = one.dir().join(RELEASE);
        fs::write(&path, "[]\n").unwrap();
        assert!(one.json().unwrap_err().to_string().contains("throng release"), "{:?}", one.json());
        fs::write(&path, "{}\n").unwrap();
        one.json().unwrap();
        let other = releases.at(survey, name(1, 9));
        fs::copy(one.dir().join(LIST), other.dir().join(LIST)).unwrap();
        assert!(other.json().is_err() && one.table().is_ok());
        fs::remove_file(one.dir().join(LIST)).unwrap();
        assert!(one.json().is_err());
    }
}
