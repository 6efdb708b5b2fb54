//! Leases: which replica of a hop takes the steps of its journal.

use std::io;
use std::time::Duration;

use super::session::{Session, int};
use super::{Postgres, signed};

/// The right to take the steps of a hop's journal: a number that rises (a fencing token), and a deadline by the database's
/// clock. What is done under a lease checks that there is no newer one, in the same transaction; a deadline that has passed
/// only lets others take over.
#[derive(Debug)]
pub struct Lease {
    postgres: Postgres,
    hop: i64,
    number: u64,
    duration: Duration,
}

impl Lease {
    /// Takes the lease of a hop, if nobody has it or its deadline has passed. Its number is above all before it, and above `floor`:
    /// a database that was restored from a copy may have forgotten some.
    pub(super) fn acquire(
        postgres: &Postgres,
        hop: i64,
        floor: u64,
        duration: Duration,
    ) -> io::Result<Option<Self>> {
        let session = Session::begin(postgres)?;
        let row = session.row(
            "UPDATE hops SET lease = greatest(lease, $2) + 1, deadline = clock_timestamp() + $3 * interval '1 ms'
             WHERE id = (SELECT id FROM hops WHERE id = $1 AND deadline < clock_timestamp() FOR UPDATE SKIP LOCKED)
             RETURNING lease",
            vec![int(hop), int(signed(floor)?), int(millis(duration)?)],
        )?;
        session.commit()?;
        let Some(row) = row else { return Ok(None) };
        let number = row.get::<_, i64>(0).cast_unsigned();
        Ok(Some(Self { postgres: postgres.clone(), hop, number, duration }))
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Moves the deadline on. An error means that it may be lost; behind a newer one it is.
    pub fn renew(&self) -> io::Result<()> {
        self.update(
            "UPDATE hops SET deadline = clock_timestamp() + $3 * interval '1 ms' WHERE id = $1 AND lease = $2 RETURNING id",
        )
    }

    /// Lets others have it at once.
    pub fn release(&self) -> io::Result<()> {
        self.update(
            "UPDATE hops SET deadline = '-infinity' WHERE id = $1 AND lease = $2 AND $3 > 0 RETURNING id",
        )
    }

    /// Fails if there is a newer one; until the transaction ends there will be none.
    pub(super) fn hold(&self, session: &Session) -> io::Result<()> {
        let row = session.row("SELECT lease FROM hops WHERE id = $1 FOR UPDATE", vec![int(self.hop)])?;
        let newest = row.map(|row| row.get::<_, i64>(0).cast_unsigned());
        if newest == Some(self.number) { Ok(()) } else { Err(lost()) }
    }

    /// Fails if there is a newer one at this moment.
    pub(super) fn check(&self) -> io::Result<()> {
        let session = Session::begin(&self.postgres)?;
        self.hold(&session)?;
        session.commit()
    }

    fn update(&self, statement: &str) -> io::Result<()> {
        let session = Session::begin(&self.postgres)?;
        let values = vec![int(self.hop), int(signed(self.number)?), int(millis(self.duration)?)];
        let held = session.row(statement, values)?.is_some();
        session.commit()?;
        if held { Ok(()) } else { Err(lost()) }
    }
}

fn lost() -> io::Error {
    io::Error::other("there is a newer lease: another replica has taken over this hop")
}

fn millis(duration: Duration) -> io::Result<i64> {
    signed(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
