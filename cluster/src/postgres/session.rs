//! One transaction.

use std::io;
use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::{IDLE_MAX, Postgres};

/// A transaction that is open until it is committed. One that is dropped has changed nothing, and its connection ends.
pub(super) struct Session {
    postgres: Postgres,
    client: Arc<Client>,
}

/// A parameter of a statement.
pub(super) type Value = (Box<dyn ToSql + Sync + Send>, Type);

impl Session {
    /// Begins one, on a connection that is there or on a new one.
    pub(super) fn begin(postgres: &Postgres) -> io::Result<Self> {
        loop {
            let idle = postgres.idle().pop();
            let is_new = idle.is_none();
            let client = Arc::new(idle.map_or_else(|| postgres.connect(), Ok)?);
            let session = Self { postgres: postgres.clone(), client };
            match session.batch("BEGIN") {
                Ok(()) => return Ok(session),
                Err(error) if is_new => return Err(error),
                // The server has ended it since: nothing was asked on it yet.
                Err(_) => {}
            }
        }
    }

    /// The rows that a statement gives.
    pub(super) fn rows(&self, statement: &str, values: Vec<Value>) -> io::Result<Vec<Row>> {
        let (client, statement) = (Arc::clone(&self.client), statement.to_owned());
        self.postgres.wait(async move {
            let values: Vec<(&(dyn ToSql + Sync), Type)> =
                values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
            client.query_typed(&statement, &values).await
        })
    }

    /// The only row that a statement gives, if there is one.
    pub(super) fn row(&self, statement: &str, values: Vec<Value>) -> io::Result<Option<Row>> {
        Ok(self.rows(statement, values)?.pop())
    }

    /// Statements without parameters.
    pub(super) fn batch(&self, statements: &str) -> io::Result<()> {
        let (client, statements) = (Arc::clone(&self.client), statements.to_owned());
        self.postgres.wait(async move { client.batch_execute(&statements).await })
    }

    /// When this returns, everything that was done survives a crash of the server. If it fails nobody knows whether it was done.
    pub(super) fn commit(self) -> io::Result<()> {
        self.batch("COMMIT")?;
        let Self { postgres, client } = self;
        if let Some(client) = Arc::into_inner(client) {
            let mut idle = postgres.idle();
            if idle.len() < IDLE_MAX {
                idle.push(client);
            }
        }
        Ok(())
    }
}

/// A number.
pub(super) fn int(number: i64) -> Value {
    (Box::new(number), Type::INT8)
}

/// Bytes.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    (Box::new(bytes.to_vec()), Type::BYTEA)
}

/// A text.
pub(super) fn text(text: &str) -> Value {
    (Box::new(text.to_owned()), Type::TEXT)
}

/// Numbers, one for each row.
pub(super) fn ints(numbers: Vec<i64>) -> Value {
    (Box::new(numbers), Type::INT8_ARRAY)
}

/// Bytes, some for each row.
pub(super) fn byte_rows(rows: Vec<Vec<u8>>) -> Value {
    (Box::new(rows), Type::BYTEA_ARRAY)
}
