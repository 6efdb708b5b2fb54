//! A party's identity: the key that it signs with, and the certificate that it shows.

use std::path::Path;

use getrandom::rand_core::CryptoRng;
use throng_wire::SigningKey;

use super::files::{KeyDir, NewFile};
use crate::error::{Context, Result};
use crate::net::Identity;
use crate::private_file;

/// The private keys of a party, whatever surveys it takes part in. Neither is ever shown.
#[derive(Debug)]
pub struct Party {
    signing: SigningKey,
    tls: Identity,
}

impl Party {
    /// Makes fresh keys and writes `signing.key`, `signing.pub`, `tls.key` and `tls.crt`. Refused where one of them
    /// exists.
    pub fn create(dir: &Path, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let out = KeyDir::open(dir)?;
        out.refuse_existing(Self::FILES)?;
        let party = Self { signing: SigningKey::generate(rng)?, tls: Identity::generate()? };
        out.create(&[
            NewFile::private(SIGNING_KEY, party.signing.to_file()),
            NewFile::private(TLS_KEY, party.tls.key_pem()?),
            NewFile::public(TLS_CERTIFICATE, party.tls.certificate_pem()),
            NewFile::public(SIGNING_PUBLIC, format!("{}\n", party.signing.public())),
        ])?;
        Ok(party)
    }

    /// Reads the key that a party signs with, and nothing else of what `create` wrote.
    pub fn read_signing_key(dir: &Path) -> Result<SigningKey> {
        let path = dir.join(SIGNING_KEY);
        let advice = || format!("{} has no identity: make one with `throng keygen --out`", dir.display());
        let text = private_file::read(&path).with_context(advice)?;
        SigningKey::from_file(&text).damaged(|| format!("in {}", path.display()))
    }

    /// Reads what `create` wrote.
    pub fn read(dir: &Path) -> Result<Self> {
        let signing = Self::read_signing_key(dir)?;
        let tls = Identity::read(&dir.join(TLS_CERTIFICATE), &dir.join(TLS_KEY))?;
        Ok(Self { signing, tls })
    }

    /// What it signs with.
    pub fn signing_key(&self) -> &SigningKey {
        &self.signing
    }

    /// What it shows in TLS.
    pub fn identity(&self) -> &Identity {
        &self.tls
    }

    /// The same, to be given away.
    pub fn into_identity(self) -> Identity {
        self.tls
    }

    /// The names of its files.
    pub const FILES: [&'static str; 4] = [SIGNING_KEY, SIGNING_PUBLIC, TLS_KEY, TLS_CERTIFICATE];
}

const SIGNING_KEY: &str = "signing.key";
const SIGNING_PUBLIC: &str = "signing.pub";
const TLS_KEY: &str = "tls.key";
const TLS_CERTIFICATE: &str = "tls.crt";
