//! An epoch is in the ledger before it is opened; what nobody asks for, and what the ledger refuses, is never opened.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use throng_testing::crowd::{
    Turnout, everyone, ledger, one_instance, release, side_by_side, table, tally, until_taken, waiting,
};
use throng_testing::patience::until;
use throng_testing::town::Town;
use throng_wire::{Place, Survey};

use crate::THRONG;
use crate::budgets::set_budget;

/// A town whose analyzer serves, with a line more in its file.
fn town(survey: &Survey, line: &str) -> Town {
    let mut town = Town::of(THRONG, survey, true, 8);
    let path = town.config(Place::Analyzer);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{line}\n{text}")).unwrap();
    town.start_all();
    town.start(Place::Analyzer, None);
    town
}

/// An epoch that everybody answered in, and that the analyzer has.
fn taken(town: &mut Town) -> Turnout {
    let answered = everyone(town, 8, |_, _| {});
    until_taken(town, &[1], answered.epoch);
    answered
}

fn is_sealed(town: &Town, epoch: u64) -> bool {
    waiting(town, 1, epoch).is_some() && tally(town, 1, epoch).is_none()
}

/// What a log says of an epoch, without its number and the time: nothing in it depends on what was sent.
fn said_of(town: &Town, place: Place, epoch: u64) -> Vec<String> {
    let number = epoch.to_string();
    let log = town.log(place);
    // What had to be tried again is a matter of time.
    let lines = log.lines().filter(|line| line.contains(&number) && line.contains("\"info\""));
    let lines = lines.map(|line| {
        let line = line.replace(&number, "E");
        line.split_once("Z\"").map_or(line.clone(), |(_, rest)| rest.to_owned())
    });
    lines.collect::<BTreeSet<_>>().into_iter().collect()
}

fn never_asked_for() {
    let mut town = town(&one_instance(), "");
    let (first, second) = (taken(&mut town), taken(&mut town));
    assert!(is_sealed(&town, first.epoch) && is_sealed(&town, second.epoch));
    assert!(ledger(&town).is_empty(), "nothing is asked for, and nothing is spent");
    for place in [Place::hop(1, 2), Place::Analyzer] {
        until("logs say the same of both", || {
            let said = said_of(&town, place, first.epoch);
            !said.is_empty() && said == said_of(&town, place, second.epoch)
        });
    }
    let released = release(&town, second.epoch);
    assert_eq!(table(&released), second.in_memory(&[1]));
    assert!(waiting(&town, 1, second.epoch).is_none() && tally(&town, 1, second.epoch).is_some());
    let lines = ledger(&town);
    assert!(lines.len() == 1 && lines[0].contains(&second.epoch.to_string()), "{lines:?}");
    let sealed = waiting(&town, 1, first.epoch);
    town.restart(Place::Analyzer);

    // What the ledger refuses is not opened either.
    set_budget(&town, released["epsilon_spent"].as_f64().unwrap() * 1.0001);
    let refused = town.release(&["--epoch", &first.epoch.to_string()]).unwrap_err();
    assert!(refused.0 == 1 && refused.1.contains("would have spent"), "{}", refused.1);
    assert!(is_sealed(&town, first.epoch) && waiting(&town, 1, first.epoch) == sealed);
    // And what is booked can be released again, for nothing.
    let again = release(&town, second.epoch);
    assert_eq!((table(&again), &again["epsilon_spent"]), (table(&released), &released["epsilon_spent"]));
    assert_eq!(ledger(&town), lines);
}

fn a_release_that_is_killed() {
    let mut town = town(&one_instance(), "");
    set_budget(&town, 100.0);
    for (number, place) in (1..).zip(["booked", "counted", "stored", "opened"]) {
        let answered = taken(&mut town);
        let (epoch, argument) = (answered.epoch, answered.epoch.to_string());
        let ended = town.release_until(place, &["--epoch", &argument]).unwrap_err();
        assert_eq!(ended.0, -1, "{place}: {}", ended.1);
        assert_eq!(ledger(&town).len(), number, "{place}: it is booked before anything else");
        let (is_counted, is_waiting) = (["stored", "opened"].contains(&place), place != "opened");
        assert_eq!(tally(&town, 1, epoch).is_some(), is_counted, "{place}");
        assert!(place == "stored" || waiting(&town, 1, epoch).is_some() == is_waiting, "{place}");
        let lines = ledger(&town);
        assert_eq!(table(&release(&town, epoch)), answered.in_memory(&[1]), "{place}");
        assert_eq!(ledger(&town), lines, "{place}: it is booked once");
        assert!(waiting(&town, 1, epoch).is_none(), "{place}");
        published_and_killed(&town, epoch);
    }
}

/// A release that is killed while it is published again leaves all files of before or all of now, and nothing beside them for long.
fn published_and_killed(town: &Town, epoch: u64) {
    let name = format!("data/releases/{}", town.deployment.bundle.survey().hash());
    let releases = town.path(Place::Analyzer, &name);
    let entries = |dir: &Path| -> BTreeSet<PathBuf> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let dir = releases.join(format!("0-{epoch}"));
    let files =
        || -> Vec<_> { entries(&dir).into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect() };
    let (whole, beside) = (files(), entries(&releases));
    for place in ["directory-written", "directory-replaced"] {
        let ended = town.release_until(place, &["--epoch", &epoch.to_string()]).unwrap_err();
        assert_eq!(ended.0, -1, "{place}: {}", ended.1);
        assert_eq!(files(), whole, "{place}");
        assert_eq!(entries(&releases).len(), beside.len() + 1, "{place}: it was killed there");
    }
    release(town, epoch);
    assert_eq!((files(), entries(&releases)), (whole, beside));
}

fn at_once() {
    let mut town = town(&one_instance(), "open = \"at-once\"");
    town.kill(Place::Analyzer);
    town.environment.insert(Place::Analyzer, ("THRONG_TEST_ABORT_AT", "booked"));
    let answered = everyone(&mut town, 8, |_, _| {});
    town.start(Place::Analyzer, None);
    town.wait_for_end(Place::Analyzer);
    let lines = ledger(&town);
    assert!(lines.len() == 1 && is_sealed(&town, answered.epoch), "{lines:?}");
    town.environment.clear();
    town.start(Place::Analyzer, None);
    until("it is opened by itself", || tally(&town, 1, answered.epoch).is_some());
    assert_eq!(table(&release(&town, answered.epoch)), answered.in_memory(&[1]));
    assert_eq!(ledger(&town), lines, "the release costs nothing more");

    set_budget(&town, 0.001);
    town.restart(Place::Analyzer);
    let refused = taken(&mut town);
    until("the ledger refuses", || town.log(Place::Analyzer).contains("would have spent"));
    assert!(is_sealed(&town, refused.epoch) && ledger(&town) == lines);
}

fn too_old() {
    let mut survey = one_instance();
    survey.delivery.keep_sealed_s = Some(survey.epoch_s);
    let mut town = town(&survey, "");
    let answered = taken(&mut town);
    let hash = town.deployment.bundle.survey().hash();
    let note = format!("data/sealed/{hash}/0-{}-1.erased", answered.epoch);
    until("it is erased", || town.path(Place::Analyzer, &note).exists());
    until("that is said", || town.log(Place::Analyzer).contains("batch-erased"));
    until("it is gone", || waiting(&town, 1, answered.epoch).is_none());
    for _ in 0..2 {
        let refused = town.release(&["--epoch", &answered.epoch.to_string()]).unwrap_err();
        assert!(refused.0 == 1 && refused.1.contains("erased unopened"), "{}", refused.1);
        assert!(tally(&town, 1, answered.epoch).is_none() && ledger(&town).is_empty());
        town.restart(Place::Analyzer);
    }
}

#[test]
fn nothing_is_opened_that_is_not_booked() {
    side_by_side(&[
        ("an epoch that nobody asks for", &never_asked_for),
        ("a release that is killed", &a_release_that_is_killed),
        ("an analyzer that opens at once", &at_once),
        ("a batch that is too old", &too_old),
    ]);
}
