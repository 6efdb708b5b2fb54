//! Attack 30: strangers who hold all places of a hop.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use throng_host::clock::{Clock, SystemClock};
use throng_host::net::paths;
use throng_testing::town::{Shape, Town};
use throng_wire::Place;

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };

fn connect(town: &Town) -> TcpStream {
    let url = town.address(FIRST).url.clone();
    TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap()
}

/// The status of an answer that says how long it is.
fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        answer.push(byte[0]);
    }
    let head = String::from_utf8(answer).ok()?.to_lowercase();
    let len = head.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
    stream.read_exact(&mut vec![0; len]).ok()?;
    head.split(' ').nth(1)?.parse().ok()
}

/// A respondent has a connection; strangers trickle on all others, so that who is silent would make room for more of them. The
/// respondent is silent between their requests, and keeps their place; somebody else is let in all the same.
#[test]
fn strangers_do_not_take_the_place_of_a_respondent() {
    let shape = Shape { instances: 1, hops: 1, epoch_s: 864_000, tls: false, labels: false };
    let mut town = Town::new(THRONG, shape, 1);
    let config = fs::read_to_string(town.config(FIRST)).unwrap();
    fs::write(town.config(FIRST), config.replacen("memory_mib", "connections_max = 8\nmemory_mib", 1))
        .unwrap();
    town.start_all();
    let route = town.route(1, SystemClock.now_s() / shape.epoch_s);
    let body = town.body(route, 0);
    let token = town.credentials[0].token(&route.survey, FIRST);
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\n\r\n",
        paths::path(&route, "body"),
        *token.to_text(),
        body.len()
    );
    let upload = [head.as_bytes(), &body].concat();
    let mut respondent = connect(&town);
    respondent.write_all(&upload).unwrap();
    assert_eq!(status(&mut respondent), Some(200));
    let (is_served, town) = (AtomicBool::new(false), &town);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut strangers: Vec<TcpStream> = (0..9).map(|_| connect(town)).collect();
            while !is_served.load(Ordering::SeqCst) {
                for stranger in &mut strangers {
                    if stranger.write_all(b"G").is_err() {
                        *stranger = connect(town);
                    }
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        scope.spawn(|| {
            // Strangers are served, too, once those who trickle have had their time: three of them one after another.
            for _ in 0..3 {
                loop {
                    let mut other = connect(town);
                    let asked = other.write_all(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
                    if asked.is_ok() && status(&mut other) == Some(404) {
                        break;
                    }
                }
            }
            is_served.store(true, Ordering::SeqCst);
        });
        while !is_served.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(700));
            respondent.write_all(&upload).unwrap();
            assert_eq!(
                status(&mut respondent),
                Some(200),
                "the place is still theirs, and the receipt the same"
            );
        }
    });
}
