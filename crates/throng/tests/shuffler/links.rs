//! Attack 32: what is agreed on with real processes, on each kind of link.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, NamedGroup, ServerConnection};
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::Party;
use throng_host::net::tls;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::{Digest, Place};

use crate::THRONG;

const SHAPE: Shape = Shape { instances: 2, hops: 2, epoch_s: 600, tls: true, labels: false };

/// Who called, by their certificate, and the key exchange that was agreed on.
type Call = (Option<Digest>, NamedGroup);

/// Stands where a hop would, shakes hands with whoever calls, notes what was agreed on, and hangs up.
fn listen(town: &Town, place: Place, calls: mpsc::Sender<Call>) {
    let party = Party::read(&town.deployment.dirs[&place]).unwrap();
    let config = tls::server_config(party.identity()).unwrap();
    let listener = TcpListener::bind(socket(town, place)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, config, calls) = (stream.unwrap(), config.clone(), calls.clone());
            thread::spawn(move || {
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let mut server = ServerConnection::new(config).unwrap();
                while server.is_handshaking() {
                    if server.complete_io(&mut stream).is_err() {
                        return;
                    }
                }
                let certificate = server.peer_certificates().map(|shown| Digest::of(&shown[0]));
                let group = server.negotiated_key_exchange_group().unwrap().name();
                // The test may have seen enough.
                let _ = calls.send((certificate, group));
            });
        }
    });
}

fn socket(town: &Town, place: Place) -> SocketAddr {
    town.address(place).url.strip_prefix("https://").unwrap().parse().unwrap()
}

/// Respondent to hop, hop to hop, analyzer to hop: each caller is the real one, at a listener that stands where the hop would;
/// and a real hop is called, for its side.
#[test]
fn every_link_agrees_on_the_hybrid_key_exchange() {
    let mut town = Town::new(THRONG, SHAPE, 1);
    let (first, last) = (Place::hop(1, 1), Place::hop(1, 2));
    let (calls, called) = mpsc::channel();
    listen(&town, last, calls.clone());
    listen(&town, Place::hop(2, 1), calls);
    // A hop asks the next one when it starts, and the analyzer asks every last hop what waits.
    town.start(first, None);
    town.start(Place::Analyzer, None);
    let route = town.route(2, SystemClock.now_s() / town.shape.epoch_s);
    let body = town.body(route, 1);
    assert!(town.send(&sender(), route, 0, &body).is_err(), "nobody answers there");

    let certificate = |place: Place| town.address(place).certificate;
    let mut missing = BTreeSet::from([None, certificate(first), certificate(Place::Analyzer)]);
    assert_eq!(missing.len(), 3);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !missing.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let (who, group) = called.recv_timeout(left).expect("all of them call");
        assert_eq!(group, NamedGroup::X25519MLKEM768, "{who:?}");
        missing.remove(&who);
    }

    let mut stream = TcpStream::connect(socket(&town, first)).unwrap();
    let config = tls::client_config(certificate(first).unwrap(), None).unwrap();
    let mut client = ClientConnection::new(config, tls::server_name()).unwrap();
    while client.is_handshaking() {
        client.complete_io(&mut stream).unwrap();
    }
    assert_eq!(client.negotiated_key_exchange_group().unwrap().name(), NamedGroup::X25519MLKEM768);
}
