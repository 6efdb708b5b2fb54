//! How probable it is that a privacy loss exceeds ε, which is not δ.
//!
//! Let P and Q be the laws of what is seen with the respondent's answer and without it. Whoever sees x changes the odds
//! between the two by the factor e^L, L = ln P(x)/Q(x). δ(ε) = E_P[(1 − e^(ε − L))₊] is a mean over how far e^ε is
//! missed; Pr\[L > ε\] is larger, by a factor of 10 to 30 for ordinary surveys: docs/accounting.md, Section 2.

use throng_dp::{CentralGuarantee, Epsilon, Neighbors};

/// An upper bound on the probability that the loss exceeds ε, from the guarantee `smaller`, whose ε' is below ε.
///
/// # Privacy
/// Pr\[L > ε\] ≤ δ'/(1 − e^(ε' − ε)), proved: where L > ε, (1 − e^(ε' − L))₊ is more than 1 − e^(ε' − ε), and its mean
/// is at most δ'. A guarantee has both directions, so this holds for the loss ln P/Q under P, of someone who answered,
/// and for ln Q/P under Q, of someone who did not. Nothing else is asked of P and Q: it holds for whatever the
/// guarantee does. Given one guarantee for each ε' it cannot be improved on, as all mass may lie just above ε.
pub fn exceeded_at_most<N: Neighbors>(epsilon: Epsilon, smaller: CentralGuarantee<N>) -> f64 {
    let share = -(smaller.epsilon().value() - epsilon.value()).exp_m1();
    // Three roundings, each below one part in 2^52. Without a gap nothing is known.
    if share > 0.0 { (smaller.delta().value() / share * (1.0 + 8.0 * f64::EPSILON)).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use throng_dp::{Delta, Removal};

    use super::*;

    fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
        CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    /// P has all that exceeds ε just above it: nothing smaller could be said.
    #[test]
    fn the_bound_is_reached() {
        let (epsilon, mass) = (1.0f64, 1e-3);
        for smaller in [0.0f64, 0.5, 0.9] {
            // P has `mass` on an outcome that Q has mass/e^ε on; all others have a loss below 0.
            let delta = mass - smaller.exp() * mass * (-epsilon).exp();
            let bound = exceeded_at_most(Epsilon::new(epsilon).unwrap(), guarantee(smaller, delta));
            assert!(bound >= mass && bound < mass * (1.0 + 1e-12), "{smaller}: {bound:e}");
        }
    }

    #[test]
    fn a_guarantee_that_is_not_smaller_says_nothing() {
        let epsilon = Epsilon::new(1.0).unwrap();
        assert_eq!(exceeded_at_most(epsilon, guarantee(1.0, 1e-9)), 1.0);
        assert_eq!(exceeded_at_most(epsilon, guarantee(2.0, 1e-9)), 1.0);
        assert_eq!(exceeded_at_most(epsilon, guarantee(0.99, 0.5)), 1.0);
        assert_eq!(exceeded_at_most(epsilon, guarantee(0.5, 0.0)), 0.0);
    }
}
