//! Count-mean sketches whose rows are visible: those who report on the same row are the crowd.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::helpers::{Helpers, largest_local};
use crate::Error;
use crate::amplification::{check_crowd, check_local};

/// ε_central of a count-mean sketch with `hashes` hash functions when the attacker learns which one the victim
/// used (from traffic, or because each has its own channel).
///
/// # Privacy
/// Removal, proved: only those who drew the same hash function hide the victim, so s = 1/hashes.
/// # Paper
/// Section III, the "second known approach" to sketches.
pub fn cms_revealed_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    hashes: u32,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    check_hashes(hashes)?;
    Helpers::same_row(n, epsilon_local.value(), 1.0 / f64::from(hashes)).epsilon(epsilon_local, delta)
}

/// The largest ε_local whose [`cms_revealed_epsilon`] is at most ε_central.
pub fn cms_revealed_epsilon_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    hashes: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    check_hashes(hashes)?;
    let share = 1.0 / f64::from(hashes);
    let members = Helpers::same_row(n, epsilon_central.value(), share);
    largest_local(n, epsilon_central, delta, |local| members.with_local(n, local, share))
}

/// The same for any share of the respondents in the victim's row.
pub(crate) fn row_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    share: f64,
) -> Result<Epsilon, Error> {
    Ok(Helpers::same_row(n, epsilon_local.value(), share).epsilon(epsilon_local, delta)?.epsilon())
}

pub(super) fn check_hashes(hashes: u32) -> Result<(), Error> {
    if hashes > 0 {
        return Ok(());
    }
    Err(Error::Parameter { what: "the number of hash functions", got: 0.0, expected: "give at least 1" })
}

#[cfg(test)]
mod tests {
    use super::super::delta_a0;
    use super::*;
    use crate::binomial::Binomial;
    use crate::testing::{delta, epsilon};

    /// For one data of the others, all 0, by its definition: whether coins or coverings prove it, no answer is below,
    /// and none is far above.
    #[test]
    fn a_visible_row_is_not_easier_to_tell_apart_than_promised() {
        for (n, hashes) in [(40u64, 2u32), (3000, 8), (200_000, 64)] {
            for each in [0.001, 0.02, 0.06, 0.5, 2.0] {
                let d = 1e-3 * each;
                let ours =
                    cms_revealed_epsilon(n, epsilon(each), delta(d), hashes).unwrap().epsilon().value();
                let share = 1.0 / f64::from(hashes);
                let members = Binomial::new(n - 1, share, 1.0 - share);
                let exact = |e: f64| -> f64 {
                    let row = |m: u64| delta_a0(m + 1, epsilon(each), epsilon(e)).unwrap().value();
                    let window = members.window(1e-12 * d);
                    (window.start..).zip(&window.pmf).map(|(m, mass)| mass * row(m)).sum()
                };
                assert!(exact(ours) <= d * (1.0 + 1e-9), "{n} {hashes} {each}: {ours} {}", exact(ours));
                let less = 0.96 * ours;
                assert!(exact(less) > d, "{n} {hashes} {each}: {ours} {}", exact(less));
            }
        }
    }
}
