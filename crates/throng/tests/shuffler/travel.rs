//! Fragments through real processes, and who is let in where.

use std::os::unix::fs::PermissionsExt;

use hyper::Method;
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::client::SendError;
use throng_testing::logs;
use throng_testing::town::{ENVELOPES, Shape, Town, sender};
use throng_wire::statement::check_cascade;
use throng_wire::{Credential, Digest, EpochStatement, Outcome, Place, Signed};

use crate::THRONG;

const SHAPE: Shape = Shape { instances: 2, hops: 2, epoch_s: 8, tls: true, labels: false };

/// Names in a hop's data directory.
fn files(town: &Town, place: Place) -> Vec<String> {
    let entries = std::fs::read_dir(town.data(place)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Whether a file belongs to a later epoch.
fn later(name: &str, epoch: u64) -> bool {
    let number = name.split(['-', '.']).nth(1).and_then(|number| number.parse().ok());
    number.is_some_and(|number: u64| number > epoch)
}

#[test]
fn fragments_travel_over_tls_and_leave_nothing_behind() {
    let mut town = Town::new(THRONG, SHAPE, 8);
    town.start_all();
    let (sender, epoch) = (sender(), town.next_epoch());
    let mut lengths = Vec::new();
    for instance in 1..=2 {
        let route = town.route(instance, epoch);
        for person in 0..8 {
            let body = town.body(route, person as u32);
            lengths.push(body.len());
            let receipt = town.send(&sender, route, person, &body).unwrap();
            assert_eq!(town.send(&sender, route, person, &body).unwrap(), receipt, "the same receipt");
            let other = town.body(route, 60);
            let refused = town.send(&sender, route, person, &other);
            assert!(matches!(refused, Err(SendError::Refused(text)) if text.contains("conflict")));
        }
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1, "bodies have one length");

    strangers_are_kept_out(&town, epoch);

    for instance in 1..=2 {
        let route = town.route(instance, epoch);
        let pulled = town.pull(route);
        assert_eq!(pulled.sorted(), (0..8).collect::<Vec<_>>());
        let survey = town.deployment.bundle.survey();
        assert_eq!(check_cascade(survey.survey(), &pulled.statements).unwrap(), Some(8));
        for (hop, statement) in (1..).zip(&pulled.statements) {
            let place = Place::hop(instance, hop);
            let bundle = &town.deployment.bundle;
            assert_eq!(Some(statement.key_list), bundle.key_list_digest(place));
            assert_eq!(Some(statement.analyzer_key_list), bundle.key_list_digest(Place::Analyzer));
            let (status, bytes) = town.call(None, place, Method::GET, route, "statement", &[]);
            let public = Signed::<EpochStatement>::from_bytes(&bytes).unwrap();
            assert_eq!((status, public.verify(survey).unwrap()), (200, statement));
        }
        only_the_analyzer_takes_a_batch(&mut town, instance, epoch, pulled.digest());
        for hop in 1..=2 {
            // Of this epoch; the next may be open.
            let mut left = files(&town, Place::hop(instance, hop));
            left.retain(|name| !later(name, epoch));
            assert_eq!(left, ["journal", "lock"]);
        }
    }
}

/// Attacks 1 and 22 at the door: no credential, another's token, another survey, another length.
fn strangers_are_kept_out(town: &Town, epoch: u64) {
    let (sender, route) = (sender(), town.route(1, epoch));
    let body = town.body(route, 1);
    let first = Place::hop(1, 1);
    let refused = |token: throng_wire::Token, route, body: &[u8]| match sender.post_body(
        town.address(first),
        &route,
        &token,
        body,
    ) {
        Err(SendError::Refused(text)) => text,
        Err(SendError::WrongTime { reason, their_s, over: true }) => {
            assert!(their_s.abs_diff(SystemClock.now_s()) < 3600, "it says what time it is: {their_s}");
            reason
        }
        other => panic!("{other:?}"),
    };
    let token = |place| town.credentials[0].token(&route.survey, place);
    let stranger = Credential::generate(&mut throng_host::entropy::system_rng().unwrap());
    assert!(refused(stranger.token(&route.survey, first), route, &body).contains("401 credential"));
    assert!(refused(token(Place::hop(2, 1)), route, &body).contains("401 credential"));
    let mut other = route;
    other.survey = throng_wire::SurveyHash::new([1; 32]);
    assert!(refused(token(first), other, &body).contains("404"));
    for (instance, label, epoch, name) in
        [(3, 0, epoch, "404"), (1, 1, epoch, "404"), (1, 0, epoch - 1, "closed")]
    {
        let route = throng_wire::Route { instance, label, epoch, ..route };
        assert!(refused(token(first), route, &body).contains(name), "{name}");
    }
    let tomorrow = throng_wire::Route { epoch: epoch + 1, ..route };
    match sender.post_body(town.address(first), &tomorrow, &token(first), &body) {
        Err(SendError::WrongTime { reason, over: false, .. }) => {
            assert!(reason.contains("503 early"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert!(refused(token(first), route, &body[1..]).contains("length"));
    assert!(refused(token(first), route, &[&body[..], &[0]].concat()).contains("length"));
    let (status, _) = town.call(None, first, Method::POST, route, "body", &body);
    assert_eq!(status, 401, "no token at all");
}

/// Attack 25, and who may take a batch: the survey's own analyzer, until it has acknowledged the hash.
fn only_the_analyzer_takes_a_batch(town: &mut Town, instance: u32, epoch: u64, digest: Digest) {
    let route = town.route(instance, epoch);
    let last = Place::hop(instance, 2);
    for by in [None, Some(Place::hop(instance, 1)), Some(Place::hop(3 - instance, 2)), Some(last)] {
        assert_eq!(town.call(by, last, Method::GET, route, "batch", &[]).0, 403, "{by:?}");
        assert_eq!(town.call(by, last, Method::POST, route, "ack", digest.as_bytes()).0, 403, "{by:?}");
    }
    let first = Place::hop(instance, 1);
    assert_eq!(town.call(Some(Place::Analyzer), first, Method::GET, route, "batch", &[]).0, 403);
    for by in [None, Some(Place::Analyzer), Some(Place::hop(3 - instance, 1))] {
        assert_eq!(town.call(by, last, Method::PUT, route, "batch", &[7; 500]).0, 403, "{by:?}");
    }
    assert_eq!(town.call(Some(first), last, Method::PUT, route, "batch", &[7; 500]).0, 422, "no statements");
    assert_eq!(town.call(Some(Place::hop(instance, 1)), first, Method::PUT, route, "batch", &[]).0, 403);
    assert_eq!(town.acknowledge(route, Digest::of(b"another")), 422);
    // A hop that was killed in between has the same batch, byte by byte.
    town.restart(last);
    assert_eq!(town.pull(route).digest(), digest);
    assert_eq!(town.acknowledge(route, digest), 204);
    assert_eq!(town.acknowledge(route, digest), 204);
    assert_eq!(town.call(Some(Place::Analyzer), last, Method::GET, route, "batch", &[]).0, 410);
}

#[test]
fn a_crowd_that_is_too_small_is_destroyed_by_all_and_labels_are_thinned() {
    let mut town =
        Town::new(THRONG, Shape { instances: 1, tls: false, labels: true, epoch_s: 5, ..SHAPE }, 40);
    town.start_all();
    let (sender, epoch) = (sender(), town.next_epoch());
    let route = town.route(1, epoch);
    for person in 0..4 {
        town.send(&sender, route, person, &town.body(route, 1)).unwrap();
    }
    let pulled = town.pull(route);
    assert!(pulled.envelopes.is_empty());
    assert!(pulled.statements.iter().all(|statement| statement.outcome == Outcome::Destroyed));
    let route = town.route(1, town.next_epoch());
    for person in 0..40 {
        town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
    }
    let pulled = town.pull(route);
    match pulled.statements[0].outcome {
        Outcome::Released { respondents, received, .. } => {
            assert!(
                respondents < 40,
                "the noise of this test is below the shift but for 1 in 10^7: {respondents}"
            );
            assert_eq!(received, Some(respondents * u64::from(ENVELOPES)));
            assert_eq!(pulled.values.len() as u64, respondents);
        }
        Outcome::Destroyed => panic!("40 people are a crowd"),
    }
    logs_tell_no_counts(&town);
}

/// Attack 14: what is written to a log, or answered to anyone, has no raw count: epoch, label, what became of it.
fn logs_tell_no_counts(town: &Town) {
    for place in town.hops() {
        logs::wait_for(town, place, |event| event["outcome"] == "released");
        let mut outcomes: Vec<String> = logs::events(town, place)
            .into_iter()
            .filter(|event| event["event"] == "epoch-decided" && event["label"] == 1)
            .map(|event| event["outcome"].as_str().unwrap().to_owned())
            .collect();
        outcomes.sort();
        outcomes.dedup();
        assert_eq!(outcomes, ["destroyed", "released"], "{}", town.log(place));
    }
}

#[test]
fn a_configuration_is_checked_before_anything_runs() {
    let town = Town::new(THRONG, Shape { instances: 1, ..SHAPE }, 1);
    let (first, second) = (Place::hop(1, 1), Place::hop(1, 2));
    let check = |place: Place| {
        let output = THRONG.shuffler(&town.config(place)).args(["--check", "--json"]).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, text) = check(first);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\"credentials\": 1") && !town.path(first, "data").exists(), "nothing is changed");
    let config = std::fs::read_to_string(town.config(first)).unwrap();
    for (from, to, said) in [
        ("credentials = \"credentials\"", "", "credentials are missing"),
        ("place = \"instance-1-hop-1\"", "place = \"instance-1-hop-2\"", "another signing key"),
        ("place = \"instance-1-hop-1\"", "place = \"analyzer\"", "a hop"),
        ("plain_http = false", "plain_http = true", "does not fit plain_http"),
        ("identity = \".\"", "identity = \"..\"", "no identity"),
        ("../survey.toml", "../other.toml", "cannot read"),
        ("data = \"data\"", "data = \"shuffler.toml\"", "cannot be written"),
        ("plain_http = false", "plain_http = false\nrequests_per_s_max = 0", "requests_per_s_max"),
    ] {
        std::fs::write(town.config(first), config.replace(from, to)).unwrap();
        let (code, text) = check(first);
        assert!(code == Some(2) && text.contains(said), "{said}: {text}");
    }
    // Listening addresses that do not fit, and one that should be looked at.
    std::fs::write(town.config(first), &config).unwrap();
    let check_with = |name: &str, value: &str| {
        let output = THRONG.shuffler(&town.config(first)).env(name, value).arg("--check").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let listen = town.address(first).url.strip_prefix("https://").unwrap().to_owned();
    let (code, said) = check_with("THRONG_OPERATOR_LISTEN", &listen);
    assert!(code == Some(2) && said.contains("a port of its own"), "{said}");
    let (code, said) = check_with("THRONG_OPERATOR_LISTEN", "0.0.0.0:9443");
    assert!(
        code == Some(0) && said.contains("warning: operator_listen = \"0.0.0.0:9443\" can be reached"),
        "{said}"
    );
    // Private keys that are not private.
    for file in ["signing.key", "tls.key", "layer.keys"] {
        let path = town.path(first, file);
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o644);
        let (code, text) = check(first);
        assert!(code == Some(2) && text.contains("everyone on this machine"), "{file}: {text}");
        set(0o600);
    }
    assert_eq!(check(first).0, Some(0));
    // A party without TLS could not prove who it is.
    std::fs::write(town.config(first), &config).unwrap();
    let addresses = town.deployment.survey.with_extension("addresses");
    let party = throng_host::keygen::Party::read(&town.deployment.dirs[&second]).unwrap();
    let bundle = &town.deployment.bundle;
    let plain = throng_wire::Address {
        serial: 2,
        url: "http://127.0.0.1:1".into(),
        certificate: None,
        ..bundle.address(second).unwrap().clone()
    };
    let signed = Signed::new(plain, party.signing_key()).unwrap().to_text();
    std::fs::write(&addresses, std::fs::read_to_string(&addresses).unwrap() + &signed).unwrap();
    let (code, text) = check(first);
    assert!(code == Some(2) && text.contains("without TLS"), "{text}");
    // Open to other machines without TLS.
    let plain = Town::new(THRONG, Shape { instances: 1, tls: false, ..SHAPE }, 1);
    let config = std::fs::read_to_string(plain.config(second)).unwrap();
    std::fs::write(plain.config(second), config.replace("127.0.0.1", "0.0.0.0")).unwrap();
    let output = THRONG.shuffler(&plain.config(second)).arg("--check").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("plain HTTP is for one machine only"));
}

#[test]
fn a_reset_hop_begins_with_new_keys() {
    let mut town = Town::new(THRONG, Shape { instances: 1, tls: false, epoch_s: 5, ..SHAPE }, 8);
    let first = Place::hop(1, 1);
    town.start_all();
    let (sender, epoch) = (sender(), town.next_epoch());
    let route = town.route(1, epoch);
    for person in 0..8 {
        town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
    }
    town.kill(first);
    let old = std::fs::read_to_string(town.path(first, "layer.keys")).unwrap();
    let output = THRONG.shuffler(&town.config(first)).arg("--reset").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let new = std::fs::read_to_string(town.path(first, "layer.keys")).unwrap();
    assert!(old.lines().skip(1).all(|line| !new.contains(line)), "no old key is left");
    assert_eq!(files(&town, first), ["journal", "lock"]);
    town.start(first, None);
    let later = town.pull(town.route(1, epoch + 2));
    assert!(later.statements.iter().all(|one| one.outcome == Outcome::Destroyed));
    let (status, _) = town.call(None, first, Method::GET, route, "statement", &[]);
    assert_eq!(status, 404, "nothing is stated about what was given up");
}
