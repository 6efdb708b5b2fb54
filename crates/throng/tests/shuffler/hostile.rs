//! Attack 22: bytes that no party would send.

use std::io::{Read, Write};
use std::net::TcpStream;

use throng_testing::logs;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::Place;

use crate::THRONG;

/// Sends bytes to a hop over plain HTTP and reads what comes back, or nothing if the connection is closed.
fn raw(town: &Town, bytes: &[u8]) -> String {
    let url = town.address(Place::hop(1, 1)).url.clone();
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn hostile_bytes_are_answered_or_dropped_and_others_are_served() {
    let mut town =
        Town::new(THRONG, Shape { instances: 1, hops: 1, epoch_s: 5, tls: false, labels: false }, 6);
    town.start_all();
    let route = town.route(1, town.next_epoch());
    let path = throng_host::net::paths::path(&route, "body");
    let place = Place::hop(1, 1);
    let token = town.credentials[0].token(&route.survey, place);
    let body = town.body(route, 0);
    let post = |length: &str, body: &[u8]| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer {}\r\n\
             {length}\r\n\r\n",
            *token.to_text()
        );
        [head.as_bytes(), body].concat()
    };
    let exact = format!("Content-Length: {}", body.len());
    for (bytes, expected) in [
        (post("Content-Length: 99999999999", &body), "413"),
        (post("Content-Length: 18446744073709551616", &body), "400"),
        (post("Content-Length: -1", &body), "400"),
        (post("Transfer-Encoding: chunked", b"0\r\n\r\n"), "411"),
        (post(&exact, &body[..body.len() / 2]), "400"),
        (post("Content-Length: 0", b""), "400"),
        (post(&format!("{exact}\r\nContent-Encoding: gzip"), &body), "415"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "400"),
        (vec![b'A'; 100_000], "4"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "404"),
        (format!("GET {path}/ HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes(), "404"),
        (format!("DELETE {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").into_bytes(), "405"),
    ] {
        let answer = raw(&town, &bytes);
        let line = answer.lines().next().unwrap_or_default();
        assert!(answer.is_empty() || line.contains(expected), "{expected}: {line}");
        // What is no HTTP at all is refused by the parser, without a body.
        if ["404", "405", "411", "413", "415"].contains(&expected) {
            assert!(answer.is_empty() || answer.contains("application/problem+json"), "{answer}");
        }
        if expected == "405" {
            let lower = answer.to_lowercase();
            assert!(answer.is_empty() || lower.contains("\r\nallow: post\r\n"), "{answer}");
        }
        let told: Vec<&str> = answer.matches(&*token.to_text()).collect();
        assert!(told.is_empty(), "no part of a request is repeated");
    }
    // Slow ones, who never finish, do not keep others out.
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let url = town.address(place).url.clone();
            let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
            stream.write_all(&post(&exact, &body[..1])[..60]).unwrap();
            stream
        })
        .collect();
    let sender = sender();
    for person in 0..6 {
        let body = town.body(route, person as u32);
        town.send(&sender, route, person, &body).unwrap();
    }
    drop(slow);
    assert_eq!(town.pull(route).sorted(), [0, 1, 2, 3, 4, 5]);
    let events = logs::events(&town, place);
    assert!(events.iter().all(|event| event["event"] != "request-failed"), "strangers leave no trace");
}
