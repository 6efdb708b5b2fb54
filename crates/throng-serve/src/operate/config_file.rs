//! How the file of any server is read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use serde::de::DeserializeOwned;
use throng_host::ensure;

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// What a file with this text says.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    toml::from_str(text).with_context(|| format!("in {}", path.display()))
}

/// What every server needs: surveys, and some memory.
pub(crate) fn check(path: &Path, surveys: usize, memory_mib: u64) -> Result<()> {
    ensure!(surveys > 0, Invalid, "{} names no [[surveys]]", path.display());
    ensure!(
        memory_mib >= MEMORY_MIB_MIN,
        Invalid,
        "memory_mib = {memory_mib} is too little: give at least {MEMORY_MIB_MIN}"
    );
    ensure!(
        memory_mib <= MEMORY_MIB_MAX,
        Invalid,
        "memory_mib = {memory_mib} is more than any machine has: give what this one has"
    );
    Ok(())
}

/// Paths in a file are relative to its directory.
pub(crate) fn at_base(file: &Path) -> impl Fn(&mut PathBuf) + Copy {
    let base = file.parent().unwrap_or(Path::new(""));
    |path| *path = base.join(&*path)
}

/// Unless a file says otherwise.
pub(crate) fn memory_mib() -> u64 {
    512
}

const MEMORY_MIB_MIN: u64 = 16;
/// As a number of bytes it is one that computers can count to.
const MEMORY_MIB_MAX: u64 = 1 << 40;
