//! Progress on stderr, for whatever takes more than a moment.

use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar with the time that is left, or nothing where stderr is not a terminal. `noun` says what is counted.
pub fn bar(total: u64, noun: &str) -> Result<ProgressBar> {
    let bar = ProgressBar::new(total);
    bar.set_style(ProgressStyle::with_template(&format!(
        "{{human_pos}} of {{human_len}} {noun} {{wide_bar}} {{percent:>3}} %, {{eta}} left"
    ))?);
    Ok(bar)
}

/// A spinner, for work of unknown length, or nothing where stderr is not a terminal.
pub fn waiting(text: &str) -> Result<ProgressBar> {
    let sign = ProgressBar::new_spinner();
    sign.set_style(ProgressStyle::with_template("{spinner} {msg}, {elapsed}")?);
    sign.set_message(text.to_owned());
    sign.enable_steady_tick(Duration::from_millis(200));
    Ok(sign)
}
