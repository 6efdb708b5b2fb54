//! What hop 1 takes in one epoch: one body of each respondent, whatever its label, sealed as it came. Uploads are
//! idempotent: the same body again is acknowledged again, and not stored again.
//!
//! A respondent is known by HMAC(epoch key, id), and the label and body that they sent by a number that nobody can work out without
//! the epoch key: to send other bytes with the same number is a guess of 64 bits, each of which is an upload. The key is in a file of
//! its own and erased when the epoch closes; what is left then tells nobody who took part.
//!
//! Each label has a file. Uploads are written to it in groups, each with one sync. A group begins with a mark that says
//! where it stands. A record is: the respondent's tag (16 bytes), the receipt's time bucket (8), the body's length (4), the body, and 16
//! bytes of a tag under the hop's own key, of the place, these and the body's hash. Bodies are not opened before the epoch closes.
//!
//! What was acknowledged and what a crash left unfinished must not be confused. When a group is synced, the length of the file is noted in a second
//! one, before anybody is told. The note is not synced: the system writes it in its own time, and a clean stop waits for it. What
//! it says was synced, so a file that is not whole up to there is damaged. It is exact after a clean stop and after the end of the process,
//! however that came; a power failure may take the last of it along. Then a mark still shows that all before it was synced, and what is
//! not whole after the last mark is cut off and said (`Hop::cuts`). Once the epoch is closed the journal has the length.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use rand_core::CryptoRng;
use throng_batch::{Body, Framing, Partition, sip_one};
use throng_wire::{Digest, HashedMap, Mac};
use zeroize::Zeroizing;

use crate::channel::{ChannelFile, KEY, NOTED, UPLOADS};
use crate::draw::{read_secret, write_secret};
use crate::state_key::StateKey;
use crate::store::{Claim, Intake, Room, Store, StoreFile, read_full, read_small};
use crate::upload::{CHECK_LEN, HEAD_LEN, OVERHEAD, Tag, Upload, check_of, head};
use crate::{Channel, Error, Refusal, Seed};

/// An epoch that is open: its key, and what was taken.
pub(crate) struct OpenEpoch {
    tags: Tags,
    key: Arc<StateKey>,
    intake: Box<dyn Intake>,
}

impl OpenEpoch {
    /// Goes on with what the store has for these labels. Says which of them lost an end that nobody was told of.
    pub(crate) fn open(
        (store, key): (&Arc<dyn Store>, &Arc<StateKey>),
        epoch: u64,
        labels: &[u32],
        body_len_max: usize,
    ) -> Result<(Self, Vec<Channel>), Error> {
        let tags = Tags::new(&*read_epoch_key(&**store, key, epoch)?);
        let (intake, cut) = match store.intake(epoch, labels)? {
            Some(own) => (own, Vec::new()),
            None => {
                let (intake, cut) = FileIntake::open((store, key), epoch, labels, body_len_max, &tags)?;
                (Box::new(intake) as Box<dyn Intake>, cut)
            }
        };
        Ok((Self { tags, key: Arc::clone(key), intake }, cut))
    }

    /// Takes a group of uploads, as [`Intake::take`] says.
    pub(crate) fn take(
        &mut self,
        uploads: &[&Upload],
        time_bucket: u64,
        room: Room,
    ) -> Vec<Result<u64, Refusal>> {
        let tags = &self.tags;
        let claims: Vec<Claim<'_>> = uploads
            .iter()
            .map(|upload| Claim {
                respondent: tags.respondent(&upload.id),
                body: tags.body(upload.channel.label, &upload.digest),
                upload,
                key: &self.key,
            })
            .collect();
        self.intake.take(&claims, time_bucket, room)
    }

    /// Ends the intake of a label: how many bytes of uploads it has.
    pub(crate) fn close(&mut self, label: u32) -> Result<u64, Error> {
        self.intake.close(label)
    }

    /// Waits until what is noted cannot be lost either.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.intake.sync()
    }
}

/// The intake of an epoch in files that go on, one for each label.
struct FileIntake {
    store: Arc<dyn Store>,
    key: Arc<StateKey>,
    epoch: u64,
    known: HashedMap<Tag, KnownUpload>,
    files: BTreeMap<u32, UploadFile>,
}

/// What stands for respondents and for what they sent, under the epoch's key.
struct Tags {
    mac: Mac,
    bodies: Zeroizing<Seed>,
}

impl Tags {
    fn new(key: &[u8; 32]) -> Self {
        let mac = Mac::new(key);
        let bodies = Zeroizing::new(mac.tag(&[b"bodies"]));
        Self { mac, bodies }
    }

    fn respondent(&self, id: &Digest) -> Tag {
        *self.mac.tag(&[b"id", id.as_bytes()]).first_chunk().unwrap_or(&[0; 16])
    }

    fn body(&self, label: u32, digest: &Digest) -> u64 {
        let mut bytes = [0; 4 + 32];
        bytes[..4].copy_from_slice(&label.to_be_bytes());
        bytes[4..].copy_from_slice(digest.as_bytes());
        sip_one(&bytes, &self.bodies)
    }
}

/// The uploads of one label.
struct UploadFile {
    channel: Channel,
    file: Box<dyn StoreFile>,
    len: u64,
    /// Where the length is noted; `None` once that has failed.
    noted: Option<SyncedLengths>,
    /// Bytes that could be neither written nor taken back: nothing may follow them.
    broken: bool,
}

#[derive(Clone, Copy)]
struct KnownUpload {
    /// What stands for label and body.
    body: u64,
    time_bucket: u64,
}

impl FileIntake {
    /// Goes on with what is on disk for these labels. Says which of them lost an end that nobody was told of.
    fn open(
        (own, own_key): (&Arc<dyn Store>, &Arc<StateKey>),
        epoch: u64,
        labels: &[u32],
        body_len_max: usize,
        tags: &Tags,
    ) -> Result<(Self, Vec<Channel>), Error> {
        let (store, key) = (&**own, &**own_key);
        let (mut known, mut files, mut cut) = (HashedMap::default(), BTreeMap::new(), Vec::new());
        for &label in labels {
            let channel = Channel { label, epoch };
            let noted = SyncedLengths::read(store, key, channel)?;
            let Some(mut reader) = UploadReader::open((store, key), channel, body_len_max)? else {
                if noted > 0 {
                    return Err(Error::Damaged { file: UPLOADS, at: 0 });
                }
                continue;
            };
            while let Some(UploadRecord { id, time_bucket, digest, .. }) = reader.next_record()? {
                known.insert(id, KnownUpload { body: tags.body(label, &digest), time_bucket });
            }
            if reader.whole < noted {
                return Err(Error::Damaged { file: UPLOADS, at: reader.whole });
            }
            // What follows the last whole record was not acknowledged.
            let mut file = UploadFile::open(store, channel)?;
            file.len = reader.whole;
            file.file.truncate(file.len)?;
            files.insert(label, file);
            cut.extend(reader.torn.then_some(channel));
        }
        let (store, key) = (Arc::clone(own), Arc::clone(own_key));
        Ok((Self { store, key, epoch, known, files }, cut))
    }

    fn write(
        &mut self,
        label: u32,
        group: &[(Tag, &Upload)],
        time_bucket: u64,
        room: Room,
    ) -> Result<(), Error> {
        let channel = Channel { label, epoch: self.epoch };
        let file = match self.files.entry(label) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(none) => none.insert(UploadFile::open(&*self.store, channel)?),
        };
        let len = group.iter().map(|(_, upload)| OVERHEAD + upload.body.len()).sum::<usize>() + MARK_LEN;
        if file.broken || file.len + len as u64 > room.bytes {
            return Err(Refusal::Full.into());
        }
        file.write(&self.key, group, time_bucket, len as u64)
    }
}

impl Intake for FileIntake {
    fn close(&mut self, label: u32) -> Result<u64, Error> {
        Ok(self.files.get(&label).map_or(0, |file| file.len))
    }

    /// Waits until what is noted of its files cannot be lost either.
    fn sync(&mut self) -> Result<(), Error> {
        let mut noted = self.files.values_mut().filter_map(|file| file.noted.as_mut());
        Ok(noted.try_for_each(|noted| noted.file.sync())?)
    }

    /// With one sync for each label.
    fn take(&mut self, group: &[Claim<'_>], time_bucket: u64, room: Room) -> Vec<Result<u64, Refusal>> {
        let mut fresh: BTreeMap<u32, Vec<(Tag, &Upload)>> = BTreeMap::new();
        let mut taken: Vec<Result<u64, Refusal>> = group
            .iter()
            .map(|&Claim { respondent, body, upload, .. }| match self.known.get(&respondent) {
                Some(known) if known.body == body => Ok(known.time_bucket),
                Some(_) => Err(Refusal::Conflict),
                None if self.known.len() >= room.respondents => Err(Refusal::Full),
                None => {
                    fresh.entry(upload.channel.label).or_default().push((respondent, upload));
                    self.known.insert(respondent, KnownUpload { body, time_bucket });
                    Ok(time_bucket)
                }
            })
            .collect();
        let mut all_written = true;
        for (label, group) in fresh {
            if self.write(label, &group, time_bucket, room).is_err() {
                for (id, _) in &group {
                    self.known.remove(id);
                }
                all_written = false;
            }
        }
        // Those that were known before are as safe as they were; those that could not be written are not known.
        for (claim, taken) in group.iter().zip(&mut taken) {
            if !all_written && taken.is_ok() && !self.known.contains_key(&claim.respondent) {
                *taken = Err(Refusal::Full);
            }
        }
        taken
    }
}

impl UploadFile {
    fn open(store: &dyn Store, channel: Channel) -> Result<Self, Error> {
        let noted = Some(SyncedLengths::open(store, channel)?);
        Ok(Self { channel, file: store.append_groups(&channel.file(UPLOADS))?, len: 0, noted, broken: false })
    }

    /// Marks a group, writes it and syncs it, or takes it back.
    fn write(
        &mut self,
        key: &StateKey,
        group: &[(Tag, &Upload)],
        time_bucket: u64,
        len: u64,
    ) -> Result<(), Error> {
        let written = self.write_records(key, group, time_bucket).and_then(|()| self.file.sync());
        match written {
            Ok(()) => {
                self.len += len;
                let noted = self.noted.take();
                self.noted = noted.and_then(|noted| noted.write(key, self.channel, self.len));
            }
            Err(_) => self.broken = self.file.truncate(self.len).is_err(),
        }
        Ok(written?)
    }

    fn write_records(
        &mut self,
        key: &StateKey,
        group: &[(Tag, &Upload)],
        time_bucket: u64,
    ) -> io::Result<()> {
        self.file.write_all(&mark(key, self.channel, self.len))?;
        let mut place = self.len + MARK_LEN as u64;
        for (id, upload) in group {
            let head = head(*id, time_bucket, upload.body.len());
            self.file.write_all(&head)?;
            self.file.write_all(&upload.body)?;
            self.file.write_all(&check_of(key, self.channel, place, &head, &upload.digest))?;
            place += (OVERHEAD + upload.body.len()) as u64;
        }
        Ok(())
    }
}

/// The lengths that a file of uploads had when it was synced, one after another: a length (8), and 16 bytes of its tag.
struct SyncedLengths {
    file: Box<dyn StoreFile>,
    len: u64,
}

impl SyncedLengths {
    fn open(store: &dyn Store, channel: Channel) -> Result<Self, Error> {
        let name = channel.file(NOTED);
        let len = read_small(store, &name, u64::MAX - 1)?.unwrap_or_default().len() / NOTE_LEN * NOTE_LEN;
        let mut file = store.append(&name)?;
        // A crash may have left half a note.
        file.truncate(len as u64)?;
        Ok(Self { file, len: len as u64 })
    }

    /// The last length that was noted: 0 if none was.
    fn read(store: &dyn Store, key: &StateKey, channel: Channel) -> Result<u64, Error> {
        let bytes = read_small(store, &channel.file(NOTED), u64::MAX - 1)?.unwrap_or_default();
        let (notes, _) = bytes.as_chunks::<NOTE_LEN>();
        let length = |note: &[u8; NOTE_LEN]| {
            let len = note.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            (note_of(key, channel, len) == *note).then_some(len)
        };
        Ok(notes.iter().rev().find_map(length).unwrap_or(0))
    }

    /// Notes a length. What cannot be noted is safe all the same, and less is known about it later.
    fn write(mut self, key: &StateKey, channel: Channel, len: u64) -> Option<Self> {
        match self.file.write_all(&note_of(key, channel, len)) {
            Ok(()) => self.len += NOTE_LEN as u64,
            Err(_) => self.file.truncate(self.len).ok()?,
        }
        Some(self)
    }
}

fn note_of(key: &StateKey, channel: Channel, len: u64) -> [u8; NOTE_LEN] {
    let mut note = [0; NOTE_LEN];
    let len = len.to_be_bytes();
    note[..8].copy_from_slice(&len);
    note[8..].copy_from_slice(&key.tag_of(NOTED, channel, [&len, &[]])[..CHECK_LEN]);
    note
}

/// The uploads of a channel whose epoch is closed, as an engine reads them.
pub(crate) struct ClosedUploads<'a> {
    pub(crate) key: &'a StateKey,
    pub(crate) channel: Channel,
    pub(crate) body_len_max: usize,
}

impl Framing for ClosedUploads<'_> {
    fn bodies<'a>(
        &'a self,
        partition: &Partition,
        reader: Box<dyn Read + Send>,
    ) -> Box<dyn Iterator<Item = Result<Body, throng_batch::Error>> + 'a> {
        let reader = UploadReader::new(self.key, self.channel, self.body_len_max, reader);
        let (whole, closed) = (partition.bytes.start, Some(partition.bytes.end));
        let mut reader = UploadReader { whole, closed, ..reader };
        Box::new(std::iter::from_fn(move || match reader.next_record() {
            Ok(record) => record.map(|UploadRecord { body, digest, .. }| Ok(Body { bytes: body, digest })),
            Err(error) => Some(Err(error)),
        }))
    }
}

/// The bodies of one label, one after another.
struct UploadReader<'a> {
    key: &'a StateKey,
    channel: Channel,
    reader: BufReader<Box<dyn Read + Send>>,
    body_len_max: usize,
    /// Where the last whole record or mark ends.
    whole: u64,
    /// How long the file was when its epoch closed.
    closed: Option<u64>,
    /// Whether something follows that is no record.
    torn: bool,
}

struct UploadRecord {
    id: Tag,
    time_bucket: u64,
    body: Vec<u8>,
    digest: Digest,
}

impl<'a> UploadReader<'a> {
    fn open(
        (store, key): (&dyn Store, &'a StateKey),
        channel: Channel,
        body_len_max: usize,
    ) -> Result<Option<Self>, Error> {
        match store.read(&channel.file(UPLOADS)) {
            Ok(reader) => Ok(Some(Self::new(key, channel, body_len_max, reader))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn new(key: &'a StateKey, channel: Channel, body_len_max: usize, reader: Box<dyn Read + Send>) -> Self {
        let reader = BufReader::with_capacity(1 << 16, reader);
        Self { key, channel, reader, body_len_max, whole: 0, closed: None, torn: false }
    }

    /// The next whole record, or `None` at the end of what was synced.
    fn next_record(&mut self) -> Result<Option<UploadRecord>, throng_batch::Error> {
        loop {
            if self.closed == Some(self.whole) {
                return Ok(None);
            }
            let mut bytes = vec![0; MARK_LEN];
            let filled = read_full(&mut self.reader, &mut bytes)?;
            bytes.truncate(filled);
            if bytes.starts_with(&mark_head(self.whole)) && bytes == mark(self.key, self.channel, self.whole)
            {
                self.whole += MARK_LEN as u64;
                continue;
            }
            let record = self.read_record(&mut bytes)?;
            if let Some(record) = record {
                self.whole += bytes.len() as u64;
                return Ok(Some(record));
            }
            let damaged = self.closed.is_some() || self.marked_later(bytes)?;
            let at = self.whole;
            return if damaged { Err(throng_batch::Error::Damaged { file: UPLOADS, at }) } else { Ok(None) };
        }
    }

    /// Reads a record that begins with these bytes, and appends all that it reads to them.
    fn read_record(&mut self, bytes: &mut Vec<u8>) -> Result<Option<UploadRecord>, throng_batch::Error> {
        self.read_to(bytes, HEAD_LEN)?;
        let Some(head) = bytes.get(..HEAD_LEN) else { return Ok(None) };
        let len = u32::from_be_bytes([head[24], head[25], head[26], head[27]]) as usize;
        if len > self.body_len_max {
            return Ok(None);
        }
        self.read_to(bytes, len + OVERHEAD)?;
        let Some((head, rest)) = bytes.split_at_checked(HEAD_LEN) else { return Ok(None) };
        let Some((body, check)) = rest.split_at_checked(len) else { return Ok(None) };
        let digest = Digest::of(body);
        if check_of(self.key, self.channel, self.whole, head, &digest) != check {
            return Ok(None);
        }
        let (id, rest) = head.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let time_bucket = rest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Ok(Some(UploadRecord { id: *id, time_bucket, body: body.to_vec(), digest }))
    }

    fn read_to(&mut self, bytes: &mut Vec<u8>, len: usize) -> Result<(), throng_batch::Error> {
        let start = bytes.len();
        bytes.resize(len.max(start), 0);
        let filled = read_full(&mut self.reader, &mut bytes[start..])?;
        bytes.truncate(start + filled);
        Ok(())
    }

    /// Whether a group begins after bytes that are no record. Then they were synced as one, and something changed them.
    fn marked_later(&mut self, mut bytes: Vec<u8>) -> Result<bool, throng_batch::Error> {
        self.reader.read_to_end(&mut bytes)?;
        // Zeros are what a file of groups has behind its end.
        self.torn = bytes.iter().any(|&byte| byte != 0);
        let mut places = 1..bytes.len().saturating_sub(MARK_LEN - 1);
        Ok(places.any(|place| {
            let found = &bytes[place..place + MARK_LEN];
            let at = self.whole + place as u64;
            found.starts_with(&mark_head(at)) && *found == mark(self.key, self.channel, at)
        }))
    }
}

/// The mark of a group that begins at this place.
fn mark(key: &StateKey, channel: Channel, place: u64) -> [u8; MARK_LEN] {
    let mut mark = [0; MARK_LEN];
    mark[..MARK_HEAD_LEN].copy_from_slice(&mark_head(place));
    mark[MARK_HEAD_LEN..]
        .copy_from_slice(&key.tag_of("group", channel, [&place.to_be_bytes(), &[]])[..CHECK_LEN]);
    mark
}

/// How it begins: no tag of a respondent is all ones.
fn mark_head(place: u64) -> [u8; MARK_HEAD_LEN] {
    let mut head = [0xff; MARK_HEAD_LEN];
    head[16..].copy_from_slice(&place.to_be_bytes());
    head
}

/// The name of the file with an epoch's key.
pub(crate) fn key_name(epoch: u64) -> String {
    Channel { label: 0, epoch }.file(KEY)
}

/// Draws the key of an epoch; when this returns it survives a crash.
pub(crate) fn make_epoch_key(
    store: &dyn Store,
    key: &StateKey,
    epoch: u64,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<(), Error> {
    let channel = Channel { label: 0, epoch };
    write_secret(store, &key_name(epoch), |secret| key.tag_of(KEY, channel, [secret, &[]]), rng)
}

/// The key on disk. It has to be there.
fn read_epoch_key(store: &dyn Store, key: &StateKey, epoch: u64) -> Result<Zeroizing<Seed>, Error> {
    let channel = Channel { label: 0, epoch };
    let read = read_secret(store, &key_name(epoch), |secret| key.tag_of(KEY, channel, [secret, &[]]))?;
    read.ok_or(Error::Damaged { file: "epoch key", at: epoch })
}

/// What one respondent of an epoch takes in memory, about.
pub(crate) const KNOWN_LEN: usize = 96;

const MARK_HEAD_LEN: usize = 16 + 8;
const MARK_LEN: usize = MARK_HEAD_LEN + CHECK_LEN;
const NOTE_LEN: usize = 8 + CHECK_LEN;
