//! A hop that is restored from a copy of yesterday, as docs/operating.md describes it, and as it warns of.

use std::path::Path;
use std::process::Output;
use std::{fs, thread};

use hyper::Method;
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen;
use throng_testing::town::{Shape, Town, sender};
use throng_wire::{EpochStatement, Outcome, Place, Signed};

use crate::THRONG;

const FIRST: Place = Place::Hop { instance: 1, hop: 1 };
const SECOND: Place = Place::Hop { instance: 1, hop: 2 };

/// Puts a copy of a directory in the place of another.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    fs::create_dir_all(to).unwrap();
    // As a backup keeps it: for its owner alone.
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn statement(town: &Town, place: Place, epoch: u64) -> Option<Signed<EpochStatement>> {
    let (status, bytes) = town.call(None, place, Method::GET, town.route(1, epoch), "statement", &[]);
    (status == 200).then(|| Signed::from_bytes(&bytes).unwrap())
}

#[test]
fn a_hop_restored_from_a_copy_says_no_second_thing() {
    let mut town =
        Town::new(THRONG, Shape { instances: 1, hops: 2, epoch_s: 6, tls: false, labels: false }, 8);
    let (home, backup) = (town.deployment.dirs[&FIRST].clone(), tempfile::tempdir().unwrap());
    town.start_all();
    let (sender, epoch) = (sender(), town.next_epoch());
    let route = town.route(1, epoch);
    for person in 0..8 {
        town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
    }
    // Yesterday's copy of everything, while the epoch is open; then the epoch is released.
    town.kill(FIRST);
    copy(&home, backup.path());
    town.start(FIRST, None);
    let pulled = town.pull(route);
    assert_eq!(pulled.sorted(), (0..8).collect::<Vec<_>>());
    let first = statement(&town, FIRST, epoch).unwrap();
    assert!(matches!(first.claimed().outcome, Outcome::Released { respondents: 8, .. }));
    town.kill(FIRST);

    // The data alone: the mark beside the keys is newer.
    copy(&backup.path().join("data"), &home.join("data"));
    let output = THRONG.shuffler(&town.config(FIRST)).output().unwrap();
    assert!(
        output.status.code() == Some(2) && said(&output).contains("do not belong together"),
        "{}",
        said(&output)
    );
    // Without a journal.
    fs::remove_file(town.data(FIRST).join("journal")).unwrap();
    let output = THRONG.shuffler(&town.config(FIRST)).output().unwrap();
    assert!(
        output.status.code() == Some(2) && said(&output).contains("journal is missing"),
        "{}",
        said(&output)
    );

    // Keys, data and mark together: the next hop knows better.
    copy(backup.path(), &home);
    town.start(FIRST, None);
    throng_testing::logs::wait_for(&town, FIRST, |event| {
        event["reason"].as_str().is_some_and(|reason| reason.contains("another party has a statement"))
    });
    assert_eq!(statement(&town, FIRST, epoch), None);
    while town.ask(FIRST, "/readyz").0 != 503 {
        thread::sleep(std::time::Duration::from_millis(50));
    }
    town.kill(FIRST);

    // The way out. Another survey of this process would be left alone.
    let output =
        THRONG.shuffler(&town.config(FIRST)).args(["--reset", "--survey", "another"]).output().unwrap();
    assert!(output.status.code() == Some(2) && said(&output).contains("there is no survey another"));
    let name = town.deployment.bundle.survey().survey().name.clone();
    let output = THRONG.shuffler(&town.config(FIRST)).args(["--reset", "--survey", &name]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    town.start(FIRST, None);
    let now = SystemClock.now_s() / town.shape.epoch_s;
    let later = town.pull(town.route(1, now + 1));
    assert!(later.statements.iter().all(|one| one.outcome == Outcome::Destroyed), "it goes on");
    assert!(
        statement(&town, FIRST, epoch).is_none_or(|again| again == first),
        "and never says another thing"
    );
    assert!(matches!(
        statement(&town, SECOND, epoch).unwrap().claimed().outcome,
        Outcome::Released { respondents: 8, .. }
    ));
}

/// The names that docs/operating.md has for what is to be backed up, as they are in this town.
fn documented() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, list) = text.split_once("\n- Back up ").unwrap();
    let (list, _) = list.split_once("That is all that a hop needs").unwrap();
    let mut names: Vec<String> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_hop_begins_again_from_the_documented_backup() {
    let mut town =
        Town::new(THRONG, Shape { instances: 1, hops: 2, epoch_s: 6, tls: true, labels: false }, 8);
    let (home, backup) = (town.deployment.dirs[&FIRST].clone(), tempfile::tempdir().unwrap());
    town.start_all();
    let (sender, epoch) = (sender(), town.next_epoch());
    let answer_all = |town: &Town, epoch| {
        let route = town.route(1, epoch);
        for person in 0..8 {
            town.send(&sender, route, person, &town.body(route, person as u32)).unwrap();
        }
    };
    answer_all(&town, epoch);
    assert_eq!(town.pull(town.route(1, epoch)).sorted(), (0..8).collect::<Vec<_>>());
    assert!(statement(&town, FIRST, epoch).is_some());
    town.kill(FIRST);

    // The machine is lost, with its keys, its journal and its mark.
    let names = documented();
    let expected =
        ["address", "approval", "credentials", "shuffler.toml", "signing.key", "tls.crt", "tls.key"];
    assert_eq!(names, expected);
    copy(&home, backup.path());
    fs::remove_dir_all(&home).unwrap();
    fs::create_dir(&home).unwrap();
    for name in &names {
        fs::copy(backup.path().join(name), home.join(name)).unwrap();
    }
    let output = THRONG.shuffler(&town.config(FIRST)).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "not without a reset: {}", said(&output));
    let before = town.deployment.bundle.key_lists().iter().find(|list| list.party == FIRST).unwrap().clone();
    let given_up = SystemClock.now_s() / town.shape.epoch_s;
    let output = THRONG.shuffler(&town.config(FIRST)).arg("--reset").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));

    // The new list is published, and later epochs are decided as before.
    let dirs: Vec<_> = town.deployment.dirs.values().collect();
    let now = SystemClock.now_s() / town.shape.epoch_s;
    let bundle = keygen::bundle(&town.deployment.survey, &dirs, now).unwrap();
    let after = bundle.key_lists().iter().find(|list| list.party == FIRST).unwrap();
    assert_eq!(after.serial, before.serial + 1);
    assert!(after.keys.iter().all(|key| before.keys.iter().all(|old| old.id != key.id)));
    town.deployment.bundle = bundle;
    town.start(FIRST, None);
    let later = town.next_epoch();
    answer_all(&town, later);
    assert_eq!(town.pull(town.route(1, later)).sorted(), (0..8).collect::<Vec<_>>());
    let released = statement(&town, FIRST, later).unwrap();
    assert!(matches!(released.claimed().outcome, Outcome::Released { respondents: 8, .. }));
    for epoch in epoch..=given_up {
        assert_eq!(statement(&town, FIRST, epoch), None, "no second statement");
    }
}
