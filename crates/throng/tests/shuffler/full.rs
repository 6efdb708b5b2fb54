//! A disk without room: what was acknowledged is kept, and the rest is told to come again.

use std::io::{Read, Write};
use std::net::TcpStream;

use throng_host::net::client::SendError;
use throng_testing::town::{CROWD, Shape, Town, sender};
use throng_wire::Place;

use crate::THRONG;

#[test]
fn uploads_that_do_not_fit_are_refused_and_those_before_are_kept() {
    let respondents = 60;
    let mut town = Town::new(
        THRONG,
        Shape { instances: 1, hops: 1, epoch_s: 10, tls: false, labels: false },
        respondents,
    );
    let first = Place::hop(1, 1);
    town.start_with_little_room(first, 8);
    let (sender, route) = (sender(), town.route(1, town.next_epoch()));
    let bodies: Vec<Vec<u8>> = (0..respondents as u32).map(|value| town.body(route, value)).collect();

    // Everybody answers; at some point no more fits.
    let mut receipts = Vec::new();
    let refused = (0..respondents).find(|&person| match town.send(&sender, route, person, &bodies[person]) {
        Ok(receipt) => {
            receipts.push(receipt);
            false
        }
        // It may be sent again, with the same bytes.
        Err(SendError::Unreachable(text)) => {
            assert!(text.contains("507 full"), "{text}");
            true
        }
        Err(other) => panic!("{other}"),
    });
    let refused = refused.expect("files that cannot grow are full at some time");
    assert!(receipts.len() as u64 >= CROWD, "{} were taken", receipts.len());

    let token = town.credentials[refused].token(&route.survey, first);
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        throng_host::net::paths::path(&route, "body"),
        *token.to_text(),
        bodies[refused].len()
    );
    let url = town.address(first).url.clone();
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(&[head.as_bytes(), &bodies[refused]].concat()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 507 "), "{answer}");
    assert!(answer.contains("application/problem+json") && answer.contains("full"), "{answer}");
    // Who was taken before is still known, and needs no room.
    assert_eq!(town.send(&sender, route, 0, &bodies[0]).unwrap(), receipts[0]);

    // With room again, after kill -9: everybody is as they were told, and who was refused can answer.
    town.restart(first);
    for (person, receipt) in receipts.iter().enumerate() {
        assert_eq!(&town.send(&sender, route, person, &bodies[person]).unwrap(), receipt);
    }
    town.send(&sender, route, refused, &bodies[refused]).unwrap();
    assert_eq!(town.pull(route).sorted(), (0..=refused as u32).collect::<Vec<_>>());
}
