//! Fuzz targets: functions of any bytes that panic where a promise is broken. The fuzzer of `fuzz/` runs
//! all of them; `crates/throng/tests/fuzzing.rs` and `crates/throng-shuffle/tests/operations.rs` run them over the corpus and what
//! is near it, on a stable toolchain.

pub mod hop_files;
#[cfg(feature = "fuzzing-product")]
pub mod product;
mod stages;
mod wire;

pub use wire::corpus_body;

/// A target's name, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets but `hop_operations`, which takes longer.
pub fn targets() -> Vec<Target> {
    let all = [hop_files::TARGETS, stages::TARGETS, wire::TARGETS].concat();
    #[cfg(feature = "fuzzing-product")]
    let all = [&all, product::TARGETS].concat();
    all
}

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    if name == "hop_operations" {
        return crate::operations::run(bytes);
    }
    let target = targets().into_iter().find(|(known, _)| *known == name);
    let (_, target) = target.expect("a target of this name");
    target(bytes);
}
