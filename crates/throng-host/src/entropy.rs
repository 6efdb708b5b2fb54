//! The operating system's random numbers.

use crate::error::{Context, Result};
use getrandom::SysRng;
use getrandom::rand_core::{TryRng, UnwrapErr};

/// What all secrets are drawn from, but for the keys of TLS, which AWS-LC draws itself.
pub fn system_rng() -> Result<UnwrapErr<SysRng>> {
    // Once it has worked it does not fail any more.
    SysRng.try_next_u64().context("the operating system has no random numbers")?;
    Ok(UnwrapErr(SysRng))
}
