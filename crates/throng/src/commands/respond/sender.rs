//! The process that waits and sends: `throng respond` on its state directory, without the answer.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use super::super::Format;
use crate::cli::{MadeArg, RespondArgs};
use throng_respondent::Answer;

/// The arguments of the sender of an answer that was sealed and stored. They tell nothing of the value: not even whether
/// there was one, nor under which label.
fn arguments(args: &RespondArgs, answer: &Answer, format: Format) -> Vec<OsString> {
    let with_path = |flag: &str, path: &Path| {
        let mut argument = OsString::from(flag);
        argument.push(path);
        argument
    };
    let mut arguments = vec!["respond".into(), with_path("--state=", &args.state)];
    arguments.extend(args.credential.as_deref().map(|path| with_path("--credential=", path)));
    if args.show {
        arguments.push("--show".into());
    }
    if format == Format::Json {
        arguments.push("--json".into());
    }
    arguments.push(format!("--made={}", MadeArg::of(answer)).into());
    arguments
}

/// Becomes the sender (exec): the same process, with its number, its terminal and its exit code, but another command line,
/// no standard input, and none of the memory that has seen the value. Returns only if that fails.
#[cfg(unix)]
pub(super) fn become_sender(args: &RespondArgs, answer: &Answer, format: Format) -> Result<()> {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use anyhow::{Context, anyhow};

    let program = std::env::current_exe().context("cannot find this program again")?;
    let failed = Command::new(program)
        .arg0(std::env::args_os().next().unwrap_or_else(|| "throng".into()))
        .args(arguments(args, answer, format))
        .stdin(Stdio::null())
        .exec();
    Err(anyhow!(failed).context(
        "the answer is sealed and stored, but the process that sends it cannot be started: `throng respond --state DIR` \
         sends it",
    ))
}

/// Where a process cannot become another one it goes on as it is.
#[cfg(not(unix))]
pub(super) fn become_sender(_: &RespondArgs, _: &Answer, _: Format) -> Result<()> {
    Ok(())
}
