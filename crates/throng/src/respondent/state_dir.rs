//! The directory in which a respondent keeps what must not be lost, and must not be seen.
//!
//! Every file is written whole, under another name first, and is on the disk before anything goes on. Files
//! that are damaged or missing are an error: making them anew would randomize again, and spend again what the
//! ledger forgot.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use aws_lc_rs::hmac;
use getrandom::rand_core::CryptoRng;
use throng_wire::Digest;
use zeroize::Zeroizing;

use crate::crash::Crash;

/// An open state directory. No other process can open it at the same time, but to look at it.
#[derive(Debug)]
pub(super) struct StateDir {
    path: PathBuf,
    _lock: Option<File>,
    crash: Crash,
}

impl StateDir {
    /// Opens a directory, making it if needed. It is for its owner alone.
    pub(super) fn open(path: &Path) -> Result<Self> {
        create(path).with_context(|| format!("cannot use {} as state directory", path.display()))?;
        check_private(path)?;
        let lock = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(path.join(LOCK))
            .with_context(|| format!("cannot write to {}", path.display()))?;
        take(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
        let state = Self { path: path.to_owned(), _lock: Some(lock), crash: Crash::from_env() };
        for folder in ["", OUTBOX, PERMANENT, SURVEYS] {
            let folder = path.join(folder);
            create(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            remove_unfinished(&folder)?;
        }
        sync(path)?;
        Ok(state)
    }

    /// A directory as it is, to be looked at: nothing is made in it, and the lock is left to those who write. Files are
    /// written whole, so what is read is what was there before or after.
    pub(super) fn look_at(path: &Path) -> Result<Self> {
        ensure!(
            path.join(LOCK).is_file(),
            "{} is no state directory: name the one that you answer with",
            path.display()
        );
        check_private(path)?;
        Ok(Self { path: path.to_owned(), _lock: None, crash: Crash::from_env() })
    }

    /// Where a file is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether there is a file.
    pub(super) fn has(&self, name: &str) -> Result<bool> {
        let path = self.path(name);
        path.try_exists().with_context(|| format!("cannot read {}", path.display()))
    }

    /// The names of the files in a folder, sorted.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.path(folder);
        let unreadable = || format!("cannot read {}", path.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).with_context(unreadable)? {
            names.extend(entry.with_context(unreadable)?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    /// The bytes of a file, if it is there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let path = self.path(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes a file so that it is on the disk, whole, when this returns.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(name);
        (|| {
            let folder = path.parent().unwrap_or(&self.path);
            self.crash.operation();
            // Readable for the owner alone: that is how temporary files are made.
            let mut file = tempfile::Builder::new().prefix(UNFINISHED).suffix(".tmp").tempfile_in(folder)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            self.crash.operation();
            file.persist(&path)?;
            sync(folder)
        })()
        .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes a file with a checksum before its content.
    pub(super) fn write_checked(&self, name: &str, kind: &str, content: &[u8]) -> Result<()> {
        self.write(name, &checked(kind, content))
    }

    /// Reads what `write_checked` wrote, if it is there. A file that was changed or cut off is an error.
    pub(super) fn read_checked(&self, name: &str, kind: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        let content = (|| {
            let rest = bytes.strip_prefix(format!("throng-v1 {kind} (private)\n").as_bytes())?;
            let (digits, content) = rest.split_at_checked(65)?;
            (digits == format!("{}\n", checksum(kind, content)).as_bytes()).then_some(content)
        })();
        match content {
            Some(content) => Ok(Some(Zeroizing::new(content.to_vec()))),
            None => bail!(
                "{} is damaged; put back a copy of it. It is not made anew, because that would randomize \
                 again",
                self.path(name).display()
            ),
        }
    }

    /// Gives a file another name, for good.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path(to);
        self.crash.operation();
        fs::rename(self.path(from), &path)
            .and_then(|()| sync(path.parent().unwrap_or(&self.path)))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes a file, for good.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        self.crash.operation();
        fs::remove_file(&path)
            .and_then(|()| sync(path.parent().unwrap_or(&self.path)))
            .with_context(|| format!("cannot remove {}", path.display()))
    }
}

/// The secret by which files are named after values without showing them.
pub(super) struct NamingSecret(Zeroizing<Vec<u8>>);

impl NamingSecret {
    /// A fresh one.
    pub(super) fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut secret = Zeroizing::new(vec![0; SECRET_LEN]);
        rng.fill_bytes(&mut secret);
        Self(secret)
    }

    /// Reads it, if it is there.
    pub(super) fn read(state: &StateDir) -> Result<Option<Self>> {
        let Some(secret) = state.read_checked(SECRET, SECRET)? else { return Ok(None) };
        ensure!(
            secret.len() == SECRET_LEN,
            "{} is damaged; put back a copy of it",
            state.path(SECRET).display()
        );
        Ok(Some(Self(secret)))
    }

    /// Stores it.
    pub(super) fn write(&self, state: &StateDir) -> Result<()> {
        state.write_checked(SECRET, SECRET, &self.0)
    }

    /// The name of something: HMAC-SHA256 in hexadecimal digits.
    pub(super) fn name(&self, parts: &[&[u8]]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let message = Zeroizing::new(parts.concat());
        hmac::sign(&key, &message).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for NamingSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NamingSecret(not shown)")
    }
}

/// Takes the lock. For a moment it may be held by nobody: a child that a program just started shares its
/// parent's locks until it is on its own.
fn take(lock: &File) -> Result<()> {
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    bail!("another process uses it; wait until it is done")
}

/// A content with its checksum before it.
fn checked(kind: &str, content: &[u8]) -> Zeroizing<Vec<u8>> {
    let header = format!("throng-v1 {kind} (private)\n{}\n", checksum(kind, content));
    Zeroizing::new([header.as_bytes(), content].concat())
}

fn checksum(kind: &str, content: &[u8]) -> Digest {
    Digest::of(&Zeroizing::new([kind.as_bytes(), b"\0", content].concat()))
}

/// A directory for its owner alone.
fn create(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Refuses a directory that others can look into. An empty one is made private.
fn check_private(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let unreadable = || format!("cannot use {} as state directory", path.display());
        let mode = fs::metadata(path).with_context(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            let empty = fs::read_dir(path).with_context(unreadable)?.next().is_none();
            ensure!(
                empty,
                "others may look into {}: use another directory for --state, or run chmod 700 on it",
                path.display()
            );
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).with_context(unreadable)?;
        }
    }
    Ok(())
}

/// A file that only its owner can read.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// What a crash left unfinished has no meaning.
fn remove_unfinished(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(UNFINISHED) && name.ends_with(".tmp")) {
            fs::remove_file(entry.path())
                .with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Makes the names in a directory durable.
fn sync(folder: &Path) -> io::Result<()> {
    // Other systems have no such thing as a directory that is opened.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The answers.
pub(super) const OUTBOX: &str = "outbox";
/// What was drawn once and for all: backstops, randomized labels.
pub(super) const PERMANENT: &str = "permanent";
/// The files of the surveys that were answered.
pub(super) const SURVEYS: &str = "surveys";

const LOCK: &str = "lock";
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
const SECRET: &str = "secret";
const SECRET_LEN: usize = 32;
const UNFINISHED: &str = ".throng-";

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::parsing::check_bytes;

    /// Puts a content into a file with a checksum that fits, in no hurry to have it on the disk.
    pub(in crate::respondent) fn plant(state: &StateDir, name: &str, kind: &str, content: &[u8]) {
        fs::write(state.path(name), &*checked(kind, content)).unwrap();
    }

    #[test]
    fn a_file_with_a_checksum_is_read_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        check_bytes(&checked("answer", b"what was written"), |bytes| {
            fs::write(state.path("file"), bytes).unwrap();
            let content = state.read_checked("file", "answer").ok().flatten();
            content.map(|content| checked("answer", &content).to_vec())
        });
    }

    #[test]
    fn a_secret_of_another_length_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        check_bytes(&[7; SECRET_LEN], |bytes| {
            plant(&state, SECRET, SECRET, bytes);
            NamingSecret::read(&state).ok().flatten().map(|secret| secret.0.to_vec())
        });
    }
}
