//! RESEARCH: a count-mean sketch whose hash index is hidden. No number of this file is a guarantee.

use throng_dp::{Delta, Epsilon};

use super::sketch::check_hashes;
use super::{others_zero, others_zero_epsilon, others_zero_epsilon_local};
use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, search};

/// RESEARCH, not a guarantee: ε of a count-mean sketch whose hash index is hidden and whose cells are unlinkable.
///
/// # Privacy
/// None proved. The victim's cell lies in a uniformly random row, so only the total over the H rows tells, and
/// the full crowd comes back but for fluctuations: n(1 − z sqrt(H/n))·exp(−z sqrt(mpH/n) − mpH/n) respondents
/// with z = Φ⁻¹(1 − δ/(100H)), m cells per row. Gaps: the size of a row is off by one here and there, the tail of
/// the row weights is taken to be normal, data in which most others collide with the victim in the same rows,
/// and others are taken to hold 0.
pub fn research_hidden_hash_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    hashes: u32,
    cells: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    check_hashes(hashes)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    let crowd = hidden_hash_crowd(n, bit.p, delta.value(), hashes, cells);
    Ok(Epsilon::new(others_zero_epsilon(crowd, &bit, delta.value()))?)
}

/// RESEARCH, not a guarantee: the inverse of [`research_hidden_hash_epsilon`].
pub fn research_hidden_hash_epsilon_local(
    n: u64,
    epsilon_central: Epsilon,
    delta: Delta,
    hashes: u32,
    cells: u32,
) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    check_hashes(hashes)?;
    let (central, delta) = (epsilon_central.value(), delta.value());
    let holds = |local: f64| {
        let bit = RandomizedBit::new(local);
        others_zero(hidden_hash_crowd(n, bit.p, delta, hashes, cells), &bit, central) <= delta
    };
    // More noise is not always better here (mp grows), so start where the noise of a full crowd would end.
    let full = others_zero_epsilon_local(n, central, delta);
    Ok(Epsilon::new(search::largest(central, full, holds))?)
}

fn hidden_hash_crowd(n: u64, p: f64, delta: f64, hashes: u32, cells: u32) -> u64 {
    let (size, rows) = (n as f64, f64::from(hashes));
    let z = throng_dp::normal::upper_quantile((delta / (100.0 * rows)).clamp(1e-300, 0.5));
    let load = f64::from(cells) * p * rows / size;
    let rows_kept = (1.0 - z * (rows / size).sqrt()).max(0.0);
    ((size * rows_kept * (-z * load.sqrt() - load).exp()) as u64).max(1)
}
