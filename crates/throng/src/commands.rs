//! One file per command.

pub mod account;
#[cfg(feature = "lab")]
pub mod audit;
#[cfg(feature = "lab")]
pub mod conform;
#[cfg(feature = "lab")]
pub mod demo;
#[cfg(feature = "lab")]
mod deployment;
#[cfg(feature = "lab")]
pub mod experiment;
pub mod keygen;
#[cfg(feature = "lab")]
pub mod learn;
pub mod plan;
pub mod release;
pub mod respond;
pub mod serve;
#[cfg(feature = "lab")]
pub mod simulate;
#[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "the laboratory stops in more ways"))]
mod stop;
mod studio;
pub mod verify;

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

#[cfg(feature = "lab")]
use crate::cli::audit::AuditCommand;
use crate::cli::{Cli, Command};
use throng_host::secrecy::keep_memory_off_the_disk;

/// Runs a command as typed.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let format = if cli.json { Format::Json } else { Format::Text };
    if holds_secrets(&cli.command) {
        keep_memory_off_the_disk();
    }
    // The others end by themselves what has to be ended well.
    if !ends_itself(&cli.command) {
        stop::end_on_signal()?;
    }
    match cli.command {
        #[cfg(feature = "lab")]
        Command::Demo(args) => demo::run(&args, format),
        Command::Plan(args) => plan::run(&args, format),
        Command::Account(args) => account::run(&args, format),
        #[cfg(feature = "lab")]
        Command::Experiment(args) => experiment::run(&args, format),
        #[cfg(feature = "lab")]
        Command::Audit(args) => audit::run(&args, format),
        Command::Release(args) => release::run(&args, format),
        Command::Verify(args) => verify::run(&args, format),
        #[cfg(feature = "lab")]
        Command::Conform(args) => conform::run(&args, format),
        Command::Keygen(args) => keygen::run(&args, format),
        Command::Serve(args) => serve::run(&args, format),
        Command::Respond(args) => respond::run(&args, format),
        #[cfg(feature = "lab")]
        Command::Simulate(args) => simulate::run(&args, format),
        #[cfg(feature = "lab")]
        Command::Learn(args) => learn::run(&args, format),
    }
}

/// Whether a command has keys or answers in its memory.
fn holds_secrets(command: &Command) -> bool {
    match command {
        Command::Keygen(_) | Command::Serve(_) | Command::Respond(_) | Command::Release(_) => true,
        #[cfg(feature = "lab")]
        Command::Demo(_) => true,
        _ => false,
    }
}

/// Whether a command listens for Ctrl-C itself.
fn ends_itself(command: &Command) -> bool {
    match command {
        Command::Serve(_) => true,
        #[cfg(feature = "lab")]
        Command::Demo(_) | Command::Learn(_) | Command::Conform(_) => true,
        #[cfg(feature = "lab")]
        Command::Audit(args) => matches!(args.what, AuditCommand::Wire(_)),
        Command::Respond(args) => args.page,
        _ => false,
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

/// Prints a result. A reader who has seen enough (`throng demo | head`) is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print the result"),
    }
}
