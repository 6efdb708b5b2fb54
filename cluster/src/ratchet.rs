//! The ratchet: a key that only moves forward, so that what was sealed under its past stays sealed.
//!
//! A database keeps what was deleted from it: in its write-ahead log, in backups, in pages that are not reused yet. So
//! secrets are sealed before they go there, each under the key of its epoch, and that key is forgotten when the epoch is decided:
//! K' = H(K) is all that is left, and K does not follow from it. Every replica of a hop has a copy of the ratchet in
//! a file of its own, outside of the database, and moves it on by itself.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use throng_host::{atomic_file, private_file};
use throng_wire::{Digest, Mac};
use zeroize::Zeroizing;

type Key = Zeroizing<[u8; 32]>;

/// The keys of one hop's epochs, from the oldest that is still needed.
pub struct Ratchet {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Clone)]
struct State {
    epoch: u64,
    key: Key,
}

impl Ratchet {
    /// Makes a new one in a file that is not there yet, from 32 random bytes. It begins with `first`, an epoch
    /// of the hop's survey.
    pub fn create(path: &Path, first: u64, key: &[u8; 32]) -> io::Result<Self> {
        let state = State { epoch: first, key: Zeroizing::new(*key) };
        atomic_file::create(path, state.to_file().as_bytes(), atomic_file::PRIVATE)?;
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// The one in a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let text = private_file::read(path).map_err(io::Error::other)?;
        let state = State::from_file(&text).ok_or_else(|| {
            io::Error::other(format!(
                "{} is no ratchet: copy the one of another replica of this hop, or make a new one for a new hop",
                path.display()
            ))
        })?;
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// The oldest epoch whose key it still has.
    pub fn first_epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Forgets the keys of all epochs before this one, for good. It never goes back: an earlier epoch changes nothing.
    pub fn forget_before(&self, epoch: u64) -> io::Result<()> {
        let mut state = self.state();
        if epoch <= state.epoch {
            return Ok(());
        }
        let newer = state.at(epoch)?;
        atomic_file::write(&self.path, newer.to_file().as_bytes(), atomic_file::PRIVATE)?;
        *state = newer;
        Ok(())
    }

    /// What secrets of an epoch are sealed under.
    pub(crate) fn key(&self, epoch: u64) -> io::Result<Key> {
        let at = self.state().at(epoch)?;
        Ok(Zeroizing::new(Mac::new(&at.key).tag(&[b"throng ratchet secrets v1"])))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The same, moved forward to an epoch.
    fn at(&self, epoch: u64) -> io::Result<Self> {
        let Some(steps) = epoch.checked_sub(self.epoch) else {
            return Err(io::Error::other(format!(
                "the key of epoch {epoch} is forgotten on this machine: its secrets cannot be read any more"
            )));
        };
        if steps > STEPS_MAX {
            return Err(io::Error::other(format!(
                "epoch {epoch} is too far behind epoch {}, with which the ratchet of this machine begins: set the clock right",
                self.epoch
            )));
        }
        let key = (0..steps).fold(self.key.clone(), |key, _| next(&key));
        Ok(Self { epoch, key })
    }

    fn to_file(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(HEADER.len() + 100));
        text.push_str(HEADER);
        text.push_str(&self.epoch.to_string());
        text.push('\n');
        for byte in self.key.iter() {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text.push('\n');
        text
    }

    fn from_file(text: &str) -> Option<Self> {
        let (epoch, digits) = text.strip_prefix(HEADER)?.strip_suffix('\n')?.split_once('\n')?;
        let mut key = Zeroizing::new([0; 32]);
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in key.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(16 * high? + low?).ok()?;
        }
        Some(Self { epoch: epoch.parse().ok()?, key })
    }
}

/// K' = H(label, K).
fn next(key: &Key) -> Key {
    let mut bytes = Zeroizing::new([0; NEXT.len() + 32]);
    bytes[..NEXT.len()].copy_from_slice(NEXT);
    bytes[NEXT.len()..].copy_from_slice(&key[..]);
    Zeroizing::new(*Digest::of(&*bytes).as_bytes())
}

const HEADER: &str = "throng ratchet v1\n";
const NEXT: &[u8; 22] = b"throng ratchet next v1";
/// More epochs than a survey has, and as many hashes as take a second.
const STEPS_MAX: u64 = 1 << 22;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // In a test a panic is the message.

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_forgotten_stays_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ratchet");
        let ratchet = Ratchet::create(&path, 100, &[7; 32]).unwrap();
        assert!(Ratchet::create(&path, 100, &[8; 32]).is_err(), "one that is there is not replaced");
        let keys: Vec<Key> = (100..110).map(|epoch| ratchet.key(epoch).unwrap()).collect();
        let distinct: std::collections::BTreeSet<[u8; 32]> = keys.iter().map(|key| **key).collect();
        assert_eq!(distinct.len(), 10);
        let before = std::fs::read_to_string(&path).unwrap();
        ratchet.forget_before(105).unwrap();
        for ratchet in [&ratchet, &Ratchet::open(&path).unwrap()] {
            assert!(ratchet.key(104).unwrap_err().to_string().contains("forgotten"));
            assert_eq!(ratchet.key(107).unwrap(), keys[7]);
            ratchet.forget_before(101).unwrap();
            assert_eq!(ratchet.first_epoch(), 105, "it never goes back");
        }
        let after = std::fs::read_to_string(&path).unwrap();
        assert_ne!(before.lines().nth(2), after.lines().nth(2));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(ratchet.key(u64::MAX).is_err());
    }

    #[test]
    fn a_file_is_read_exactly() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ratchet");
        let text = State { epoch: 3, key: Zeroizing::new([0xa5; 32]) }.to_file();
        assert_eq!(State::from_file(&text).unwrap().to_file(), text);
        for changed in
            ["", "throng ratchet v2\n3\n", &text[1..], &text[..text.len() - 1], &text.replace("a5", "+5")]
        {
            atomic_file::write(&path, changed.as_bytes(), atomic_file::PRIVATE).unwrap();
            assert!(Ratchet::open(&path).is_err(), "{changed}");
        }
        std::fs::write(&path, text.as_bytes()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Ratchet::open(&path).is_err(), "everyone can read it");
    }
}
