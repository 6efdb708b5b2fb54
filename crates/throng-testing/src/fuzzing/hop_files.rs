//! A hop's own disk: one of its files has any bytes. It opens or refuses, and releases no crowd that is too small.

use std::cell::RefCell;
use std::io::Write;

use throng_shuffle::{MemoryStore, Store, Volume};
use throng_wire::Outcome;

use super::Target;
use crate::cascade::{Cascade, FIRST, NEXT_DAY, SMALL};

/// Their names, and what they do.
pub(super) const TARGETS: &[Target] = &[("hop_files", hop_files)];

/// A hop's files with six answers, while the epoch runs and right after it.
struct Disks {
    cascade: Cascade,
    disks: [MemoryStore; 2],
}

thread_local! {
    static DISKS: RefCell<Disks> = RefCell::new(Disks::new());
}

impl Disks {
    fn new() -> Self {
        let mut cascade = Cascade::new(SMALL);
        cascade.answer_all(FIRST, 6);
        let open = cascade.stores[0].copy();
        cascade.hops[0].close_due(NEXT_DAY).expect("a healthy hop");
        let closed = cascade.stores[0].copy();
        Self { cascade, disks: [open, closed] }
    }
}

/// The first byte says which file of which disk has all the other bytes.
fn hop_files(bytes: &[u8]) {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    DISKS.with(|disks| {
        let Disks { cascade, disks } = &*disks.borrow();
        let store = disks[usize::from(which & 1)].copy();
        let mut names = store.names().expect("a store in memory");
        names.sort();
        let name = &names[usize::from(which >> 1) % names.len()];
        let mut file = store.create(name).expect("a store in memory");
        file.write_all(bytes).expect("a store in memory");
        file.sync().expect("a store in memory");
        let Ok(hop) = cascade.open_on(1, &store) else { return };
        if hop.close_due(NEXT_DAY).is_ok()
            && hop.process(FIRST).is_ok()
            && let Ok(statement) = hop.statement(FIRST)
            && let Outcome::Released { respondents, .. } = statement.claimed().outcome
        {
            assert!((5..=6).contains(&respondents), "{respondents} of 6");
        }
    });
}

/// The files as they are, each with its first byte.
pub fn seeds() -> Vec<(u8, (String, Vec<u8>))> {
    let disks = Disks::new();
    let mut seeds = Vec::new();
    for (disk, store) in disks.disks.iter().enumerate() {
        let mut names = store.names().expect("a store in memory");
        names.sort();
        for (number, name) in names.into_iter().enumerate() {
            let bytes = store.bytes(&name).expect("a file that is there");
            seeds.push(((number << 1 | disk) as u8, (format!("{disk}-{name}"), bytes)));
        }
    }
    seeds
}
