//! Directories that are replaced whole, by one atomic rename: whoever reads finds all files of one time, and a process that is
//! killed leaves what was there before or what is there now.
//!
//! ```text
//! a temporary directory beside it -> write and fsync -> exchange of the two names -> fsync of the parent -> remove the old one
//! ```
//!
//! `rename` cannot replace a directory that is not empty, so the two change their names at once (`RENAME_EXCHANGE`). Where a file
//! system cannot do that, the old one is set aside under a second name first, and is read from there if its successor never
//! comes. Readers hold a shared lock, so that nothing is removed between two of their reads.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};

use crate::atomic_file::{PREFIX, PRIVATE, SUFFIX, parent, step, sync_directory};
use crate::faults::{Step, abort_at};
use crate::out_dir::OutDir;

/// A directory that is there whole or not at all.
#[derive(Clone, Debug)]
pub struct AtomicDir {
    path: PathBuf,
    parent: Parent,
}

/// What else the parent directory has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    /// Atomic directories, and nothing else.
    Own,
    /// What people keep there. Nothing of that is touched, and no file for a lock is left there.
    Shared,
}

/// A directory that is being read: it stays as it is until this is dropped.
#[derive(Debug)]
pub struct OpenDir {
    path: PathBuf,
    _lock: Option<File>,
}

impl OpenDir {
    /// Where its files are.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AtomicDir {
    /// The one at this path, whether or not it is there yet. Its parent is for such directories alone.
    pub fn new(path: PathBuf) -> Self {
        Self { path, parent: Parent::Own }
    }

    /// The one at a path that somebody chose, whatever else is beside it. A link is followed.
    pub fn among_others(path: &Path) -> io::Result<Self> {
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => std::path::absolute(path)?,
            found => found?,
        };
        Ok(Self { path, parent: Parent::Shared })
    }

    /// Where it is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the atomic directories in a parent; none if that is not there.
    pub fn names(parent: &Path) -> io::Result<BTreeSet<String>> {
        let _lock = lock_shared(parent)?;
        let entries = match fs::read_dir(parent) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if entry.file_type()?.is_dir() && !is_unfinished(&name) {
                names.insert(name.strip_suffix(ASIDE).unwrap_or(&name).to_owned());
            }
        }
        Ok(names)
    }

    /// Opens it to read; `None` if it is not there.
    pub fn open(&self) -> io::Result<Option<OpenDir>> {
        let lock = lock_shared(parent(&self.path))?;
        let there = [self.path.clone(), self.aside()].into_iter().find(|path| path.is_dir());
        Ok(there.map(|path| OpenDir { path, _lock: lock }))
    }

    /// Puts these files there, and nothing else, in place of what is there. Waits for those who read.
    pub fn write(&self, files: &[(impl AsRef<str>, Vec<u8>)]) -> Result<()> {
        self.write_by(files, exchange)
    }

    fn write_by(
        &self,
        files: &[(impl AsRef<str>, Vec<u8>)],
        exchange: fn(&Path, &Path) -> io::Result<()>,
    ) -> Result<()> {
        let parent = parent(&self.path);
        let cannot = || format!("cannot write {}", self.path.display());
        fs::create_dir_all(parent).with_context(cannot)?;
        let _lock = self.lock().with_context(cannot)?;
        self.clean().with_context(cannot)?;
        let new = self.unfinished();
        let written = OutDir::open(&new).and_then(|out| out.write(files)).and_then(|()| {
            abort_at("directory-written");
            self.replace(&new, exchange).with_context(cannot)
        });
        abort_at("directory-replaced");
        // The old one, or what could not be written.
        let cleaned = self.clean().with_context(cannot);
        written.and(cleaned)
    }

    fn replace(&self, new: &Path, exchange: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let parent = parent(&self.path);
        if self.path.exists() {
            match exchange(new, &self.path) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    rename(&self.path, &self.aside())?;
                    sync_directory(parent)?;
                    abort_at("directory-aside");
                }
                exchanged => return exchanged.and_then(|()| sync_directory(parent)),
            }
        }
        rename(new, &self.path)?;
        sync_directory(parent)
    }

    /// Removes what writers have left, of which none is at work. An old one without its successor is put back.
    fn clean(&self) -> io::Result<()> {
        let (parent, aside) = (parent(&self.path), self.aside());
        if aside.is_dir() {
            match self.path.exists() {
                true => fs::remove_dir_all(&aside)?,
                false => rename(&aside, &self.path)?,
            }
        }
        if self.parent == Parent::Shared {
            let own = self.unfinished();
            return if own.is_dir() { fs::remove_dir_all(own) } else { Ok(()) };
        }
        for entry in fs::read_dir(parent)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_unfinished) && entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Waits until nobody reads or writes.
    fn lock(&self) -> io::Result<Option<File>> {
        let parent = parent(&self.path);
        if self.parent == Parent::Shared {
            // A file system that cannot lock directories does without: of two who write at once there, one may fail.
            let directory = File::open(parent)?;
            return Ok(directory.lock().ok().map(|()| directory));
        }
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).mode(PRIVATE).open(parent.join(LOCK))?;
        lock.lock()?;
        Ok(Some(lock))
    }

    /// What it is called while it is written.
    fn unfinished(&self) -> PathBuf {
        self.named(PREFIX, SUFFIX)
    }

    /// What the old one is called between the two renames of a file system that cannot exchange names.
    fn aside(&self) -> PathBuf {
        self.named(if self.parent == Parent::Shared { PREFIX } else { "" }, ASIDE)
    }

    fn named(&self, prefix: &str, suffix: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().display();
        self.path.with_file_name(format!("{prefix}{name}{suffix}"))
    }
}

fn is_unfinished(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(Step::Name, to);
    fs::rename(from, to)
}

/// Two directories change their names, at once.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    step(Step::Name, old);
    renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).map_err(|error| match error {
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => ErrorKind::Unsupported.into(),
        other => other.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_new: &Path, _old: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Waits until nobody writes. Whoever writes has made the file before: without it nobody does.
fn lock_shared(parent: &Path) -> io::Result<Option<File>> {
    let lock = match File::open(parent.join(LOCK)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        lock => lock?,
    };
    lock.lock_shared()?;
    Ok(Some(lock))
}

const ASIDE: &str = ".before";
const LOCK: &str = "lock";

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::faults::Step::{Name, Sync, Write};
    use crate::faults::trace;

    fn files(text: &str) -> [(&'static str, Vec<u8>); 2] {
        [("one", text.into()), ("two", text.into())]
    }

    fn read(dir: &AtomicDir) -> Option<[String; 2]> {
        let open = dir.open().unwrap()?;
        Some(["one", "two"].map(|name| fs::read_to_string(open.path().join(name)).unwrap()))
    }

    fn entries(parent: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(parent).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn never(_: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_directory_is_replaced_whole_with_and_without_an_exchange_of_names() {
        for exchange in [exchange, never] {
            let base = tempfile::tempdir().unwrap();
            let dir = AtomicDir::new(base.path().join("a/b/7"));
            assert!(read(&dir).is_none() && AtomicDir::names(&base.path().join("a/b")).unwrap().is_empty());
            for text in ["first", "second", "third"] {
                dir.write_by(&files(text), exchange).unwrap();
                assert_eq!(read(&dir).unwrap(), [text, text]);
                assert_eq!(entries(&base.path().join("a/b")), names(&["7", "lock"]));
            }
            // What was there and is not given is gone.
            dir.write_by(&files("fourth")[..1], exchange).unwrap();
            assert_eq!(entries(dir.path()), names(&["one"]));
            assert_eq!(AtomicDir::names(&base.path().join("a/b")).unwrap(), names(&["7"]));
        }
    }

    /// All bytes are on disk before the name, and the name before the old ones go.
    #[test]
    fn a_directory_is_synced_before_and_after_it_gets_its_name() {
        let base = tempfile::tempdir().unwrap();
        let dir = AtomicDir::new(base.path().join("7"));
        let written = [
            (Write, "*"),
            (Sync, "*"),
            (Write, "*"),
            (Sync, "*"),
            (Name, ".throng-7.tmp/one"),
            (Name, ".throng-7.tmp/two"),
            (Sync, "*"),
            (Name, "7"),
            (Sync, ""),
        ];
        for _ in 0..2 {
            let steps = trace::of(base.path(), || dir.write(&files("text")).unwrap());
            assert_eq!(steps, written.map(|(step, name)| (step, name.to_owned())));
        }
        let steps = trace::of(base.path(), || dir.write_by(&files("text"), never).unwrap());
        let renamed = [(Name, "7.before"), (Sync, ""), (Name, "7"), (Sync, "")];
        assert_eq!(steps[7..], renamed.map(|(step, name)| (step, name.to_owned())));
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let base = tempfile::tempdir().unwrap();
        let dir = AtomicDir::new(base.path().join("7"));
        dir.write(&files("first")).unwrap();
        dir.write(&[("no/such/place", vec![1])]).unwrap_err();
        assert_eq!(read(&dir).unwrap(), ["first", "first"]);
        assert_eq!(entries(base.path()), names(&["7", "lock"]));
    }

    /// Each reader finds the files of one time, however often they are replaced meanwhile.
    #[test]
    fn nobody_reads_files_of_two_times() {
        for exchange in [exchange, never] {
            let base = tempfile::tempdir().unwrap();
            let dir = AtomicDir::new(base.path().join("7"));
            dir.write_by(&files("0"), exchange).unwrap();
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for text in 1..=40 {
                        dir.write_by(&files(&text.to_string()), exchange).unwrap();
                    }
                    done.store(true, Ordering::SeqCst);
                });
                while !done.load(Ordering::SeqCst) {
                    let [one, two] = read(&dir).unwrap();
                    assert_eq!(one, two);
                    assert_eq!(AtomicDir::names(base.path()).unwrap(), names(&["7"]));
                    // Room for the one who writes.
                    std::thread::yield_now();
                }
            });
            assert_eq!(read(&dir).unwrap(), ["40", "40"]);
        }
    }

    /// Beside what people keep, nothing else is touched, and nothing is left.
    #[test]
    fn among_others_it_touches_nothing_else() {
        for exchange in [exchange, never] {
            let base = tempfile::tempdir().unwrap();
            for name in ["7.before", ".throng-8.tmp", "other"] {
                fs::create_dir(base.path().join(name)).unwrap();
            }
            std::os::unix::fs::symlink("7", base.path().join("link")).unwrap();
            let found = entries(base.path());
            let dir = AtomicDir::among_others(&base.path().join("7")).unwrap();
            dir.write_by(&files("first"), exchange).unwrap();
            // By a link the same directory is meant, and the link stays one.
            let linked = AtomicDir::among_others(&base.path().join("link")).unwrap();
            linked.write_by(&files("second"), exchange).unwrap();
            assert_eq!(read(&dir).unwrap(), ["second", "second"]);
            assert!(base.path().join("link").is_symlink());
            assert_eq!(entries(base.path()), &found | &names(&["7"]));
        }
    }

    /// Killed in any step, it leaves the old files or the new ones, and the next writer removes the rest.
    #[test]
    fn a_writer_that_is_killed_in_any_step_leaves_all_old_files_or_all_new_ones() {
        const AT: &str = "THRONG_TEST_ATOMIC_STEP";
        if let Some(path) = std::env::var_os(AT) {
            // In the process that is killed.
            return AtomicDir::among_others(Path::new(&path)).unwrap().write(&files("new")).unwrap();
        }
        let test =
            "atomic_dir::tests::a_writer_that_is_killed_in_any_step_leaves_all_old_files_or_all_new_ones";
        let mut found = Vec::new();
        for step in 0.. {
            let base = tempfile::tempdir().unwrap();
            let dir = AtomicDir::among_others(&base.path().join("7")).unwrap();
            dir.write(&files("old")).unwrap();
            let mut writer = Command::new(std::env::current_exe().unwrap());
            writer.args(["--exact", test]).env(AT, dir.path());
            let ended = writer.env("THRONG_TEST_ABORT_STEP", step.to_string()).output().unwrap();
            let [one, two] = read(&dir).unwrap();
            assert_eq!(one, two, "step {step}");
            assert_eq!(entries(dir.path()), names(&["one", "two"]), "step {step}");
            found.push(one);
            if ended.status.success() {
                break;
            }
            assert!(ended.status.signal().is_some(), "step {step}: {ended:?}");
            dir.write(&files("next")).unwrap();
            assert_eq!(entries(base.path()), names(&["7"]), "step {step}");
        }
        // Two files are written, synced and named, and their directory synced; then it is exchanged, and the parent synced.
        let (old, new) = found.split_at(found.iter().position(|one| one == "new").unwrap());
        assert!(old.iter().all(|one| one == "old") && new.iter().all(|one| one == "new"), "{found:?}");
        assert_eq!((old.len(), new.len()), (8, 2));
    }

    /// Killed at any place, it leaves the old files or the new ones, and the next writer removes the rest.
    #[test]
    fn a_writer_that_is_killed_leaves_the_old_files_or_the_new_ones() {
        const AT: &str = "THRONG_TEST_ATOMIC_DIR";
        if let Some(path) = std::env::var_os(AT) {
            // In the process that is killed.
            let path = PathBuf::from(path);
            let exchange = if path.ends_with("never") { never } else { exchange };
            return AtomicDir::new(path).write_by(&files("new"), exchange).unwrap();
        }
        let cases = [
            ("directory-written", "exchange", "old", &[".throng-exchange.tmp", "exchange", "lock"][..]),
            ("directory-replaced", "exchange", "new", &[".throng-exchange.tmp", "exchange", "lock"]),
            ("directory-written", "never", "old", &[".throng-never.tmp", "lock", "never"]),
            ("directory-aside", "never", "old", &[".throng-never.tmp", "lock", "never.before"]),
            ("directory-replaced", "never", "new", &["lock", "never", "never.before"]),
        ];
        for (place, name, expected, left) in cases {
            let base = tempfile::tempdir().unwrap();
            let dir = AtomicDir::new(base.path().join(name));
            dir.write(&files("old")).unwrap();
            let test = "atomic_dir::tests::a_writer_that_is_killed_leaves_the_old_files_or_the_new_ones";
            let mut killed = Command::new(std::env::current_exe().unwrap());
            killed.args(["--exact", test]).env(AT, dir.path()).env("THRONG_TEST_ABORT_AT", place);
            let killed = killed.output().unwrap();
            assert!(killed.status.signal().is_some(), "{place}: {killed:?}");
            assert_eq!(entries(base.path()), names(left), "{place}");
            assert_eq!(read(&dir).unwrap(), [expected, expected], "{place}");
            assert_eq!(AtomicDir::names(base.path()).unwrap(), names(&[name]), "{place}");
            // Whoever writes next, even another directory, removes what has no meaning.
            AtomicDir::new(base.path().join("other")).write(&files("other")).unwrap();
            assert_eq!(read(&dir).unwrap(), [expected, expected], "{place}");
            dir.write(&files("next")).unwrap();
            assert_eq!(read(&dir).unwrap(), ["next", "next"], "{place}");
            assert_eq!(entries(base.path()), names(&[name, "lock", "other"]), "{place}");
        }
    }
}
