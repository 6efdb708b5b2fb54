//! Sealed secrets: what the database holds of draws and epoch keys.

use std::io::{self, Write};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use throng_batch::VolumeFile;
use throng_shuffle::Channel;
use throng_wire::Mac;
use zeroize::Zeroizing;

use super::session::{Session, bytes, int, text};
use super::store::{PgStore, channel_of};

/// Kinds of files that are secrets: small, and worth nothing but trouble once their epoch is decided.
pub(super) const KINDS: [&str; 2] = ["draw", KEY];
/// The kind of an epoch's key.
pub(super) const KEY: &str = "key";

/// A secret that is being written. It is there once it is synced. The first one that has a name keeps it: a replica may have
/// read it already.
pub(super) struct SecretFile {
    pub(super) store: PgStore,
    pub(super) name: String,
    pub(super) channel: Channel,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

impl Write for SecretFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > LEN_MAX {
            return Err(io::Error::other("a secret is too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for SecretFile {
    fn sync(&mut self) -> io::Result<()> {
        let sealed = self.store.seal(&self.name, self.channel, &self.bytes)?;
        let session = self.store.under_lease()?;
        session.rows(
            "INSERT INTO secrets (hop, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            vec![int(self.store.hop), text(&self.name), bytes(&sealed)],
        )?;
        session.commit()
    }
}

impl PgStore {
    /// A secret by its name, if it is there.
    pub(super) fn secret(&self, name: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        let session = Session::begin(&self.postgres)?;
        let sealed = sealed_row(&session, self.hop, name)?;
        session.commit()?;
        let sealed =
            sealed.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such secret"))?;
        let (channel, _) = channel_of(name).ok_or(io::ErrorKind::InvalidInput)?;
        self.open(name, channel, &sealed)
    }

    fn seal(&self, name: &str, channel: Channel, plain: &[u8]) -> io::Result<Vec<u8>> {
        let keys = self.secret_keys(channel)?;
        // A nonce that follows from what is sealed: the same bytes are sealed to the same, and others never share one.
        let nonce: [u8; NONCE_LEN] =
            *keys.nonce.tag(&[name.as_bytes(), &[0], plain]).first_chunk().unwrap_or(&[0; NONCE_LEN]);
        let mut sealed = plain.to_vec();
        let aad = Aad::from(self.whose(name));
        let done = keys.seal.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed);
        done.map_err(|_| io::Error::other("a secret could not be sealed"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn open(&self, name: &str, channel: Channel, sealed: &[u8]) -> io::Result<Zeroizing<Vec<u8>>> {
        let keys = self.secret_keys(channel)?;
        let damaged = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{name} in the database is not as it was sealed, or the ratchet of this machine is not the one that the \
                     other replicas have: put back the one that was changed"
                ),
            )
        };
        let (nonce, rest) = sealed.split_first_chunk().ok_or_else(damaged)?;
        let mut plain = Zeroizing::new(rest.to_vec());
        let aad = Aad::from(self.whose(name));
        let opened = keys.seal.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut plain);
        let len = opened.map_err(|_| damaged())?.len();
        plain.truncate(len);
        Ok(plain)
    }

    fn secret_keys(&self, channel: Channel) -> io::Result<SecretKeys> {
        let key = self.ratchet.key(channel.epoch)?;
        let mac = Mac::new(&key);
        let seal = Zeroizing::new(mac.tag(&[b"seal"]));
        let seal =
            UnboundKey::new(&AES_256_GCM, &*seal).map_err(|_| io::Error::other("a key could not be made"))?;
        Ok(SecretKeys {
            seal: LessSafeKey::new(seal),
            nonce: Mac::new(&Zeroizing::new(mac.tag(&[b"nonce"]))),
        })
    }

    /// What a secret is bound to: nobody can put it in the place of another.
    fn whose(&self, name: &str) -> Vec<u8> {
        [&self.context[..], &[0], name.as_bytes()].concat()
    }
}

struct SecretKeys {
    seal: LessSafeKey,
    nonce: Mac,
}

/// The row of a secret, as it is sealed.
pub(super) fn sealed_row(session: &Session, hop: i64, name: &str) -> io::Result<Option<Vec<u8>>> {
    let row =
        session.row("SELECT sealed FROM secrets WHERE hop = $1 AND name = $2", vec![int(hop), text(name)])?;
    Ok(row.map(|row| row.get(0)))
}

/// Longer than any secret.
const LEN_MAX: usize = 1 << 12;
