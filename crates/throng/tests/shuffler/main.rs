//! Shufflers as processes of their own: real sockets, real files, real kills.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod deployment;
mod hostile;
mod kill;
mod travel;
