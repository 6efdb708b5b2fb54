//! Segments: objects with the bodies that were taken at once, of one label.
//!
//! Places among a channel's uploads are virtual: the segment with number n begins at n * 2^32. So replicas that write at the same
//! time need not agree on anything but a number, and a record is bound to its place all the same.

use std::io;
use std::ops::Range;

use throng_batch::Partition;
use throng_shuffle::Channel;
use throng_wire::{Digest, Mac};
use tokio_postgres::Row;

use super::session::{Session, byte_rows, int, ints};
use super::{PgStore, signed};

/// What the database says of a segment.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) len: u64,
    pub(super) bodies: u64,
    pub(super) digest: Digest,
}

impl Segment {
    /// Where its first record stands.
    pub(super) fn start(number: u64) -> u64 {
        number << PLACE_BITS
    }

    /// The object.
    pub(super) fn name(channel: Channel, number: u64) -> String {
        format!("{channel}.{UPLOADS}/{number:010}")
    }

    fn partition(&self, channel: Channel) -> Partition {
        let start = Self::start(self.number);
        let (name, bytes) = (Self::name(channel, self.number), start..start + self.len);
        Partition { name, bytes, digest: Some(self.digest) }
    }

    /// What shows that a replica has written the row: the database could make up others.
    fn tag(&self, mac: &Mac, channel: Channel) -> [u8; 32] {
        mac.tag(&[
            &channel.label.to_be_bytes(),
            &channel.epoch.to_be_bytes(),
            &self.number.to_be_bytes(),
            &self.len.to_be_bytes(),
            &self.bodies.to_be_bytes(),
            self.digest.as_bytes(),
        ])
    }

    /// What a row says, if a replica has written it.
    fn from_row(row: &Row, mac: &Mac, channel: Channel) -> Option<Self> {
        let number = |at: usize| row.get::<_, i64>(at).cast_unsigned();
        let (digest, tag): (&[u8], &[u8]) = (row.get(3), row.get(4));
        let digest = Digest::new(digest.try_into().ok()?);
        let segment = Self { number: number(0), len: number(1), bodies: number(2), digest };
        (segment.tag(mac, channel) == *tag).then_some(segment)
    }
}

impl PgStore {
    /// The segments of a channel, in the order of their numbers.
    pub fn segments(&self, channel: Channel) -> io::Result<Vec<Partition>> {
        let session = Session::begin(&self.postgres)?;
        let rows = session.rows(
            "SELECT number, len, bodies, digest, tag FROM segments WHERE hop = $1 AND epoch = $2 AND label = $3
             ORDER BY number",
            vec![int(self.hop), int(signed(channel.epoch)?), int(i64::from(channel.label))],
        )?;
        session.commit()?;
        let partition = |row: &Row| {
            let segment = Segment::from_row(row, &self.mac, channel).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a row of the segments of {channel} in the database is not as it was written: put it back"),
                )
            })?;
            Ok(segment.partition(channel))
        };
        rows.iter().map(partition).collect()
    }

    /// Says of segments that they are a channel's, in a transaction that is open.
    pub(super) fn insert_segments(
        &self,
        session: &Session,
        epoch: u64,
        segments: &[(u32, Segment)],
    ) -> io::Result<()> {
        let column = |of: &dyn Fn(u32, &Segment) -> u64| {
            let numbers = segments.iter().map(|(label, segment)| of(*label, segment).cast_signed());
            ints(numbers.collect())
        };
        let tags = segments
            .iter()
            .map(|(label, segment)| segment.tag(&self.mac, Channel { label: *label, epoch }).to_vec());
        session.rows(
            "INSERT INTO segments (hop, epoch, label, number, len, bodies, digest, tag)
             SELECT $1, $2, * FROM unnest($3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::bytea[], $8::bytea[])",
            vec![
                int(self.hop),
                int(signed(epoch)?),
                column(&|label, _| u64::from(label)),
                column(&|_, segment| segment.number),
                column(&|_, segment| segment.len),
                column(&|_, segment| segment.bodies),
                byte_rows(segments.iter().map(|(_, segment)| segment.digest.as_bytes().to_vec()).collect()),
                byte_rows(tags.collect()),
            ],
        )?;
        Ok(())
    }
}

/// Which bytes of its own object a partition of uploads is, for whoever reads the object itself. `None` for a partition that is no
/// segment: its bytes are those of its file.
pub fn segment_bytes(name: &str, bytes: &Range<u64>) -> Option<Range<u64>> {
    let (file, number) = name.split_once('/')?;
    let start = Segment::start(number.parse::<u32>().ok()?.into());
    let is_segment = file.ends_with(&format!(".{UPLOADS}"));
    is_segment.then(|| bytes.start.saturating_sub(start)..bytes.end.saturating_sub(start))
}

/// The kind of a file of uploads.
pub(super) const UPLOADS: &str = "uploads";
/// Bits of a place within a segment.
const PLACE_BITS: u32 = 32;
