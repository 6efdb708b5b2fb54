//! The party's schema: whose it is, and which version.

use std::io;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::{Postgres, failed};

mod migrations {
    #![allow(missing_docs, unreachable_pub, reason = "what the macro writes")]
    refinery::embed_migrations!("migrations");
}

/// Brings the schema up to date, if it is this owner's and not newer than the program.
pub(super) fn prepare(postgres: &Postgres, owner: &str) -> io::Result<()> {
    let (mut schema, owner) = (Schema(postgres.connect()?), owner.to_owned());
    postgres.bridge().wait(async move {
        schema.check_server().await?;
        // Replicas that start together take turns. The lock ends with the connection.
        schema
            .row("SELECT pg_advisory_lock(hashtextextended('throng ' || current_schema(), 0))", &[])
            .await?;
        if schema.has("owner").await? {
            schema.check_owner(&owner).await?;
        }
        schema.migrate().await?;
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&owner, Type::TEXT)];
        schema.row("INSERT INTO owner (name) VALUES ($1) ON CONFLICT DO NOTHING", &values).await?;
        schema.check_owner(&owner).await
    })
}

/// The first schema of the search path, over a connection of its own.
struct Schema(Client);

impl Schema {
    /// Whether what the server acknowledges can be believed, and there is a schema.
    async fn check_server(&self) -> io::Result<()> {
        let settings = self.row("SELECT current_setting('fsync'), current_schema()", &[]).await?;
        let settings: Option<(String, Option<String>)> = settings.map(|row| (row.get(0), row.get(1)));
        match settings {
            Some((fsync, _)) if fsync != "on" => Err(io::Error::other(
                "this database loses what it has acknowledged when the power fails: set fsync = on in its configuration",
            )),
            Some((_, Some(_))) => Ok(()),
            _ => Err(io::Error::other(
                "the search_path of this database's user names no schema that is there: CREATE SCHEMA one for this party",
            )),
        }
    }

    /// Whether the first owner, if there is one, is this one.
    async fn check_owner(&self, owner: &str) -> io::Result<()> {
        let found: Option<String> = self.row("SELECT name FROM owner", &[]).await?.map(|row| row.get(0));
        match found {
            Some(found) if found != owner => Err(io::Error::other(format!(
                "this schema belongs to {found}, and this is {owner}: parties share no database; give another address"
            ))),
            _ => Ok(()),
        }
    }

    /// Brings it from the version that it has to the newest that this program knows.
    async fn migrate(&mut self) -> io::Result<()> {
        let runner = migrations::migrations::runner();
        let versions = runner.get_migrations().iter().map(|one| i64::from(one.version()));
        let (version, newest) = (self.version().await?, versions.max().unwrap_or(0));
        if version > newest {
            return Err(io::Error::other(format!(
                "the schema of this database has version {version}, and this program knows versions up to {newest}: run the \
                 newer program"
            )));
        }
        if version < newest {
            let done = runner.run_async(&mut self.0).await;
            done.map_err(|error| {
                io::Error::other(format!(
                    "the schema of the database could not be brought up to date: {error}"
                ))
            })?;
        }
        Ok(())
    }

    async fn version(&self) -> io::Result<i64> {
        if !self.has("refinery_schema_history").await? {
            return Ok(0);
        }
        let newest =
            self.row("SELECT coalesce(max(version), 0)::int8 FROM refinery_schema_history", &[]).await?;
        Ok(newest.map_or(0, |row| row.get(0)))
    }

    async fn has(&self, table: &str) -> io::Result<bool> {
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&table, Type::TEXT)];
        let found = self
            .row("SELECT to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL", &values)
            .await?;
        Ok(found.is_some_and(|row| row.get(0)))
    }

    async fn row(&self, statement: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> io::Result<Option<Row>> {
        let rows = self.0.query_typed(statement, values).await;
        Ok(rows.map_err(|error| failed(&error))?.pop())
    }
}
