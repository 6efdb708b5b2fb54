//! Atomic, durable writes: files that are there whole or not at all, and on disk before anything rests on them.
//!
//! ```text
//! a temporary name in the same directory -> write -> fsync -> rename -> fsync of the directory
//! ```
//!
//! Files that only grow are appended to and synced in the same order, and the directory with them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::faults::{self, Step};

/// For the owner alone.
pub const PRIVATE: u32 = 0o600;
/// For everybody to read.
pub const PUBLIC: u32 = 0o644;
/// As the umask has it: results that others may read or change as far as their owner lets them.
pub const RESULT: u32 = 0o666;

/// A file that is removed unless it gets its name.
pub struct PendingFile(NamedTempFile);

impl PendingFile {
    /// An empty one in a directory.
    pub fn new(directory: &Path, mode: u32) -> io::Result<Self> {
        Self::begin(directory, PREFIX, mode)
    }

    /// An empty one for a file in a directory that others write to as well: `remove_unfinished_of` removes it and leaves theirs.
    pub fn of(path: &Path, mode: u32) -> io::Result<Self> {
        Self::begin(parent(path), &prefix_of(path), mode)
    }

    fn begin(directory: &Path, prefix: &str, mode: u32) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).suffix(SUFFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        Ok(Self(builder.tempfile_in(directory)?))
    }

    /// All that was written is on disk when this returns.
    pub fn complete(self) -> io::Result<SyncedFile> {
        sync(self.0.as_file(), self.0.path())?;
        Ok(SyncedFile(self.0))
    }

    /// Gives it its name, for good.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        self.complete()?.replace(path)?;
        sync_directory(parent(path))
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step(Step::Write, self.0.path());
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One whose bytes are on disk, and whose name is not given yet.
pub struct SyncedFile(NamedTempFile);

impl SyncedFile {
    /// Gives it its name, in place of what had it. The directory is still to be synced.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        step(Step::Name, path);
        self.0.persist(path).map(drop).map_err(|error| error.error)
    }

    /// The same where nothing has the name.
    pub fn name(self, path: &Path) -> io::Result<()> {
        step(Step::Name, path);
        self.0.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }
}

/// Writes a file so that it is on disk, whole, when this returns.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = PendingFile::new(parent(path), mode)?;
    file.write_all(bytes)?;
    file.finish(path)
}

/// Writes a file that is not there yet, in the same way.
pub fn create(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = PendingFile::new(parent(path), mode)?;
    file.write_all(bytes)?;
    file.complete()?.name(path)?;
    sync_directory(parent(path))
}

/// Adds to the end of a private file, which is made if it is not there. All of it is on disk when this returns.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE);
    let mut file = options.open(path)?;
    step(Step::Write, path);
    file.write_all(bytes)?;
    sync(&file, path)?;
    sync_directory(parent(path))
}

/// Cuts a file off, for good.
pub fn truncate(path: &Path, len: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(len)?;
    sync(&file, path)
}

/// Gives a file another name, for good.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(Step::Name, to);
    fs::rename(from, to)?;
    sync_directory(parent(to))
}

/// Removes a file, for good; says whether there was one.
pub fn remove(path: &Path) -> io::Result<bool> {
    step(Step::Remove, path);
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.and_then(|()| sync_directory(parent(path))).map(|()| true),
    }
}

/// Puts the names in a directory on disk. Only Unix has directories that can be opened for this.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { sync(&File::open(directory)?, directory) } else { Ok(()) }
}

/// Removes what a process that was killed had begun to write: it has no meaning.
pub fn remove_unfinished(directory: &Path) -> io::Result<()> {
    remove_begun(directory, PREFIX)
}

/// The same for one file, begun as `PendingFile::of`.
pub fn remove_unfinished_of(path: &Path) -> io::Result<()> {
    remove_begun(parent(path), &prefix_of(path))
}

fn prefix_of(path: &Path) -> String {
    format!("{PREFIX}{}-", path.file_name().unwrap_or_default().display())
}

fn remove_begun(directory: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The directory that a file is in.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The only place where this module syncs. A hop's own files are synced by `file_store`, which keeps its directory open and counts
/// its steps for tests that stop it at each of them; `operate::directory` syncs a file without a name, to see whether it can.
fn sync(file: &File, path: &Path) -> io::Result<()> {
    step(Step::Sync, path);
    file.sync_all()
}

/// Notes a step for tests, who know temporary files as `*`.
pub(crate) fn step(step: Step, path: &Path) {
    let temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    faults::step(step, if temporary { Path::new("*") } else { path });
}

pub(crate) const PREFIX: &str = ".throng-";
pub(crate) const SUFFIX: &str = ".tmp";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::faults::trace;

    fn named(steps: &[(Step, &str)]) -> Vec<(Step, String)> {
        steps.iter().map(|&(step, name)| (step, name.to_owned())).collect()
    }

    /// What cannot be synced is an error, so what returns was synced: no file of this kind can be.
    #[test]
    fn what_is_not_on_disk_is_an_error() {
        let null = File::options().write(true).open("/dev/null").unwrap();
        assert!(sync(&null, Path::new("/dev/null")).is_err());
        assert!(append(Path::new("/dev/null"), b"lost").is_err());
    }

    /// Bytes before the name, and the name before anything else.
    #[test]
    fn files_are_synced_before_and_after_they_get_their_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let expected = [(Step::Write, "*"), (Step::Sync, "*"), (Step::Name, "file"), (Step::Sync, "")];
        assert_eq!(trace::of(directory.path(), || write(&path, b"one", PRIVATE).unwrap()), named(&expected));
        assert!(create(&path, b"two", PRIVATE).is_err());
        let grown = trace::of(directory.path(), || append(&path, b" and two").unwrap());
        assert_eq!(grown, named(&[(Step::Write, "file"), (Step::Sync, "file"), (Step::Sync, "")]));
        assert_eq!(fs::read(&path).unwrap(), b"one and two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, PRIVATE);
        let moved = directory.path().join("moved");
        let renamed = trace::of(directory.path(), || rename(&path, &moved).unwrap());
        assert_eq!(renamed, named(&[(Step::Name, "moved"), (Step::Sync, "")]));
        let removed = trace::of(directory.path(), || assert!(remove(&moved).unwrap()));
        assert_eq!(removed, named(&[(Step::Remove, "moved"), (Step::Sync, "")]));
        assert!(!remove(&moved).unwrap());
    }

    #[test]
    fn what_was_not_finished_is_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = PendingFile::new(directory.path(), RESULT).unwrap();
        file.write_all(b"half").unwrap();
        let left = file.0.into_temp_path().keep().unwrap();
        fs::write(directory.path().join("other.tmp"), "").unwrap();
        remove_unfinished(directory.path()).unwrap();
        assert!(!left.exists() && directory.path().join("other.tmp").exists());
    }
}
