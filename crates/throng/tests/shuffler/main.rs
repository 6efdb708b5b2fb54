//! Shufflers as processes of their own: real sockets, real files, real kills.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[path = "../support/town.rs"]
mod town;

#[path = "../support/logs.rs"]
mod logs;

mod full;
mod hostile;
mod moved;
mod people;
mod respond;
mod travel;
