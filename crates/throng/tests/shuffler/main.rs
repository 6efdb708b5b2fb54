//! Shufflers as processes of their own: real sockets, real files, real kills.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

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

use throng_testing::program::Program;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
