//! Files with private keys or credentials: read where nobody else can, and erased from memory when dropped.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::atomic_file::parent;
use crate::ensure;
use crate::error::{Context, Result};

/// A private file's text. One that every user of the machine can read or change is refused: whoever has read it is the
/// party. A group may have it, since service managers and containers hand keys over that way.
pub fn read(path: &Path) -> Result<Zeroizing<String>> {
    let advice = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(advice)?;
    let metadata = file.metadata().with_context(advice)?;
    ensure!(
        metadata.permissions().mode() & 0o007 == 0,
        Invalid,
        "{0} is a secret that everyone on this machine can read or change: run `chmod 600 {0}`, and make a new one if \
         strangers were here",
        path.display()
    );
    refuse_open_directory(path)?;
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(metadata.len()).unwrap_or(0)));
    file.read_to_string(&mut text).with_context(advice)?;
    Ok(text)
}

/// The text of a file that is no secret, and that decides something: one that every user of the machine can change is refused.
pub fn read_own(path: &Path) -> Result<String> {
    let advice = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(advice)?;
    let mode = file.metadata().with_context(advice)?.permissions().mode();
    ensure!(
        mode & 0o002 == 0,
        Invalid,
        "everyone on this machine can change {0}: run `chmod o-w {0}`, and make it anew if strangers were here",
        path.display()
    );
    refuse_open_directory(path)?;
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(advice)?;
    Ok(text)
}

/// Where everyone can change names, everyone can put another file there; a sticky bit keeps them from that.
fn refuse_open_directory(path: &Path) -> Result<()> {
    let directory = parent(path);
    let mode = fs::metadata(directory)
        .with_context(|| format!("cannot read {}", path.display()))?
        .permissions()
        .mode();
    ensure!(
        mode & 0o002 == 0 || mode & 0o1000 != 0,
        Invalid,
        "everyone on this machine can change what is in {0}: run `chmod o-w {0}`, and make new keys and lists if strangers \
         were here",
        directory.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_key_that_everyone_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, "hidden").unwrap();
        for (mode, fits) in [(0o600, true), (0o400, true), (0o440, true), (0o644, false), (0o602, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match read(&path) {
                Ok(text) => assert!(fits && *text == "hidden", "{mode:o}"),
                Err(error) => {
                    let said = format!("{error:#}");
                    assert!(
                        !fits && said.contains("chmod 600") && !said.contains("hidden"),
                        "{mode:o}: {said}"
                    );
                }
            }
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        for (mode, fits) in [(0o755, true), (0o1777, true), (0o777, false)] {
            fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), fits, "{mode:o}");
            assert_eq!(read_own(&path).is_ok(), fits, "{mode:o}");
        }
    }

    #[test]
    fn a_list_that_everyone_can_change_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        fs::write(&path, "names").unwrap();
        for (mode, fits) in [(0o600, true), (0o644, true), (0o664, true), (0o646, false), (0o602, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let said = read_own(&path).map_err(|error| format!("{error:#}"));
            match said {
                Ok(text) => assert!(fits && text == "names", "{mode:o}"),
                Err(said) => assert!(!fits && said.contains("chmod o-w"), "{mode:o}: {said}"),
            }
        }
    }
}
