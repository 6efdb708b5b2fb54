//! The laws of every parser, as property tests: it never panics, and what it takes it writes again to the same bytes.
//! Tests of every crate, and of private parsers, call them.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// Gives a parser any bytes, and valid ones with something changed. `again` reads them and writes what it has read;
/// `None` is a refusal.
pub fn check_bytes(valid: &[u8], again: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    assert_eq!(again(valid).as_deref(), Some(valid), "valid bytes are taken");
    let any = proptest::collection::vec(any::<u8>(), 0..600);
    let valid = valid.to_vec();
    let bytes = prop_oneof![1 => any, 4 => changes().prop_map(move |all| changed(&valid, &all))];
    runner().run(&bytes, |bytes| same(again(&bytes), bytes)).unwrap();
}

/// The same for text.
pub fn check_text(valid: &str, again: impl Fn(&str) -> Option<String>) {
    assert_eq!(again(valid).as_deref(), Some(valid), "valid text is taken");
    let valid = valid.as_bytes().to_vec();
    let near = changes().prop_map(move |all| String::from_utf8_lossy(&changed(&valid, &all)).into_owned());
    runner().run(&prop_oneof![1 => any::<String>(), 4 => near], |text| same(again(&text), text)).unwrap();
}

/// Valid bytes with something changed, for parsers that promise less.
pub fn near(valid: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    changes().prop_map(move |all| changed(&valid, &all))
}

fn same<T: PartialEq + std::fmt::Debug>(written: Option<T>, read: T) -> Result<(), TestCaseError> {
    if let Some(written) = written {
        prop_assert_eq!(written, read);
    }
    Ok(())
}

/// One change.
#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Flip(Index, u8),
    Put(Index, Vec<u8>),
    Take(Index, usize),
    /// A number, perhaps a length, that is as large or small as it can be.
    Extreme(Index, usize, u8),
    /// A part once more, at another place.
    Repeat(Index, usize, Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        at().prop_map(Change::Cut),
        (at(), 1_u8..).prop_map(|(at, by)| Change::Flip(at, by)),
        (at(), proptest::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, more)| Change::Put(at, more)),
        (at(), 1..9_usize).prop_map(|(at, count)| Change::Take(at, count)),
        (at(), 1..9_usize, prop_oneof![Just(0), Just(0x7f), Just(0xff)])
            .prop_map(|(at, count, byte)| Change::Extreme(at, count, byte)),
        (at(), 1..80_usize, at()).prop_map(|(from, count, to)| Change::Repeat(from, count, to)),
    ];
    proptest::collection::vec(change, 1..4)
}

fn changed(valid: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for change in changes {
        let place = |at: &Index| at.index(bytes.len() + 1);
        let end = |from: usize, count: usize| bytes.len().min(from + count);
        match change {
            Change::Cut(at) => bytes.truncate(place(at)),
            Change::Flip(at, by) => {
                let at = place(at);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= by);
            }
            Change::Put(at, more) => {
                let at = place(at);
                bytes.splice(at..at, more.iter().copied()).for_each(drop);
            }
            Change::Take(at, count) => {
                let (from, to) = (place(at), end(place(at), *count));
                bytes.drain(from..to).for_each(drop);
            }
            Change::Extreme(at, count, value) => {
                let (from, to) = (place(at), end(place(at), *count));
                bytes[from..to].fill(*value);
            }
            Change::Repeat(from, count, to) => {
                let (from, to) = (place(from), place(to));
                let part = bytes[from..end(from, *count)].to_vec();
                bytes.splice(to..to, part).for_each(drop);
            }
        }
    }
    bytes
}

/// The cases are those of the fixed seed, as everywhere.
fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })
}
