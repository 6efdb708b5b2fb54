//! PostgreSQL: what replicas of a party share, but for bodies and batches, which are objects.
//!
//! | question | type |
//! |---|---|
//! | how is the database reached, and whose is it? | [`Postgres`] |
//! | who may take the steps of a hop's journal? | [`Lease`] |
//! | where is everything that a hop keeps? | [`PgStore`] |
//! | how far has the journal come? | [`ObjectMark`] |

mod intake;
mod lease;
mod log;
mod mark;
mod schema;
mod secret;
mod segment;
mod session;
mod store;

pub use lease::Lease;
pub use mark::ObjectMark;
pub use segment::segment_bytes;
pub use store::PgStore;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

use crate::bridge::Bridge;

/// A party's schema in a database. Clones share its connections.
///
/// A call during an outage is an error; the next one after it connects again.
#[derive(Clone)]
pub struct Postgres {
    shared: Arc<Shared>,
}

struct Shared {
    config: Config,
    bridge: Bridge,
    /// Connections that nobody uses now.
    idle: Mutex<Vec<Client>>,
}

impl Postgres {
    /// The schema at an address (`postgres://user@host/database`, where the user's `search_path` begins with the schema),
    /// brought up to date. The first owner who opens a schema has it: others are refused. So is a schema of a newer program.
    pub fn open(address: &str, owner: &str, bridge: Bridge) -> io::Result<Self> {
        let mut config: Config = address.parse().map_err(|_| {
            io::Error::other("this is no address of a database: give postgres://USER@HOST:PORT/DATABASE")
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(io::Error::other(
                "connections to the database are not encrypted here: leave out sslmode=require, and reach the database over \
                 loopback, a Unix socket or an encrypted network",
            ));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIME);
        }
        config.tcp_user_timeout(PATIENCE).application_name("throng");
        let postgres = Self { shared: Arc::new(Shared { config, bridge, idle: Mutex::default() }) };
        schema::prepare(&postgres, owner)?;
        Ok(postgres)
    }

    /// The runtime that its connections run on.
    pub fn bridge(&self) -> &Bridge {
        &self.shared.bridge
    }

    /// Waits for the database, and not for ever.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> io::Result<T> {
        self.shared.bridge.wait(async move {
            match tokio::time::timeout(PATIENCE, future).await {
                Ok(done) => done.map_err(|error| failed(&error)),
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the database does not answer")),
            }
        })
    }

    fn connect(&self) -> io::Result<Client> {
        let (config, bridge) = (self.shared.config.clone(), self.shared.bridge.clone());
        self.wait(async move {
            let (client, connection) = config.connect(NoTls).await?;
            // It ends with its client, or with the server: whoever uses it then is told.
            bridge.spawn(async move { drop(connection.await) });
            client.batch_execute(SETTINGS).await?;
            Ok(client)
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does not say how to reach it: addresses have passwords.
impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres")
    }
}

/// An error of the database, without what was asked: that may be about people.
fn failed(error: &tokio_postgres::Error) -> io::Error {
    let cause = || std::error::Error::source(error).map_or(String::new(), |cause| format!(" ({cause})"));
    let said = match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => format!("{error}{}", cause()),
    };
    io::Error::other(format!("the database failed: {said}"))
}

/// A number as the database has it.
fn signed(number: u64) -> io::Result<i64> {
    i64::try_from(number).map_err(|_| io::Error::other("a number is too large for the database"))
}

/// A commit waits for the disk, whatever the server's default is. A replica that is cut off in mid-transaction, or waits for one that is,
/// does not hold up the others for ever.
const SETTINGS: &str = "
    SET idle_in_transaction_session_timeout = '60s';
    SET lock_timeout = '30s';
    SET default_transaction_isolation = 'read committed';
    SET client_min_messages = warning;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// How long a connection may take to be made.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long the database may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Connections that are kept for later.
const IDLE_MAX: usize = 8;
