//! The program `throng`, as its tests start it, and reading what it says.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The program. Cargo tells where it is to tests of the package `throng` alone, so they pass it in:
/// `const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));`
#[derive(Clone, Copy, Debug)]
pub struct Program(&'static str);

impl Program {
    /// The program at a path.
    pub const fn at(path: &'static str) -> Self {
        Self(path)
    }

    /// The program without arguments.
    pub fn command(self) -> Command {
        Command::new(self.0)
    }

    /// The program with its arguments, in a directory, without input.
    pub fn run_in(self, dir: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = self.command();
        command.args(arguments).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// The same, started to ignore Ctrl-C, as a shell without job control or `nohup` starts what runs in the background.
    pub fn run_deaf_in(self, dir: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT; exec \"$0\" \"$@\"", self.0]);
        command.args(arguments).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// A hop, as its operator starts it.
    pub fn shuffler(self, config: &Path) -> Command {
        let mut command = self.command();
        command.args(["serve", "shuffler", "--config"]).arg(config).stdin(Stdio::null());
        command
    }

    /// An analyzer, as its operator starts it.
    pub fn analyzer(self, config: &Path) -> Command {
        let mut command = self.command();
        command.args(["serve", "analyzer", "--config"]).arg(config).stdin(Stdio::null());
        command
    }
}

/// The files of a directory, sorted.
pub fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What was printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
