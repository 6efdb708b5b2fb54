//! The paper's closed forms: Theorem att-frag-privacy, and what holds of Theorem cor:recFrag.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::{check_crowd, check_local, check_positive, guarantee};
use crate::Error;

/// ε_central = sqrt(64 e^ε_local ln(4/δ)/n).
///
/// # Privacy
/// Removal, one unlinkable bit per attribute, for 1 ≤ ε_local ≤ ln n − ln(14 ln(4/δ)) and δ ≥ n^(−ln n).
/// # Paper
/// Theorem att-frag-privacy: [`super::lemma`], simplified at a cost of about sqrt(2).
pub fn epsilon(n: u64, epsilon_local: Epsilon, delta: Delta) -> Result<CentralGuarantee<Removal>, Error> {
    check_local(epsilon_local)?;
    let epsilon_local_max = conditions(n, delta)?;
    let local = epsilon_local.value();
    if !(1.0..=epsilon_local_max).contains(&local) {
        return Err(Error::NotApplicable(format!(
            "Theorem att-frag-privacy needs epsilon_local between 1 and ln n - ln(14 ln(4/delta)) = \
             {epsilon_local_max:.4}, and it is {local}",
        )));
    }
    let epsilon = (64.0 * local.exp() * (4.0 / delta.value()).ln() / n as f64).sqrt();
    guarantee(epsilon, epsilon_local, delta)
}

/// The largest ε_local for which the theorem promises ε_central, at most the largest within its conditions.
pub fn epsilon_local(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    let epsilon_local_max = conditions(n, delta)?;
    let ln_four = (4.0 / delta.value()).ln();
    let local = (epsilon_central.value().powi(2) * n as f64 / (64.0 * ln_four)).ln();
    if local.is_nan() || local < 1.0 {
        let least = (64.0 * 1f64.exp() * ln_four / n as f64).sqrt();
        return Err(Error::NotApplicable(format!(
            "Theorem att-frag-privacy needs epsilon_local of at least 1, and then promises no less than \
             {least:.6}; raise epsilon_central or n",
        )));
    }
    // The last digits of the logarithm are given away, so that going forward again never exceeds the target.
    Ok(Epsilon::new((local * (1.0 - 1e-15)).min(epsilon_local_max))?)
}

/// What Theorem cor:recFrag promises of report fragments, without its first term.
///
/// # Privacy
/// Removal. All fragments of an attribute together are a post-processing of the backstop's shuffled bits, so
/// their guarantee is the backstop's, sqrt(64 e^ε_backstop ln(4/δ)/n), under the conditions of [`epsilon`] and
/// δ < 1/2.
/// # Paper
/// Theorem cor:recFrag states the minimum of this and sqrt(8 τ ε_f ln²(τ ε_f/δ)/n). That first term is left out
/// because it is false: it lacks a factor e^ε_f, and at n = 1914589, τ = 1, ε_f = 11.965 it claims 0.136 where
/// the exact value is 11.955. The proof also cites the wrong lemma for the second term; post-processing is the
/// reason that holds.
pub fn report_fragments_epsilon(
    n: u64,
    epsilon_backstop: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    if delta.value() >= 0.5 {
        let reason = format!("Theorem cor:recFrag needs delta below 1/2, and it is {delta}");
        return Err(Error::NotApplicable(reason));
    }
    epsilon(n, epsilon_backstop, delta)
}

/// Checks what the theorem asks of n and δ, and answers with the largest ε_local that it covers.
fn conditions(n: u64, delta: Delta) -> Result<f64, Error> {
    check_crowd(n)?;
    check_positive(delta)?;
    let (ln_n, delta) = ((n as f64).ln(), delta.value());
    if delta.ln() < -ln_n * ln_n {
        let least = (-ln_n * ln_n).exp();
        return Err(Error::NotApplicable(format!(
            "Theorem att-frag-privacy needs delta of at least n^(-ln n) = {least:.3e}; raise delta or n",
        )));
    }
    let epsilon_local_max = ln_n - (14.0 * (4.0 / delta).ln()).ln();
    if epsilon_local_max < 1.0 {
        return Err(Error::NotApplicable(format!(
            "Theorem att-frag-privacy covers epsilon_local between 1 and {epsilon_local_max:.4}, which is \
             nothing; raise n to {:.0}",
            (14.0 * (4.0 / delta).ln() * 1f64.exp()).ceil(),
        )));
    }
    Ok(epsilon_local_max)
}
