//! The exact privacy of summed randomized bits.
//!
//! The analyzer sees of one attribute how many of n shuffled bits are 1. Only this one count depends on the
//! victim (the reference report R_0 is the randomized zero vector), so it is the whole privacy loss, and it is
//! computed rather than bounded: docs/accounting.md, Section 2.
//!
//! Let a of the n − 1 others truly hold a 1, known to the attacker. The count is, up to a known shift, the noise
//! N = Bin(n − 1 − a, p) − Bin(a, p) plus the victim's bit. With f the law of N,
//! D_a(ε) = Σ_k (αf(k) − βf(k − 1))₊ is the δ by which "0" stands out from "1"; the other direction is
//! D_{n−1−a}. The guarantee is the largest D_a over all a.
//!
//! * [`delta_a0`], [`epsilon_a0`], [`epsilon_local_a0`]: a = 0, which is nearly the worst case and very fast;
//! * [`delta_a`]: any a; [`delta_max_over_a`]: all of them, one by one, in small crowds;
//! * [`epsilon_certified`], [`epsilon_local_certified`], [`Curve`]: proved for all a at any size;
//! * [`exceeded_a`], [`exceeded_certified`]: how often the loss exceeds ε, which is not δ;
//! * [`rappor_whole_epsilon`], [`cms_revealed_epsilon`], [`fragments_separate_epsilon`]: what is built of bits;
//! * [`fragments_merged_epsilon_a0`], [`replacement_epsilon_a0`], [`research_hidden_hash_epsilon`]: numbers that
//!   are not guarantees, for comparison.
//!
//! What "proved" means here: the reduction to a sum is proved; the sum is evaluated in floating point with the
//! left-out mass and a bound on the rounding added, but not in interval arithmetic.

mod certify;
mod exceeded;
mod fragments;
mod helpers;
mod hidden_hash;
mod noise;
mod replacement;
mod sketch;
mod tilt;
mod whole_report;

pub use certify::{Curve, certify, epsilon_certified, epsilon_local_certified};
pub use exceeded::{Exceedance, exceeded_a, exceeded_certified};
pub use fragments::{fragments_merged_epsilon_a0, fragments_separate_epsilon};
pub use hidden_hash::{research_hidden_hash_epsilon, research_hidden_hash_epsilon_local};
pub use noise::{delta_a, delta_max_over_a};
pub use replacement::replacement_epsilon_a0;
pub(crate) use sketch::row_epsilon;
pub use sketch::{cms_revealed_epsilon, cms_revealed_epsilon_local};

pub(super) use tilt::Tilt;
pub use whole_report::{rappor_whole_epsilon, rappor_whole_epsilon_local};

use throng_dp::{Delta, Epsilon};

use super::randomized_bit::RandomizedBit;
use super::{check_crowd, check_local, search};
use crate::Error;
use crate::binomial::Binomial;

/// δ at ε when all others truly hold a 0, in O(sqrt(np)).
///
/// # Privacy
/// Not a guarantee, because other data of the others can be slightly worse (in δ by 2% at n = 2000,
/// ε_local = 5.5): use [`Curve`]. Falls when n, p or ε rises, by post-processing.
pub fn delta_a0(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    Ok(Delta::new(others_zero(n, &RandomizedBit::new(epsilon_local.value()), epsilon.value()))?)
}

/// ε at δ when all others truly hold a 0, rounded up; not a guarantee (see [`delta_a0`]).
pub fn epsilon_a0(n: u64, epsilon_local: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    Ok(Epsilon::new(others_zero_epsilon(n, &bit, delta.value()))?)
}

/// The largest ε_local with the given ε and δ when all others truly hold a 0, rounded down; not a guarantee (see
/// [`delta_a0`]).
pub fn epsilon_local_a0(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    Ok(Epsilon::new(others_zero_epsilon_local(n, epsilon_central.value(), delta.value()))?)
}

/// D_0(ε).
///
/// For f = Bin(n − 1, p) the ratio f(j − 1)/f(j) is jq/((n − j)p), and f(j)/(n − j) = h(j)/(nq) for
/// h = Bin(n, p). So D_0 = Σ_j f(j)(α − βjq/((n − j)p))₊ = (αp + βq)/(npq)·Σ_j h(j)(x − j)₊ with
/// x = npα/(αp + βq): an expected shortfall, in which nothing cancels.
fn others_zero(n: u64, bit: &RandomizedBit, epsilon: f64) -> f64 {
    let Some(w) = bit.weights(epsilon) else { return 0.0 };
    if bit.is_noiseless() {
        return 1.0;
    }
    let (size, p, q) = (n as f64, bit.p, bit.q);
    let scale = w.alpha * p + w.beta * q;
    let x = size * p * (w.alpha / scale);
    let ln_delta = (scale / (size * p * q)).ln() + Binomial::new(n, p, q).ln_shortfall(x);
    probability(ln_delta)
}

fn others_zero_epsilon(n: u64, bit: &RandomizedBit, delta: f64) -> f64 {
    search::smallest(0.0, bit.epsilon, |epsilon| others_zero(n, bit, epsilon) <= delta)
}

fn others_zero_epsilon_local(n: u64, epsilon: f64, delta: f64) -> f64 {
    let holds = |local: f64| others_zero(n, &RandomizedBit::new(local), epsilon) <= delta;
    search::largest(epsilon, hopeless(n, epsilon, delta), holds)
}

/// An ε_local so large that no crowd of n can bring it down to ε at this δ (or none that the search should try).
///
/// If nobody flips, the count says it all: δ ≥ (1 − np)(1 − e^(ε − ε_local)), which is almost 1 from here on.
fn hopeless(n: u64, epsilon: f64, delta: f64) -> f64 {
    let unflipped = (n as f64).ln() + 5.0 - (1.0 - delta).max(1e-9).ln();
    epsilon.max(unflipped) + 5.0 - (1.0 - delta).max(1e-9).ln()
}

/// e^x as a probability that is never rounded to a δ of 0.
fn probability(ln: f64) -> f64 {
    ln.exp().clamp(f64::MIN_POSITIVE, 1.0)
}
