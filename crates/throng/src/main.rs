//! The program `throng`: reads the command line, runs the command, answers with an exit code.

use std::process::ExitCode;

use clap::Parser;
use throng::cli::Cli;
use throng::{commands, exit};

fn main() -> ExitCode {
    match commands::run(Cli::parse()) {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit::code(&error))
        }
    }
}
