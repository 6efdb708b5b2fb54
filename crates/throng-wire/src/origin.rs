//! The grammar of an address: `https://host[:port]`, or `http://` on this machine, and nothing else.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::Error;

/// An origin (RFC 6454): scheme, host and port of a party, without user, path, query or fragment.
///
/// ```text
/// origin = "https://" host [ ":" port ]
///        / "http://" loopback [ ":" port ]
/// host   = name / IPv4 / "[" IPv6 "]"
/// name   = label *( "." label )           at most 253 bytes; the last label begins with a letter
/// label  = letters, digits and hyphens    1 to 63 of them in ASCII; no hyphen at its ends
/// port   = 1 to 65535, without leading zeros
/// ```
///
/// IPv4 is four decimal numbers without leading zeros; IPv6 is as RFC 4291 writes it, without a zone. A loopback host is
/// `localhost`, an address of 127.0.0.0/8, or `[::1]`. What is taken is written again as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    tls: bool,
    host: String,
    port: Option<u16>,
}

impl Origin {
    /// Whether it is `https://`.
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// The host, with the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port: the one that is written, or 443 for TLS and 80 without.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.tls { 443 } else { 80 })
    }
}

impl FromStr for Origin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(Error::Address(SCHEME)),
        };
        // The colons of an IPv6 address are inside its brackets.
        let host_len = match rest.find(']') {
            Some(end) => end + 1,
            None => rest.find(':').unwrap_or(rest.len()),
        };
        let (host, port) = rest.split_at(host_len);
        let loopback = loopback(host).ok_or(Error::Address(HOST))?;
        let port = match port.strip_prefix(':') {
            Some(port) => Some(read_port(port).ok_or(Error::Address(PORT))?),
            None if port.is_empty() => None,
            None => return Err(Error::Address(HOST)),
        };
        if !tls && !loopback {
            return Err(Error::Address(PLAIN));
        }
        Ok(Self { tls, host: host.to_owned(), port })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a host is this machine; `None` if it is no host.
fn loopback(host: &str) -> Option<bool> {
    if let Some(inner) = host.strip_prefix('[') {
        return Some(inner.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.is_loopback());
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Some(address.is_loopback());
    }
    let label = |label: &str| {
        let inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && inside && !label.starts_with('-') && !label.ends_with('-')
    };
    // Resolvers read numbers alone as an IPv4 address in other forms: 127.1 would be this machine, and 2130706433 too.
    let named = host.rsplit('.').next()?.starts_with(|first: char| first.is_ascii_alphabetic());
    (named && host.len() <= 253 && host.split('.').all(label)).then(|| host == "localhost")
}

fn read_port(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok().filter(|&port| port > 0)?;
    (port.to_string() == text).then_some(port)
}

const SCHEME: &str = "it begins with https://, or on one machine with http://";
const HOST: &str = "write https://HOST or https://HOST:PORT, where HOST is a name, an IPv4 address, or an IPv6 address in \
                    brackets; nothing stands before or after it, not even a /";
const PORT: &str =
    "the port is a number from 1 to 65535 without leading zeros, and nothing follows it, not even a /";
const PLAIN: &str = "http:// is for one machine only (localhost, 127.0.0.1 or [::1]); use https://";

#[cfg(test)]
mod tests {
    use throng_testing::parsing::check_text;

    use super::*;

    const TAKEN: [(&str, &str, u16); 11] = [
        ("https://hop.example:8443", "hop.example", 8443),
        ("https://hop.example", "hop.example", 443),
        ("https://Hop-1.example:443", "Hop-1.example", 443),
        ("https://192.0.2.7:1", "192.0.2.7", 1),
        ("https://[2001:db8::1]", "[2001:db8::1]", 443),
        ("https://[::1]:9", "[::1]", 9),
        ("https://hop:65535", "hop", 65535),
        ("http://127.0.0.1:80", "127.0.0.1", 80),
        ("http://127.9.9.9", "127.9.9.9", 80),
        ("http://[::1]:8080", "[::1]", 8080),
        ("http://localhost:8080", "localhost", 8080),
    ];

    #[test]
    fn any_text_is_refused_or_is_an_origin_that_is_written_the_same() {
        for (valid, ..) in TAKEN {
            check_text(valid, |text| {
                let origin: Origin = text.parse().ok()?;
                assert!(!origin.host().contains(['@', '/', '?', '#', ' ', '%']), "{text:?}");
                assert!(origin.port() > 0 && text.is_ascii(), "{text:?}");
                Some(origin.to_string())
            });
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, host, port) in TAKEN {
            let origin: Origin = text.parse().unwrap();
            let tls = text.starts_with("https");
            assert_eq!((origin.tls(), origin.host(), origin.port()), (tls, host, port), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_an_address() {
        let long_label = format!("https://{}.example", "a".repeat(64));
        let long_name = format!("https://{}example", "a.".repeat(124));
        for (text, why) in [
            ("", SCHEME),
            ("hop.example", SCHEME),
            ("ftp://hop.example", SCHEME),
            ("HTTPS://hop.example", SCHEME),
            (" https://hop.example", SCHEME),
            ("https://", HOST),
            ("https://:8443", HOST),
            ("https://hop.example/", HOST),
            ("https://hop.example/v1", HOST),
            ("https://hop.example:8443/", PORT),
            ("https://hop.example?a", HOST),
            ("https://hop.example#a", HOST),
            ("https://user@hop.example", HOST),
            ("https://user:1@hop.example", PORT),
            ("https://hop. example", HOST),
            ("https://h\u{f6}p.example", HOST),
            ("https://hop.example.", HOST),
            ("https://hop..example", HOST),
            ("https://-hop.example", HOST),
            ("https://hop-.example", HOST),
            ("https://hop_1.example", HOST),
            (&long_label, HOST),
            (&long_name, HOST),
            ("https://127.1", HOST),
            ("https://2130706433", HOST),
            ("https://0x7f000001", HOST),
            ("https://hop.0X7f", HOST),
            ("https://127.0.0.01", HOST),
            ("https://256.0.0.1", HOST),
            ("https://::1", HOST),
            ("https://[::1", HOST),
            ("https://::1]", HOST),
            ("https://[::1%25eth0]", HOST),
            ("https://[hop.example]", HOST),
            ("https://[127.0.0.1]", HOST),
            ("https://a[::1]:9", HOST),
            ("https://[::1]9", HOST),
            ("https://[::1]]:9", HOST),
            ("https://hop.example:", PORT),
            ("https://hop.example:0", PORT),
            ("https://hop.example:080", PORT),
            ("https://hop.example:+80", PORT),
            ("https://hop.example:65536", PORT),
            ("https://hop.example:8443\n", PORT),
            ("http://hop.example", PLAIN),
            ("http://192.0.2.7:80", PLAIN),
            ("http://[2001:db8::1]", PLAIN),
            ("http://localhost.example", PLAIN),
        ] {
            assert_eq!(text.parse::<Origin>(), Err(Error::Address(why)), "{text:?}");
        }
    }
}
