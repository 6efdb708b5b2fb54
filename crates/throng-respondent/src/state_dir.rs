//! The directory in which a respondent keeps what must not be lost, and must not be seen.
//!
//! Every file is written whole, under another name first, and is on the disk before anything goes on. Files
//! that are damaged or missing are an error: making them anew would randomize again, and spend again what the
//! ledger forgot. What is read is authenticated by a key of this directory, under its name, so that neither a changed file
//! nor one of another place or person is taken for it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use aws_lc_rs::hmac;
use getrandom::rand_core::CryptoRng;
use throng_wire::{Digest, Mac};
use zeroize::Zeroizing;

use crate::error::{Context, Error, Result};
use throng_host::atomic_file::{self, PRIVATE, PendingFile};
use throng_host::faults::Crash;
use throng_host::private_dir::{self, Outsiders};
use throng_host::{bail, ensure};

/// An open state directory. No other process can open it at the same time, but to look at it.
#[derive(Debug)]
pub(super) struct StateDir {
    path: PathBuf,
    /// What files are authenticated by, once the secret was read.
    key: OnceLock<Mac>,
    _lock: Option<File>,
    crash: Crash,
}

impl StateDir {
    /// Opens a directory, making it if needed. It is for its owner alone.
    pub(super) fn open(path: &Path) -> Result<Self> {
        private_dir::create(path, Outsiders::Everyone).with_context(unusable(path))?;
        let lock = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(path.join(LOCK))
            .with_context(|| format!("cannot write to {}", path.display()))?;
        take(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
        let (key, crash) = (OnceLock::new(), Crash::from_env());
        let state = Self { path: path.to_owned(), key, _lock: Some(lock), crash };
        for folder in ["", OUTBOX, PERMANENT, SURVEYS] {
            let folder = path.join(folder);
            private_dir::create(&folder, Outsiders::Everyone).with_context(unusable(path))?;
            // What a crash left unfinished has no meaning.
            atomic_file::remove_unfinished(&folder)
                .with_context(|| format!("cannot clean {}", folder.display()))?;
        }
        atomic_file::sync_directory(path)?;
        Ok(state)
    }

    /// A directory as it is, to be looked at: nothing is made in it, and the lock is left to those who write. Files are
    /// written whole, so what is read is what was there before or after.
    pub(super) fn look_at(path: &Path) -> Result<Self> {
        ensure!(
            path.join(LOCK).is_file(),
            Invalid,
            "{} is no state directory: name the one that you answer with",
            path.display()
        );
        private_dir::check(path, Outsiders::Everyone).with_context(unusable(path))?;
        Ok(Self { path: path.to_owned(), key: OnceLock::new(), _lock: None, crash: Crash::from_env() })
    }

    /// From now on files are authenticated by a key of this secret.
    pub(super) fn authenticate_by(&self, secret: &NamingSecret) {
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(hmac::sign(&secret.key(), b"throng-v1 key for state files\0").as_ref());
        self.key.get_or_init(|| Mac::new(&key));
    }

    /// Whether nothing was ever answered with it, so that a ledger can begin.
    pub(super) fn is_new(&self) -> Result<bool> {
        for folder in [OUTBOX, PERMANENT, SURVEYS] {
            if !self.names(folder)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(self.names("")?.iter().all(|name| [LOCK, SECRET, OUTBOX, PERMANENT, SURVEYS].contains(&&**name)))
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
            let folder = atomic_file::parent(&path);
            self.crash.operation();
            let mut file = PendingFile::new(folder, PRIVATE)?;
            file.write_all(bytes)?;
            let file = file.complete()?;
            self.crash.operation();
            file.replace(&path)?;
            atomic_file::sync_directory(folder)
        })()
        .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes a file with what authenticates it before its content.
    pub(super) fn write_checked(&self, name: &str, kind: &str, content: &[u8]) -> Result<()> {
        self.write(name, &self.checked(name, kind, content))
    }

    /// A content with what authenticates it before it.
    fn checked(&self, name: &str, kind: &str, content: &[u8]) -> Zeroizing<Vec<u8>> {
        let header = format!("throng-v1 {kind} (private)\n{}\n", self.tag(name, kind, content));
        Zeroizing::new([header.as_bytes(), content].concat())
    }

    /// A hash of a file's content, kind and name (which may get another extension) under the key of the directory. The secret
    /// that the key is made from has a hash that anyone can make.
    fn tag(&self, name: &str, kind: &str, content: &[u8]) -> Digest {
        let stem = name.split('.').next().unwrap_or_default();
        let parts = [b"throng-v1 state file\0", kind.as_bytes(), b"\0", stem.as_bytes(), b"\0", content];
        match self.key.get().filter(|_| kind != SECRET) {
            Some(key) => Digest::new(key.tag(&parts)),
            None => Digest::new(Mac::new(&[0; 32]).tag(&parts)),
        }
    }

    /// Reads what `write_checked` wrote, if it is there. A file that was changed or cut off is an error.
    pub(super) fn read_checked(&self, name: &str, kind: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        let content = (|| {
            let rest = bytes.strip_prefix(format!("throng-v1 {kind} (private)\n").as_bytes())?;
            let (digits, content) = rest.split_at_checked(65)?;
            (digits == format!("{}\n", self.tag(name, kind, content)).as_bytes()).then_some(content)
        })();
        match content {
            Some(content) => Ok(Some(Zeroizing::new(content.to_vec()))),
            None => bail!(
                Damaged,
                "{} is damaged, or of another state directory; put back a copy of it. It is not made anew, because \
                 that would randomize again",
                self.path(name).display()
            ),
        }
    }

    /// Gives a file another name, for good.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path(to);
        self.crash.operation();
        atomic_file::rename(&self.path(from), &path)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes a file, for good.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        self.crash.operation();
        atomic_file::remove(&path).map(drop).with_context(|| format!("cannot remove {}", path.display()))
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
            Damaged,
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
        let message = Zeroizing::new(parts.concat());
        hmac::sign(&self.key(), &message).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

impl std::fmt::Debug for NamingSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NamingSecret(not shown)")
    }
}

/// Takes the lock. It is tried for a moment: a child process that was just started holds its parent's locks until it runs
/// its own program.
fn take(lock: &File) -> Result<()> {
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    Err(Error::Busy)
}

fn unusable(path: &Path) -> impl Fn() -> String {
    move || format!("cannot use {} as state directory; another one can be named with --state", path.display())
}

/// A file that only its owner can read.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use throng_testing::parsing::check_bytes;

    /// Puts a content into a file with a checksum that fits, in no hurry to have it on the disk.
    pub(crate) fn plant(state: &StateDir, name: &str, kind: &str, content: &[u8]) {
        fs::write(state.path(name), &*state.checked(name, kind, content)).unwrap();
    }

    #[test]
    fn a_file_with_a_checksum_is_read_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        check_bytes(&state.checked("file", "answer", b"what was written"), |bytes| {
            fs::write(state.path("file"), bytes).unwrap();
            let content = state.read_checked("file", "answer").ok().flatten();
            content.map(|content| state.checked("file", "answer", &content).to_vec())
        });
    }

    /// A file of another directory, another name or another kind is not taken for this one.
    #[test]
    fn a_file_belongs_to_its_name_and_its_directory() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = folders.each_ref().map(|folder| StateDir::open(folder.path()).unwrap());
        one.authenticate_by(&NamingSecret(Zeroizing::new(vec![1; SECRET_LEN])));
        other.authenticate_by(&NamingSecret(Zeroizing::new(vec![2; SECRET_LEN])));
        one.write_checked("a", "answer", b"content").unwrap();
        assert!(one.read_checked("a", "answer").unwrap().is_some());
        assert!(one.read_checked("a", "draw").is_err());
        fs::copy(one.path("a"), one.path("b")).unwrap();
        assert!(one.read_checked("b", "answer").is_err());
        fs::copy(one.path("a"), other.path("a")).unwrap();
        assert!(other.read_checked("a", "answer").unwrap_err().to_string().contains("put back a copy"));
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
