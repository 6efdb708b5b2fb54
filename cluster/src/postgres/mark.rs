//! The mark of a journal: an object, apart from the database.
//!
//! It is one object for each lease, of which the newest counts. So a replica that was away for a while, and has lost its lease
//! between a record and its mark, does not put back the mark of the one that has taken over.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use throng_batch::{Partitions, Volume};
use throng_shuffle::Mark;

use crate::objects::Objects;

/// The mark of a hop, as the holder of a lease writes it.
pub struct ObjectMark {
    objects: Objects,
    lease: u64,
    /// Whether those of older leases are removed.
    is_alone: AtomicBool,
}

impl ObjectMark {
    pub(super) fn new(objects: &Objects, lease: u64) -> Self {
        Self { objects: objects.below(DIRECTORY), lease, is_alone: AtomicBool::new(false) }
    }

    /// The newest lease that has left a mark here.
    pub(super) fn newest(objects: &Objects) -> io::Result<u64> {
        Ok(Self::new(objects, 0).leases()?.into_iter().max().unwrap_or(0))
    }

    fn leases(&self) -> io::Result<Vec<u64>> {
        Ok(self.objects.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }
}

impl Mark for ObjectMark {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(newest) = self.leases()?.into_iter().max() else { return Ok(None) };
        let mut bytes = Vec::new();
        self.objects.read(&name(newest))?.take(LEN_MAX).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        self.objects.put(&name(self.lease), bytes.to_vec())?;
        if !self.is_alone.load(Ordering::Relaxed) {
            let older = self.leases()?.into_iter().filter(|&lease| lease < self.lease);
            self.objects.remove_all(&older.map(name).collect::<Vec<_>>())?;
            self.is_alone.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn name(lease: u64) -> String {
    format!("{lease:020}")
}

const DIRECTORY: &str = "mark";
/// Longer than any mark.
const LEN_MAX: u64 = 1 << 10;
