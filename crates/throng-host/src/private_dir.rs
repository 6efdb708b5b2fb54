//! Directories with what must not be lost, and must not be seen or changed by others.

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::atomic_file::{parent, sync_directory};
use crate::error::{Context, Result};
use crate::{bail, ensure};

/// Who may not look into a directory, nor change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outsiders {
    /// Everybody who is neither the owner nor of the group: service managers and containers hand volumes over by a group.
    Strangers,
    /// Everybody but the owner.
    Everyone,
}

/// Refuses a directory that others can look into or change, and one with symbolic links in it, which lead to files that others
/// may have. One that is not there, or empty, is fine. Changes nothing.
pub fn check(directory: &Path, others: Outsiders) -> Result<()> {
    let mode = match fs::metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        metadata => metadata.with_context(|| unreadable(directory))?.permissions().mode(),
    };
    let path = directory.display();
    ensure!(
        mode & others.bits() == 0 || is_empty(directory)?,
        Invalid,
        "others on this machine can look into {path} or change it: run `chmod {} {path}`, and if strangers were here, begin \
         with new keys and an empty directory",
        if others == Outsiders::Everyone { "700" } else { "o-rwx" },
    );
    refuse_links(directory)
}

/// Makes a directory that is its owner's alone, and puts the names of it and of all above it that are new on disk: what is
/// stored in it may be the only copy. An empty one is made private; others are refused as by [`check`].
pub fn create(directory: &Path, others: Outsiders) -> Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|one| !one.exists()).collect();
    (|| {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        missing.into_iter().try_for_each(|new| sync_directory(parent(new)))
    })()
    .with_context(|| format!("cannot make {}", directory.display()))?;
    check(directory, others)?;
    let mode = fs::metadata(directory).with_context(|| unreadable(directory))?.permissions().mode();
    if mode & others.bits() != 0 {
        fs::set_permissions(directory, Permissions::from_mode(0o700)).with_context(|| {
            let path = directory.display();
            format!("others on this machine can look into {path}: have its owner run `chmod 700 {path}`")
        })?;
    }
    Ok(())
}

/// Refuses symbolic links, wherever below a directory.
fn refuse_links(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| unreadable(directory))? {
        let entry = entry.with_context(|| unreadable(directory))?;
        let kind = match entry.file_type() {
            // Another process may have removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            kind => kind.with_context(|| unreadable(&entry.path()))?,
        };
        if kind.is_symlink() {
            bail!(
                Invalid,
                "{} is a symbolic link, and such a directory holds none: put what it leads to in its place",
                entry.path().display()
            );
        }
        if kind.is_dir() {
            refuse_links(&entry.path())?;
        }
    }
    Ok(())
}

impl Outsiders {
    fn bits(self) -> u32 {
        match self {
            Self::Strangers => 0o007,
            Self::Everyone => 0o077,
        }
    }
}

fn is_empty(directory: &Path) -> Result<bool> {
    Ok(fs::read_dir(directory).with_context(|| unreadable(directory))?.next().is_none())
}

fn unreadable(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_others_can_look_into_or_change_are_refused_with_what_to_run() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("data");
        check(&path, Outsiders::Everyone).unwrap();
        assert!(!path.exists(), "nothing is made");
        create(&path, Outsiders::Everyone).unwrap();
        let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        // While it is empty it can be made private.
        mode(0o755);
        check(&path, Outsiders::Everyone).unwrap();
        create(&path, Outsiders::Everyone).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "").unwrap();
        for (bits, strangers, everyone) in [
            (0o700, true, true),
            (0o770, true, false),
            (0o740, true, false),
            (0o704, false, false),
            (0o702, false, false),
            (0o755, false, false),
        ] {
            mode(bits);
            for (others, fits) in [(Outsiders::Strangers, strangers), (Outsiders::Everyone, everyone)] {
                for checked in [check(&path, others), create(&path, others)] {
                    assert_eq!(checked.is_ok(), fits, "{bits:o} {others:?}");
                    let said = checked.err().map_or("chmod".into(), |error| error.to_string());
                    assert!(said.contains("chmod"), "{said}");
                }
            }
        }
    }

    #[test]
    fn links_are_refused_wherever_they_are() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("data");
        create(&path.join("below"), Outsiders::Everyone).unwrap();
        let elsewhere = base.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        for name in ["link", "below/link"] {
            std::os::unix::fs::symlink(&elsewhere, path.join(name)).unwrap();
            let error = check(&path, Outsiders::Strangers).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
            fs::remove_file(path.join(name)).unwrap();
            check(&path, Outsiders::Strangers).unwrap();
        }
    }
}
