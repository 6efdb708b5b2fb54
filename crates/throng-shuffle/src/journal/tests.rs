use std::io::Write;

use throng_wire::{Digest, Outcome, Place, Route, SigningKey, SurveyHash};

use super::*;
use crate::{MemoryStore, Volume};
use throng_testing::parsing::check_bytes;

fn key() -> StateKey {
    StateKey::new(&SigningKey::from_seed(&[3; 32]).unwrap(), SurveyHash::new([4; 32]), Place::hop(1, 1))
}

fn entries() -> Vec<Entry> {
    let channel = Channel { label: 2, epoch: 77 };
    let signing = SigningKey::from_seed(&[1; 32]).unwrap();
    let route = Route { survey: SurveyHash::new([5; 32]), label: 2, epoch: 77, instance: 1 };
    let statement = |hop| {
        let (outcome, key_list) = (Outcome::Destroyed, Digest::NONE);
        let statement = EpochStatement { route, hop, outcome, key_list, analyzer_key_list: key_list };
        Signed::new(statement, &signing).unwrap()
    };
    [
        Step::Begun,
        Step::Opened,
        Step::Closed(1234),
        Step::Received(vec![statement(1), statement(2)]),
        Step::Decided(Box::new(statement(3))),
        Step::Delivered,
        Step::Expired,
    ]
    .map(|step| Entry { channel, step })
    .to_vec()
}

fn open(store: &MemoryStore) -> Result<(Journal, Vec<Entry>, u64), Error> {
    let (journal, JournalContents { entries, cut }) = Journal::open(store, Box::new(store.clone()), &key())?;
    Ok((journal, entries, cut))
}

/// A journal of all entries, the store as it was after each of them, and where each ends.
fn written() -> (Vec<MemoryStore>, Vec<usize>) {
    let store = MemoryStore::new();
    let (mut journal, none, _) = open(&store).unwrap();
    assert_eq!(none, []);
    let (mut states, mut ends) = (vec![store.copy()], vec![0]);
    for entry in entries() {
        journal.record(&entry, &key()).unwrap();
        states.push(store.copy());
        ends.push(store.bytes(NAME).unwrap().len());
    }
    (states, ends)
}

/// This journal with the mark of that store.
fn with_mark(bytes: &[u8], of: &MemoryStore) -> MemoryStore {
    let store = MemoryStore::new();
    store.create(NAME).unwrap().write_all(bytes).unwrap();
    store.set_mark(Some(of));
    store
}

#[test]
fn a_journal_goes_on_where_it_was_cut_behind_its_mark_and_nowhere_else() {
    let (states, ends) = written();
    let last = entries().len();
    let bytes = states[last].bytes(NAME).unwrap();
    for (marked, state) in states.iter().enumerate().skip(1) {
        for cut in 0..=bytes.len() {
            let store = with_mark(&bytes[..cut], state);
            let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
            let opened = open(&store);
            if whole < marked || whole > marked + 1 {
                let refused = matches!(
                    opened,
                    Err(Error::NoJournal | Error::RolledBack | Error::Damaged { file: NAME, .. })
                );
                assert!(refused, "{whole} records, {marked} by the mark, cut at {cut}");
                assert_eq!(store.bytes(NAME).unwrap(), bytes[..cut], "and left as it is");
                continue;
            }
            let (mut journal, read, torn) = opened.unwrap();
            assert_eq!(read, entries()[..whole], "cut at {cut}");
            assert_eq!(torn, (cut - ends[whole]) as u64, "what was cut off is told");
            journal.record(&entries()[0], &key()).unwrap();
            assert_eq!(open(&store).unwrap().1.len(), whole + 1, "it goes on after the last whole record");
        }
    }
}

#[test]
fn no_byte_of_a_journal_or_mark_can_be_changed() {
    let (states, _) = written();
    let last = &states[entries().len()];
    let bytes = last.bytes(NAME).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let opened = open(&with_mark(&changed, last));
        assert!(matches!(opened, Err(Error::Damaged { file: NAME, .. })), "byte {at}");
    }
    let mark = Mark::load(last).unwrap().unwrap();
    for at in 0..mark.len() {
        let store = last.copy();
        let mut changed = mark.clone();
        changed[at] ^= 1;
        Mark::save(&store, &changed).unwrap();
        assert!(matches!(open(&store), Err(Error::Damaged { file: "mark", .. })), "byte {at} of the mark");
        Mark::save(&store, &mark[..at]).unwrap();
        assert!(open(&store).is_err(), "a mark that was cut");
    }
}

/// Records that are whole and in their order, but not those that the mark was written for.
#[test]
fn another_journal_of_the_same_length_is_refused() {
    let (states, ends) = written();
    let last = &states[entries().len()];
    let other = MemoryStore::new();
    let (mut journal, ..) = open(&other).unwrap();
    for mut entry in entries() {
        entry.channel.epoch += 1;
        journal.record(&entry, &key()).unwrap();
    }
    assert!(matches!(open(&with_mark(&other.bytes(NAME).unwrap(), last)), Err(Error::RolledBack)));
    // Two records that are exchanged do not follow one another any more.
    let bytes = last.bytes(NAME).unwrap();
    let exchanged =
        [&bytes[..ends[1]], &bytes[ends[2]..ends[3]], &bytes[ends[1]..ends[2]], &bytes[ends[3]..]].concat();
    assert!(open(&with_mark(&exchanged, last)).is_err());
    // Nor are those of another hop, or of another survey.
    let place = Place::hop(1, 2);
    let foreign = StateKey::new(&SigningKey::from_seed(&[3; 32]).unwrap(), SurveyHash::new([4; 32]), place);
    assert!(Journal::open(last, Box::new(last.clone()), &foreign).is_err());
}

#[test]
fn without_its_mark_a_journal_is_refused_unless_it_has_just_begun() {
    let (states, _) = written();
    for (records, state) in states.iter().enumerate() {
        let store = state.copy();
        store.set_mark(None);
        match open(&store) {
            // The crash came before the first mark: it begins again.
            Ok((_, read, _)) => assert!(records <= 1 && read.is_empty()),
            Err(error) => assert!(records > 1 && matches!(error, Error::NoMark), "{records}: {error}"),
        }
        // Other files show that there was more.
        let store = state.copy();
        store.set_mark(None);
        drop(store.create("0-7.uploads").unwrap());
        assert!(matches!(open(&store), Err(Error::NoMark | Error::NoJournal)), "{records}");
    }
    let lost = MemoryStore::new();
    lost.set_mark(Some(&states[2]));
    assert!(matches!(open(&lost), Err(Error::NoJournal)));
}

/// Whatever is left of journal and mark, it begins again behind all that may have been signed.
#[test]
fn a_reset_begins_behind_every_statement_that_the_mark_knows() {
    let (states, ends) = written();
    let last = &states[entries().len()];
    let bytes = last.bytes(NAME).unwrap();
    for whole in 0..ends.len() {
        for first in [5, 500] {
            let store = with_mark(&bytes[..ends[whole]], last);
            let (_, read) = Journal::reset(&store, Box::new(store.clone()), &key(), first).unwrap();
            // The last statement is about epoch 77.
            let begun = Entry { channel: Channel { label: 0, epoch: first.max(78) }, step: Step::Begun };
            let expected: Vec<Entry> = entries()[..whole].iter().cloned().chain([begun]).collect();
            assert_eq!(read, expected);
            assert_eq!(open(&store).unwrap().1, expected, "and its mark fits");
        }
    }
}

/// What a tag covers: a record whose tag fits is still one spelling of one step, or none.
#[test]
fn a_record_is_read_exactly() {
    for entry in entries() {
        check_bytes(&bytes_of(&entry), |bytes| entry_of(bytes).as_ref().map(bytes_of));
    }
}

#[test]
fn a_full_disk_takes_no_step() {
    let (states, _) = written();
    let store = states[entries().len()].clone();
    let before = store.bytes(NAME).unwrap();
    let (mut journal, ..) = open(&store).unwrap();
    store.limit(Some(before.len() + 5));
    assert!(journal.record(&entries()[0], &key()).is_err());
    assert_eq!(store.bytes(NAME).unwrap(), before);
    store.limit(None);
    journal.record(&entries()[0], &key()).unwrap();
    assert_eq!(open(&store).unwrap().1.len(), 8);
}

/// The power goes at any moment of a step: it is taken or it is not, and the journal goes on.
#[test]
fn a_crash_between_journal_and_mark_is_no_rollback() {
    for operation in 0.. {
        let store = MemoryStore::new();
        let (mut journal, ..) = open(&store).unwrap();
        journal.record(&entries()[0], &key()).unwrap();
        store.fail_after(operation);
        let done = journal.record(&entries()[1], &key()).is_ok();
        for kept in [0, 20, 1000] {
            let store = store.copy();
            store.restart(kept);
            let (mut journal, read, _) = open(&store).unwrap();
            assert!(read.len() == 2 || !done && read.len() == 1, "operation {operation}");
            journal.record(&entries()[2], &key()).unwrap();
            open(&store).unwrap();
        }
        if done {
            return assert!(operation >= 3);
        }
    }
}
