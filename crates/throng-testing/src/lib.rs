//! What tests of several crates share. Nothing of it is in a program.
//!
//! | question | where | feature |
//! |---|---|---|
//! | Does a parser keep its promises? | [`parsing`] | |
//! | What does a survey look like? | [`survey`] | |
//! | How is the program started? | [`program`] | |
//! | Who signs a survey, with which keys? | `wire` | `wire` |
//! | What do hops make of uploads, on any store, whatever happens? | `cascade`, `any_store`, `operations` | `cascade` |
//! | What does a respondent find in files, and what do first hops answer? | `world`, `desk` | `world` |
//! | What has an analyzer when an epoch is over? | `finished_epoch` | `towns` |
//! | What do processes of all parties do? | `town`, `crowd`, `patience`, `logs`, `analyst` | `towns` |
//! | What does a small demo say, and what is left of it? | `small_demo` | `demo` |
//! | What does a person see on a page? | `browser` | `browser` |
//! | What does a fuzzer do with its bytes? | `fuzzing` | `fuzzing`, `fuzzing-product` |
//!
//! Unit tests of a crate use no feature that depends on this crate: its types would be there twice. Integration tests may.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[cfg(feature = "towns")]
pub mod analyst;
#[cfg(feature = "cascade")]
pub mod any_store;
#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "cascade")]
pub mod cascade;
#[cfg(feature = "towns")]
pub mod crowd;
#[cfg(feature = "world")]
pub mod desk;
#[cfg(feature = "towns")]
pub mod finished_epoch;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(feature = "towns")]
pub mod logs;
#[cfg(feature = "cascade")]
pub mod operations;
pub mod parsing;
#[cfg(feature = "towns")]
pub mod patience;
pub mod program;
#[cfg(feature = "demo")]
pub mod small_demo;
pub mod survey;
#[cfg(feature = "towns")]
pub mod town;
#[cfg(feature = "wire")]
pub mod wire;
#[cfg(feature = "world")]
pub mod world;
