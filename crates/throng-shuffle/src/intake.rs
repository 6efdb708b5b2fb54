//! What hop 1 takes in one epoch: one body of each respondent, sealed as it came.
//!
//! A respondent is known by HMAC(epoch key, id), and the body that they sent by HMAC(epoch key, id | hash of body). The
//! key is in a file of its own and erased when the epoch closes; what is left then tells nobody who took part.
//!
//! A record of the file is: the two tags (16 bytes each), the receipt's time bucket (8), the body's length (4), the
//! body, and 8 bytes of a hash. Bodies are not opened before the epoch closes.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use rand_core::CryptoRng;
use throng_wire::{Digest, Mac};
use zeroize::Zeroizing;

use crate::store::{Store, StoreFile, read_full, read_small};
use crate::{Channel, Error, Refusal};

/// A body that came, before it is taken.
#[derive(Clone)]
pub struct Upload {
    pub(crate) channel: Channel,
    id: Digest,
    body: Vec<u8>,
    digest: Digest,
}

impl Upload {
    /// A body for a channel, from whoever has this name at this hop.
    pub fn new(channel: Channel, id: Digest, body: Vec<u8>) -> Self {
        Self { channel, id, digest: Digest::of(&body), body }
    }

    /// The epoch and label that it is for.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// The body's hash, which the receipt names.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many bytes it has.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }
}

/// Says what it is, not whose.
impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Upload({:?}, {} bytes)", self.channel, self.body.len())
    }
}

/// The uploads of one epoch of one channel, while it lasts.
pub(crate) struct Intake {
    file: Box<dyn StoreFile>,
    len: u64,
    mac: Mac,
    known: HashMap<Tag, Known>,
    /// Room for the records of a group, used again by the next one.
    buffer: Vec<u8>,
    /// Bytes that could be neither written nor taken back: nothing may follow them.
    broken: bool,
}

type Tag = [u8; 16];

#[derive(Clone, Copy)]
struct Known {
    body: Tag,
    time_bucket: u64,
}

impl Intake {
    /// Goes on with what is on disk, or starts.
    pub(crate) fn open(
        store: &dyn Store,
        names: &IntakeNames,
        body_len_max: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self, Error> {
        let mut known = HashMap::new();
        let mut len = 0;
        if let Some(mut records) = UploadReader::open(store, names, body_len_max)? {
            while let Some(record) = records.next_record()? {
                known.insert(record.id, record.known);
                len = records.whole;
            }
        }
        let key = epoch_key(store, names, known.is_empty(), rng)?;
        let mut file = store.append(&names.uploads)?;
        // What follows the last whole record was not acknowledged.
        file.truncate(len)?;
        Ok(Self { file, len, mac: Mac::new(&key), known, buffer: Vec::new(), broken: false })
    }

    /// Takes a group of uploads with one sync. What is `Ok` survives a crash when this returns, and says the time
    /// bucket for the receipt: for identical bytes again, the one of the first time.
    pub(crate) fn take(
        &mut self,
        uploads: &[&Upload],
        time_bucket: u64,
        room: usize,
    ) -> Vec<Result<u64, Refusal>> {
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.clear();
        bytes.reserve(uploads.iter().map(|upload| upload.body.len() + OVERHEAD).sum());
        let mut fresh = Vec::new();
        let mut taken: Vec<Result<u64, Refusal>> = uploads
            .iter()
            .map(|upload| {
                let (id, body) = self.tags(upload);
                match self.known.get(&id) {
                    Some(known) if known.body == body => Ok(known.time_bucket),
                    Some(_) => Err(Refusal::Conflict),
                    None if self.broken || self.known.len() >= room => Err(Refusal::Full),
                    None => {
                        let known = Known { body, time_bucket };
                        write_record(&mut bytes, id, known, upload);
                        self.known.insert(id, known);
                        fresh.push(id);
                        Ok(time_bucket)
                    }
                }
            })
            .collect();
        if !fresh.is_empty() && self.write(&bytes).is_err() {
            fresh.iter().for_each(|id| {
                self.known.remove(id);
            });
            // Those that were known before are as safe as they were; but a repetition within the group is not.
            for (upload, taken) in uploads.iter().zip(&mut taken) {
                if taken.is_ok() && !self.known.contains_key(&self.tags(upload).0) {
                    *taken = Err(Refusal::Full);
                }
            }
        }
        if bytes.capacity() <= BUFFER_LEN_MAX {
            self.buffer = bytes;
        }
        taken
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync());
        match written {
            Ok(()) => self.len += bytes.len() as u64,
            Err(_) => self.broken = self.file.truncate(self.len).is_err(),
        }
        written
    }

    fn tags(&self, upload: &Upload) -> (Tag, Tag) {
        let id = self.mac.tag(&[b"id", upload.id.as_bytes()]);
        let body = self.mac.tag(&[b"body", upload.id.as_bytes(), upload.digest.as_bytes()]);
        (short(id), short(body))
    }
}

/// The files of an intake.
pub(crate) struct IntakeNames {
    pub(crate) key: String,
    pub(crate) uploads: String,
}

/// The bodies of an intake, one after another.
pub(crate) struct UploadReader {
    reader: BufReader<Box<dyn Read + Send>>,
    body_len_max: usize,
    /// Where the last whole record ends.
    whole: u64,
}

struct UploadRecord {
    id: Tag,
    known: Known,
    body: Vec<u8>,
}

impl UploadReader {
    pub(crate) fn open(
        store: &dyn Store,
        names: &IntakeNames,
        body_len_max: usize,
    ) -> Result<Option<Self>, Error> {
        match store.read(&names.uploads) {
            Ok(reader) => {
                let reader = BufReader::with_capacity(1 << 16, reader);
                Ok(Some(Self { reader, body_len_max, whole: 0 }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The next body, or `None` at the end.
    pub(crate) fn next_body(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.next_record()?.map(|record| record.body))
    }

    /// The next whole record. One that is not whole was not synced, nor was what follows it.
    fn next_record(&mut self) -> Result<Option<UploadRecord>, Error> {
        let mut head = [0; HEAD_LEN];
        if read_full(&mut self.reader, &mut head)? < HEAD_LEN {
            return Ok(None);
        }
        let len = u32::from_be_bytes([head[40], head[41], head[42], head[43]]) as usize;
        if len > self.body_len_max {
            return Ok(None);
        }
        let mut body = vec![0; len];
        let mut check = [0; CHECK_LEN];
        if read_full(&mut self.reader, &mut body)? < len
            || read_full(&mut self.reader, &mut check)? < CHECK_LEN
            || check_of(&head, &Digest::of(&body)) != check
        {
            return Ok(None);
        }
        self.whole += (len + OVERHEAD) as u64;
        let (id, rest) = head.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let (body_tag, rest) = rest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let time_bucket = rest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Ok(Some(UploadRecord { id: *id, known: Known { body: *body_tag, time_bucket }, body }))
    }
}

fn write_record(bytes: &mut Vec<u8>, id: Tag, known: Known, upload: &Upload) {
    let start = bytes.len();
    bytes.extend(id);
    bytes.extend(known.body);
    bytes.extend(known.time_bucket.to_be_bytes());
    bytes.extend((upload.body.len() as u32).to_be_bytes());
    let check = check_of(&bytes[start..], &upload.digest);
    bytes.extend(&upload.body);
    bytes.extend(check);
}

/// The body's hash is known already, so it stands for the body.
fn check_of(head: &[u8], body: &Digest) -> [u8; CHECK_LEN] {
    let digest = Digest::of(&[head, body.as_bytes()].concat());
    *digest.as_bytes().first_chunk().unwrap_or(&[0; CHECK_LEN])
}

/// The epoch's key: the one on disk if anything was made with it, or else a fresh one that is on disk before.
fn epoch_key(
    store: &dyn Store,
    names: &IntakeNames,
    unused: bool,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Zeroizing<[u8; 32]>, Error> {
    if !unused {
        let stored = read_small(store, &names.key, 32)?.map(Zeroizing::new);
        let key = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        return key.map(Zeroizing::new).ok_or(Error::Damaged { file: "epoch key", at: 0 });
    }
    let mut key = Zeroizing::new([0; 32]);
    rng.fill_bytes(key.as_mut());
    let mut file = store.create(&names.key)?;
    file.write_all(key.as_ref())?;
    file.sync()?;
    Ok(key)
}

fn short(tag: [u8; 32]) -> Tag {
    *tag.first_chunk().unwrap_or(&[0; 16])
}

/// What one respondent of an epoch takes in memory, about.
pub(crate) const KNOWN_LEN: usize = 96;

/// How much room stays reserved between two groups.
const BUFFER_LEN_MAX: usize = 1 << 20;

const HEAD_LEN: usize = 16 + 16 + 8 + 4;
const CHECK_LEN: usize = 8;
const OVERHEAD: usize = HEAD_LEN + CHECK_LEN;
