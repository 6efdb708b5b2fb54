//! What is kept: the files of a respondent, and who may read them.

use std::fs;
use std::path::Path;

use throng::respondent::Respondent;

use crate::world::{EPOCH_MS, FRAGMENTED, Hops, ONE_HOT, SKETCHED, TestClock};
use crate::{Desk, NOW_MS, bytes, files, restore, rng};

/// Every file, cut off and altered: an error that says so, and nothing is written over it.
#[test]
fn damaged_files_are_an_error_and_nothing_is_made_anew() {
    let desk = Desk::new(FRAGMENTED);
    let state = desk.state();
    let original = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let waiting = files(&state);
    let clock = TestClock::at(NOW_MS);
    let hops = Hops::honest(&desk.world, &clock);
    desk.open().send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
    let sent = files(&state);
    assert_eq!(sent.len(), waiting.len() + 3);
    let use_all = || -> anyhow::Result<()> {
        let mut respondent = desk.open_at(&state)?;
        desk.answer(&mut respondent, Some(7), NOW_MS, 4)?;
        desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 5)?;
        respondent.send_due(&Hops::honest(&desk.world, &clock), 12 * EPOCH_MS - 1, &mut rng(6))?.result()?;
        respondent.show(NOW_MS)?;
        Ok(())
    };
    restore(&state, &sent);
    use_all().unwrap();
    for (all, only) in [(&waiting, ""), (&sent, "receipt")] {
        for name in all.keys().filter(|name| name.contains(only)) {
            let whole = &all[name];
            let mut altered = whole.clone();
            altered[whole.len() / 2] = 0xff;
            // A survey's file may lose its last line feed and is the same still.
            let cut = if name.ends_with(".toml") { 2 } else { 1 };
            for damaged in
                [whole[..whole.len() / 2].to_vec(), whole[..whole.len() - cut].to_vec(), altered, Vec::new()]
            {
                let mut files_now = all.clone();
                files_now.insert(name.clone(), damaged.clone());
                restore(&state, &files_now);
                let error = use_all();
                assert!(error.is_err(), "{name}, {} of {} bytes", damaged.len(), whole.len());
                assert_eq!(files(&state)[name], damaged, "{name}");
                fs::write(state.join(name), whole).unwrap();
                let again = desk.answer(&mut desk.open(), Some(7), NOW_MS, 7).unwrap();
                assert_eq!(bytes(again.answer()), bytes(original.answer()), "{name}");
            }
        }
    }
}

/// The loss of a file is not taken for a fresh start.
#[test]
fn missing_files_are_an_error() {
    let desk = Desk::new(FRAGMENTED);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let whole = files(&desk.state());
    for name in whole.keys().filter(|name| !name.starts_with("surveys") && *name != "credential") {
        let mut rest = whole.clone();
        rest.remove(name);
        restore(&desk.state(), &rest);
        let result = desk.open_at(&desk.state()).and_then(|mut respondent| {
            desk.answer(&mut respondent, Some(7), NOW_MS, 3)?;
            desk.answer(&mut respondent, Some(7), NOW_MS + EPOCH_MS, 3)
        });
        let error = result.expect_err(name);
        assert!(format!("{error:#}").contains("put back a copy"), "{name}: {error:#}");
    }
}

#[cfg(unix)]
#[test]
fn the_state_directory_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new(FRAGMENTED);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&desk.state()), 0o700);
    for folder in ["outbox", "permanent", "surveys"] {
        assert_eq!(mode(&desk.state().join(folder)), 0o700, "{folder}");
    }
    for name in files(&desk.state()).keys().map(String::as_str).chain(["lock"]) {
        assert_eq!(mode(&desk.state().join(name)), 0o600, "{name}");
    }
    // An empty directory is made private; one that others can look into is not taken.
    let other = desk.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Respondent::open(&other).unwrap());
    assert_eq!(mode(&other), 0o700);
    fs::set_permissions(&other, fs::Permissions::from_mode(0o750)).unwrap();
    let error = Respondent::open(&other).unwrap_err().to_string();
    assert!(error.contains("chmod 700"), "{error}");
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let desk = Desk::new(ONE_HOT);
    let first = desk.open();
    let error = format!("{:#}", desk.open_at(&desk.state()).unwrap_err());
    assert!(error.contains("another process uses"), "{error}");
    drop(first);
    desk.open();
}

/// A value of twelve digits does not come up by accident.
#[test]
fn the_value_is_in_no_error_no_debug_output_and_no_file() {
    const VALUE: u64 = 987_654_321_987;
    let desk = Desk::new(SKETCHED);
    let mut respondent = desk.open();
    let outside = desk.answer(&mut respondent, Some(VALUE + 100_000_000_000), NOW_MS, 2).unwrap_err();
    assert!(!format!("{outside:#} {outside:?}").contains("1087654321987"), "{outside:#}");
    let answered = desk.answer(&mut respondent, Some(VALUE), NOW_MS, 2).unwrap();
    let shown = respondent.show(NOW_MS).unwrap();
    let text = format!("{answered:?} {respondent:?} {shown:?} {}", serde_json::to_string(&shown).unwrap());
    assert!(!text.contains("987654321987") && text.contains("not shown"), "{text}");
    drop(respondent);
    for (name, bytes) in files(&desk.state()) {
        assert!(!name.contains("987654321987"));
        for needle in [&b"987654321987"[..], &VALUE.to_be_bytes()[2..], &VALUE.to_le_bytes()[..6]] {
            assert!(!bytes.windows(needle.len()).any(|window| window == needle), "{name}");
        }
    }
}
