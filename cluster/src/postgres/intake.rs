//! What replicas of a first hop take in one epoch: who has answered as rows of a table, their bodies in segments.
//!
//! ```text
//! begin; lock the channels (shared), which must be open
//! insert who answers, sorted: those who are not there yet are taken       (others wait for whoever inserts the same)
//! write their bodies as one object for each label, sorted
//! insert the segments; commit                                             (receipts are given after this)
//! ```
//!
//! What is not committed was never taken: an object without a row is nobody's, and removed with the channel. To close a channel
//! is to lock it for oneself, so that it waits for those who are taking, and those who come later see that it is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use throng_batch::Volume;
use throng_shuffle::{Channel, Claim, Error, Intake, Refusal, Room};
use throng_wire::Digest;
use tokio_postgres::Row;

use super::secret::{KEY, sealed_row};
use super::segment::Segment;
use super::session::{Session, byte_rows, int, ints};
use super::{PgStore, signed};

/// The intake of one epoch, at one replica.
pub(super) struct PgIntake {
    store: PgStore,
    epoch: u64,
    /// The epoch's key as it was sealed when this began: pseudonyms under another one would be others.
    key: Option<Vec<u8>>,
    used: Used,
}

/// How much all replicas have taken, as far as it is known here: it is read again every few groups.
#[derive(Default)]
struct Used {
    /// Bytes of each label.
    bytes: BTreeMap<u32, u64>,
    /// Groups until it is read again.
    left: u32,
}

/// One claim of each pseudonym, in their order.
type Candidates<'a> = BTreeMap<[u8; 16], &'a Claim<'a>>;

/// Body and time bucket of those who have answered.
type Answered = BTreeMap<[u8; 16], (u64, u64)>;

impl PgIntake {
    pub(super) fn open(store: &PgStore, epoch: u64, labels: &[u32]) -> io::Result<Self> {
        let session = Session::begin(&store.postgres)?;
        let labels: BTreeSet<i64> = labels.iter().map(|&label| i64::from(label)).collect();
        session.rows(
            "INSERT INTO intakes (hop, epoch, label, closed) SELECT $1, $2, label, false FROM unnest($3) AS label
             ON CONFLICT DO NOTHING",
            vec![int(store.hop), int(signed(epoch)?), ints(labels.iter().copied().collect())],
        )?;
        let open = open_labels(&session, store.hop, epoch, labels)?;
        let key = sealed_row(&session, store.hop, &key_name(epoch))?;
        // An epoch that was never opened is only closed.
        if key.is_some() && !open.is_empty() {
            let table = table(store.hop, epoch);
            session.batch(&format!(
                "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.{table}', 0));
                 CREATE TABLE IF NOT EXISTS {table} (
                     respondent bytea PRIMARY KEY, body bigint NOT NULL, time_bucket bigint NOT NULL
                 )"
            ))?;
        }
        session.commit()?;
        Ok(Self { store: store.clone(), epoch, key, used: Used::default() })
    }

    fn try_take(
        &mut self,
        group: &[Claim<'_>],
        time_bucket: u64,
        room: Room,
    ) -> io::Result<Vec<Result<u64, Refusal>>> {
        let session = Session::begin(&self.store.postgres)?;
        let labels = group.iter().map(|claim| i64::from(claim.upload.channel().label)).collect();
        let open = open_labels(&session, self.store.hop, self.epoch, labels)?;
        let is_open = |claim: &Claim<'_>| open.contains(&claim.upload.channel().label);
        if sealed_row(&session, self.store.hop, &key_name(self.epoch))? != self.key {
            // Nothing is open any more, or another replica has opened the epoch anew.
            return Ok(group
                .iter()
                .map(|claim| Err(if is_open(claim) { Refusal::Full } else { Refusal::Closed }))
                .collect());
        }
        self.read_used(&session)?;
        let mut candidates = Candidates::new();
        for claim in group.iter().filter(|claim| is_open(claim)) {
            candidates.entry(claim.respondent).or_insert(claim);
        }
        let fitting = self.fitting(&candidates, room);
        let fresh = self.insert(&session, &fitting, time_bucket)?;
        let mut answered = self.known(&session, candidates.keys().filter(|one| !fresh.contains_key(*one)))?;
        let written = self.write(&fresh, time_bucket, &session)?;
        let done = self.store.insert_segments(&session, self.epoch, &written);
        if let Err(error) = done {
            // Without its row, and with no commit on the way, an object is nobody's.
            let name = |(label, segment): &(u32, Segment)| {
                Segment::name(Channel { label: *label, epoch: self.epoch }, segment.number)
            };
            let _ = self.store.objects.remove_all(&written.iter().map(name).collect::<Vec<_>>());
            return Err(error);
        }
        session.commit()?;
        for (label, segment) in &written {
            *self.used.bytes.entry(*label).or_default() += segment.len;
        }
        answered.extend(fresh.iter().map(|(respondent, claim)| (*respondent, (claim.body, time_bucket))));
        let result = |claim: &Claim<'_>| match answered.get(&claim.respondent) {
            _ if !is_open(claim) => Err(Refusal::Closed),
            Some((body, first)) if *body == claim.body => Ok(*first),
            Some(_) => Err(Refusal::Conflict),
            None => Err(Refusal::Full),
        };
        Ok(group.iter().map(result).collect())
    }

    /// Those for whom there is room, should they be new. Who has answered is not in memory, so that their number has no limit.
    fn fitting<'a>(&self, candidates: &Candidates<'a>, room: Room) -> Candidates<'a> {
        let mut bytes = self.used.bytes.clone();
        let fits = |(_, claim): &(&[u8; 16], &&Claim<'_>)| {
            let len = bytes.entry(claim.upload.channel().label).or_default();
            *len += (claim.upload.body_len() + RECORD_MORE) as u64;
            *len <= room.bytes
        };
        candidates.iter().filter(fits).map(|(respondent, claim)| (*respondent, *claim)).collect()
    }

    /// Inserts them in the order of their pseudonyms; says who was not there. Of replicas that insert the same one a single one gets it,
    /// and the others wait until it is known whether that one commits. All insert in one order, so nobody waits in a circle.
    fn insert<'a>(
        &self,
        session: &Session,
        candidates: &Candidates<'a>,
        time_bucket: u64,
    ) -> io::Result<Candidates<'a>> {
        if candidates.is_empty() {
            return Ok(Candidates::new());
        }
        let table = table(self.store.hop, self.epoch);
        let rows = session.rows(
            &format!(
                "INSERT INTO {table} (respondent, body, time_bucket)
                 SELECT respondent, body, $3 FROM unnest($1::bytea[], $2::int8[]) AS one (respondent, body)
                 ORDER BY respondent ON CONFLICT DO NOTHING RETURNING respondent"
            ),
            vec![
                byte_rows(candidates.keys().map(|one| one.to_vec()).collect()),
                ints(candidates.values().map(|claim| claim.body.cast_signed()).collect()),
                int(signed(time_bucket)?),
            ],
        )?;
        let inserted = rows.iter().filter_map(respondent);
        Ok(inserted.filter_map(|one| Some((one, *candidates.get(&one)?))).collect())
    }

    /// What those have sent who are there.
    fn known<'a>(
        &self,
        session: &Session,
        respondents: impl Iterator<Item = &'a [u8; 16]>,
    ) -> io::Result<Answered> {
        let respondents: Vec<Vec<u8>> = respondents.map(|one| one.to_vec()).collect();
        if respondents.is_empty() {
            return Ok(Answered::new());
        }
        let table = table(self.store.hop, self.epoch);
        let rows = session.rows(
            &format!("SELECT respondent, body, time_bucket FROM {table} WHERE respondent = ANY($1)"),
            vec![byte_rows(respondents)],
        )?;
        let number = |row: &Row, at: usize| row.get::<_, i64>(at).cast_unsigned();
        Ok(rows.iter().filter_map(|row| Some((respondent(row)?, (number(row, 1), number(row, 2))))).collect())
    }

    /// Writes bodies as objects, in the order of their pseudonyms: which of them came first is not told.
    fn write(
        &self,
        fresh: &Candidates<'_>,
        time_bucket: u64,
        session: &Session,
    ) -> io::Result<Vec<(u32, Segment)>> {
        let mut by_label: BTreeMap<u32, Vec<&Claim<'_>>> = BTreeMap::new();
        for claim in fresh.values() {
            by_label.entry(claim.upload.channel().label).or_default().push(claim);
        }
        let mut written = Vec::new();
        for (label, claims) in by_label {
            let channel = Channel { label, epoch: self.epoch };
            let mut claims = claims.into_iter().peekable();
            while claims.peek().is_some() {
                let number = next_number(session)?;
                let (mut bytes, mut bodies) = (Vec::new(), 0);
                while bytes.len() < SEGMENT_LEN
                    && let Some(claim) = claims.next()
                {
                    bytes.extend(claim.framed(Segment::start(number) + bytes.len() as u64, time_bucket));
                    bodies += 1;
                }
                let (len, digest) = (bytes.len() as u64, Digest::of(&bytes));
                self.store.objects.put(&Segment::name(channel, number), bytes)?;
                written.push((label, Segment { number, len, bodies, digest }));
            }
        }
        Ok(written)
    }

    fn read_used(&mut self, session: &Session) -> io::Result<()> {
        if let Some(left) = self.used.left.checked_sub(1) {
            self.used.left = left;
            return Ok(());
        }
        let rows = session.rows(
            "SELECT label, sum(len)::int8 FROM segments WHERE hop = $1 AND epoch = $2 GROUP BY label",
            vec![int(self.store.hop), int(signed(self.epoch)?)],
        )?;
        let number = |row: &Row, at: usize| row.get::<_, i64>(at).cast_unsigned();
        self.used = Used {
            bytes: rows
                .iter()
                .filter_map(|row| Some((u32::try_from(number(row, 0)).ok()?, number(row, 1))))
                .collect(),
            left: GROUPS_UNREAD,
        };
        Ok(())
    }
}

impl Intake for PgIntake {
    /// What fails is refused for now: whoever sends the same again is told what became of it.
    fn take(&mut self, group: &[Claim<'_>], time_bucket: u64, room: Room) -> Vec<Result<u64, Refusal>> {
        let taken = self.try_take(group, time_bucket, room);
        taken.unwrap_or_else(|_| {
            self.used.left = 0;
            vec![Err(Refusal::Full); group.len()]
        })
    }

    /// Waits for those who are taking. Closed once, it stays so, and has the same length whenever it is asked.
    fn close(&mut self, label: u32) -> Result<u64, Error> {
        let session = self.store.under_lease()?;
        let values = || -> io::Result<_> {
            Ok(vec![int(self.store.hop), int(signed(self.epoch)?), int(i64::from(label))])
        };
        session.rows(
            "INSERT INTO intakes (hop, epoch, label, closed) VALUES ($1, $2, $3, true)
             ON CONFLICT (hop, epoch, label) DO UPDATE SET closed = true",
            values()?,
        )?;
        let row = session.row(
            "SELECT coalesce(sum(len), 0)::int8 FROM segments WHERE hop = $1 AND epoch = $2 AND label = $3",
            values()?,
        )?;
        session.commit()?;
        Ok(row.map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }

    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Drops the table of who has answered in an epoch. None of its channels takes anything after that.
pub(super) fn forget_answered(session: &Session, hop: i64, epoch: u64) -> io::Result<()> {
    session.rows(
        "UPDATE intakes SET closed = true WHERE hop = $1 AND epoch = $2 AND NOT closed",
        vec![int(hop), int(signed(epoch)?)],
    )?;
    session.batch(&format!("DROP TABLE IF EXISTS {}", table(hop, epoch)))
}

/// Which of these labels take uploads. Until the transaction ends none of them closes.
fn open_labels(session: &Session, hop: i64, epoch: u64, labels: BTreeSet<i64>) -> io::Result<BTreeSet<u32>> {
    let rows = session.rows(
        "SELECT label, closed FROM intakes WHERE hop = $1 AND epoch = $2 AND label = ANY($3) ORDER BY label FOR SHARE",
        vec![int(hop), int(signed(epoch)?), ints(labels.into_iter().collect())],
    )?;
    let open = rows.iter().filter(|row| !row.get::<_, bool>(1));
    Ok(open.filter_map(|row| u32::try_from(row.get::<_, i64>(0)).ok()).collect())
}

fn next_number(session: &Session) -> io::Result<u64> {
    let row = session.row("SELECT nextval('segment_numbers')", Vec::new())?;
    let row = row.ok_or_else(|| io::Error::other("the database gave no number for a segment"))?;
    Ok(row.get::<_, i64>(0).cast_unsigned())
}

fn respondent(row: &Row) -> Option<[u8; 16]> {
    row.get::<_, &[u8]>(0).try_into().ok()
}

/// The table of who has answered.
fn table(hop: i64, epoch: u64) -> String {
    format!("answered_{hop}_{epoch}")
}

fn key_name(epoch: u64) -> String {
    format!("{}.{KEY}", Channel { label: 0, epoch })
}

/// About how long a segment may be: what is read at once.
const SEGMENT_LEN: usize = 8 << 20;
/// More than a record has besides its body.
const RECORD_MORE: usize = 64;
/// Groups between two looks at what others have taken.
const GROUPS_UNREAD: u32 = 31;
