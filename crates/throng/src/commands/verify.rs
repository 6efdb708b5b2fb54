//! `throng verify`: what anyone can check of a published release, and what nobody can.

use anyhow::Result;

use super::{Format, print};
use crate::cli::verify::VerifyArgs;
use crate::exit::BrokenPromise;
use throng_serve::verify;

/// Checks a release, prints every check, and fails if one of them does not hold.
pub fn run(args: &VerifyArgs, format: Format) -> Result<()> {
    let trusted = match (&args.survey, &args.survey_hash) {
        (Some(path), _) => Some(verify::hash_of(path)?),
        (None, Some(text)) => Some(verify::parse_hash(text)?),
        (None, None) => None,
    };
    let verdict = verify::verify(&args.dir, trusted)?;
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&verdict)? + "\n"))?,
        Format::Text => print(&verdict.to_string())?,
    }
    let failed: Vec<&str> = verdict.failures().map(|check| check.what.as_str()).collect();
    if failed.is_empty() { Ok(()) } else { Err(BrokenPromise(failed.join(", ")).into()) }
}
