//! The paper's working bound: Lemma abcfd, with which all its tables were computed.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::{check_crowd, check_local, check_positive, guarantee, search};
use crate::Error;

/// ε_central of one attribute's shuffled bits.
///
/// # Privacy
/// Removal: a value and its absence (the reference report R_0) differ in one bit, and the bits of a respondent
/// are unlinkable. With λ = 2n/(1 + e^ε_local) and 14 ln(4/δ) ≤ λ ≤ n,
/// ε = sqrt(32 ln(4/δ)/g)·(1 − g/n), g = λ − sqrt(2λ ln(2/δ)).
/// # Paper
/// Lemma abcfd, equation mixnet-bound (Cheu et al. 2019, Corollary 17). It is three to four times above
/// [`super::exact`].
pub fn epsilon(n: u64, epsilon_local: Epsilon, delta: Delta) -> Result<CentralGuarantee<Removal>, Error> {
    check_local(epsilon_local)?;
    let bound = Bound::new(n, delta)?;
    let lambda = bound.lambda(epsilon_local.value());
    if lambda < bound.lambda_min {
        return Err(Error::NotApplicable(format!(
            "the lemma needs 2n/(1 + e^epsilon_local) = {lambda:.4} to be at least 14 ln(4/delta) = {:.4}; \
             lower epsilon_local to {:.4} or raise n to {:.0}",
            bound.lambda_min,
            bound.epsilon_local_max(),
            (bound.n * bound.lambda_min / lambda).ceil(),
        )));
    }
    guarantee(bound.epsilon(lambda), epsilon_local, delta)
}

/// The largest ε_local for which the lemma promises ε_central.
///
/// Where ε_central exceeds all that the lemma's conditions allow (about 1.9), this is the largest ε_local within
/// the conditions.
///
/// # Paper
/// The epsilon columns of all its tables are this inverse, rounded to 0.005.
pub fn epsilon_local(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    let bound = Bound::new(n, delta)?;
    let target = epsilon_central.value();
    let least = bound.epsilon(bound.n);
    if least > target {
        return Err(Error::NotApplicable(format!(
            "with n = {n} the lemma promises no less than {least:.6}, even for epsilon_local = 0; raise \
             epsilon_central or n",
        )));
    }
    let holds = |local: f64| bound.epsilon(bound.lambda(local)) <= target;
    Ok(Epsilon::new(search::largest(0.0, bound.epsilon_local_max(), holds))?)
}

struct Bound {
    n: f64,
    delta: f64,
    lambda_min: f64,
}

impl Bound {
    fn new(n: u64, delta: Delta) -> Result<Self, Error> {
        check_crowd(n)?;
        check_positive(delta)?;
        let (n, delta) = (n as f64, delta.value());
        let lambda_min = 14.0 * (4.0 / delta).ln();
        if lambda_min > n {
            return Err(Error::NotApplicable(format!(
                "the lemma needs n = {n} to be at least 14 ln(4/delta) = {lambda_min:.4}; raise n or delta",
            )));
        }
        Ok(Self { n, delta, lambda_min })
    }

    fn lambda(&self, epsilon_local: f64) -> f64 {
        let odds = (-epsilon_local).exp();
        2.0 * self.n * odds / (1.0 + odds)
    }

    /// Where λ is its smallest, from the safe side.
    fn epsilon_local_max(&self) -> f64 {
        search::largest(0.0, 800.0, |local| self.lambda(local) >= self.lambda_min)
    }

    fn epsilon(&self, lambda: f64) -> f64 {
        let g = lambda - (2.0 * lambda * (2.0 / self.delta).ln()).sqrt();
        (32.0 * (4.0 / self.delta).ln() / g).sqrt() * (1.0 - g / self.n)
    }
}
