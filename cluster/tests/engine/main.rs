//! The engine of many machines does the same work as the embedded one: on threads of this process, and on Ballista with
//! processes that are killed.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod epoch;
mod local;
mod processes;
