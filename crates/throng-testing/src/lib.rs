//! What tests of several crates share. Nothing of it is in a program.
//!
//! | question | where |
//! |---|---|
//! | which laws does every parser keep? | [`parsing`] |

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

pub mod parsing;
