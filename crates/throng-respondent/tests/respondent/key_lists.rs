//! Key lists that are made for one person, and those that honestly change.

use std::fs;

use throng_host::bundle::Bundle;
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::ONE_HOT;
use throng_wire::{
    Address, Digest, EpochStatement, ForwardedCount, KeyList, LayerKeys, LayerSecretKey, Lifetime, Outcome,
    Place, Route, Signed,
};

/// Answers are for this epoch.
const EPOCH: u64 = 11;
const HOP: Place = Place::Hop { instance: 2, hop: 1 };

/// A later list of a party, with one more key that begins in `first_epoch`.
fn list(desk: &Desk, party: Place, serial: u64, first_epoch: u64) -> Signed<KeyList> {
    let mut keys = LayerKeys::from_file(&desk.world.layers[&party].to_file()).unwrap();
    let lifetime = Lifetime { first_epoch, last_epoch: 200 };
    keys.add(LayerSecretKey::generate(serial as u8, lifetime, &mut rng(40 + serial as u8)).unwrap()).unwrap();
    Signed::new(keys.list(desk.world.survey.hash(), party, serial), &desk.world.signing[&party]).unwrap()
}

/// The same without the keys before.
fn fresh_list(desk: &Desk, party: Place, serial: u64, first_epoch: u64) -> Signed<KeyList> {
    let mut list = list(desk, party, serial, first_epoch).claimed().clone();
    list.keys.retain(|key| key.lifetime.first_epoch == first_epoch);
    Signed::new(list, &desk.world.signing[&party]).unwrap()
}

fn publish(desk: &Desk, lists: &[&Signed<KeyList>]) {
    let all: String = desk.world.lists.iter().chain(lists.iter().copied()).map(Signed::to_text).collect();
    fs::write(desk.world.file.with_extension("keys"), all).unwrap();
}

/// What hop 1 of instance 2 says, with these lists in force.
fn statement(desk: &Desk, outcome: Outcome, own: Digest, analyzers: Digest) -> Signed<EpochStatement> {
    let route = Route { survey: desk.world.survey.hash(), label: 0, epoch: EPOCH, instance: 2 };
    let statement = EpochStatement { route, hop: 1, outcome, key_list: own, analyzer_key_list: analyzers };
    Signed::new(statement, &desk.world.signing[&HOP]).unwrap()
}

/// What a respondent who has answered finds when the hop names these lists of a party.
fn found(desk: &Desk, party: Place, named: Digest, outcome: Outcome) -> (bool, String) {
    let first = |place| desk.world.lists.iter().find(|list| list.claimed_party() == place).unwrap().digest();
    // Of the other party everyone has the first list.
    let (own, analyzers) = if party == HOP { (named, first(Place::Analyzer)) } else { (first(HOP), named) };
    let bodies = desk.open().check(&[statement(desk, outcome, own, analyzers)]).unwrap();
    assert!(!bodies[0].contradiction && !bodies[2].contradiction);
    (bodies[1].contradiction, bodies[1].findings.join("\n"))
}

const RELEASED: Outcome = Outcome::Released {
    respondents: 100_000,
    received: Some(4_000_000),
    forwarded: ForwardedCount::Told(4_000_000),
    batch: Digest::NONE,
};

/// Attack 5: a person is given files with a list of their own, newer than everyone's and beside it. Who signs the list may be
/// the hop, or the analyzer behind honest hops.
#[test]
fn a_list_of_ones_own_contradicts_a_statement() {
    for party in [HOP, Place::Analyzer] {
        let desk = Desk::new(ONE_HOT);
        let everyones = desk.bundle().key_list_digest(party).unwrap();
        publish(&desk, &[&list(&desk, party, 5, 10)]);
        desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
        let (wrong, findings) = found(&desk, party, everyones, RELEASED);
        assert!(wrong && findings.contains("a list of your own"), "{party}: {findings}");
        // Nor does a still newer list for everyone help, without that key.
        let next = fresh_list(&desk, party, 6, 12);
        publish(&desk, &[&list(&desk, party, 5, 10), &next]);
        desk.open().update(&desk.bundle(), NOW_MS).unwrap();
        let (wrong, findings) = found(&desk, party, next.digest(), RELEASED);
        assert!(wrong && findings.contains("a list of your own"), "{party}: {findings}");
        // A list that nobody has shown them does neither.
        let (wrong, findings) = found(&desk, party, Digest::of(b"another"), RELEASED);
        assert!(wrong && findings.contains("fetch the survey's files again"), "{party}: {findings}");
    }
}

/// A rotation contradicts nothing: fetching the files again is all that a respondent needs to do.
#[test]
fn honest_rotations_are_understood() {
    for party in [HOP, Place::Analyzer] {
        let desk = Desk::new(ONE_HOT);
        let first = desk.bundle().key_list_digest(party).unwrap();
        desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
        assert!(!found(&desk, party, first, RELEASED).0);
        // The next key begins later: everyone uses the same one now, whichever list they have.
        let later = list(&desk, party, 2, 50);
        let (wrong, findings) = found(&desk, party, later.digest(), RELEASED);
        assert!(wrong && findings.contains("name them with --survey"), "{party}: {findings}");
        // What is published may leave out the first list; those who had it keep it.
        let others = desk.world.lists.iter().filter(|list| list.claimed_party() != party);
        let all: String = others.chain([&later]).map(Signed::to_text).collect();
        fs::write(desk.world.file.with_extension("keys"), all).unwrap();
        desk.open().update(&desk.bundle(), NOW_MS).unwrap();
        for named in [first, later.digest()] {
            assert!(!found(&desk, party, named, RELEASED).0, "{party}");
        }
        // One that began already: whoever has the older list stands out, and is told so.
        let late = list(&desk, party, 3, 11);
        publish(&desk, &[&later, &late]);
        desk.open().update(&desk.bundle(), NOW_MS).unwrap();
        let (wrong, findings) = found(&desk, party, late.digest(), RELEASED);
        assert!(!wrong && findings.contains("could be told from others'"), "{party}: {findings}");
        // A party that has no key for the epoch any more has opened nothing.
        let fresh = fresh_list(&desk, party, 4, 12);
        publish(&desk, &[&later, &late, &fresh]);
        desk.open().update(&desk.bundle(), NOW_MS).unwrap();
        assert!(!found(&desk, party, fresh.digest(), Outcome::Destroyed).0, "{party}");
        assert!(found(&desk, party, fresh.digest(), RELEASED).0, "{party}");
    }
}

/// Two lists under one serial are refused, also when a newer one covers them up.
#[test]
fn a_serial_has_one_list() {
    let desk = Desk::new(ONE_HOT);
    publish(&desk, &[&list(&desk, HOP, 2, 10)]);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    publish(&desk, &[&list(&desk, HOP, 2, 50), &list(&desk, HOP, 3, 60)]);
    let error = desk.open().update(&desk.bundle(), NOW_MS).unwrap_err().to_string();
    assert!(error.contains("two key lists with the serial 2"), "{error}");
    assert_eq!(desk.open().check(&[]).unwrap().len(), 3, "what was kept is as it was");
    publish(&desk, &[&list(&desk, HOP, 2, 10), &list(&desk, HOP, 2, 50), &list(&desk, HOP, 3, 60)]);
    assert!(Bundle::read(&desk.world.file).is_err());
}

/// Files are taken over for what was answered.
#[test]
fn files_of_another_survey_are_not_kept() {
    let desk = Desk::new(ONE_HOT);
    let error = desk.open().update(&desk.bundle(), NOW_MS).unwrap_err().to_string();
    assert!(error.contains("was not answered"), "{error}");
}

/// Parties on one machine may act as one, whoever is said to operate them.
#[test]
fn shared_hosts_and_certificates_are_warned_about() {
    let desk = Desk::new(ONE_HOT);
    let warned = |desk: &Desk| desk.bundle().warnings().iter().map(ToString::to_string).collect::<String>();
    assert!(!warned(&desk).contains("share a host") && !warned(&desk).contains("certificate"));
    let (one, other) = (Place::hop(1, 1), Place::hop(1, 2));
    let mut addresses = fs::read_to_string(desk.world.file.with_extension("addresses")).unwrap();
    for (party, url) in [(one, "https://Hop.example:8443"), (other, "https://hop.example:8444")] {
        let (survey, certificate) = (desk.world.survey.hash(), Some(Digest::of(b"certificate")));
        let address = Address { survey, party, serial: 2, url: url.into(), certificate };
        addresses += &Signed::new(address, &desk.world.signing[&party]).unwrap().to_text();
    }
    fs::write(desk.world.file.with_extension("addresses"), addresses).unwrap();
    let warnings = warned(&desk);
    for part in ["share a host", "share a certificate", "instance-1-hop-1, instance-1-hop-2"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
}
