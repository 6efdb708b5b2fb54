//! What hop 1 takes in one epoch: one body of each respondent, whatever its label, sealed as it came.
//!
//! A respondent is known by HMAC(epoch key, id), and the body that they sent by HMAC(epoch key, id | label | hash of
//! body). The key is in a file of its own and erased when the epoch closes; what is left then tells nobody who took part.
//!
//! Each label has a file. Uploads are written to it in groups, each with one sync. A group begins with a mark that says
//! where it stands: that it is there shows that all before it was synced, so what is not whole before a mark is damage, and
//! what is not whole after the last one was never acknowledged. A record is: the two tags (16 bytes each), the receipt's
//! time bucket (8), the body's length (4), the body, and 8 bytes of a hash. Bodies are not opened before the epoch closes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufReader, Read};

use rand_core::CryptoRng;
use throng_wire::{Digest, Hasher, Mac};
use zeroize::Zeroizing;

use crate::channel::{KEY, UPLOADS};
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

    /// The memory that its body is in.
    pub fn into_body(self) -> Vec<u8> {
        self.body
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

/// The uploads of one epoch, while it lasts.
pub(crate) struct Intake {
    epoch: u64,
    mac: Mac,
    known: HashMap<Tag, Known>,
    files: BTreeMap<u32, UploadFile>,
    /// The memory of groups that are written, for the next ones.
    used: Vec<Vec<u8>>,
}

/// Uploads of one label that share a mark and a sync.
struct Group {
    /// Room for the mark, and the records.
    bytes: Vec<u8>,
    ids: Vec<Tag>,
}

impl Group {
    /// An empty one, in memory that was used before.
    fn new(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(MARK_LEN, 0);
        Self { bytes, ids: Vec::new() }
    }
}

/// The uploads of one label.
struct UploadFile {
    file: Box<dyn StoreFile>,
    len: u64,
    /// Bytes that could be neither written nor taken back: nothing may follow them.
    broken: bool,
}

type Tag = [u8; 16];

#[derive(Clone, Copy)]
struct Known {
    body: Tag,
    time_bucket: u64,
}

/// How much an epoch may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Respondents, which are in memory.
    pub(crate) respondents: usize,
    /// Bytes of one label, which have to be shuffled later.
    pub(crate) bytes: u64,
}

impl Intake {
    /// Goes on with what is on disk for these labels, or starts.
    pub(crate) fn open(
        store: &dyn Store,
        epoch: u64,
        labels: impl Iterator<Item = u32>,
        body_len_max: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self, Error> {
        let (mut known, mut files) = (HashMap::new(), BTreeMap::new());
        for label in labels {
            let channel = Channel { label, epoch };
            let Some(mut records) = UploadReader::open(store, channel, body_len_max)? else { continue };
            while let Some(record) = records.next_record()? {
                known.insert(record.id, record.known);
            }
            // What follows the last whole record was not acknowledged.
            let mut file = UploadFile::open(store, channel)?;
            file.len = records.whole;
            file.file.truncate(file.len)?;
            files.insert(label, file);
        }
        let key = epoch_key(store, epoch, known.is_empty(), rng)?;
        Ok(Self { epoch, mac: Mac::new(&key), known, files, used: Vec::new() })
    }

    /// Takes a group of uploads with one sync for each label. What is `Ok` survives a crash when this returns, and says
    /// the time bucket for the receipt: for identical bytes again, the one of the first time.
    pub(crate) fn take(
        &mut self,
        store: &dyn Store,
        uploads: &[&Upload],
        time_bucket: u64,
        room: Room,
    ) -> Vec<Result<u64, Refusal>> {
        let mut fresh: BTreeMap<u32, Group> = BTreeMap::new();
        let mut ids = Vec::with_capacity(uploads.len());
        let mut taken: Vec<Result<u64, Refusal>> = uploads
            .iter()
            .map(|upload| {
                let (id, body) = self.tags(upload);
                ids.push(id);
                match self.known.get(&id) {
                    Some(known) if known.body == body => Ok(known.time_bucket),
                    Some(_) => Err(Refusal::Conflict),
                    None if self.known.len() >= room.respondents => Err(Refusal::Full),
                    None => {
                        let known = Known { body, time_bucket };
                        let used = || Group::new(self.used.pop().unwrap_or_default());
                        let group = fresh.entry(upload.channel.label).or_insert_with(used);
                        write_record(&mut group.bytes, id, known, upload);
                        group.ids.push(id);
                        self.known.insert(id, known);
                        Ok(time_bucket)
                    }
                }
            })
            .collect();
        let mut all_written = true;
        for (label, mut group) in fresh {
            if self.write(store, label, &mut group.bytes, room).is_err() {
                for id in &group.ids {
                    self.known.remove(id);
                }
                all_written = false;
            }
            self.used.push(group.bytes);
        }
        // Those that were known before are as safe as they were; those that could not be written are not known.
        for (id, taken) in ids.iter().zip(&mut taken) {
            if !all_written && taken.is_ok() && !self.known.contains_key(id) {
                *taken = Err(Refusal::Full);
            }
        }
        taken
    }

    fn write(&mut self, store: &dyn Store, label: u32, group: &mut [u8], room: Room) -> Result<(), Error> {
        let channel = Channel { label, epoch: self.epoch };
        let file = match self.files.entry(label) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(none) => none.insert(UploadFile::open(store, channel)?),
        };
        if file.broken || file.len + group.len() as u64 > room.bytes {
            return Err(Refusal::Full.into());
        }
        file.write(group)
    }

    fn tags(&self, upload: &Upload) -> (Tag, Tag) {
        let label = upload.channel.label.to_be_bytes();
        let id = self.mac.tag(&[b"id", upload.id.as_bytes()]);
        let body = self.mac.tag(&[b"body", upload.id.as_bytes(), &label, upload.digest.as_bytes()]);
        (short(id), short(body))
    }
}

impl UploadFile {
    fn open(store: &dyn Store, channel: Channel) -> Result<Self, Error> {
        Ok(Self { file: store.append(&channel.file(UPLOADS))?, len: 0, broken: false })
    }

    /// Marks a group, writes it and syncs it, or takes it back.
    fn write(&mut self, group: &mut [u8]) -> Result<(), Error> {
        group[..MARK_LEN].copy_from_slice(&mark(self.len));
        let written = self.file.write_all(group).and_then(|()| self.file.sync());
        match written {
            Ok(()) => {
                self.len += group.len() as u64;
                // Bodies are read when the epoch is over.
                self.file.set_aside();
            }
            Err(_) => self.broken = self.file.truncate(self.len).is_err(),
        }
        Ok(written?)
    }
}

/// The bodies of one label, one after another.
pub(crate) struct UploadReader {
    reader: BufReader<Box<dyn Read + Send>>,
    body_len_max: usize,
    /// Where the last whole record or mark ends.
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
        channel: Channel,
        body_len_max: usize,
    ) -> Result<Option<Self>, Error> {
        match store.read(&channel.file(UPLOADS)) {
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

    /// The next whole record, or `None` at the end of what was synced.
    fn next_record(&mut self) -> Result<Option<UploadRecord>, Error> {
        loop {
            let mut bytes = vec![0; MARK_LEN];
            let filled = read_full(&mut self.reader, &mut bytes)?;
            bytes.truncate(filled);
            if bytes == mark(self.whole) {
                self.whole += MARK_LEN as u64;
                continue;
            }
            let record = self.read_record(&mut bytes)?;
            if let Some(record) = record {
                self.whole += bytes.len() as u64;
                return Ok(Some(record));
            }
            let damaged = self.marked_later(bytes)?;
            let at = self.whole;
            return if damaged { Err(Error::Damaged { file: "uploads", at }) } else { Ok(None) };
        }
    }

    /// Reads a record that begins with these bytes, and appends all that it reads to them.
    fn read_record(&mut self, bytes: &mut Vec<u8>) -> Result<Option<UploadRecord>, Error> {
        self.read_to(bytes, HEAD_LEN)?;
        let Some(head) = bytes.get(..HEAD_LEN) else { return Ok(None) };
        let len = u32::from_be_bytes([head[40], head[41], head[42], head[43]]) as usize;
        if len > self.body_len_max {
            return Ok(None);
        }
        self.read_to(bytes, len + OVERHEAD)?;
        let Some((head, rest)) = bytes.split_at_checked(HEAD_LEN) else { return Ok(None) };
        let Some((body, check)) = rest.split_at_checked(len) else { return Ok(None) };
        if check_of(head, &Digest::of(body)) != check {
            return Ok(None);
        }
        let (id, rest) = head.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let (body_tag, rest) = rest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let time_bucket = rest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Ok(Some(UploadRecord { id: *id, known: Known { body: *body_tag, time_bucket }, body: body.to_vec() }))
    }

    fn read_to(&mut self, bytes: &mut Vec<u8>, len: usize) -> Result<(), Error> {
        let start = bytes.len();
        bytes.resize(len.max(start), 0);
        let filled = read_full(&mut self.reader, &mut bytes[start..])?;
        bytes.truncate(start + filled);
        Ok(())
    }

    /// Whether a group begins after bytes that are no record. Then they were synced as one, and something changed them.
    fn marked_later(&mut self, mut bytes: Vec<u8>) -> Result<bool, Error> {
        self.reader.read_to_end(&mut bytes)?;
        let mut places = 1..bytes.len().saturating_sub(MARK_LEN - 1);
        Ok(places.any(|place| bytes[place..place + MARK_LEN] == mark(self.whole + place as u64)))
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

/// The mark of a group that begins at this place: no tag of a respondent is all ones.
fn mark(place: u64) -> [u8; MARK_LEN] {
    let mut mark = [0xff; MARK_LEN];
    mark[16..].copy_from_slice(&place.to_be_bytes());
    mark
}

/// The body's hash is known already, so it stands for the body.
fn check_of(head: &[u8], body: &Digest) -> [u8; CHECK_LEN] {
    let mut hasher = Hasher::new();
    hasher.update(head);
    hasher.update(body.as_bytes());
    *hasher.finish().as_bytes().first_chunk().unwrap_or(&[0; CHECK_LEN])
}

/// The name of the file with an epoch's key.
pub(crate) fn key_name(epoch: u64) -> String {
    Channel { label: 0, epoch }.file(KEY)
}

/// The epoch's key: the one on disk if anything was made with it, or else a fresh one that is on disk before.
fn epoch_key(
    store: &dyn Store,
    epoch: u64,
    unused: bool,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Zeroizing<[u8; 32]>, Error> {
    if !unused {
        let stored = read_small(store, &key_name(epoch), 32)?.map(Zeroizing::new);
        let key = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        return key.map(Zeroizing::new).ok_or(Error::Damaged { file: "epoch key", at: 0 });
    }
    let mut key = Zeroizing::new([0; 32]);
    rng.fill_bytes(key.as_mut());
    let mut file = store.create(&key_name(epoch))?;
    file.write_all(key.as_ref())?;
    file.sync()?;
    Ok(key)
}

fn short(tag: [u8; 32]) -> Tag {
    *tag.first_chunk().unwrap_or(&[0; 16])
}

/// What one respondent of an epoch takes in memory, about.
pub(crate) const KNOWN_LEN: usize = 96;

const MARK_LEN: usize = 16 + 8;
const HEAD_LEN: usize = 16 + 16 + 8 + 4;
const CHECK_LEN: usize = 8;
const OVERHEAD: usize = HEAD_LEN + CHECK_LEN;
