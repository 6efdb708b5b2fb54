//! Directories that a server writes to.

use std::io::{self, Write};
use std::path::Path;

use crate::error::{Context, Result};
use rustix::fs::{Access, access};

/// Whether a file can be written and synced in a directory. It has no name, so nothing is left of it.
pub(crate) fn probe(directory: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(directory)?;
    file.write_all(&[0; PROBE_LEN])?;
    file.sync_data()
}

/// Whether this process could write to a directory, or make it. Changes nothing.
pub fn ensure_writable(directory: &Path) -> Result<()> {
    let there =
        directory.ancestors().map(|one| if one.as_os_str().is_empty() { Path::new(".") } else { one });
    let there = there.into_iter().find(|one| one.exists()).unwrap_or(directory);
    let writable = || {
        let metadata = there.metadata()?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        access(there, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)
    };
    writable().with_context(|| {
        let directory = directory.display();
        format!("{directory} cannot be written by this user: give it to the user that the server runs as")
    })
}

/// Enough that a full disk is noticed.
const PROBE_LEN: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_can_be_there_or_be_made() {
        let directory = tempfile::tempdir().unwrap();
        ensure_writable(directory.path()).unwrap();
        ensure_writable(&directory.path().join("a/b")).unwrap();
        assert!(!directory.path().join("a").exists());
        ensure_writable(Path::new("not-there-yet")).unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(ensure_writable(&file).is_err() && ensure_writable(&file.join("below")).is_err());
        // Nobody, not even root, writes here.
        assert!(ensure_writable(Path::new("/proc/self/nothing")).is_err());
    }
}
