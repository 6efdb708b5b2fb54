//! One file per command.

pub mod demo;

use crate::cli::{Cli, Command};

/// Runs a command as typed.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let format = if cli.json { Format::Json } else { Format::Text };
    match cli.command {
        Command::Demo(args) => demo::run(&args, format),
    }
}

/// How a command prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
}
