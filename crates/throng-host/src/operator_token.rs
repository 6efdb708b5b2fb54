//! The operator's bearer token: whoever has it sees the dashboard's numbers.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use getrandom::rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::ensure;
use crate::error::{Context, Result};
use crate::{atomic_file, private_file};

/// A token that is compared in constant time.
#[derive(Clone)]
pub struct OperatorToken(Zeroizing<String>);

impl OperatorToken {
    /// A new one.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.fill_bytes(bytes.as_mut());
        Self(Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(bytes.as_ref())))
    }

    /// The one in a file that only its owner can read; a new one is put there if the file is not there.
    pub fn at(path: &Path, rng: &mut impl CryptoRng) -> Result<Self> {
        if path.exists() {
            return Self::read(path);
        }
        let new = Self::generate(rng);
        let advice = || format!("cannot write the operator's token to {}", path.display());
        match atomic_file::create(path, new.0.as_bytes(), atomic_file::PRIVATE) {
            Ok(()) => Ok(new),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(error).with_context(advice),
        }
    }

    /// The one in a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = private_file::read(path)?;
        let token = text.trim();
        ensure!(
            token.len() >= LEN_MIN && token.bytes().all(|byte| byte.is_ascii_graphic()),
            Damaged,
            "{} has no token of at least {LEN_MIN} letters and digits: remove it, and a new one is made",
            path.display()
        );
        Ok(Self(Zeroizing::new(token.to_owned())))
    }

    /// Whether somebody shows the same token.
    pub fn is(&self, shown: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), shown.as_bytes()).is_ok()
    }

    /// The token itself, to be shown to its operator.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorToken(..)")
    }
}

/// Less could be guessed.
const LEN_MIN: usize = 20;

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("operator.token");
        let mut rng = crate::entropy::system_rng().unwrap();
        let token = OperatorToken::at(&path, &mut rng).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(token.as_str().len() == 43 && OperatorToken::at(&path, &mut rng).unwrap().is(token.as_str()));
        assert!(
            !token.is("") && !token.is(&token.as_str()[1..]) && !token.is(&format!("{}x", token.as_str()))
        );
        assert!(!token.is(OperatorToken::generate(&mut rng).as_str()));
        assert!(!format!("{token:?}").contains(token.as_str()));
        fs::write(&path, "short").unwrap();
        assert!(OperatorToken::at(&path, &mut rng).unwrap_err().to_string().contains("remove it"));
        fs::write(&path, token.as_str()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(OperatorToken::read(&path).is_err());
    }
}
