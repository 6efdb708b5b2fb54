//! The high-water mark of the ledger of releases: how long the ledger is, kept apart from it.
//!
//! It is written after each line, once that is on disk. A ledger that is shorter than its mark has lost what was spent; a
//! crash between the two leaves a ledger that is one line longer.

use std::fs;
use std::io::ErrorKind;

use throng_wire::Digest;

use super::DataKey;
use crate::error::{Context, Result};
use throng_host::atomic_file;
use throng_host::ensure;

/// How many lines there were, and what the last one is authenticated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LedgerMark {
    pub(super) lines: u64,
    pub(super) last: Digest,
}

impl LedgerMark {
    /// The mark, if there is one.
    pub(super) fn read(key: &DataKey) -> Result<Option<Self>> {
        let path = key.mark();
        let text = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mark = || -> Option<Self> {
            let text = str::from_utf8(&text).ok()?;
            let (lines, last) = text.strip_prefix(HEADER)?.lines().next()?.split_once(' ')?;
            Some(Self { lines: lines.parse().ok()?, last: last.parse().ok()? })
        };
        let mark = mark().filter(|mark| mark.lines > 0);
        let whole =
            mark.map(|mark| mark.text(key)).transpose()?.is_some_and(|whole| whole.as_bytes() == text);
        ensure!(
            whole,
            Damaged,
            "{} is damaged, or of another analyzer: put back the newest copy of it. {WAY_OUT}",
            path.display()
        );
        Ok(mark)
    }

    /// Puts it on disk.
    pub(super) fn write(&self, key: &DataKey) -> Result<()> {
        let path = key.mark();
        atomic_file::write(path, self.text(key)?.as_bytes(), atomic_file::PRIVATE).with_context(|| {
            format!(
                "cannot write {}; say with ledger_mark in the analyzer's file where it may be, apart from the data",
                path.display()
            )
        })
    }

    fn text(&self, key: &DataKey) -> Result<String> {
        let content = format!("{HEADER}{} {}\n", self.lines, self.last);
        Ok(format!("{content}{}\n", key.tag("ledger mark", &[content.as_bytes()])?))
    }
}

/// What to do where there is no copy.
pub(super) const WAY_OUT: &str = "If it is lost, and the ledger is known to have every release that was made, `throng serve \
     analyzer --accept-ledger` takes the ledger as it is: whatever is missing from it would be spent a second time";

const HEADER: &str = "throng-v1 ledger mark\n";
