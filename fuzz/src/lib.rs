//! What a fuzzer does with its bytes. Every target is a function that panics where a promise is broken; most of them are also
//! run by `crates/throng/tests/fuzzing.rs`, over the corpus and what is near it, on a stable toolchain.

mod hop_files;
mod hop_operations;
#[cfg(feature = "product")]
mod product;
mod stages;
mod wire;

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let all = [hop_files::TARGETS, hop_operations::TARGETS, stages::TARGETS, wire::TARGETS];
    #[cfg(feature = "product")]
    let all = all.into_iter().chain([product::TARGETS]);
    let target = all.into_iter().flatten().find(|(known, _)| *known == name);
    let (_, target) = target.expect("a target of this name");
    target(bytes);
}
