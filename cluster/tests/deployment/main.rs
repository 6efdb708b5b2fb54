//! A whole deployment on a cluster, as processes on this machine: PostgreSQL, an S3-compatible bucket, schedulers, executors,
//! two replicas of each first hop behind a load balancer, and an analyzer. What comes out is what one machine would say, bit for
//! bit, whatever is killed.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod balancer;
#[path = "../objects/bucket.rs"]
#[allow(dead_code)]
mod bucket;
mod clusters;
#[path = "../store/server.rs"]
#[allow(dead_code)]
mod server;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use clusters::Clusters;
use throng_encode::Body;
use throng_host::clock::{Clock, SystemClock};
use throng_testing::crowd::{Turnout, everyone, release, sealed, table, until_taken};
use throng_testing::patience::until;
use throng_testing::town::{Town, sender};
use throng_wire::Place;

/// The first hop of instance 1, whose batches are worked on by executors.
const FIRST: Place = Place::Hop { instance: 1, hop: 1 };

#[test]
fn an_epoch_on_a_cluster_is_released_as_on_one_machine() {
    let mut clusters = Clusters::start(4);
    let turnout = everyone(&mut clusters.town, 12, |_, _| {});
    until_taken(&clusters.town, &[1, 2], turnout.epoch);
    let released = release(&clusters.town, turnout.epoch);
    assert_eq!(released["respondents"], 12);
    assert_eq!(table(&released), turnout.in_memory(&[1, 2]));
    // Both replicas of the first hop were asked, and nothing of who answered is left.
    assert!(clusters.replicas_asked().iter().all(|&asked| asked > 0));
    until("all that an epoch needed is erased", || {
        clusters.rows("answered") == 0 && clusters.rows("secrets") <= 2
    });
    // Its operator looks at it while it runs, and gives up what is open once all replicas have ended.
    assert!(clusters.asks(FIRST, "--check"));
    assert!(!clusters.asks(FIRST, "--reset"), "somebody leads");
    clusters.end_replicas(FIRST);
    until("the lease is over and the hop is reset", || clusters.asks(FIRST, "--reset"));
    assert!(clusters.asks(FIRST, "--check"));
}

/// kill -9 of the replica that leads while people answer, of PostgreSQL, and of an executor, a scheduler and the bucket's answers
/// while the batch is worked on: nobody is lost, and nobody is counted twice.
#[test]
fn an_epoch_survives_what_is_killed_in_it() {
    let mut clusters = Clusters::start(12);
    let Clusters { town, server, .. } = &mut clusters;
    let epoch = loop {
        let epoch = town.next_epoch();
        let half = answer_through(town, epoch, 0..6);
        town.kill(FIRST);
        server.kill();
        server.restart();
        // Some of those who were acknowledged send the same again, and are acknowledged again.
        if half && answer_through(town, epoch, 3..12) {
            break epoch;
        }
        // A machine that has much else to do: in another epoch.
        town.start(FIRST, None);
    };
    let turnout = Turnout { epoch, people: 12, survey: town.deployment.bundle.survey().survey().clone() };
    // The other replica takes over at the end of the lease; what was killed comes back and follows.
    clusters.kill_executor(0);
    clusters.bucket.fail(5, 503);
    clusters.town.start(FIRST, None);
    clusters.kill_scheduler();
    clusters.start_scheduler();
    thread::sleep(Duration::from_millis(200));
    clusters.start_executor(0);
    until_taken(&clusters.town, &[1, 2], turnout.epoch);
    let released = release(&clusters.town, turnout.epoch);
    assert_eq!(released["respondents"], 12);
    assert_eq!(table(&released), turnout.in_memory(&[1, 2]));
}

/// People answer, and send the same bytes again until they have their receipts. Whether all of them did in time.
fn answer_through(town: &Town, epoch: u64, people: Range<u64>) -> bool {
    let sender = sender();
    for person in people {
        // The same seed gives the same fragments, and the seals of one person are drawn once.
        let bodies = BODIES.with_borrow_mut(|all| {
            all.entry((epoch, person))
                .or_insert_with(|| sealed(town, epoch, person))
                .iter()
                .map(|body| (body.instance, body.bytes().to_vec()))
                .collect::<Vec<_>>()
        });
        for (instance, body) in bodies {
            while town.send(&sender, town.route(instance, epoch), person as usize, &body).is_err() {
                if SystemClock.now_s() >= (epoch + 1) * town.shape.epoch_s {
                    return false;
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
    true
}

thread_local! {
    /// What each person has sealed for an epoch, as an outbox has it.
    static BODIES: RefCell<BTreeMap<(u64, u64), Vec<Body>>> = RefCell::default();
}
