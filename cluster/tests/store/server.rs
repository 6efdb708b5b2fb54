//! A PostgreSQL of one's own, for the length of a test.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use throng_cluster::bridge::Bridge;
use tokio_postgres::{NoTls, Row};

/// A server in a directory of its own. It ends with the process that started it, however that ends.
pub(crate) struct Server {
    port: u16,
    keeper: Mutex<Keeper>,
    bridge: Bridge,
    schemas: AtomicU32,
}

/// The shell that starts and stops it.
struct Keeper {
    _process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// The one that tests share.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// One that can be killed.
    pub(crate) fn start() -> Self {
        install();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let directory = tempfile::Builder::new().prefix("throng-postgres-").tempdir().unwrap().keep();
        // PostgreSQL refuses to run as root.
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let script =
            SCRIPT.replace("DIRECTORY", directory.to_str().unwrap()).replace("PORT", &port.to_string());
        let mut command = if is_root {
            assert!(Command::new("chown").arg("postgres").arg(&directory).status().unwrap().success());
            let mut command = Command::new("su");
            command.args(["postgres", "-s", "/bin/sh", "-c", &script]);
            command
        } else {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &script]);
            command
        };
        let command = command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut keeper = Keeper { _process: process, orders, answers };
        keeper.wait();
        let bridge = Bridge::new().unwrap();
        Self { port, keeper: Mutex::new(keeper), bridge, schemas: AtomicU32::new(0) }
    }

    /// kill -9, of the server and of all that it has started.
    pub(crate) fn kill(&self) {
        self.keeper.lock().unwrap().order("kill");
    }

    /// Starts it again after that.
    pub(crate) fn restart(&self) {
        self.keeper.lock().unwrap().order("start");
    }

    /// The address of a new schema.
    pub(crate) fn schema(&self) -> String {
        let number = self.schemas.fetch_add(1, Ordering::Relaxed);
        self.sql(&format!("CREATE SCHEMA party_{number}"), "");
        self.address(&format!("?options=-csearch_path%3Dparty_{number}"))
    }

    /// Asks what a test may and a program would not.
    pub(crate) fn sql(&self, statement: &str, address: &str) -> Vec<Row> {
        let address = if address.is_empty() { self.address("") } else { address.to_owned() };
        let (statement, bridge) = (statement.to_owned(), self.bridge.clone());
        let rows = self.bridge.wait(async move {
            let (client, connection) =
                tokio_postgres::connect(&address, NoTls).await.map_err(std::io::Error::other)?;
            bridge.spawn(async move { drop(connection.await) });
            client.query(&statement, &[]).await.map_err(std::io::Error::other)
        });
        rows.unwrap()
    }

    /// The runtime for its clients.
    pub(crate) fn bridge(&self) -> Bridge {
        self.bridge.clone()
    }

    fn address(&self, options: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres{options}", self.port)
    }
}

/// Installs PostgreSQL where it is missing, once, as tests of pages do with a browser.
fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let is_there = "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb";
        let get = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes postgresql";
        let script = format!("{{ {is_there} || {{ {get}; }}; }} >/dev/null 2>&1");
        let _ = Command::new("sh").args(["-c", &script]).status();
    });
}

impl Keeper {
    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        self.wait();
    }

    fn wait(&mut self) {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n", "PostgreSQL: is it installed (`apt-get install postgresql`)?");
    }
}

/// It ends, and takes the server and its files along, when nobody can give orders any more.
const SCRIPT: &str = r#"
PATH="$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')"
cd DIRECTORY
start() {
    pg_ctl -D DIRECTORY/data -w -t 120 -l DIRECTORY/log \
        -o "-p PORT -k DIRECTORY -c listen_addresses=127.0.0.1 -c max_connections=300" start >/dev/null
}
initdb -D DIRECTORY/data -A trust -U postgres >DIRECTORY/initdb 2>&1 && start && echo done
while read -r order; do
    if [ "$order" = kill ]; then
        postmaster=$(head -n 1 DIRECTORY/data/postmaster.pid)
        kill -9 $(ps -o pid= --ppid "$postmaster") "$postmaster"
        while ps -p "$postmaster" >/dev/null; do sleep 0.05; done
        echo done
    else
        until start; do sleep 0.2; done
        echo done
    fi
done
pg_ctl -D DIRECTORY/data -m immediate stop >/dev/null 2>&1
rm -rf DIRECTORY
"#;
