//! Who takes the steps of a journal.

use std::io::{Read, Write};
use std::time::Duration;

use throng_batch::{Partitions, Volume};
use throng_shuffle::{Mark, Store};
use throng_testing::cascade::{Disk, SMALL};
use throng_testing::wire::World;

use crate::disk::PgDisk;

const LONG: Duration = Duration::from_secs(600);

fn disk() -> PgDisk {
    PgDisk::new(&World::new(SMALL), 1)
}

fn journal(disk: &PgDisk) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.store().read("journal").unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn of_many_who_race_for_a_lease_one_gets_it() {
    let disk = disk();
    let stores: Vec<_> = (0..8).map(|_| disk.store()).collect();
    for round in 1..=10 {
        let won: Vec<u64> = std::thread::scope(|scope| {
            let racing: Vec<_> =
                stores.iter().map(|store| scope.spawn(|| store.lead(LONG).unwrap())).collect();
            let won = racing.into_iter().filter_map(|one| one.join().unwrap());
            won.map(|(_, lease, _)| lease.number()).collect()
        });
        assert_eq!(won, [round], "one has it, and numbers rise");
        disk.expire();
    }
}

#[test]
fn a_lease_ends_when_it_is_not_renewed_or_is_released() {
    let (one, other) = (disk(), disk());
    let (store, lease, _) = one.store().lead(LONG).unwrap().unwrap();
    assert!(one.store().lead(LONG).unwrap().is_none(), "somebody has it");
    assert!(other.store().lead(LONG).unwrap().is_some(), "each hop has its own");
    one.expire();
    lease.renew().unwrap();
    assert!(one.store().lead(LONG).unwrap().is_none(), "nobody else had it meanwhile");
    lease.release().unwrap();
    let (_, newer, _) = one.store().lead(LONG).unwrap().unwrap();
    assert!(newer.number() > lease.number());
    assert!(
        lease.renew().is_err()
            && lease.release().is_err()
            && store.log("journal").unwrap().append(b"no").is_err()
    );
    newer.renew().unwrap();
}

/// A replica that was away while another took over changes nothing: no record, no secret, no object.
#[test]
fn behind_a_newer_lease_nothing_is_changed() {
    let disk = disk();
    let (old, ..) = disk.lead();
    let mut log = old.log("journal").unwrap();
    log.append(b"one").unwrap();
    log.append(b"two").unwrap();
    log.append(b"three").unwrap();
    log.truncate(6).unwrap();
    assert_eq!(journal(&disk), b"onetwo");
    log.truncate(5).unwrap();
    assert_eq!(journal(&disk), b"one", "whole records");
    let write = |store: &dyn Store, name: &str, bytes: &[u8]| {
        let mut file = store.create(name)?;
        file.write_all(bytes)?;
        file.sync()
    };
    write(&old, "0-100.draw", &[1; 64]).unwrap();
    write(&old, "0-100.batch", b"batch").unwrap();
    let mut late = old.create("0-100.spool").unwrap();
    late.write_all(b"late").unwrap();
    let (new, ..) = disk.lead();
    assert!(late.sync().is_err());
    let mut newer = new.log("journal").unwrap();
    newer.append(b"2").unwrap();
    let names = new.names().unwrap();
    assert!(log.append(b"three").is_err() && log.truncate(0).is_err());
    for name in ["0-100.draw", "0-101.draw", "0-100.key", "0-100.batch", "0-100.spool", "0-100.uploads"] {
        assert!(write(&old, name, b"other").is_err(), "{name}");
        assert!(old.remove(name).is_err(), "{name}");
    }
    assert!(old.intake(100, &[0]).unwrap().unwrap().close(0).is_err());
    let follower = disk.store();
    assert!(follower.log("journal").is_err() && follower.remove("0-100.batch").is_err());
    assert_eq!(journal(&disk), b"one2");
    assert_eq!(new.names().unwrap(), names);
    assert_eq!(Disk::bytes(&disk, "0-100.draw").unwrap(), [1; 64]);
    assert_eq!(Disk::bytes(&disk, "0-100.batch").unwrap(), b"batch");
}

/// The first secret of a name is the one: a replica may have read it.
#[test]
fn a_secret_is_not_replaced() {
    let disk = disk();
    let (store, ..) = disk.lead();
    for byte in 1..3 {
        let mut file = store.create("0-100.key").unwrap();
        file.write_all(&[byte; 64]).unwrap();
        file.sync().unwrap();
        assert_eq!(Disk::bytes(&disk, "0-100.key").unwrap(), [1; 64]);
    }
    store.remove("0-100.key").unwrap();
    assert!(
        Disk::bytes(&disk, "0-100.key").is_none() && !store.names().unwrap().contains(&"0-100.key".into())
    );
}

/// A replica that lost its lease between a record and its mark does not put back the mark of the newer one. And a database
/// that was restored from a copy gives no number twice.
#[test]
fn the_mark_of_the_newest_lease_counts() {
    let disk = disk();
    let (_, first, old) = disk.lead();
    assert_eq!(old.load().unwrap(), None);
    old.save(b"one").unwrap();
    let (_, _, new) = disk.lead();
    assert_eq!(new.load().unwrap().unwrap(), b"one");
    new.save(b"two").unwrap();
    old.save(b"late").unwrap();
    assert_eq!(new.load().unwrap().unwrap(), b"two");
    assert_eq!(old.load().unwrap().unwrap(), b"two");
    disk.sql("UPDATE hops SET lease = 0");
    let (_, restored, mark) = disk.lead();
    assert!(restored.number() > first.number() + 1);
    mark.save(b"three").unwrap();
    assert_eq!(new.load().unwrap().unwrap(), b"three");
}
