//! `throng audit`: tries to break the promises, and says what came of it.

mod central;
mod front;
mod live;
mod local;
mod membership;
mod wire;

use anyhow::{Result, ensure};
use getrandom::rand_core::Rng;
use serde::Serialize;

use super::{Format, print};
use crate::cli::audit::{AuditArgs, AuditCommand, ConfidenceArgs};
use crate::exit::BrokenPromise;
use throng_host::entropy::system_rng;
use throng_lab::audit::Verdict;
use throng_lab::audit::verdict::percent;

/// Audits; a promise that is broken is an error of its own kind, after the result was printed.
pub fn run(args: &AuditArgs, format: Format) -> Result<()> {
    match &args.what {
        AuditCommand::Local(args) => local::run(args, format),
        AuditCommand::Central(args) => central::run(args, format),
        AuditCommand::Wire(args) => wire::run(args, format),
        AuditCommand::Membership(args) => membership::run(args, format),
    }
}

/// The arguments that all audits share, checked.
#[derive(Clone, Copy, Debug)]
struct AuditSettings {
    confidence: f64,
    seed: u64,
}

impl AuditSettings {
    fn check(args: &ConfidenceArgs) -> Result<Self> {
        ensure!(
            args.confidence >= 0.5 && args.confidence <= 1.0 - 1e-9,
            "--confidence is {}; give at least 0.5 and less than 1, for example 0.999",
            args.confidence
        );
        let seed = match args.seed {
            Some(seed) => seed,
            None => system_rng()?.next_u64() >> 32,
        };
        Ok(Self { confidence: args.confidence, seed })
    }

    /// The probability that a kept promise is called broken.
    fn error(self) -> f64 {
        1.0 - self.confidence
    }
}

/// Prints a result, and says by the exit code what it came to.
fn conclude(
    result: &impl Serialize,
    text: impl FnOnce() -> String,
    verdict: Verdict,
    broken: &str,
    format: Format,
) -> Result<()> {
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(result)? + "\n"))?,
        Format::Text => print(&text())?,
    }
    if verdict.is_broken() { Err(BrokenPromise(broken.to_owned()).into()) } else { Ok(()) }
}

/// The last lines of a result.
fn verdict_line(verdict: Verdict, sure: AuditSettings, kept: &str, broken: &str) -> String {
    let confidence = percent(sure.confidence);
    let sentence = match verdict {
        Verdict::Kept => format!(
            "{kept}\nConfidence {confidence}: were all promises kept, one would be called broken with a probability below {:.0e}.\n\
             That nothing was found proves nothing.",
            sure.error()
        ),
        Verdict::Broken => format!("{broken}, at a confidence of {confidence}."),
    };
    format!(
        "\nverdict: {}. {sentence}\nseed {}: the same again with --seed {}\n",
        verdict.word(),
        sure.seed,
        sure.seed
    )
}
