//! The store of a cluster on a real PostgreSQL: the tests of hops that every store passes, and those of replicas.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod damage;
mod disk;
mod faults;
mod leases;
mod operations;
mod outage;
mod replicas;
mod schema;
mod server;

throng_testing::any_store_tests!(disk::PgDisk);
