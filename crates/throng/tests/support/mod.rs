//! What all tests of the program share: starting it, and reading what it says.
#![allow(dead_code)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The program with its arguments, in a directory, without input.
pub(crate) fn command(dir: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throng"));
    command.args(arguments).current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The same, started to ignore Ctrl-C, as a shell without job control or `nohup` starts what runs in the background.
pub(crate) fn deaf_command(dir: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_throng")]);
    command.args(arguments).current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The files of a directory, sorted.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What was printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
