//! Requests that are not exactly as docs/wire-format.md describes them, as bytes on a socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use throng_host::clock::{Clock, SystemClock};
use throng_host::net::paths;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::Place;

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };

fn answer(town: &Town, head: &str, body: &[u8]) -> String {
    let url = town.address(FIRST).url.clone();
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let _ = stream.write_all(&[head.as_bytes(), b"\r\n\r\n", body].concat());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_is_not_exactly_as_described_is_refused_before_anything_is_done() {
    let shape = Shape { instances: 1, hops: 1, epoch_s: 864_000, tls: false, labels: false };
    let mut town = Town::new(THRONG, shape, 2);
    town.start_all();
    let route = town.route(1, SystemClock.now_s() / shape.epoch_s);
    let (path, statement) = (paths::path(&route, "body"), paths::path(&route, "statement"));
    let tokens =
        [0, 1].map(|person| town.credentials[person].token(&route.survey, FIRST).to_text().to_string());
    let (body, other) = (town.body(route, 0), town.body(route, 1));
    let (host, kind) = ("Host: x", "Content-Type: application/octet-stream");
    let (length, bearer) =
        (format!("Content-Length: {}", body.len()), format!("Authorization: Bearer {}", tokens[0]));
    let second = format!("Authorization: Bearer {}", tokens[1]);
    let upload = |version: &str, path: &str, headers: &[&str]| {
        format!("POST {path} {version}\r\n{}", headers.join("\r\n"))
    };
    let (length, bearer, second) = (length.as_str(), bearer.as_str(), second.as_str());
    let query = format!("{path}?a=b");
    let absolute = format!("http://x{path}");
    for (head, status, name) in [
        (upload("HTTP/1.0", &path, &[host, kind, bearer, length]), 505, "version"),
        (upload("HTTP/1.1", &path, &[kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &path, &[host, host, kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &query, &[host, kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &format!("{path}?"), &[host, kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &absolute, &[host, kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &path, &[host, kind, bearer, second, length]), 400, "head"),
        (upload("HTTP/1.1", &path, &[host, kind, bearer, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &path, &[host, kind, kind, bearer, length]), 400, "head"),
        (upload("HTTP/1.1", &path, &[host, "Content-Type: text/plain", bearer, length]), 415, "type"),
        (upload("HTTP/1.1", &path, &[host, bearer, length]), 415, "type"),
        (upload("HTTP/1.1", &path, &[host, kind, length]), 401, "credential"),
        (upload("HTTP/1.1", &path, &[host, kind, "Authorization: Basic eDp5", length]), 401, "credential"),
        // The same where the router answers.
        (format!("GET {statement} HTTP/1.0\r\n{host}"), 505, "version"),
        (format!("GET {statement} HTTP/1.1\r\nAccept: */*"), 400, "head"),
        (format!("GET {statement}?a=b HTTP/1.1\r\n{host}"), 400, "head"),
        (format!("GET {statement} HTTP/1.1\r\n{host}\r\n{bearer}\r\n{second}"), 400, "head"),
        (format!("GET {statement} HTTP/1.1\r\n{host}\r\n{length}"), 400, "head"),
        (format!("POST {} HTTP/1.1\r\n{host}\r\n{length}", paths::path(&route, "ack")), 415, "type"),
    ] {
        let said = answer(&town, &head, &body);
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status} "))
                || said.starts_with(&format!("HTTP/1.0 {status} ")),
            "{head}: {said}"
        );
        assert!(said.contains(&format!("urn:throng:error:{name}\"")), "{head}: {said}");
        let asks = said.to_lowercase().contains("\r\nwww-authenticate: bearer\r\n");
        assert_eq!(asks, status == 401, "{said}");
    }
    // Two lengths that differ are refused by the parser, which has no words for it.
    let said =
        answer(&town, &upload("HTTP/1.1", &path, &[host, kind, bearer, length, "Content-Length: 1"]), &body);
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    // Nothing of that was taken: both respondents can still send other bytes.
    for person in [0, 1] {
        town.send(&sender(), route, person, &other).unwrap();
    }
    let exact = upload("HTTP/1.1", &path, &[host, kind, bearer, length]);
    assert!(answer(&town, &exact, &body).contains("urn:throng:error:conflict"), "the head as such is right");
}
