//! How probable it is that a privacy loss exceeds ε, which is not δ.
//!
//! Let P and Q be the laws of what is seen with the respondent's answer and without it. Whoever sees x changes the odds
//! between the two by the factor e^L, L = ln P(x)/Q(x). δ(ε) = E_P[(1 − e^(ε − L))₊] is a mean over how far e^ε is
//! missed; Pr[L > ε] is larger, by a factor of 10 to 30 for ordinary surveys: docs/accounting.md, Section 2.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors, Removal};

use crate::Error;
use crate::ledger::{Entry, Ledger};
use crate::terms::Terms;

/// The probability that the loss exceeds ε is at most this, if `smaller` holds, whose ε' is below ε.
///
/// # Privacy
/// Pr[L > ε] ≤ δ'/(1 − e^(ε' − ε)), proved: where L > ε, (1 − e^(ε' − L))₊ is more than 1 − e^(ε' − ε), and its mean
/// is at most δ'. A guarantee has both directions, so this holds for the loss ln P/Q under P, of someone who answered,
/// and for ln Q/P under Q, of someone who did not. Nothing else is asked of P and Q: it holds for whatever the
/// guarantee does. Given one guarantee for each ε' it cannot be improved on, as all mass may lie just above ε.
pub fn exceeded_at_most<N: Neighbors>(epsilon: Epsilon, smaller: CentralGuarantee<N>) -> f64 {
    let share = -(smaller.epsilon().value() - epsilon.value()).exp_m1();
    // Three roundings, each below one part in 2^52. Without a gap nothing is known.
    if share > 0.0 { (smaller.delta().value() / share * (1.0 + 8.0 * f64::EPSILON)).min(1.0) } else { 1.0 }
}

impl Terms {
    /// The probability that a release about this many respondents tells more about one of them than the claimed ε allows:
    /// at most this, and 1 if nothing is known.
    ///
    /// # Privacy
    /// [`exceeded_at_most`] of what the same terms guarantee at a smaller ε and a larger δ, so it holds wherever
    /// [`Terms::guarantee`] does: over all data of the others, both directions, overflow and deletion included, for every
    /// encoding and with report fragments.
    pub fn exceeded(&self, respondents: u64) -> f64 {
        let claimed = self.claimed;
        let at = |multiple: f64| {
            let delta = Delta::new(multiple * claimed.delta().value()).ok()?;
            let larger = Self { claimed: CentralGuarantee::new(claimed.epsilon(), delta), ..self.clone() };
            Some(exceeded_at_most(claimed.epsilon(), larger.guarantee(respondents).ok()?.central))
        };
        MULTIPLES.into_iter().filter_map(at).fold(1.0, f64::min)
    }

    /// What the releases of `epochs` epochs, each about this many respondents, guarantee together to someone who answered
    /// in all of them: what a ledger would have booked.
    pub fn series(
        &self,
        respondents: u64,
        epochs: u32,
        delta: Delta,
    ) -> Result<CentralGuarantee<Removal>, Error> {
        let spending = self.spending(&self.guarantee(respondents)?);
        let mut ledger = Ledger::new(CentralGuarantee::new(Epsilon::INFINITE, delta));
        for epoch in 0..u64::from(epochs) {
            ledger.restore("", Entry { survey: String::new(), epoch, spending })?;
        }
        ledger.spent("")
    }
}

/// The guarantee is asked for at these multiples of δ.
///
/// Where δ falls like e^(−λε), the best multiple is (1 + 1/λ)^λ, from 2 to e, and one of the two is within 7 % of it.
const MULTIPLES: [f64; 2] = [2.0, 2.7];

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
