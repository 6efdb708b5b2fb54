//! A database that is killed, and comes back.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_shuffle::{Hop, Refusal, Store, Upload};
use throng_testing::cascade::{CascadeOn, FIRST, NEXT_DAY, SMALL, day, name};
use throng_testing::wire::EPOCH;

use crate::disk::PgDisk;
use crate::server::Server;

/// kill -9 of PostgreSQL while two replicas take: what was acknowledged is there once it is back, and what was not is taken
/// when it is sent again. Nobody is counted twice.
#[test]
fn a_database_that_is_killed_loses_nothing_that_was_acknowledged() {
    const PEOPLE: u32 = 240;
    let server = Server::start();
    let mut cascade = CascadeOn::<PgDisk>::new(SMALL);
    cascade.stores[0] = PgDisk::on(&server, &cascade.world, 1);
    cascade.hops[0] = cascade.open(1).unwrap();
    cascade.hops[0].open_due(day(EPOCH), &mut cascade.rng).unwrap();
    let bodies: Vec<Vec<u8>> = (0..PEOPLE).map(|person| cascade.body(FIRST, &[person])).collect();
    let store = cascade.stores[0].store();
    let follower = Hop::follow(cascade.config(1), Box::new(store.clone())).unwrap();
    // Has a connection, and does not use it during an outage.
    let quiet = cascade.stores[0].store();
    let acknowledged = Mutex::new(BTreeSet::new());
    let deadline = Instant::now() + Duration::from_secs(300);
    let refused = std::thread::scope(|scope| {
        // Both send the bodies of everybody, one from the front and one from the back.
        let sending: Vec<_> = [(&cascade.hops[0], false), (&follower, true)]
            .into_iter()
            .map(|(hop, backwards)| {
                let (bodies, acknowledged) = (&bodies, &acknowledged);
                scope.spawn(move || {
                    let mut rng = ChaCha20Rng::from_seed([9; 32]);
                    let mut people: Vec<u32> = (0..PEOPLE).collect();
                    if backwards {
                        people.reverse();
                    }
                    let mut refused = 0;
                    for group in people.chunks(3) {
                        let uploads: Vec<Upload> = group
                            .iter()
                            .map(|&person| Upload::new(FIRST, name(person), bodies[person as usize].clone()))
                            .collect();
                        loop {
                            let taken = hop.take(&uploads, day(EPOCH), &mut rng);
                            let mut done = true;
                            for (person, taken) in group.iter().zip(taken) {
                                match taken {
                                    Ok(_) => drop(acknowledged.lock().unwrap().insert(*person)),
                                    Err(Refusal::Full) => done = false,
                                    Err(other) => panic!("{other}"),
                                }
                            }
                            if done {
                                break;
                            }
                            refused += 1;
                            assert!(Instant::now() < deadline, "it does not come back");
                        }
                    }
                    refused
                })
            })
            .collect();
        for round in 1..=3 {
            while acknowledged.lock().unwrap().len() < 40 * round {
                assert!(Instant::now() < deadline, "nobody is taken");
                std::thread::yield_now();
            }
            server.kill();
            assert!(store.names().is_err(), "there is no database now");
            server.restart();
            assert!(store.names().is_ok(), "and here it is again");
            assert!(quiet.names().is_ok(), "also for those who have not noticed");
        }
        sending.into_iter().map(|one| one.join().unwrap()).sum::<u32>()
    });
    assert!(refused > 0, "somebody met the outage");
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.sorted_values(FIRST), (0..PEOPLE).collect::<Vec<_>>());
}
