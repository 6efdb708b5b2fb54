//! Files of a survey that change while hops run, and a hop whose own files are damaged.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use hyper::Method;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_testing::town::{Shape, Town, sender};
use throng_wire::{Outcome, Place};

use crate::THRONG;

const SHAPE: Shape = Shape { instances: 1, hops: 2, epoch_s: 8, tls: true, labels: false };
const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const SECOND: Place = Place::Hop { instance: 1, hop: 2 };

fn keygen(town: &Town, step: &str, place: Place, more: &[&str]) {
    let mut command = THRONG.command();
    command.args(["keygen", step, "--place", &place.to_string(), "--survey"]).arg(&town.deployment.survey);
    let output = command.arg("--out").arg(&town.deployment.dirs[&place]).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn bundle(town: &mut Town) {
    let dirs: Vec<&Path> = town.deployment.dirs.values().map(AsRef::as_ref).collect();
    let epoch = SystemClock.now_s() / town.shape.epoch_s;
    town.deployment.bundle = throng_host::keygen::bundle(&town.deployment.survey, &dirs, epoch).unwrap();
    assert!(Bundle::read(&town.deployment.survey).is_ok());
}

fn answer_all(town: &Town, epoch: u64) {
    let (sender, route) = (sender(), town.route(1, epoch));
    for person in 0..8 {
        town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
    }
}

/// A hop that moves to another port, and an analyzer that rotates its keys: nobody has to be started again.
#[test]
fn hops_take_over_addresses_and_the_analyzers_list() {
    // Long enough that the second hop begins in the same epoch: it takes no batch of an earlier one.
    let mut town = Town::new(THRONG, Shape { epoch_s: 20, ..SHAPE }, 8);
    let config = fs::read_to_string(town.config(SECOND)).unwrap();
    let old = town.address(SECOND).url.rsplit_once(':').unwrap().1.to_owned();
    town.start(FIRST, None);
    let epoch = town.next_epoch();
    answer_all(&town, epoch);
    // The second hop was never at its first address.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(town.config(SECOND), config.replacen(&format!(":{old}"), &format!(":{port}"), 1)).unwrap();
    keygen(&town, "address", SECOND, &["--url", &format!("https://127.0.0.1:{port}")]);
    keygen(&town, "rotate", Place::Analyzer, &[]);
    let before = town.deployment.bundle.key_list_digest(Place::Analyzer);
    bundle(&mut town);
    let lists = town.deployment.bundle.all_key_lists();
    assert!(
        before.is_some_and(|digest| lists.find(Place::Analyzer, digest).is_some()),
        "the old list is kept"
    );
    town.start(SECOND, None);
    let pulled = town.pull(town.route(1, epoch));
    assert_eq!(pulled.sorted(), (0..8).collect::<Vec<_>>());
    let newest = town.deployment.bundle.key_list_digest(Place::Analyzer);
    assert_ne!(newest, before);
    assert_eq!(
        pulled.statements.iter().map(|one| Some(one.analyzer_key_list)).collect::<Vec<_>>(),
        [newest; 2]
    );
}

/// Uploads that the disk has changed: the hop does not start, says why and for which survey, and a reset leads out of it.
#[test]
fn a_damaged_hop_can_be_reset() {
    let mut town = Town::new(THRONG, Shape { tls: false, ..SHAPE }, 8);
    town.start_all();
    let epoch = town.next_epoch();
    answer_all(&town, epoch);
    town.kill(FIRST);
    let uploads = town.data(FIRST).join(format!("0-{epoch}.uploads"));
    let mut bytes = fs::read(&uploads).unwrap();
    bytes[70] ^= 1;
    fs::write(&uploads, bytes).unwrap();
    let output = THRONG.shuffler(&town.config(FIRST)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("uploads file is damaged"), "{said}");
    assert!(said.contains("for instance-1-hop-1 of"), "{said}");
    let output = THRONG.shuffler(&town.config(FIRST)).arg("--reset").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    town.start(FIRST, None);
    // It states nothing about what it gave up, and goes on with the next epoch, for which nobody has its new key yet.
    let later = town.pull(town.route(1, epoch + 2));
    assert!(later.statements.iter().all(|one| one.outcome == Outcome::Destroyed));
    for place in [FIRST, SECOND] {
        let (status, _) = town.call(None, place, Method::GET, town.route(1, epoch), "statement", &[]);
        assert_eq!(status, 404, "{place}");
    }
}
