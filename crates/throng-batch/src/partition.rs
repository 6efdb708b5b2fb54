//! The storage of batches: named files with ranged reads, and as many writers as there are names.
//!
//! That is all an engine needs of a disk. A directory does it, memory does it in tests, and object storage can: a file is
//! written once, from front to back, and read in ranges.

use std::io::{self, Read, Write};
use std::ops::Range;

use throng_wire::Digest;

/// A range of a named file that holds whole records, or whole bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The file.
    pub name: String,
    /// Which of its bytes. A file may end before the range does.
    pub bytes: Range<u64>,
    /// The SHA-256 of these bytes, where it is known beforehand: whoever reads them elsewhere, without the keys that they are
    /// authenticated by, can compare it.
    pub digest: Option<Digest>,
}

impl Partition {
    /// All of a file, whatever its length.
    pub fn whole(name: impl Into<String>) -> Self {
        Self { name: name.into(), bytes: 0..u64::MAX, digest: None }
    }

    /// The first bytes of a file.
    pub fn first(name: impl Into<String>, len: u64) -> Self {
        Self { name: name.into(), bytes: 0..len, digest: None }
    }
}

/// Files that can be read in ranges.
pub trait Partitions: Send + Sync {
    /// Reads some bytes of a file, as far as there are so many, or tells that there is no such file
    /// (`ErrorKind::NotFound`).
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>>;

    /// Reads a file from its start to its end.
    fn read(&self, name: &str) -> io::Result<Box<dyn Read + Send>> {
        self.read_range(name, 0..u64::MAX)
    }
}

/// Files that can be written, too. One that is written but not synced may be gone, or be any mixture of old and new, after
/// a crash.
pub trait Volume: Partitions {
    /// Starts a file; one that exists is emptied. Several can be written at once.
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>>;

    /// Removes a file for good. One that does not exist is removed already.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Removes several files for good, in whatever way is cheaper than one after another.
    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        names.iter().try_for_each(|name| self.remove(name))
    }
}

/// A file that is being written, from front to back.
pub trait VolumeFile: Write + Send {
    /// Returns when everything written so far survives a crash, the file's existence included.
    fn sync(&mut self) -> io::Result<()>;

    /// A second handle to the same file, to sync what was written so far while more is being written; `None` where a sync
    /// takes no time.
    fn twin(&self) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(None)
    }
}
