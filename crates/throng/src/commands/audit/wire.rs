//! `throng audit wire`.
use anyhow::{Result, bail};
use crate::cli::audit::WireArgs;
use crate::commands::Format;
pub(super) fn run(_: &WireArgs, _: Format) -> Result<()> { bail!("not yet") }
