//! Where the browser is, and how it comes onto a machine that has none.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The browser's program: `THRONG_CHROMIUM`, or what the search path has. Where there is none Debian's is installed, once
/// however many tests ask. A test without a browser fails; it is never skipped.
pub fn chromium() -> PathBuf {
    let (named, path) = (std::env::var_os("THRONG_CHROMIUM"), std::env::var_os("PATH").unwrap_or_default());
    found_or_installed(named.as_deref(), &path, &std::env::temp_dir())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The same for a search path. The lock is in `lock_dir`.
pub fn found_or_installed(named: Option<&OsStr>, path: &OsStr, lock_dir: &Path) -> Result<PathBuf, String> {
    if let Some(named) = named {
        let named = PathBuf::from(named);
        let missing = || format!("THRONG_CHROMIUM names {}, and there is no such file", named.display());
        return named.is_file().then(|| named.clone()).ok_or_else(missing);
    }
    if let Some(found) = find(path) {
        return Ok(found);
    }
    let lock = File::create(lock_dir.join("throng-chromium.lock"));
    let lock =
        lock.and_then(|lock| lock.lock().map(|()| lock)).map_err(|error| advice(&error.to_string()))?;
    // Another test may have installed it meanwhile.
    let installed = find(path).map_or_else(|| install(path), Ok);
    drop(lock);
    installed
}

fn find(path: &OsStr) -> Option<PathBuf> {
    let named =
        |name: &&str| std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file());
    NAMES.iter().find_map(named)
}

fn install(path: &OsStr) -> Result<PathBuf, String> {
    // Another installation on the same machine is waited for.
    let install = ["-o", "DPkg::Lock::Timeout=600", "install", "-y", "--no-install-recommends", "chromium"];
    for arguments in [&["update"][..], &install] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("PATH", path).env("DEBIAN_FRONTEND", "noninteractive");
        let output = command.output().map_err(|error| advice(&format!("apt-get: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(advice(&format!("apt-get {}: {}", arguments.join(" "), said.trim())));
        }
    }
    find(path).ok_or_else(|| advice("apt-get has installed chromium, and there is none on the search path"))
}

fn advice(reason: &str) -> String {
    format!(
        "these tests need a browser, and it could not be installed ({reason}). Install it (as root: apt-get update && \
         apt-get install -y --no-install-recommends chromium), or name a Chromium or Chrome in THRONG_CHROMIUM"
    )
}

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
