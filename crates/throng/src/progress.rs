//! Progress on stderr, for whatever takes more than a moment.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar with the time that is left, or nothing where stderr is not a terminal. `noun` says what is counted.
pub fn bar(total: u64, noun: &str) -> Result<ProgressBar> {
    let bar = ProgressBar::new(total);
    bar.set_style(ProgressStyle::with_template(&format!(
        "{{human_pos}} of {{human_len}} {noun} {{wide_bar}} {{percent:>3}} %, {{eta}} left"
    ))?);
    Ok(bar)
}
