//! Tallies on disk: a file for every batch that was counted.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use throng_analyze::{HEAD_LEN, InstanceTally};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Digest, EpochStatement, Hasher, Route, Signed, SignedSurvey, Survey, SurveyHash};

use super::create_private;
use crate::error::{Context, Error, Result};
use throng_host::atomic_file;
use throng_host::{bail, ensure};

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

    /// What the hops of an instance signed about a batch that was counted or destroyed, checked again: all of them, about this
    /// batch and no other.
    pub fn statements(&self, survey: &SignedSurvey, route: &Route) -> Result<Vec<Signed<EpochStatement>>> {
        let path = self.statements_path(route);
        let damaged = || format!("{}: put back a copy of it", path.display());
        let bytes = fs::read(&path).damaged(damaged)?;
        let statements: Result<Vec<Signed<EpochStatement>>, _> =
            bytes.chunks(STATEMENT_LEN).map(Signed::from_bytes).collect();
        let statements = statements.damaged(damaged)?;
        let hops = survey.survey().delivery.hops;
        for (hop, signed) in (1..).zip(&statements) {
            let said = signed.verify(survey).damaged(damaged)?;
            if said.route != *route || said.hop != hop {
                bail!(Damaged, "it is about another batch or hop: {}", damaged());
            }
        }
        ensure!(
            statements.len() as u64 == u64::from(hops),
            Damaged,
            "there is not one of each hop: {}",
            damaged()
        );
        Ok(statements)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        atomic_file::write(path, bytes, atomic_file::PRIVATE)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The tally of a batch, if it was counted.
    pub fn read(&self, survey: &Survey, route: &Route) -> Result<Option<InstanceTally>> {
        let path = self.path(route);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let tally = InstanceTally::from_bytes(survey, &bytes)
            .damaged(|| format!("{}: put back a copy of it", path.display()))?;
        ensure!(tally.route == *route, Damaged, "{} is the tally of another batch", path.display());
        Ok(Some(tally))
    }

    /// Whether a batch was counted (`true`) or destroyed (`false`); `None` if there is no tally of it. Hops say that much
    /// in public. Nothing else of the file is looked at, besides that it is whole.
    pub fn was_counted(&self, route: &Route) -> Result<Option<bool>> {
        let path = self.path(route);
        let damaged = || format!("{}: put back a copy of it", path.display());
        let head = match fs::File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.and_then(|file| whole_head(BufReader::new(file))).damaged(damaged)?,
        };
        let head = head.ok_or_else(|| Error::damaged(damaged()))?;
        let (of, counted) = InstanceTally::head(&head).damaged(damaged)?;
        ensure!(of == *route, Damaged, "{} is the tally of another batch", path.display());
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

/// How a tally begins, if the hash at its end is that of all before.
fn whole_head(mut file: impl Read) -> std::io::Result<Option<[u8; HEAD_LEN]>> {
    let mut head = [0; HEAD_LEN];
    if let Err(error) = file.read_exact(&mut head) {
        return if error.kind() == ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let mut hasher = Hasher::new();
    hasher.update(&head);
    // The last bytes so far may be the hash.
    let (mut last, mut part) = (Vec::new(), vec![0; PART_LEN]);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            let whole = last.try_into().is_ok_and(|hash: [u8; 32]| hasher.finish() == Digest::new(hash));
            return Ok(whole.then_some(head));
        }
        last.extend_from_slice(&part[..read]);
        let content = last.len().saturating_sub(32);
        hasher.update(&last[..content]);
        last.drain(..content);
    }
}

const PART_LEN: usize = 1 << 16;
const SUFFIX: &str = ".tally";
