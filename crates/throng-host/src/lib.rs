//! What every party runs on: the network between them, keys, private files, the clock and the system's entropy.
//!
//! | question | where |
//! |---|---|
//! | how do parties call one another? | [`net`] |
//! | how are keys made, and what do parties sign? | [`keygen`] |
//! | which public files does a survey have? | [`bundle`] |
//! | how is a file written so that it is whole or not there? | [`atomic_file`], [`out_dir`] |
//! | how is a directory replaced whole, by one rename? | [`atomic_dir`] |
//! | who else may look into a file or directory? | [`private_file`], [`private_dir`] |
//! | what time is it, and where does randomness come from? | [`clock`], [`entropy`] |
//! | what went wrong, and what can be done about it? | [`Error`], [`ErrorKind`] |
//! | what do tests do to a running party? | [`faults`] |
//! | what are pages made of, and who may see them? | [`page`], [`operator_token`] |
//!
//! Whoever only calls, as a respondent does, leaves out the feature `server`, and with it the answering side of [`net`], keys of
//! parties and pages.

pub mod atomic_dir;
pub mod atomic_file;
pub mod bundle;
pub mod clock;
pub mod entropy;
mod error;
pub mod faults;
#[cfg(feature = "server")]
pub mod keygen;
pub mod memory;
pub mod net;
#[cfg(feature = "server")]
pub mod operator_token;
pub mod out_dir;
#[cfg(feature = "server")]
pub mod page;
pub mod private_dir;
pub mod private_file;
pub mod secrecy;
mod send_error;

pub use error::{Error, ErrorKind, Result};
