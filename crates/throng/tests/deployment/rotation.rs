//! Layer keys that change while an epoch runs.

use std::path::Path;

use throng_host::bundle::Bundle;
use throng_testing::crowd::{ATTRIBUTE_FRAGMENTS, ONE_HOT, everyone, release, survey, table, until_taken};
use throng_testing::town::Town;
use throng_wire::{Lifetime, Place};

use crate::THRONG;

/// A new layer key of a party, which begins at once, and a new list, as an operator makes them.
fn rotate(town: &Town, place: Place) {
    let epochs = 30 * 86_400 / town.shape.epoch_s;
    let overlap = epochs - 1;
    throng(
        &["keygen", "rotate", "--place", &place.to_string(), "--epochs", &epochs.to_string()],
        &["--overlap", &overlap.to_string(), "--survey", &path(&town.deployment.survey), "--out"],
        &[&town.deployment.dirs[&place]],
    );
}

fn throng(first: &[&str], second: &[&str], paths: &[&Path]) {
    let mut command = THRONG.command();
    let output = command.args(first).args(second).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Respondents who have the old list and respondents who have the new one are counted in the same epoch.
#[test]
fn keys_can_be_rotated_while_an_epoch_runs() {
    let mut town = Town::of(THRONG, &survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""), true, 8);
    town.start_all();
    town.start(Place::Analyzer, None);
    let rotated = [Place::Analyzer, Place::hop(1, 1), Place::hop(1, 2)];
    let mut lists = Vec::new();
    let answered = everyone(&mut town, 8, |town, epoch| {
        let old = keys(&town.deployment.bundle, epoch);
        for place in rotated {
            rotate(town, place);
        }
        let dirs: Vec<&Path> = town.deployment.dirs.values().map(AsRef::as_ref).collect();
        throng(&["keygen", "bundle", "--survey"], &[&path(&town.deployment.survey)], &dirs);
        let bundle = Bundle::read(&town.deployment.survey).unwrap();
        bundle.follows(&town.deployment.bundle, epoch).unwrap();
        lists = vec![old, keys(&bundle, epoch)];
        town.deployment.bundle = bundle;
    });
    // Keys of those parties, and of no others, were different for the second half of the people.
    let [old, new] = &lists[..] else { panic!() };
    for ((place, old), (_, new)) in old.iter().zip(new) {
        assert_eq!(old != new, rotated.contains(place), "{place}");
    }
    let epoch = answered.epoch;
    until_taken(&town, &[1, 2], epoch);
    let released = release(&town, epoch);
    assert_eq!((released["respondents"].as_u64(), &released["rejected"]["key"]), (Some(8), &0.into()));
    assert_eq!(table(&released), answered.in_memory(&[1, 2]));

    // And so is everybody in the next epoch, who has the new list.
    let answered = everyone(&mut town, 8, |_, _| {});
    let epoch = answered.epoch;
    until_taken(&town, &[1, 2], epoch);
    assert_eq!(table(&release(&town, epoch)), answered.in_memory(&[1, 2]));
}

/// The key that everyone seals to, of each party.
fn keys(bundle: &Bundle, epoch: u64) -> Vec<(Place, (u8, Lifetime))> {
    let of = |list: &throng_wire::KeyList| list.key_for(epoch).map(|key| (key.id, key.lifetime)).unwrap();
    bundle.key_lists().iter().map(|list| (list.party, of(list))).collect()
}
