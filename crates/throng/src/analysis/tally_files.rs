//! One file for every batch that was counted.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use throng_analyze::{HEAD_LEN, InstanceTally};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{EpochStatement, Route, Signed, Survey, SurveyHash};

use super::create_private;

/// The tallies of one survey. A file is there whole or not at all, and is never changed.
#[derive(Clone, Debug)]
pub struct TallyFiles {
    dir: PathBuf,
}

impl TallyFiles {
    /// The tallies of a survey in an analyzer's data directory, whether or not there are some yet.
    pub fn new(data: &Path, survey: SurveyHash) -> Self {
        Self { dir: data.join("tallies").join(survey.to_string()) }
    }

    /// Makes their directory.
    pub fn create(&self) -> Result<()> {
        create_private(&self.dir)
    }

    /// Stores a tally. When this returns it is on disk.
    pub fn store(&self, tally: &InstanceTally) -> Result<()> {
        self.write(&self.path(&tally.route), &tally.to_bytes())
    }

    /// Stores what the hops of an instance signed about a batch, from the first on: whoever reads a release can check them.
    pub fn store_statements(&self, route: &Route, statements: &[Signed<EpochStatement>]) -> Result<()> {
        let bytes: Vec<u8> = statements.iter().flat_map(Signed::to_bytes).collect();
        self.write(&self.statements_path(route), &bytes)
    }

    /// What the hops of an instance signed about a batch; nothing where it was not kept.
    pub fn statements(&self, route: &Route) -> Result<Vec<Signed<EpochStatement>>> {
        let path = self.statements_path(route);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let statements: Result<Vec<_>, _> = bytes.chunks(STATEMENT_LEN).map(Signed::from_bytes).collect();
        statements.with_context(|| path.display().to_string())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        (|| {
            let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&self.dir)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            fs::File::open(&self.dir)?.sync_all()
        })()
        .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The tally of a batch, if it was counted.
    pub fn read(&self, survey: &Survey, route: &Route) -> Result<Option<InstanceTally>> {
        let path = self.path(route);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let tally = InstanceTally::from_bytes(survey, &bytes).with_context(|| path.display().to_string())?;
        ensure!(tally.route == *route, "{} is the tally of another batch", path.display());
        Ok(Some(tally))
    }

    /// Whether a batch was counted or destroyed, if it was taken: what hops say in public, and all that is read of the file.
    pub fn was_counted(&self, route: &Route) -> Result<Option<bool>> {
        let path = self.path(route);
        let mut head = [0; HEAD_LEN];
        match fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        }
        let (of, counted) = InstanceTally::head(&head).with_context(|| path.display().to_string())?;
        ensure!(of == *route, "{} is the tally of another batch", path.display());
        Ok(Some(counted))
    }

    /// All tallies of an epoch, by instance.
    pub fn of_epoch(&self, survey: &Survey, label: u32, epoch: u64) -> Result<Vec<InstanceTally>> {
        let hash = survey.hash()?;
        let route = |instance| Route { survey: hash, label, epoch, instance };
        (1..=survey.delivery.instances).filter_map(|i| self.read(survey, &route(i)).transpose()).collect()
    }

    /// The epochs of which there is a tally.
    pub fn epochs(&self, label: u32) -> Result<BTreeSet<u64>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.with_context(|| format!("cannot read {}", self.dir.display()))?,
        };
        let mut epochs = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            let parts = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).map(|name| name.split('-'));
            if let Some([Ok(of), Ok(epoch), Ok(_)]) =
                parts.map(|mut parts| [(); 3].map(|()| parts.next().unwrap_or_default().parse::<u64>()))
                && of == u64::from(label)
            {
                epochs.insert(epoch);
            }
        }
        Ok(epochs)
    }

    fn path(&self, route: &Route) -> PathBuf {
        self.dir.join(format!("{}-{}-{}{SUFFIX}", route.label, route.epoch, route.instance))
    }

    fn statements_path(&self, route: &Route) -> PathBuf {
        self.path(route).with_extension("statements")
    }
}

const SUFFIX: &str = ".tally";
