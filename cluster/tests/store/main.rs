//! The store of a cluster on a real PostgreSQL: the tests of hops that every store passes, and those of replicas.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[path = "../../../crates/throng-shuffle/tests/hops/any_store.rs"]
mod any_store;
mod damage;
mod disk;
mod faults;
mod leases;
mod operations;
mod outage;
mod replicas;
mod schema;
mod server;

/// What hops are kept on here.
type Kept = disk::PgDisk;
