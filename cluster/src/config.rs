//! The files of roles: that of an executor, and what a party's own file says besides on a cluster.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use throng_wire::Place;

use crate::tls::TlsFiles;

/// What an executor is told by its operator. Paths are relative to the file's directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorFile {
    /// Where drivers fetch answers, for example `10.0.0.8:50051`. Never all addresses of a machine.
    pub listen: SocketAddr,
    /// The scheduler, for example `df://10.0.0.7:50050`.
    pub scheduler: String,
    /// The objects of its party: `s3://BUCKET/PREFIX` or `file:///DIRECTORY`.
    pub objects: String,
    /// Whose objects they are: the name that the party's servers give.
    pub owner: String,
    /// How many tasks it does at once. Default: one for each core.
    #[serde(default)]
    pub cores: Option<usize>,
    /// A directory of its own, emptied at every start.
    pub work: PathBuf,
    /// Certificates. Without them everybody has to be on this machine.
    #[serde(default)]
    pub tls: Option<TlsFiles>,
    /// The places that it opens layers for.
    #[serde(default)]
    pub surveys: Vec<OpenedSurvey>,
}

/// A place in a survey whose layers an executor opens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenedSurvey {
    /// The survey file. The files of all parties are beside it.
    pub survey: PathBuf,
    /// The place, for example `instance-1-hop-1` or `analyzer`.
    pub place: Place,
    /// The directory with its layer keys.
    pub keys: PathBuf,
}

impl ExecutorFile {
    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let named = |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        let mut file: Self = toml::from_str(&text).map_err(|error| named(&error))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let at_base = |one: &mut PathBuf| *one = base.join(&*one);
        at_base(&mut file.work);
        if let Some(TlsFiles { authority, certificate, key }) = &mut file.tls {
            [authority, certificate, key].into_iter().for_each(at_base);
        }
        for one in &mut file.surveys {
            at_base(&mut one.survey);
            at_base(&mut one.keys);
        }
        check_listen(file.listen, file.tls.is_some()).map_err(|error| named(&error))?;
        Ok(file)
    }
}

/// What the file of a shuffler or an analyzer says besides, on a cluster. The rest of it is as on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// The database that replicas share: `postgres://USER@HOST:PORT/DATABASE`. An analyzer has none.
    #[serde(default)]
    pub store: Option<String>,
    /// The party's objects: `s3://BUCKET/PREFIX` or `file:///DIRECTORY`.
    pub objects: String,
    /// The scheduler that batch work goes to: `df://HOST:PORT`. Without one it is done in this process.
    #[serde(default)]
    pub engine: Option<String>,
    /// Whose database and objects they are. Another owner is refused. Default: the signing key of the party.
    #[serde(default)]
    pub owner: Option<String>,
    /// The directory with the ratchets of hops. Default: the one with the identity.
    #[serde(default)]
    pub ratchets: Option<PathBuf>,
    /// For how many seconds a replica leads without a sign of life.
    #[serde(default = "lease_s")]
    pub lease_s: u64,
    /// For how many seconds a job may run before it is submitted again.
    #[serde(default = "job_s")]
    pub job_s: u64,
    /// Certificates for the scheduler and the executors. Without them everybody has to be on this machine.
    #[serde(default)]
    pub tls: Option<TlsFiles>,
}

impl ClusterFile {
    /// Takes what is for the cluster out of a party's file; the rest of the text is for the party.
    pub fn read(path: &Path) -> io::Result<(Self, String)> {
        let named = |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        let mut rest: toml::Table = toml::from_str(&text).map_err(|error| named(&error))?;
        let own = FIELDS.iter().filter_map(|field| Some(((*field).to_owned(), rest.remove(*field)?)));
        let own: toml::Table = own.collect();
        let mut file: Self = own.try_into().map_err(|error| named(&error))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let at_base = |one: &mut PathBuf| *one = base.join(&*one);
        file.ratchets.iter_mut().for_each(at_base);
        if let Some(TlsFiles { authority, certificate, key }) = &mut file.tls {
            [authority, certificate, key].into_iter().for_each(at_base);
        }
        let rest = toml::to_string(&rest).map_err(|error| named(&error))?;
        Ok((file, rest))
    }
}

/// The fields of a party's file that are for the cluster.
const FIELDS: &[&str] = &["store", "objects", "engine", "owner", "ratchets", "lease_s", "job_s", "tls"];

fn lease_s() -> u64 {
    15
}

fn job_s() -> u64 {
    3600
}

/// A role listens where its operator says, and in the open only with certificates.
pub fn check_listen(listen: SocketAddr, tls: bool) -> io::Result<()> {
    if listen.ip().is_unspecified() {
        return Err(io::Error::other(format!(
            "{listen} is every address of this machine: give the one that the other roles reach it by"
        )));
    }
    if !tls && !listen.ip().is_loopback() {
        return Err(io::Error::other(format!(
            "{listen} can be reached from other machines: make certificates with `throng-cluster certificates`, or listen on 127.0.0.1"
        )));
    }
    Ok(())
}

/// The host and port of a scheduler's address.
pub fn scheduler_address(scheduler: &str) -> io::Result<(String, u16)> {
    let bad = || io::Error::other(format!("{scheduler} is no scheduler: give df://HOST:PORT"));
    let url = url::Url::parse(scheduler).map_err(|_| bad())?;
    match (url.scheme(), url.host_str(), url.port()) {
        ("df", Some(host), Some(port)) => Ok((host.to_owned(), port)),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_listens_everywhere_or_in_the_open() {
        let check = |listen: &str, tls| check_listen(listen.parse().unwrap(), tls).is_ok();
        assert!(check("127.0.0.1:1", false) && check("[::1]:1", false) && check("10.0.0.7:1", true));
        assert!(!check("0.0.0.0:1", true) && !check("[::]:1", true) && !check("10.0.0.7:1", false));
    }

    #[test]
    fn a_scheduler_is_named_exactly() {
        assert_eq!(scheduler_address("df://h:1").unwrap(), ("h".to_owned(), 1));
        for bad in ["h:1", "df://h", "http://h:1", "df://:1"] {
            assert!(scheduler_address(bad).is_err(), "{bad}");
        }
    }
}
