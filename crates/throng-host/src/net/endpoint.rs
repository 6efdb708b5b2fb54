//! Where a party is called: the host and port of its address, and the certificate that it has to show.

use std::net::SocketAddr;

use throng_wire::{Address, Digest};
use tokio::net::TcpStream;

use super::SendError;

/// A party's address, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    host: String,
    port: u16,
    certificate: Option<Digest>,
}

impl Endpoint {
    /// Takes an address apart. What is outside the grammar of an address is refused.
    pub fn new(address: &Address) -> Result<Self, SendError> {
        let Address { party, url, certificate, .. } = address;
        let wrong = |why: &dyn std::fmt::Display| {
            SendError::Refused(format!("the address {url} of {party} cannot be called: {why}"))
        };
        let origin = address.origin().map_err(|error| wrong(&error))?;
        if origin.tls() != certificate.is_some() {
            return Err(wrong(&"a certificate belongs to https://, and to nothing else"));
        }
        Ok(Self { host: origin.host().to_owned(), port: origin.port(), certificate: *certificate })
    }

    /// The certificate that it has to show; none where it speaks plain HTTP.
    pub fn certificate(&self) -> Option<Digest> {
        self.certificate
    }

    /// For the header `Host`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A connection to it. Plain HTTP goes to this machine only.
    pub(crate) async fn connect(&self) -> Result<TcpStream, SendError> {
        let unreachable =
            |error| SendError::Unreachable(format!("{} cannot be reached: {error}", self.authority()));
        // A URL has brackets around an IPv6 address; the resolver does not want them.
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut found: Vec<SocketAddr> =
            tokio::net::lookup_host((host, self.port)).await.map_err(unreachable)?.collect();
        if self.certificate.is_none() {
            found.retain(|address| address.ip().is_loopback());
            if found.is_empty() {
                let host = &self.host;
                return Err(SendError::Refused(format!(
                    "{host} is another machine: plain HTTP is for this one only; ask its operator for https://"
                )));
            }
        }
        let stream = TcpStream::connect(&found[..]).await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use throng_wire::{Place, SurveyHash};

    use super::*;
    use throng_testing::parsing::check_text;

    /// Whatever is taken has a host and a port, and these alone are where a body goes.
    #[test]
    fn any_address_is_refused_or_is_its_host_and_port() {
        for valid in ["https://hop.example:8443", "https://[::1]:9", "https://hop.example"] {
            check_text(valid, |url| {
                let authority = endpoint(url).ok()?;
                assert_eq!(
                    endpoint(&format!("https://{authority}")).unwrap_or_default(),
                    authority,
                    "{url:?}"
                );
                assert!(!authority.contains(['@', '/', '?', '#', ' ']), "{url:?}");
                Some(url.to_owned())
            });
        }
    }

    fn endpoint(url: &str) -> Result<String, SendError> {
        let certificate = url.starts_with("https").then_some(Digest::NONE);
        let survey = SurveyHash::new([0; 32]);
        let address = Address { survey, party: Place::Analyzer, serial: 1, url: url.into(), certificate };
        Endpoint::new(&address).map(|endpoint| endpoint.authority())
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (url, authority) in [
            ("https://hop.example:8443", "hop.example:8443"),
            ("https://hop.example", "hop.example:443"),
            ("http://127.0.0.1:80", "127.0.0.1:80"),
            ("https://[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(endpoint(url).unwrap(), authority);
        }
        for url in [
            "https://a/",
            "https://a/b",
            "http://hop.example",
            "https://a?b",
            "https://u@a",
            "https://",
            "https://a:99999",
            "ftp://a",
            "a",
            "https://a[::1]:9",
        ] {
            assert!(matches!(endpoint(url), Err(SendError::Refused(_))), "{url}");
        }
    }

    #[tokio::test]
    async fn plain_http_stays_on_this_machine() {
        // 192.0.2.0/24 is for documentation (RFC 5737): nothing is sent to it.
        let certificate = None;
        let endpoint = Endpoint { host: "192.0.2.1".into(), port: 80, certificate };
        let error = endpoint.connect().await.unwrap_err();
        assert!(matches!(&error, SendError::Refused(text) if text.contains("another machine")), "{error}");
    }
}
