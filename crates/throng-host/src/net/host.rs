//! The host check against DNS rebinding: which names a port of this machine answers to.
//!
//! A web site can have its own name point to 127.0.0.1, and a browser then takes that port for the site. Such a request
//! names the site as its host, and a server that answers to the names of this machine alone refuses it.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Problem;

/// The names of a port that only this machine reaches: `localhost` or a loopback address, with the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopbackHosts {
    port: u16,
}

impl LoopbackHosts {
    /// Those of a server that listens here.
    pub fn of(address: SocketAddr) -> Self {
        Self { port: address.port() }
    }

    /// The host that a request names, if it is this one; else what to change.
    pub fn named<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
        let mut all = headers.get_all(HOST).iter();
        let only = all.next().filter(|_| all.next().is_none()).and_then(|host| host.to_str().ok());
        only.filter(|host| self.is_own(host)).ok_or_else(|| {
            let detail = format!(
                "this port answers to 127.0.0.1:{0} and localhost:{0} alone: open it under one of these, through a tunnel \
                 that has the same port at both ends",
                self.port
            );
            Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail)
        })
    }

    fn is_own(self, host: &str) -> bool {
        // A browser leaves out the port that HTTP has by itself.
        let bare = || (self.port == 80 && !host.ends_with(']')).then_some((host, "80"));
        let Some((name, port)) = host.rsplit_once(':').or_else(bare) else { return false };
        let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse().ok().map(IpAddr::V6),
            None => name.parse().ok().map(IpAddr::V4),
        };
        let is_loopback =
            name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback());
        is_loopback && port == self.port.to_string()
    }
}

/// Lets a request pass that names this machine. Made for `axum::middleware::from_fn_with_state`.
pub async fn admitted(State(hosts): State<LoopbackHosts>, request: Request, next: Next) -> Response {
    match hosts.named(request.headers()) {
        Ok(_) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(port: u16, hosts: &[&str]) -> Option<StatusCode> {
        let mut headers = HeaderMap::new();
        hosts.iter().for_each(|host| {
            headers.append(HOST, host.parse().unwrap());
        });
        LoopbackHosts { port }.named(&headers).err().map(|problem| problem.status)
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for own in ["127.0.0.1:9444", "localhost:9444", "LocalHost:9444", "[::1]:9444", "127.0.0.2:9444"] {
            assert_eq!(status(9444, &[own]), None, "{own}");
        }
        for other in [
            "attacker.test:9444",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:9445",
            "127.0.0.1:09444",
            "127.0.0.1:",
            "127.0.0.1.attacker.test:9444",
            "localhost.attacker.test:9444",
            "localhost.:9444",
            "10.0.0.1:9444",
            "0.0.0.0:9444",
            "[::]:9444",
            "::1:9444",
            "[127.0.0.1]:9444",
            "user@127.0.0.1:9444",
            "",
        ] {
            assert_eq!(status(9444, &[other]), Some(StatusCode::MISDIRECTED_REQUEST), "{other}");
        }
        assert_eq!(status(80, &["127.0.0.1"]), None);
        assert!(status(80, &["attacker.test"]).is_some());
        // None, or two of which one is right, is no name.
        assert!(status(9444, &[]).is_some());
        assert!(status(9444, &["127.0.0.1:9444", "attacker.test:9444"]).is_some());
    }
}
