//! The operator's dashboard: a page for the people who run a survey, served beside `/healthz` at the analyzer's operator port.
//!
//! It reads releases, never fragments. Files are inside the program; nothing is loaded from elsewhere.

pub mod assets;
