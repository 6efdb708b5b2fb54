//! Attack 22 on a hop's own disk: files of any bytes, and valid ones that were changed.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::io::Write;

use proptest::prelude::*;
use throng_shuffle::{Error, MemoryStore, Store, Volume};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL};
use throng_testing::parsing::near;
use throng_wire::Outcome;

/// What hop 1 has on disk with six answers, while the epoch runs, or right after its end.
fn files(closed: bool) -> (Cascade, Vec<(String, Vec<u8>)>) {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    if closed {
        cascade.hops[0].close_due(NEXT_DAY).unwrap();
    }
    let names = cascade.stores[0].names().unwrap();
    let bytes = |name: &String| cascade.stores[0].bytes(name).unwrap();
    let files = names.iter().map(|name| (name.clone(), bytes(name))).collect();
    (cascade, files)
}

/// Opens hop 1 on these files and ends the epoch. Whatever is in one of them, a hop that decides counts all who were acknowledged.
fn ends_well(cascade: &Cascade, files: &[(String, Vec<u8>)]) -> Result<(), TestCaseError> {
    let store = MemoryStore::new();
    for (name, bytes) in files {
        store.create(name).unwrap().write_all(bytes).unwrap();
    }
    store.set_mark(Some(&cascade.stores[0]));
    let hop = match cascade.open_on(1, &store) {
        Ok(hop) => hop,
        Err(error) => {
            let expected = matches!(error, Error::Damaged { .. } | Error::NoJournal | Error::RolledBack);
            prop_assert!(expected, "{error}");
            return Ok(());
        }
    };
    hop.close_due(NEXT_DAY).unwrap();
    if hop.process(FIRST).is_ok()
        && let Ok(statement) = hop.statement(FIRST)
    {
        let outcome = statement.claimed().outcome;
        prop_assert!(matches!(outcome, Outcome::Released { respondents: 6, .. }), "{outcome:?}");
    }
    Ok(())
}

fn damaged() -> impl Strategy<Value = (bool, usize, Vec<u8>)> {
    let file = (any::<bool>(), 0..5_usize);
    file.prop_flat_map(|(closed, number)| {
        let files = files(closed).1;
        let valid = files[number % files.len()].1.clone();
        let anything = proptest::collection::vec(any::<u8>(), 0..400);
        (Just(closed), Just(number), prop_oneof![1 => anything, 4 => near(valid)])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_are_refused_or_cut((closed, number, bytes) in damaged()) {
        let (cascade, mut files) = files(closed);
        let number = number % files.len();
        files[number].1 = bytes;
        ends_well(&cascade, &files)?;
    }
}
