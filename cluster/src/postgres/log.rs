//! The journal of a hop as rows, which are written under its lease.

use std::io;
use std::sync::Arc;

use throng_shuffle::Log;

use super::session::{Session, bytes, int};
use super::{Lease, Postgres, signed};

/// The journal, for whoever has the lease.
pub(super) struct PgLog {
    pub(super) postgres: Postgres,
    pub(super) hop: i64,
    pub(super) lease: Arc<Lease>,
}

impl PgLog {
    /// Does one thing under the lease, if there is no newer one.
    fn under_lease(&self, work: impl FnOnce(&Session) -> io::Result<()>) -> io::Result<()> {
        let session = Session::begin(&self.postgres)?;
        self.lease.hold(&session)?;
        work(&session)?;
        session.commit()
    }
}

impl Log for PgLog {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let values = vec![int(self.hop), int(signed(self.lease.number())?), bytes(record)];
        self.under_lease(|session| {
            let inserted = session.rows(
                "INSERT INTO journal (hop, number, lease, record)
                 SELECT $1, coalesce(max(number), 0) + 1, $2, $3 FROM journal WHERE hop = $1",
                values,
            );
            inserted.map(drop)
        })
    }

    /// A record that is not whole within the first `len` bytes goes, too.
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let values = vec![int(self.hop), int(signed(len)?)];
        self.under_lease(|session| {
            let deleted = session.rows(
                "DELETE FROM journal WHERE hop = $1 AND number IN (
                     SELECT number FROM (
                         SELECT number, sum(length(record)) OVER (ORDER BY number) AS until FROM journal WHERE hop = $1
                     ) AS ends WHERE until > $2
                 )",
                values,
            );
            deleted.map(drop)
        })
    }
}

/// All records, one after another.
pub(super) fn read(postgres: &Postgres, hop: i64) -> io::Result<Vec<u8>> {
    let session = Session::begin(postgres)?;
    let rows = session.rows("SELECT record FROM journal WHERE hop = $1 ORDER BY number", vec![int(hop)])?;
    session.commit()?;
    let records: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
    Ok(records.concat())
}
