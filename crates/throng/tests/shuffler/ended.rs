//! Attack 24 on real respondents: a person's process is ended without a word in every single operation on its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::thread;

use throng_respondent::Respondent;
use throng_testing::town::Town;
use throng_wire::{Digest, Survey};

use crate::THRONG;
use crate::respond::{planned_for, throng};

/// What is on the disk of a respondent that could be sent, and what the ledger has.
#[derive(Debug, PartialEq)]
struct DiskContents {
    /// The names of answers that have one: the next process sends them.
    answers: Vec<String>,
    /// Epochs and the hashes of their answers.
    entries: BTreeMap<u64, Digest>,
    /// The coins of backstops, by the names of the files.
    coins: BTreeMap<String, Vec<u8>>,
}

fn left(state: &Path) -> DiskContents {
    let files = |folder: &str| -> BTreeMap<String, Vec<u8>> {
        let entries =
            fs::read_dir(state.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().path());
        let named = entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
        named.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
    };
    // Without its ledger and secret it is no state directory yet.
    let entries = Respondent::look_at(state).map_or_else(
        |_| BTreeMap::new(),
        |seen| seen.ledger().entries().iter().map(|entry| (entry.epoch, entry.answer)).collect(),
    );
    let answers = files("outbox").into_keys().filter(|name| name.ends_with(".answer")).collect();
    let coins = files("permanent").into_iter().filter(|(name, _)| !name.ends_with(".tmp")).collect();
    DiskContents { answers, entries, coins }
}

/// Whatever is on the disk when the process ends, no answer is there to be sent that the ledger does not have; and the next
/// process, which is told another value, sends the answer that the ledger has, or makes the only one.
#[test]
fn a_respondent_is_ended_in_every_operation() {
    // An epoch that is not over before the test is.
    let survey = Survey { epoch_s: 86_400 * 28, ..planned_for(200, 2) };
    let town = Town::of(THRONG, &survey, false, 1);
    let dir = town.deployment.survey.parent().unwrap();
    let credential = dir.join("credential");
    fs::write(&credential, &*town.credentials[0].to_file()).unwrap();
    fs::set_permissions(&credential, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let respond = |state: &Path, value: &str, abort_after: Option<u64>| -> Output {
        let mut command =
            throng(&["respond", "--no-wait", "--json", "--epsilon-limit", "50", "--value", value]);
        command.arg("--survey").arg(&town.deployment.survey).arg("--credential").arg(&credential);
        command.arg("--state").arg(state);
        if let Some(operations) = abort_after {
            command.env("THRONG_TEST_ABORT_AFTER", operations.to_string());
        }
        command.output().unwrap()
    };
    /// What happened in one operation.
    struct OperationOutcome {
        died: bool,
        recorded: bool,
        named: bool,
    }
    let ended = |number: u64| -> OperationOutcome {
        let state = dir.join(format!("state-{number}"));
        let first = respond(&state, "3", Some(number));
        let died = first.status.code().is_none();
        assert!(died || first.status.success(), "{number}: {}", String::from_utf8_lossy(&first.stderr));
        let before = left(&state);
        assert!(
            before.answers.len() <= before.entries.len(),
            "after {number} operations an answer can be sent that the ledger does not have"
        );
        let again = respond(&state, "5", None);
        let said = String::from_utf8_lossy(&again.stderr);
        assert!(again.status.success(), "{number}: {said}");
        let after = left(&state);
        assert_eq!((after.answers.len(), after.entries.len()), (1, 1), "{number}");
        let shown: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
        let answered_before = shown["notes"].to_string().contains("was answered before");
        let (recorded, named) = (!before.entries.is_empty(), !before.answers.is_empty());
        assert_eq!(answered_before, recorded, "{number}: what the ledger has is the answer");
        if recorded {
            assert_eq!((&after.entries, &after.coins), (&before.entries, &before.coins), "{number}");
        }
        OperationOutcome { died, recorded, named }
    };
    const SIDE_BY_SIDE: u64 = 4;
    let mut all = Vec::new();
    for start in (0..).step_by(SIDE_BY_SIDE as usize) {
        thread::scope(|scope| {
            let started: Vec<_> =
                (start..start + SIDE_BY_SIDE).map(|number| scope.spawn(move || ended(number))).collect();
            all.extend(started.into_iter().map(|one| one.join().unwrap()));
        });
        if all.last().is_some_and(|seen| !seen.died) {
            break;
        }
    }
    let count = |is: fn(&OperationOutcome) -> bool| all.iter().filter(|seen| seen.died && is(seen)).count();
    assert!(count(|seen| !seen.recorded) > 10, "ends before the ledger has the answer");
    assert!(count(|seen| seen.recorded && !seen.named) > 0, "ends between the ledger and the name");
}
