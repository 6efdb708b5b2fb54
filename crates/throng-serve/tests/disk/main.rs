//! What the servers keep on disk: whatever happens to it, nothing is opened, spent or said that must not be.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod booked;
mod hop_state;
mod rot;
