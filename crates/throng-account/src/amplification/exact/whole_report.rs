//! Whole one-hot reports: all bits of a report stay together.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::helpers::{Helpers, largest_local};
use crate::Error;
use crate::amplification::{check_crowd, check_local};

/// ε_central of whole one-hot reports through one shuffler, all bits of a report linked.
///
/// # Privacy
/// Removal, proved. R(e_m) = e^-ε_local R(0) + (1 − e^-ε_local) R(0 | bit m := 1): each other report is, with
/// probability e^-ε_local, as if its value were absent, and those of the second kind are revealed. Only those of
/// the first kind (and the victim) have a bit at the victim's value that hides it, so s = e^-ε_local. All of those
/// hold 0 there, so both directions at a = 0 are all there is, and nothing is lost to a covering.
/// # Paper
/// What Table central_no_attr asks, and answers up to 60 times too high ([`super::super::blanket::central_no_attr`]).
pub fn rappor_whole_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    Helpers::unrandomized(n, epsilon_local.value()).epsilon(epsilon_local, delta)
}

/// The largest ε_local whose [`rappor_whole_epsilon`] is at most ε_central.
pub fn rappor_whole_epsilon_local(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    largest_local(n, epsilon_central, delta, |local| Helpers::unrandomized(n, local))
}
