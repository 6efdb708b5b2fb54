//! A process that ends after some operations of its store: the last one is done, and its answer gets lost.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use throng_batch::{Partition, Partitions, Volume, VolumeFile};
use throng_cluster::postgres::{ObjectMark, PgStore};
use throng_shuffle::{Channel, Claim, Error, Intake, Log, Mark, Refusal, Room, Store, StoreFile};

/// How many more operations succeed.
pub(crate) struct Faults(AtomicU64);

impl Default for Faults {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl Faults {
    pub(crate) fn fail_after(&self, operations: u64) {
        self.0.store(operations, Ordering::SeqCst);
    }

    /// Whether the next one is done, and whether its answer comes.
    fn next(&self) -> (bool, bool) {
        let left = self.0.load(Ordering::SeqCst);
        if left < u64::MAX {
            self.0.store(left.saturating_sub(1), Ordering::SeqCst);
        }
        // The answer of the last one gets lost: the process ends after it, and before it knows.
        (left > 0, left > 1)
    }

    fn run<T>(&self, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let gone = || io::Error::other("the process has ended");
        match self.next() {
            (false, _) => Err(gone()),
            (true, true) => operation(),
            (true, false) => operation().and(Err(gone())),
        }
    }
}

pub(crate) struct FaultyStore {
    pub(crate) store: Arc<PgStore>,
    pub(crate) faults: Arc<Faults>,
}

impl Partitions for FaultyStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        self.faults.run(|| self.store.read_range(name, bytes))
    }
}

impl Volume for FaultyStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let file = self.faults.run(|| self.store.create(name))?;
        Ok(Box::new(FaultyFile { file, faults: Arc::clone(&self.faults) }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.faults.run(|| self.store.remove(name))
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        self.faults.run(|| self.store.remove_all(names))
    }
}

impl Store for FaultyStore {
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.store.append(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.faults.run(|| self.store.names())
    }

    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        let log = self.faults.run(|| self.store.log(name))?;
        Ok(Box::new(FaultyLog { log, faults: Arc::clone(&self.faults) }))
    }

    fn intake(&self, epoch: u64, labels: &[u32]) -> io::Result<Option<Box<dyn Intake>>> {
        let intake = self.faults.run(|| self.store.intake(epoch, labels))?;
        let faulty =
            |intake| Box::new(FaultyIntake { intake, faults: Arc::clone(&self.faults) }) as Box<dyn Intake>;
        Ok(intake.map(faulty))
    }

    fn uploads(&self, channel: Channel, len: u64) -> io::Result<Vec<Partition>> {
        self.faults.run(|| self.store.uploads(channel, len))
    }
}

struct FaultyFile {
    file: Box<dyn VolumeFile>,
    faults: Arc<Faults>,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.run(|| self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl VolumeFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        self.faults.run(|| self.file.sync())
    }
}

struct FaultyLog {
    log: Box<dyn Log>,
    faults: Arc<Faults>,
}

impl Log for FaultyLog {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.faults.run(|| self.log.append(record))
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.faults.run(|| self.log.truncate(len))
    }
}

struct FaultyIntake {
    intake: Box<dyn Intake>,
    faults: Arc<Faults>,
}

impl Intake for FaultyIntake {
    fn take(&mut self, group: &[Claim<'_>], time_bucket: u64, room: Room) -> Vec<Result<u64, Refusal>> {
        let taken = self.faults.run(|| Ok(self.intake.take(group, time_bucket, room)));
        taken.unwrap_or_else(|_| vec![Err(Refusal::Full); group.len()])
    }

    fn close(&mut self, label: u32) -> Result<u64, Error> {
        let mut closed = None;
        self.faults.run(|| {
            closed = Some(self.intake.close(label));
            Ok(())
        })?;
        closed.unwrap()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.intake.sync()
    }
}

pub(crate) struct FaultyMark {
    pub(crate) mark: ObjectMark,
    pub(crate) faults: Arc<Faults>,
}

impl Mark for FaultyMark {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        self.faults.run(|| self.mark.load())
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        self.faults.run(|| self.mark.save(bytes))
    }
}
