//! Batches that an analyzer has taken and not opened: sealed, as the last hop gave them.
//!
//! A batch waits here until the ledger has an entry for its epoch, and is opened then; or until it is older than the survey
//! allows, and is erased, which leaves a note behind. Whoever has the file and the analyzer's layer keys can open it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use throng_analyze::{BatchCheck, BatchHead};
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{BatchCount, Digest, EpochStatement, Route, Signed, SignedSurvey, SurveyHash};

use super::create_private;
use crate::error::{Context, Error, Result};
use throng_host::atomic_file::{self, PRIVATE, PendingFile};
use throng_host::ensure;

/// The sealed batches of one survey. A file is there whole or not at all.
#[derive(Clone, Debug)]
pub struct SealedFiles {
    dir: PathBuf,
}

/// A batch that was erased without having been opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedBatch {
    /// The hash of the batch, as the last hop signed it.
    pub batch: Digest,
}

/// A sealed batch that is being written.
pub struct SealedBatchWriter {
    file: BufWriter<PendingFile>,
    check: BatchCheck,
    path: PathBuf,
}

/// Nobody else opens or erases batches of the survey while this is held.
pub struct SealedLock {
    _file: File,
}

impl SealedFiles {
    /// The sealed batches of a survey in an analyzer's data directory, whether or not there are any yet.
    pub fn new(data: &Path, survey: SurveyHash) -> Self {
        Self { dir: data.join("sealed").join(survey.to_string()) }
    }

    /// Makes their directory, and removes what a process that was killed had begun to write.
    pub fn create(&self) -> Result<()> {
        create_private(&self.dir)?;
        atomic_file::remove_unfinished(&self.dir)
            .with_context(|| format!("cannot clean {}", self.dir.display()))
    }

    /// Waits until nobody else opens or erases batches of the survey.
    pub fn lock(&self) -> Result<SealedLock> {
        let file = self.lock_file()?;
        file.lock().with_context(|| format!("cannot lock {}", self.dir.display()))?;
        Ok(SealedLock { _file: file })
    }

    /// The same without waiting: `None` while somebody else opens or erases batches.
    pub fn try_lock(&self) -> Result<Option<SealedLock>> {
        let file = self.lock_file()?;
        Ok(file.try_lock().is_ok().then_some(SealedLock { _file: file }))
    }

    fn lock_file(&self) -> Result<File> {
        create_private(&self.dir)?;
        let path = self.dir.join("lock");
        let options = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        options.with_context(|| format!("cannot open {}", path.display()))
    }

    /// Begins to store a batch: what the hops say about it comes first.
    pub fn begin(
        &self,
        head: BatchHead,
        statements: &[Signed<EpochStatement>],
        count: &BatchCount,
    ) -> Result<SealedBatchWriter> {
        let path = self.path(&head.route(), SEALED);
        let file = PendingFile::new(&self.dir, PRIVATE);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(MAGIC)?;
        for statement in statements {
            file.write_all(&statement.to_bytes())?;
        }
        file.write_all(&count.to_bytes())?;
        Ok(SealedBatchWriter { file, check: BatchCheck::new(head), path })
    }

    /// What the hops said about a batch that waits, checked again.
    pub fn head(&self, survey: &SignedSurvey, route: &Route) -> Result<Option<BatchHead>> {
        Ok(self.open(survey, route)?.map(|(head, _)| head))
    }

    /// The same, and its envelopes.
    pub fn open(&self, survey: &SignedSurvey, route: &Route) -> Result<Option<(BatchHead, BufReader<File>)>> {
        let path = self.path(route, SEALED);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let head = (|| {
            let hops = survey.survey().delivery.hops as usize;
            let mut bytes = vec![0; MAGIC.len() + hops * STATEMENT_LEN + BATCH_COUNT_LEN];
            reader.read_exact(&mut bytes)?;
            let (statements, count) =
                bytes.split_last_chunk().ok_or_else(|| Error::damaged("it is too short"))?;
            let statements =
                statements.strip_prefix(MAGIC).ok_or_else(|| Error::damaged("it is no sealed batch"))?;
            let statements: Result<Vec<Signed<EpochStatement>>, _> =
                statements.chunks_exact(STATEMENT_LEN).map(Signed::from_bytes).collect();
            Ok::<_, Error>(BatchHead::check(survey, *route, &statements?, BatchCount::from_bytes(count))?)
        })();
        let head = head.damaged(|| format!("{}: put back a copy of it", path.display()))?;
        Ok(Some((head, reader)))
    }

    /// Reads all of a batch that waits, and compares it with what the hops said. One that was opened or erased meanwhile is fine.
    pub fn check(&self, survey: &SignedSurvey, route: &Route) -> Result<()> {
        let Some((head, mut envelopes)) = self.open(survey, route)? else { return Ok(()) };
        let (mut check, mut part) = (BatchCheck::new(head), vec![0; BUFFER]);
        let advice = || format!("{}: put back a copy of it", self.path(route, SEALED).display());
        loop {
            match envelopes.read(&mut part).with_context(advice)? {
                0 => return check.end().with_context(advice),
                read => check.read(&part[..read]).with_context(advice)?,
            }
        }
    }

    /// Whether a batch waits. Nothing of it is read.
    pub fn waits(&self, route: &Route) -> bool {
        self.path(route, SEALED).exists()
    }

    /// Removes a batch that was opened.
    pub fn remove(&self, route: &Route) -> Result<()> {
        let path = self.path(route, SEALED);
        atomic_file::remove(&path).map(drop).with_context(|| format!("cannot remove {}", path.display()))
    }

    /// Erases a batch that nobody has opened, and notes that first.
    pub fn erase(&self, survey: &SignedSurvey, route: &Route) -> Result<()> {
        if let Some(head) = self.head(survey, route)? {
            let path = self.path(route, ERASED);
            atomic_file::write(&path, erased(route, &head.batch()).as_bytes(), PRIVATE)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        self.remove(route)
    }

    /// Whether a batch was erased without having been opened.
    pub fn erased(&self, route: &Route) -> Result<Option<ErasedBatch>> {
        let path = self.path(route, ERASED);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let text = str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(ERASED_HEADER));
        let batch = text.and_then(|text| text.lines().next()).and_then(|line| line.parse::<Digest>().ok());
        let whole = batch.filter(|batch| erased(route, batch).as_bytes() == bytes);
        ensure!(whole.is_some(), Damaged, "{} is damaged: put back a copy of it", path.display());
        Ok(whole.map(|batch| ErasedBatch { batch }))
    }

    /// The label, epoch and instance of every batch that waits.
    pub fn waiting(&self) -> Result<BTreeSet<(u32, u64, u32)>> {
        self.listed(SEALED)
    }

    /// The epochs of which a batch waits or was erased, under whatever label.
    pub fn kept(&self) -> Result<BTreeSet<u64>> {
        let all = self.listed(SEALED)?.into_iter().chain(self.listed(ERASED)?);
        Ok(all.map(|(_, epoch, _)| epoch).collect())
    }

    /// The same under one label.
    pub fn epochs(&self, label: u32) -> Result<BTreeSet<u64>> {
        let all = self.listed(SEALED)?.into_iter().chain(self.listed(ERASED)?);
        Ok(all.filter(|(of, ..)| *of == label).map(|(_, epoch, _)| epoch).collect())
    }

    fn listed(&self, suffix: &str) -> Result<BTreeSet<(u32, u64, u32)>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.with_context(|| format!("cannot read {}", self.dir.display()))?,
        };
        let mut all = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            let mut parts =
                name.to_str().and_then(|name| name.strip_suffix(suffix)).unwrap_or_default().split('-');
            let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
            if let (Some(label), Some(epoch), Some(instance)) = (number(), number(), number()) {
                all.insert((label as u32, epoch, instance as u32));
            }
        }
        Ok(all)
    }

    fn path(&self, route: &Route, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}-{}-{}{suffix}", route.label, route.epoch, route.instance))
    }
}

impl SealedBatchWriter {
    /// The next bytes of the batch.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check.read(bytes)?;
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Ends what is not kept, if it is the batch that the hops mean: there is nothing in it.
    pub fn discard(mut self) -> Result<()> {
        Ok(self.check.end()?)
    }

    /// Ends it. If it is the batch that the hops mean, it is on disk when this returns; any other is gone.
    pub fn finish(mut self) -> Result<()> {
        self.check.end()?;
        (|| {
            let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.finish(&self.path)
        })()
        .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// The note that a batch was erased: its hash, and one of all that, with the batch that it is about.
fn erased(route: &Route, batch: &Digest) -> String {
    let content = format!("{ERASED_HEADER}{batch}\n");
    let check = Digest::of(&[content.as_bytes(), &route.to_bytes()].concat());
    format!("{content}{check}\n")
}

const ERASED_HEADER: &str = "throng-v1 erased batch\n";
const MAGIC: &[u8] = b"throng-v1 sealed batch\n";
const SEALED: &str = ".sealed";
const ERASED: &str = ".erased";
const BUFFER: usize = 1 << 16;
