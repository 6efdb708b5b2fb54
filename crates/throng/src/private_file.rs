//! Files with private keys: read where nobody else can, and erased from memory when dropped.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use zeroize::Zeroizing;

/// A private file's text. One that every user of the machine can read or change is refused: whoever has read it is the
/// party. A group may have it, since service managers and containers hand keys over that way.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>> {
    let advice = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(advice)?;
    let metadata = file.metadata().with_context(advice)?;
    ensure!(
        metadata.permissions().mode() & 0o007 == 0,
        "{} is a private key that everyone on this machine can read or change: `chmod 600` it, and make new keys if \
         strangers were here",
        path.display()
    );
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(metadata.len()).unwrap_or(0)));
    file.read_to_string(&mut text).with_context(advice)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_key_that_everyone_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, "secret").unwrap();
        for (mode, fits) in [(0o600, true), (0o400, true), (0o440, true), (0o644, false), (0o602, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match read(&path) {
                Ok(text) => assert!(fits && *text == "secret", "{mode:o}"),
                Err(error) => assert!(!fits && !format!("{error:#}").contains("secret"), "{mode:o}"),
            }
        }
    }
}
