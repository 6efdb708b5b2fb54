//! The store of one hop: rows for what is small or decides something, objects for the rest.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use throng_batch::{Partition, Partitions, Volume, VolumeFile};
use throng_shuffle::{Channel, Intake, Log, Store, StoreFile};
use throng_wire::{Mac, Place, SigningKey, SurveyHash};
use zeroize::Zeroizing;

use super::intake::{PgIntake, forget_answered};
use super::log::{self, PgLog};
use super::mark::ObjectMark;
use super::secret::{self, SecretFile};
use super::segment::{UPLOADS, segment_bytes};
use super::session::{Session, bytes, int, text};
use super::{Lease, Postgres, signed};
use crate::objects::Objects;
use crate::ratchet::Ratchet;

/// The store that all replicas of one hop share. Clones are the same one.
///
/// Whoever has no lease reads, and takes uploads. Everything else fails without the lease, and behind a newer one.
#[derive(Clone)]
pub struct PgStore {
    pub(super) postgres: Postgres,
    pub(super) hop: i64,
    pub(super) objects: Objects,
    pub(super) ratchet: Arc<Ratchet>,
    /// Of rows that a replica writes.
    pub(super) mac: Arc<Mac>,
    /// Survey and place.
    pub(super) context: Arc<[u8]>,
    lease: Option<Arc<Lease>>,
}

impl PgStore {
    /// The store of the hop at a place in a survey, for a replica that follows. Rows are authenticated by a key that follows from the
    /// hop's signing key.
    pub fn new(
        postgres: &Postgres,
        objects: &Objects,
        ratchet: Arc<Ratchet>,
        survey: SurveyHash,
        place: Place,
        signing: &SigningKey,
    ) -> io::Result<Self> {
        let place = place.to_string();
        let session = Session::begin(postgres)?;
        let values = || vec![bytes(survey.as_bytes()), text(&place)];
        session.rows("INSERT INTO hops (survey, place) VALUES ($1, $2) ON CONFLICT DO NOTHING", values())?;
        let row = session.row("SELECT id FROM hops WHERE survey = $1 AND place = $2", values())?;
        session.commit()?;
        let hop = row.ok_or_else(|| io::Error::other("the database has lost a row of its hops"))?.get(0);
        let mac = signing.derive("throng cluster rows v1", &[survey.as_bytes(), place.as_bytes()]);
        Ok(Self {
            postgres: postgres.clone(),
            hop,
            objects: objects.below(&format!("{survey}/{place}")),
            ratchet,
            mac: Arc::new(mac),
            context: [&survey.as_bytes()[..], place.as_bytes()].concat().into(),
            lease: None,
        })
    }

    /// The same store for a replica that leads, with its lease and the mark of its journal. `None` while another one has the lease.
    /// Whoever leads renews it well before the duration is over, and stops as soon as that fails.
    pub fn lead(&self, duration: Duration) -> io::Result<Option<(Self, Arc<Lease>, ObjectMark)>> {
        let floor = ObjectMark::newest(&self.objects)?;
        let Some(lease) = Lease::acquire(&self.postgres, self.hop, floor, duration)? else { return Ok(None) };
        let (lease, mark) = (Arc::new(lease), self.objects.clone());
        let mark = ObjectMark::new(&mark, lease.number());
        Ok(Some((Self { lease: Some(Arc::clone(&lease)), ..self.clone() }, lease, mark)))
    }

    /// The keys of its secrets. Once epochs are decided, `forget_before` of it.
    pub fn ratchet(&self) -> &Ratchet {
        &self.ratchet
    }

    /// Its objects.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// A transaction during which nobody takes over.
    pub(super) fn under_lease(&self) -> io::Result<Session> {
        let session = Session::begin(&self.postgres)?;
        self.lease()?.hold(&session)?;
        Ok(session)
    }

    fn lease(&self) -> io::Result<&Arc<Lease>> {
        self.lease.as_ref().ok_or_else(|| {
            io::Error::other("this replica has no lease: another one, or nobody, changes what the hop keeps")
        })
    }

    /// Removes what was taken of a channel, for good. Nothing more is.
    fn remove_uploads(&self, channel: Channel) -> io::Result<()> {
        let session = self.under_lease()?;
        let values = || -> io::Result<_> {
            Ok(vec![int(self.hop), int(signed(channel.epoch)?), int(i64::from(channel.label))])
        };
        session.rows(
            "INSERT INTO intakes (hop, epoch, label, closed) VALUES ($1, $2, $3, true)
             ON CONFLICT (hop, epoch, label) DO UPDATE SET closed = true",
            values()?,
        )?;
        session.rows("DELETE FROM segments WHERE hop = $1 AND epoch = $2 AND label = $3", values()?)?;
        session.commit()?;
        // Also those that a replica wrote, and could not commit.
        self.remove_objects(&channel_file(channel, UPLOADS))
    }

    /// Removes a file that is one object, or several below its name.
    fn remove_objects(&self, name: &str) -> io::Result<()> {
        let below = self.objects.below(name).names()?.into_iter().map(|part| format!("{name}/{part}"));
        let mut all: Vec<String> = below.collect();
        if all.is_empty() {
            // Where objects are files, the name may be an empty directory's.
            match self.objects.len(name) {
                Ok(_) => all.push(name.to_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.objects.remove_all(&all)
    }
}

impl Partitions for PgStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        if name == JOURNAL {
            let records = log::read(&self.postgres, self.hop)?;
            if records.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "there is no journal yet"));
            }
            return Ok(range_of(Zeroizing::new(records), &bytes));
        }
        match Kind::of(name) {
            Kind::Secret(_) => Ok(range_of(self.secret(name)?, &bytes)),
            _ => self.objects.read_range(name, segment_bytes(name, &bytes).unwrap_or(bytes)),
        }
    }
}

impl Volume for PgStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.lease()?.check()?;
        match Kind::of(name) {
            Kind::Secret(channel) => Ok(Box::new(SecretFile {
                store: self.clone(),
                name: name.to_owned(),
                channel,
                bytes: Zeroizing::default(),
            })),
            Kind::Uploads(_) => Err(io::Error::other("uploads are taken, and not written")),
            Kind::Object => Ok(Box::new(LeasedFile {
                file: self.objects.create(name)?,
                lease: Arc::clone(self.lease()?),
            })),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match Kind::of(name) {
            Kind::Secret(channel) => {
                let session = self.under_lease()?;
                let values = vec![int(self.hop), text(name)];
                session.rows("DELETE FROM secrets WHERE hop = $1 AND name = $2", values)?;
                if name.ends_with(secret::KEY) {
                    forget_answered(&session, self.hop, channel.epoch)?;
                }
                session.commit()
            }
            Kind::Uploads(channel) => self.remove_uploads(channel),
            Kind::Object => {
                self.lease()?.check()?;
                self.remove_objects(name)
            }
        }
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        if names.iter().all(|name| matches!(Kind::of(name), Kind::Object)) {
            self.lease()?.check()?;
            return self.objects.remove_all(names);
        }
        names.iter().try_for_each(|name| self.remove(name))
    }
}

impl Store for PgStore {
    fn append(&self, _: &str) -> io::Result<Box<dyn StoreFile>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this store has no files that go on"))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let session = Session::begin(&self.postgres)?;
        let rows = session.rows(
            "SELECT name FROM secrets WHERE hop = $1
             UNION SELECT label || '-' || epoch || '.uploads' FROM segments WHERE hop = $1
             UNION SELECT 'journal' FROM journal WHERE hop = $1",
            vec![int(self.hop)],
        )?;
        session.commit()?;
        let mut names: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        for name in self.objects.names()? {
            // A file in parts is one file.
            let file = name.split('/').next().unwrap_or_default();
            names.extend(channel_of(file).map(|_| file.to_owned()));
        }
        Ok(names.into_iter().collect())
    }

    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        if name != JOURNAL {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a hop has one log"));
        }
        let lease = Arc::clone(self.lease()?);
        Ok(Box::new(PgLog { postgres: self.postgres.clone(), hop: self.hop, lease }))
    }

    fn intake(&self, epoch: u64, labels: &[u32]) -> io::Result<Option<Box<dyn Intake>>> {
        Ok(Some(Box::new(PgIntake::open(self, epoch, labels)?)))
    }

    fn uploads(&self, channel: Channel, len: u64) -> io::Result<Vec<Partition>> {
        let segments = self.segments(channel)?;
        let found: u64 = segments.iter().map(|segment| segment.bytes.end - segment.bytes.start).sum();
        if found != len {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the database has {found} bytes of uploads of {channel}, and the journal says {len}: put back its rows"
                ),
            ));
        }
        Ok(segments)
    }
}

/// Where a file is kept.
enum Kind {
    Secret(Channel),
    Uploads(Channel),
    Object,
}

impl Kind {
    fn of(name: &str) -> Self {
        match channel_of(name) {
            Some((channel, kind)) if secret::KINDS.contains(&kind) => Self::Secret(channel),
            Some((channel, UPLOADS)) => Self::Uploads(channel),
            _ => Self::Object,
        }
    }
}

/// An object that is there if its writer still has the lease when it is complete.
struct LeasedFile {
    file: Box<dyn VolumeFile>,
    lease: Arc<Lease>,
}

impl Write for LeasedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl VolumeFile for LeasedFile {
    fn sync(&mut self) -> io::Result<()> {
        self.lease.check()?;
        self.file.sync()
    }
}

fn channel_file(channel: Channel, kind: &str) -> String {
    format!("{channel}.{kind}")
}

/// The channel and the kind of a file.
pub(super) fn channel_of(name: &str) -> Option<(Channel, &str)> {
    let (channel, kind) = name.split_once('.')?;
    let (label, epoch) = channel.split_once('-')?;
    let channel = Channel { label: label.parse().ok()?, epoch: epoch.parse().ok()? };
    (channel_file(channel, kind) == name).then_some((channel, kind))
}

fn range_of(all: Zeroizing<Vec<u8>>, bytes: &Range<u64>) -> Box<dyn Read + Send> {
    let len = all.len() as u64;
    let (start, end) = (bytes.start.min(len), bytes.end.min(len));
    let mut reader = Cursor::new(all);
    reader.set_position(start);
    Box::new(reader.take(end.saturating_sub(start)))
}

const JOURNAL: &str = "journal";
