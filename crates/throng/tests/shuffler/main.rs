//! Shufflers as processes of their own: real sockets, real files, real kills.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[path = "../support/town.rs"]
mod town;

#[path = "../support/logs.rs"]
mod logs;

mod crowded;
mod damaged;
mod ended;
mod exact;
mod full;
mod hostile;
mod late;
mod links;
mod moved;
mod people;
mod respond;
mod restored;
mod travel;
