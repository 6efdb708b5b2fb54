//! Report fragments without memoization, drawn from the value itself: what the paper warns of, and the backstop mends.
//!
//! Paper: Section IV, before Algorithm 2. One randomized bit of ε has the variance 1/(4 sinh²(ε/2)).

use crate::Epsilon;

/// How many fragments of ε_fragment it takes to estimate as well as one report of ε_local does:
/// (sinh(ε_local/2)/sinh(ε_fragment/2))², about e^(ε_local − ε_fragment).
///
/// # Privacy
/// That many spend ε_fragment each: far more than ε_local.
/// # Paper
/// "exp(ε_l/ε_f) reports", which is the right exponent for 4 and 2 alone (and there 9.5, not 7, to the digit).
pub fn fragments_without_backstop(epsilon_local: Epsilon, epsilon_fragment: Epsilon) -> f64 {
    sinh_ratio(epsilon_local, epsilon_fragment).powi(2)
}

/// By what factor errors grow if a budget of ε_local is spent on ε_local/ε_fragment fragments instead of on one report.
///
/// # Paper
/// "A factor of roughly sqrt(exp(ε_l/2)/ε_l)", with the exponent of its Theorem att-frag-accuracy before correction: for
/// ε_fragment = 1 it is nearly sqrt(exp(ε_l)/ε_l).
pub fn error_factor_without_backstop(epsilon_local: Epsilon, epsilon_fragment: Epsilon) -> f64 {
    sinh_ratio(epsilon_local, epsilon_fragment) * (epsilon_fragment.value() / epsilon_local.value()).sqrt()
}

fn sinh_ratio(epsilon_local: Epsilon, epsilon_fragment: Epsilon) -> f64 {
    let (whole, part) = (epsilon_local.value() / 2.0, epsilon_fragment.value() / 2.0);
    // sinh x = e^x(1 − e^-2x)/2: no infinity over infinity.
    (whole - part).exp() * (-2.0 * whole).exp_m1() / (-2.0 * part).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variance of the mean of `fragments` unbiased bits, from the probabilities of a randomized bit.
    fn variance(epsilon: f64, fragments: f64) -> f64 {
        let p = 1.0 / (1.0 + epsilon.exp());
        p * (1.0 - p) / (1.0 - 2.0 * p).powi(2) / fragments
    }

    #[test]
    fn so_many_fragments_have_the_variance_of_one_report() {
        for (local, fragment) in [(4.0, 2.0), (8.55, 1.0), (3.0, 0.1), (2.0, 2.0)] {
            let [l, f] = [local, fragment].map(|value| Epsilon::new(value).unwrap());
            let count = fragments_without_backstop(l, f);
            assert!(
                (variance(fragment, count) / variance(local, 1.0) - 1.0).abs() < 1e-9,
                "{local} {fragment}"
            );
            let factor = (variance(fragment, local / fragment) / variance(local, 1.0)).sqrt();
            assert!((error_factor_without_backstop(l, f) / factor - 1.0).abs() < 1e-9, "{local} {fragment}");
        }
        let [four, two] = [4.0, 2.0].map(|value| Epsilon::new(value).unwrap());
        assert!((fragments_without_backstop(four, two) - 9.524).abs() < 1e-3);
    }
}
