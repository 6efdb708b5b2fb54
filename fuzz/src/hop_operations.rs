//! The state machine of a hop: any sequence of uploads, ticks, crashes and deliveries, as in throng-shuffle/tests/operations.rs,
//! which runs the corpus of this target, too.

#[path = "../../crates/throng-shuffle/tests/operations.rs"]
#[allow(dead_code, unused_imports, reason = "what its tests use")]
mod operations;

/// Their names, and what they do.
pub(crate) const TARGETS: &[(&str, fn(&[u8]))] = &[("hop_operations", operations::run)];
