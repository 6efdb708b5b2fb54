//! What is kept: the files of a respondent, and who may read them.

use std::fs;
use std::path::Path;

use throng_respondent::Respondent;
use throng_testing::desk::{Desk, NOW_MS, rng};
use throng_testing::world::{EPOCH_MS, FRAGMENTED, Hops, ONE_HOT, SKETCHED, TestClock};

use crate::{bytes, files, restore};

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
    let use_all = || -> throng_respondent::Result<()> {
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
            for damaged in
                [whole[..whole.len() / 2].to_vec(), whole[..whole.len() - 1].to_vec(), altered, Vec::new()]
            {
                let mut files_now = all.clone();
                files_now.insert(name.clone(), damaged.clone());
                restore(&state, &files_now);
                let error = use_all();
                assert!(error.is_err(), "{name}, {} of {} bytes", damaged.len(), whole.len());
                assert_eq!(files(&state)[name], damaged, "{name}");
                fs::write(state.join(name), whole).unwrap();
                let again = desk.answer(&mut desk.open(), Some(7), NOW_MS, 7).unwrap();
                assert_eq!(bytes(&again), bytes(&original), "{name}");
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
    for name in whole.keys() {
        let mut rest = whole.clone();
        rest.remove(name);
        restore(&desk.state(), &rest);
        let result = desk.open_at(desk.state()).and_then(|mut respondent| {
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
    let error = format!("{:#}", Respondent::open(&other).unwrap_err());
    assert!(error.contains("chmod 700"), "{error}");
    // Nor is one with a link to elsewhere.
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(desk.state().join("ledger"), other.join("outbox/link")).unwrap();
    let error = format!("{:#}", Respondent::open(&other).unwrap_err());
    assert!(error.contains("symbolic link"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_credential_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new(ONE_HOT);
    let credential = desk.folder.path().join("credential");
    for (mode, fits) in [(0o644, false), (0o606, false), (0o600, true)] {
        fs::set_permissions(&credential, fs::Permissions::from_mode(mode)).unwrap();
        let answered = desk.answer(&mut desk.open(), Some(7), NOW_MS, 2);
        assert_eq!(answered.is_ok(), fits, "{mode:o}");
        let said = answered.err().map_or("chmod 600".into(), |error| format!("{error:#}"));
        assert!(said.contains("chmod 600"), "{said}");
    }
}

/// An older ledger has forgotten what was spent: with the answers of a newer one it is not gone on with.
#[test]
fn a_ledger_that_is_older_than_an_answer_is_refused() {
    let desk = Desk::new(FRAGMENTED);
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let older = files(&desk.state())["ledger"].clone();
    desk.answer(&mut desk.open(), Some(7), NOW_MS + EPOCH_MS, 3).unwrap();
    fs::write(desk.state().join("ledger"), older).unwrap();
    let error = desk.open_at(desk.state()).unwrap_err().to_string();
    assert!(error.contains("put back the newest copy of the ledger"), "{error}");
}

/// One bit in every byte of every file (of files over a kilobyte, in 128 bytes that are spread over it), 16 shorter lengths, and
/// every file gone: an error, a contradiction that is said, or nothing at all is different. Coins and the
/// credential are read when something is answered, which takes longer, so there it is 12 bytes of each.
#[test]
fn files_that_rot_are_found() {
    find_rot(|len, drawn| match drawn {
        true => (len.div_ceil(12), len.div_ceil(16)),
        false => (if len > 1024 { len.div_ceil(128) } else { 1 }, len.div_ceil(16)),
    });
}

#[test]
#[ignore = "takes minutes: every byte of every file and every length, instead of some"]
fn files_that_rot_in_any_byte_are_found() {
    find_rot(|_, _| (1, 1));
}

/// `steps` says, for the length of a file and whether it is read when something is answered, which bytes are changed and which
/// lengths are tried.
fn find_rot(steps: impl Fn(usize, bool) -> (usize, usize)) {
    let desk = Desk::new(FRAGMENTED);
    let state = desk.state();
    desk.answer(&mut desk.open(), Some(7), NOW_MS, 2).unwrap();
    let clock = TestClock::at(NOW_MS);
    desk.open().send_with(&Hops::honest(&desk.world, &clock), &clock, |_, _| (), &mut rng(3)).unwrap();
    desk.answer(&mut desk.open(), Some(8), NOW_MS + EPOCH_MS, 4).unwrap();
    let whole = files(&state);
    let looked_at = || -> throng_respondent::Result<(String, usize)> {
        let respondent = desk.open_at(&state)?;
        let checked = respondent.check(&[])?;
        let contradictions = checked.iter().filter(|body| body.contradiction).count();
        Ok((format!("{:?} {checked:?}", respondent.ledger()), contradictions))
    };
    let answered = || -> throng_respondent::Result<(String, usize)> {
        let mut respondent = desk.open_at(&state)?;
        let more = desk.answer(&mut respondent, Some(7), NOW_MS + 2 * EPOCH_MS, 5)?;
        Ok((format!("{more:?}"), 0))
    };
    let put_back = || {
        for name in files(&state).into_keys().filter(|name| !whole.contains_key(name)) {
            fs::remove_file(state.join(name)).unwrap();
        }
        whole.iter().for_each(|(name, bytes)| fs::write(state.join(name), bytes).unwrap());
    };
    let mut kinds = std::collections::BTreeSet::new();
    for (name, bytes) in &whole {
        kinds.insert(name.split(['/', '.']).next().unwrap());
        let drawn = name.starts_with("permanent") || name == "credential";
        let read: &dyn Fn() -> throng_respondent::Result<(String, usize)> =
            if drawn { &answered } else { &looked_at };
        let before = read().unwrap();
        put_back();
        let (step, cut_step) = steps(bytes.len(), drawn);
        let found = |damaged: Option<Vec<u8>>, what: &str| {
            match &damaged {
                Some(damaged) => fs::write(state.join(name), damaged).unwrap(),
                None => fs::remove_file(state.join(name)).unwrap(),
            }
            let after = read();
            // Looking writes nothing, and answering does.
            fs::write(state.join(name), bytes).unwrap();
            if drawn {
                put_back();
            }
            if let Ok(after) = after {
                // A receipt that is gone is a receipt that is not shown.
                let seen = after.1 > before.1 || (damaged.is_none() && name.contains("receipt"));
                assert!(seen || (after == before && damaged.is_some()), "{name}, {what}");
            }
        };
        for at in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            found(Some(flipped), &format!("a bit of byte {at}"));
        }
        for at in (0..bytes.len()).step_by(cut_step).chain([bytes.len() - 1]) {
            found(Some(bytes[..at].to_vec()), &format!("{at} of {} bytes", bytes.len()));
        }
        found(None, "gone");
        assert_eq!(files(&state), whole, "{name}");
    }
    let expected = ["credential", "ledger", "outbox", "permanent", "secret", "surveys"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected, "what there is");
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let desk = Desk::new(ONE_HOT);
    let first = desk.open();
    let error = format!("{:#}", desk.open_at(desk.state()).unwrap_err());
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
