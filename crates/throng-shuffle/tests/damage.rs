//! Attack 22 on a hop's own disk: files of any bytes, and valid ones that were changed, with checksums that fit again.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod common;
#[path = "../../throng-wire/tests/common/parsing.rs"]
#[allow(dead_code, reason = "what other tests use")]
mod parsing;

use std::io::Write;

use common::{Cascade, FIRST, NEXT_DAY, SMALL};
use parsing::near;
use proptest::prelude::*;
use throng_shuffle::{Error, Hop, MemoryStore, Store};
use throng_wire::{Digest, Outcome};

/// What an upload's record begins with, as `intake.rs` has it; the body's length is last.
const HEAD_LEN: usize = 16 + 8 + 4;

/// What hop 1 has on disk with six answers, while the epoch runs, or right after its end.
fn files(closed: bool) -> (Cascade, Vec<(String, Vec<u8>)>) {
    let mut cascade = Cascade::new(SMALL);
    cascade.answer_all(FIRST, 6);
    if closed {
        cascade.hops[0].close_due(NEXT_DAY, &mut cascade.rng).unwrap();
    }
    let names = cascade.stores[0].names().unwrap();
    let bytes = |name: &String| cascade.stores[0].bytes(name).unwrap();
    let files = names.iter().map(|name| (name.clone(), bytes(name))).collect();
    (cascade, files)
}

/// Opens hop 1 on these files and ends the epoch. Whatever is in them, a hop that opens says nothing but what holds.
fn ends_well(cascade: &mut Cascade, files: &[(String, Vec<u8>)]) -> Result<(), TestCaseError> {
    let store = MemoryStore::new();
    for (name, bytes) in files {
        store.create(name).unwrap().write_all(bytes).unwrap();
    }
    let hop = match Hop::open(cascade.config(1), Box::new(store), &mut cascade.rng) {
        Ok(hop) => hop,
        Err(error) => {
            prop_assert!(matches!(error, Error::Damaged { .. }), "{error}");
            return Ok(());
        }
    };
    hop.close_due(NEXT_DAY, &mut cascade.rng).unwrap();
    if hop.process(FIRST).is_ok()
        && let Ok(statement) = hop.statement(FIRST)
        && let Outcome::Released { respondents, .. } = statement.claimed().outcome
    {
        prop_assert!(respondents >= 5, "{respondents} of 6");
    }
    Ok(())
}

/// Puts checksums that fit into a journal as it may be: records of a length (4), bytes, and 8 bytes of their SHA-256.
fn with_checksums_of_journal(bytes: &[u8]) -> Vec<u8> {
    let (mut fixed, mut rest) = (Vec::new(), bytes);
    while let Some((length, after)) = rest.split_first_chunk::<4>()
        && let Some((record, after)) = after.split_at_checked(u32::from_be_bytes(*length) as usize)
    {
        fixed.extend(length);
        fixed.extend(record);
        fixed.extend(&Digest::of(record).as_bytes()[..8]);
        rest = after.get(8..).unwrap_or_default();
    }
    fixed.extend(rest);
    fixed
}

/// The same for uploads: marks (24) that say where they stand, and records of a head, a body, and 8 bytes of a SHA-256 of the
/// head and the body's.
fn with_checksums_of_uploads(bytes: &[u8]) -> Vec<u8> {
    let (mut fixed, mut rest) = (Vec::new(), bytes);
    loop {
        if rest.len() >= 24 && rest[..16] == [0xff; 16] {
            fixed.extend([0xff; 16]);
            fixed.extend((fixed.len() as u64 - 16).to_be_bytes());
            rest = &rest[24..];
            continue;
        }
        let Some((head, after)) = rest.split_at_checked(HEAD_LEN) else { break };
        let length = u32::from_be_bytes(head[HEAD_LEN - 4..].try_into().unwrap()) as usize;
        let Some((body, after)) = after.split_at_checked(length) else { break };
        fixed.extend(head);
        fixed.extend(body);
        fixed.extend(&Digest::of(&[head, Digest::of(body).as_bytes()].concat()).as_bytes()[..8]);
        rest = after.get(8..).unwrap_or_default();
    }
    fixed.extend(rest);
    fixed
}

/// A draw ends with 8 bytes of the SHA-256 of what is before.
fn with_checksum_of_draw(bytes: &[u8]) -> Vec<u8> {
    let drawn = &bytes[..bytes.len().saturating_sub(8)];
    [drawn, &Digest::of(drawn).as_bytes()[..8]].concat()
}

#[test]
fn valid_files_have_the_checksums_that_are_put_into_damaged_ones() {
    for (name, bytes) in [files(false).1, files(true).1].concat() {
        let fixed = match name.as_str() {
            "journal" => with_checksums_of_journal(&bytes),
            "0-100.uploads" => with_checksums_of_uploads(&bytes),
            "0-100.draw" => with_checksum_of_draw(&bytes),
            _ => continue,
        };
        assert_eq!(fixed, bytes, "{name}");
    }
}

fn damaged() -> impl Strategy<Value = (bool, usize, Vec<u8>, bool)> {
    let file = (any::<bool>(), 0..4_usize);
    file.prop_flat_map(|(closed, number)| {
        let files = files(closed).1;
        let valid = files[number % files.len()].1.clone();
        let anything = proptest::collection::vec(any::<u8>(), 0..400);
        (Just(closed), Just(number), prop_oneof![1 => anything, 4 => near(valid)], any::<bool>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_are_refused_or_cut((closed, number, bytes, fits) in damaged()) {
        let (mut cascade, mut files) = files(closed);
        let number = number % files.len();
        let file = &mut files[number];
        file.1 = match file.0.as_str() {
            "journal" if fits => with_checksums_of_journal(&bytes),
            "0-100.uploads" if fits => with_checksums_of_uploads(&bytes),
            "0-100.draw" if fits => with_checksum_of_draw(&bytes),
            _ => bytes,
        };
        ends_well(&mut cascade, &files)?;
    }
}
