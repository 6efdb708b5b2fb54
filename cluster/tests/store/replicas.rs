//! Several replicas of a first hop.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_batch::Partitions;
use throng_cluster::postgres::segment_bytes;
use throng_shuffle::{Channel, Error, Hop, Refusal, Store, Upload, framed_bodies};
use throng_testing::cascade::{CascadeOn, Disk, FIRST, NEXT_DAY, SMALL, day, name};
use throng_testing::wire::{EPOCH, Shape};

use crate::disk::PgDisk;

type Cascade = CascadeOn<PgDisk>;

/// An instance whose first hop has opened its epoch.
fn opened(shape: Shape) -> Cascade {
    let mut cascade = Cascade::new(shape);
    cascade.hops[0].open_due(day(EPOCH), &mut cascade.rng).unwrap();
    cascade
}

/// One more replica of hop 1.
fn follow(cascade: &Cascade) -> Hop {
    Hop::follow(cascade.config(1), Box::new(cascade.stores[0].store())).unwrap()
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([9; 32])
}

fn send(hop: &Hop, uploads: &[(u32, &[u8])], now_s: u64) -> Vec<Result<u64, Refusal>> {
    let group: Vec<Upload> =
        uploads.iter().map(|(person, body)| Upload::new(FIRST, name(*person), body.to_vec())).collect();
    let taken = hop.take(&group, now_s, &mut rng());
    taken.into_iter().map(|taken| taken.map(|taken| taken.time_bucket())).collect()
}

/// What the analyzer gets of the first epoch.
fn finish(cascade: &mut Cascade) -> Vec<u32> {
    cascade.run(NEXT_DAY);
    cascade.sorted_values(FIRST)
}

/// Three replicas get bodies of the same people at the same time: whatever each says, a person has one body, and whoever sent
/// that one has its receipt from all.
#[test]
fn replicas_that_race_take_one_body_of_each_person() {
    const PEOPLE: u32 = 60;
    let mut cascade = opened(SMALL);
    // Everybody has a body of their own at each replica, but for some who send the same to all.
    let bodies: Vec<Vec<Vec<u8>>> = (0..3)
        .map(|replica| (0..PEOPLE).map(|person| cascade.body(FIRST, &[person + 200 * replica])).collect())
        .collect();
    let body = |replica: usize, person: u32| {
        &bodies[if person.is_multiple_of(3) { 0 } else { replica }][person as usize]
    };
    let followers = [follow(&cascade), follow(&cascade)];
    let hops = [&cascade.hops[0], &followers[0], &followers[1]];
    let taken: Vec<Vec<Result<u64, Refusal>>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..3)
            .map(|replica| {
                scope.spawn(move || -> Vec<_> {
                    let mut people: Vec<u32> = (0..PEOPLE).collect();
                    // Each in another order, so that they meet everywhere.
                    people.rotate_left(replica * 5);
                    let groups = people.chunks(7).flat_map(|group| {
                        let group: Vec<(u32, &[u8])> =
                            group.iter().map(|&person| (person, &body(replica, person)[..])).collect();
                        send(hops[replica], &group, day(EPOCH))
                    });
                    let mut taken: Vec<_> = groups.collect();
                    taken.rotate_right(replica * 5);
                    taken
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut counted = Vec::new();
    for person in 0..PEOPLE {
        let said: Vec<_> = taken.iter().map(|taken| taken[person as usize]).collect();
        let won: Vec<usize> = (0..3).filter(|&replica| said[replica].is_ok()).collect();
        match person % 3 {
            0 => assert!(won.len() == 3 && said[0] == said[1] && said[1] == said[2], "{said:?}"),
            _ => assert!(
                won.len() == 1 && said.iter().filter(|one| **one == Err(Refusal::Conflict)).count() == 2,
                "{said:?}"
            ),
        }
        counted.push(person + if person % 3 == 0 { 0 } else { 200 * won[0] as u32 });
        for hop in hops {
            let again = send(hop, &[(person, &body(won[0], person)[..])], day(EPOCH) + 7200);
            assert_eq!(again, [said[won[0]]], "the same receipt, hours later, from any of them");
        }
    }
    counted.sort_unstable();
    assert_eq!(finish(&mut cascade), counted);
}

/// Replicas take while the epoch closes: who has a receipt is counted, and nobody else is.
#[test]
fn who_is_acknowledged_while_an_epoch_closes_is_counted() {
    let mut cascade = opened(SMALL);
    let bodies: Vec<Vec<u8>> = (0..400).map(|person| cascade.body(FIRST, &[person])).collect();
    let followers = [follow(&cascade), follow(&cascade)];
    let (next, closed) = (AtomicU32::new(0), AtomicBool::new(false));
    let acknowledged: BTreeSet<u32> = std::thread::scope(|scope| {
        let all: Vec<_> = followers
            .iter()
            .map(|hop| {
                let (next, closed, bodies) = (&next, &closed, &bodies);
                scope.spawn(move || {
                    let mut acknowledged = BTreeSet::new();
                    loop {
                        let was_closed = closed.load(Ordering::SeqCst);
                        let person = next.fetch_add(1, Ordering::SeqCst) % 400;
                        // Its clock is behind.
                        match send(hop, &[(person, &bodies[person as usize][..])], day(EPOCH))[0] {
                            Ok(_) => {
                                assert!(!was_closed, "taken after the close");
                                acknowledged.insert(person);
                            }
                            Err(Refusal::Closed) => return acknowledged,
                            Err(other) => panic!("{other}"),
                        }
                    }
                })
            })
            .collect();
        while next.load(Ordering::SeqCst) < 40 {
            std::thread::yield_now();
        }
        cascade.hops[0].close_due(NEXT_DAY).unwrap();
        closed.store(true, Ordering::SeqCst);
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    assert!(acknowledged.len() >= 30);
    let counted: BTreeSet<u32> = finish(&mut cascade).into_iter().collect();
    assert_eq!(counted, acknowledged);
}

/// Closing twice, by whoever, is closing once: the length is the same, and nothing is taken in between.
#[test]
fn a_closed_channel_stays_closed() {
    let mut cascade = opened(SMALL);
    cascade.answer_all(FIRST, 6);
    let follower = follow(&cascade);
    let body = cascade.body(FIRST, &[7]);
    send(&follower, &[(7, &body)], day(EPOCH));
    let (store, ..) = cascade.stores[0].lead();
    let mut intake = store.intake(EPOCH, &[0]).unwrap().unwrap();
    let len = intake.close(0).unwrap();
    assert!(len > 7 * body.len() as u64);
    for person in [7, 8] {
        assert_eq!(send(&follower, &[(person, &body)], day(EPOCH)), [Err(Refusal::Closed)]);
    }
    assert_eq!(intake.close(0).unwrap(), len);
    assert_eq!(store.intake(EPOCH, &[0]).unwrap().unwrap().close(0).unwrap(), len, "also opened again");
    let uploads = store.uploads(FIRST, len).unwrap();
    assert_eq!(uploads.len(), 7);
    assert!(store.uploads(FIRST, len + 1).is_err());
}

/// Who came first in a group is not told by the order of bodies. And without the hop's key they can be taken apart, in their order.
#[test]
fn a_segment_is_sorted_by_pseudonyms() {
    let mut cascade = opened(SMALL);
    let bodies: Vec<Vec<u8>> = (0..50).map(|person| cascade.body(FIRST, &[person])).collect();
    let group: Vec<(u32, &[u8])> = (0..).zip(bodies.iter().map(|body| &body[..])).collect();
    assert!(send(&cascade.hops[0], &group, day(EPOCH)).iter().all(Result::is_ok));
    let segments = cascade.stores[0].segments(FIRST);
    assert_eq!(segments.len(), 1);
    let (mut pseudonyms, mut rest) = (Vec::new(), &segments[0][..]);
    while !rest.is_empty() {
        pseudonyms.push(rest[..16].to_vec());
        let len = u32::from_be_bytes(rest[24..28].try_into().unwrap()) as usize;
        rest = &rest[28 + len + 16..];
    }
    assert_eq!(pseudonyms.len(), 50);
    assert!(pseudonyms.is_sorted());
    let found: Vec<&[u8]> = framed_bodies(&segments[0], bodies[0].len()).map(Result::unwrap).collect();
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 50);
    assert_ne!(found, bodies.iter().map(|body| &body[..]).collect::<Vec<_>>(), "not as they came");
    // The object itself, as whoever has no database reads it.
    let store = cascade.stores[0].store();
    let partition = store.segments(FIRST).unwrap().remove(0);
    let bytes = segment_bytes(&partition.name, &partition.bytes).unwrap();
    let mut object = Vec::new();
    store.objects().read_range(&partition.name, bytes).unwrap().read_to_end(&mut object).unwrap();
    assert_eq!(object, segments[0]);
}

/// An object that was written and never committed is nobody's, and goes with the others.
#[test]
fn an_object_without_a_row_counts_for_nobody() {
    let mut cascade = opened(SMALL);
    cascade.answer_all(FIRST, 6);
    let store = cascade.stores[0].store();
    let object = &cascade.stores[0].segments(FIRST)[0];
    store.objects().put("0-100.uploads/0000000999", object.clone()).unwrap();
    assert_eq!(finish(&mut cascade), [0, 1, 2, 3, 4, 5]);
    assert!(store.names().unwrap().iter().all(|name| !name.ends_with("uploads")));
    // One that comes later still is removed at the next start.
    store.objects().put("0-100.uploads/0000000999", b"late".to_vec()).unwrap();
    cascade.restart(1, 0);
    assert!(store.names().unwrap().iter().all(|name| !name.ends_with("uploads")));
}

/// Who has answered is forgotten at the close, and everything else of an epoch once it is decided and handed on.
#[test]
fn nothing_is_left_of_an_epoch_that_is_over() {
    let mut cascade = opened(Shape { labels: true, ..SMALL });
    let channel = Channel { label: 1, epoch: EPOCH };
    cascade.answer_all(channel, 30);
    let tables = |cascade: &Cascade| -> Vec<String> {
        let rows = cascade.stores[0]
            .sql("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'answered%'");
        rows.iter().map(|row| row.get(0)).collect()
    };
    let count = |cascade: &Cascade, from: &str| -> i64 {
        cascade.stores[0].sql(&format!("SELECT count(*) FROM {from}"))[0].get(0)
    };
    let [table] = &tables(&cascade)[..] else { panic!() };
    assert_eq!(count(&cascade, table), 30);
    let backup = cascade.stores[0].sql("SELECT name, sealed FROM secrets");
    assert_eq!(backup.len(), 3, "a key, and two draws");
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    assert!(tables(&cascade).is_empty());
    assert_eq!(count(&cascade, "secrets WHERE name LIKE '%key'"), 0);
    cascade.run(NEXT_DAY);
    assert_eq!((count(&cascade, "secrets"), count(&cascade, "segments")), (0, 0));
    for hop in 0..2 {
        for channel in cascade.hops[hop].waiting() {
            let digest = cascade.hops[hop].outgoing(channel).unwrap().manifest.digest;
            cascade.hops[hop].acknowledge(channel, digest).unwrap();
        }
        assert_eq!(cascade.stores[hop].look().names().unwrap(), ["journal"]);
        let objects = cascade.stores[hop].object_files();
        assert!(objects.iter().all(|path| path.parent().unwrap().ends_with("mark")), "{objects:?}");
    }
    // A copy of the database from before still has sealed secrets. Their keys are gone.
    let store = cascade.stores[0].lead().0;
    let restore = |row: &tokio_postgres::Row| -> String {
        let (name, sealed): (String, Vec<u8>) = (row.get(0), row.get(1));
        let sealed: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
        cascade.stores[0].sql(&format!(
            "INSERT INTO secrets (hop, name, sealed) SELECT id, '{name}', '\\x{sealed}' FROM hops"
        ));
        name
    };
    let names: Vec<String> = backup.iter().map(restore).collect();
    assert!(names.iter().all(|name| store.read(name).is_ok()), "the ratchet has not moved yet");
    store.ratchet().forget_before(cascade.hops[0].oldest_epoch(NEXT_DAY, 2)).unwrap();
    for name in names {
        let error = store.read(&name).err().unwrap().to_string();
        assert!(error.contains("forgotten"), "{error}");
    }
}

/// Nothing in the database or the bucket is a respondent's name, or a body in the clear of its seal.
#[test]
fn no_row_and_no_object_names_a_person() {
    let mut cascade = opened(SMALL);
    cascade.answer_all(FIRST, 6);
    let dump = |table: &str| -> String {
        let rows = cascade.stores[0]
            .sql(&format!("SELECT coalesce(string_agg(one::text, ' '), '') FROM {table} AS one"));
        rows[0].get(0)
    };
    let tables =
        cascade.stores[0].sql("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()");
    let text: String = tables.iter().map(|row| dump(row.get(0))).collect();
    assert!(text.contains("instance-1-hop-1"));
    for person in 0..6 {
        let id = name(person);
        assert!(!text.contains(&id.to_string()));
        for path in cascade.stores[0].object_files() {
            let bytes = std::fs::read(path).unwrap();
            assert!(bytes.windows(32).all(|window| window != id.as_bytes()));
        }
    }
    // Nor is the epoch's key, under which pseudonyms are.
    let key = Disk::bytes(&cascade.stores[0], "0-100.key").unwrap();
    let hex: String = key[..32].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!text.contains(&hex));
}

/// Pseudonyms are under the epoch's key. A replica that has read another one than there is now would take people twice.
#[test]
fn a_replica_with_another_key_takes_nobody() {
    let mut cascade = opened(SMALL);
    let follower = follow(&cascade);
    let bodies = [1, 2].map(|person| cascade.body(FIRST, &[person]));
    assert!(send(&follower, &[(1, &bodies[0])], day(EPOCH))[0].is_ok());
    cascade.stores[0].sql("UPDATE secrets SET sealed = sha256(sealed) WHERE name = '0-100.key'");
    assert_eq!(send(&follower, &[(2, &bodies[1])], day(EPOCH)), [Err(Refusal::Full)]);
    assert_eq!(cascade.stores[0].segments(FIRST).len(), 1);
}

/// A replica that follows waits for the one that leads, and takes none of its steps.
#[test]
fn a_replica_without_the_lease_takes_uploads_and_no_steps() {
    let mut cascade = Cascade::new(SMALL);
    let follower = follow(&cascade);
    let body = cascade.body(FIRST, &[1]);
    assert_eq!(send(&follower, &[(1, &body)], day(EPOCH)), [Err(Refusal::Full)]);
    cascade.hops[0].open_due(day(EPOCH), &mut cascade.rng).unwrap();
    assert!(send(&follower, &[(1, &body)], day(EPOCH))[0].is_ok());
    assert!(matches!(follower.close_due(NEXT_DAY), Err(Error::Follower)));
    assert!(send(&follower, &[(1, &body)], day(EPOCH))[0].is_ok(), "it has closed nothing");
    for person in 2..7 {
        let body = cascade.body(FIRST, &[person]);
        assert!(send(&follower, &[(person, &body)], day(EPOCH))[0].is_ok());
    }
    // It takes over.
    drop(follower);
    cascade.hops[0] = cascade.open(1).unwrap();
    assert_eq!(finish(&mut cascade), [1, 2, 3, 4, 5, 6]);
}
