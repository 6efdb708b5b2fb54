//! What a database or a bucket changes is noticed.

use throng_shuffle::Error;
use throng_testing::cascade::{CascadeOn, Disk, FIRST, NEXT_DAY, SMALL};

use crate::disk::PgDisk;

/// An instance whose first epoch is closed, with six segments.
fn closed() -> (CascadeOn<PgDisk>, u64) {
    let mut cascade = CascadeOn::<PgDisk>::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    let len = cascade.stores[0].segments(FIRST).iter().map(|one| one.len() as u64).sum();
    cascade.stores[0].look().uploads(FIRST, len).unwrap();
    (cascade, len)
}

#[test]
fn a_flipped_byte_of_a_segment_is_noticed() {
    let (cascade, _) = closed();
    let objects = cascade.stores[0].object_files();
    let segment = objects.iter().find(|path| path.parent().unwrap().ends_with("0-100.uploads")).unwrap();
    let whole = std::fs::read(segment).unwrap();
    for at in [0, 20, 25, 40, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(segment, &damaged).unwrap();
        assert!(
            matches!(cascade.hops[0].process(FIRST), Err(Error::Damaged { file: "uploads", .. })),
            "byte {at}"
        );
        assert!(matches!(cascade.hops[0].check_files(), Err(Error::Damaged { .. })), "byte {at}");
    }
    // One in the place of another, too.
    let other = objects.iter().rfind(|path| path.parent().unwrap().ends_with("0-100.uploads")).unwrap();
    std::fs::copy(other, segment).unwrap();
    assert!(matches!(cascade.hops[0].process(FIRST), Err(Error::Damaged { file: "uploads", .. })));
    std::fs::write(segment, &whole).unwrap();
    cascade.hops[0].process(FIRST).unwrap();
}

#[test]
fn a_changed_row_of_a_segment_is_noticed() {
    let (cascade, len) = closed();
    let disk = &cascade.stores[0];
    disk.sql("CREATE TABLE kept AS SELECT * FROM segments");
    let first = "(SELECT min(number) FROM segments)";
    for change in [
        format!("UPDATE segments SET len = len + CASE WHEN number = {first} THEN 1 ELSE 0 END"),
        format!("UPDATE segments SET bodies = bodies + 1 WHERE number = {first}"),
        format!("UPDATE segments SET number = number + 1000 WHERE number = {first}"),
        format!("UPDATE segments SET digest = sha256(digest) WHERE number = {first}"),
        format!("UPDATE segments SET tag = sha256(tag) WHERE number = {first}"),
        format!("DELETE FROM segments WHERE number = {first}"),
        format!(
            "INSERT INTO segments SELECT hop, epoch, label, number + 1000, len, bodies, digest, tag FROM segments WHERE number = {first}"
        ),
    ] {
        disk.sql(&change);
        assert!(disk.look().uploads(FIRST, len).is_err(), "{change}");
        assert!(cascade.hops[0].process(FIRST).is_err(), "{change}");
        disk.sql("DELETE FROM segments");
        disk.sql("INSERT INTO segments SELECT * FROM kept");
    }
    cascade.hops[0].process(FIRST).unwrap();
}

#[test]
fn a_changed_secret_or_record_is_noticed() {
    let mut cascade = CascadeOn::<PgDisk>::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let disk = &cascade.stores[0];
    let names = ["0-100.draw", "0-100.key"];
    disk.sql("CREATE TABLE kept AS SELECT * FROM secrets");
    for place in [0, 11, 12, 40, 80] {
        disk.sql(&format!(
            "UPDATE secrets SET sealed = set_byte(sealed, {place}, get_byte(sealed, {place}) # 1)"
        ));
        for name in names {
            assert!(disk.look().read(name).is_err(), "byte {place} of {name}");
        }
        disk.sql("UPDATE secrets SET sealed = kept.sealed FROM kept WHERE kept.name = secrets.name");
    }
    // One in the place of the other.
    disk.sql("UPDATE secrets SET sealed = kept.sealed FROM kept WHERE kept.name <> secrets.name");
    assert!(names.iter().all(|name| disk.look().read(name).is_err()));
    assert!(cascade.open(1).is_err());
    let disk = &cascade.stores[0];
    disk.sql("UPDATE secrets SET sealed = kept.sealed FROM kept WHERE kept.name = secrets.name");
    disk.sql("UPDATE journal SET record = set_byte(record, 20, get_byte(record, 20) # 1) WHERE number = 2");
    assert!(matches!(cascade.open(1), Err(Error::Damaged { file: "journal", .. })));
    let disk = &cascade.stores[0];
    disk.sql("DELETE FROM journal WHERE number = 2");
    assert!(matches!(cascade.open(1), Err(Error::RolledBack)), "an older journal than its mark");
}
