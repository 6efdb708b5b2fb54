//! Membership inference: does a model treat the examples that it was trained on differently from others?
//!
//! Paper: Section VII.C, "Estimating lower bounds through membership inference attacks". The attack is the simplest
//! there is (Yeom et al. 2018): who has a small loss was trained on. [`Losses`] asks three questions about it, which are
//! easily taken for one another:
//!
//! | question | where |
//! |---|---|
//! | how well does the attack do? | [`Losses::roc`] |
//! | would it do as well if nothing leaked? | [`Losses::null`] |
//! | which ε does it refute, and how surely? | [`Losses::limit`] |
//!
//! The best of many thresholds does well by chance: without any leak the advantage of 60,000 members over 10,000 others is
//! 0.007 on average, more than some of what the paper's Table membership_inference has. So no advantage is worth
//! mentioning without its null; and the null is right only if members and others were drawn from one pool. The
//! training and test sets that data come with were not.

mod limit;
mod null;
mod roc;

use throng_dp::{Delta, Epsilon};

use crate::Error;
pub use limit::Limit;
pub use null::Null;
pub use roc::{Point, Roc};

/// A model's losses on examples that it was trained on, and on others from the same pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    members: Vec<f64>,
    others: Vec<f64>,
}

impl Losses {
    /// At least one of each; none may be NaN. An infinite loss is one like any other.
    pub fn new(members: Vec<f64>, others: Vec<f64>) -> Result<Self, Error> {
        for (name, losses) in [("members", &members), ("others", &others)] {
            if losses.is_empty() {
                return Err(Error::Examples(format!("there are no losses of {name}; give at least one")));
            }
            if let Some(i) = losses.iter().position(|loss| loss.is_nan()) {
                return Err(Error::Examples(format!(
                    "loss {i} of the {name} is not a number; compute it from probabilities above 0, or leave it out"
                )));
            }
        }
        // Adding zero turns −0 into 0: the two are one loss.
        let plain = |losses: Vec<f64>| losses.into_iter().map(|loss| loss + 0.0).collect();
        Ok(Self { members: plain(members), others: plain(others) })
    }

    /// Everything together by loss, and whether it is a member's.
    fn pooled(&self) -> Vec<(f64, bool)> {
        let members = self.members.iter().map(|&loss| (loss, true));
        let mut pooled: Vec<_> = members.chain(self.others.iter().map(|&loss| (loss, false))).collect();
        pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        pooled
    }
}

/// The ε that an advantage a = TPR − FPR refutes according to the paper: −ln(1 − a).
///
/// # Privacy
/// Valid under ε-DP, where a ≤ 1 − e^-ε, and about half of what is true: see [`epsilon_tight`]. Both are about the true
/// rates; a measured advantage has an error, which [`Losses::limit`] takes off.
/// # Paper
/// Section VII.C; its text prints −log(a), its table has −ln(1 − a).
pub fn epsilon_as_paper(advantage: f64) -> Result<Epsilon, Error> {
    check_advantage(advantage)?;
    finite_or_infinite(-(-advantage).ln_1p())
}

/// The largest ε that an advantage a = TPR − FPR refutes at δ: ln((1 + a − 2δ)/(1 − a)).
///
/// # Privacy
/// Under (ε, δ)-DP a ≤ (e^ε − 1 + 2δ)/(e^ε + 1), with equality for randomized response, so no more can be said.
pub fn epsilon_tight(advantage: f64, delta: Delta) -> Result<Epsilon, Error> {
    check_advantage(advantage)?;
    // ln(1 + 2(a − δ)/(1 − a)), which keeps the digits of a small a.
    let excess = 2.0 * (advantage - delta.value());
    if excess <= 0.0 {
        return Ok(Epsilon::ZERO);
    }
    finite_or_infinite((excess / (1.0 - advantage)).ln_1p())
}

fn check_advantage(advantage: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&advantage) {
        return Ok(());
    }
    Err(Error::Setting { what: "the advantage", got: advantage, expected: "give a number from 0 to 1" })
}

fn finite_or_infinite(epsilon: f64) -> Result<Epsilon, Error> {
    if epsilon == f64::INFINITY { Ok(Epsilon::INFINITE) } else { Ok(Epsilon::new(epsilon.max(0.0))?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    #[test]
    fn bounds_are_inverses_of_their_inequalities_and_ordered() {
        for a in [0.0, 1e-12, 0.0017, 0.0130, 0.3, 0.9, 0.999_999] {
            let paper = epsilon_as_paper(a).unwrap().value();
            let pure = epsilon_tight(a, Delta::ZERO).unwrap().value();
            assert!(
                (1.0 - (-paper).exp() - a).abs() < 1e-15 && (0.5 * pure).tanh() - a < 1e-15,
                "{a}: {paper} {pure}"
            );
            assert!(paper <= pure && pure <= 2.0 * paper * (1.0 + 1e-12), "{a}: {paper} {pure}");
            let mut last = pure;
            for d in [1e-9, 1e-5, 1e-3, 0.2] {
                let here = epsilon_tight(a, delta(d)).unwrap().value();
                assert!(here <= last);
                if here > 0.0 {
                    let back = (here.exp_m1() + 2.0 * d) / (here.exp() + 1.0);
                    assert!((back - a).abs() < 1e-12, "{a} {d}: {back}");
                } else {
                    assert!(a <= d);
                }
                last = here;
            }
        }
        assert_eq!(epsilon_as_paper(1.0).unwrap(), Epsilon::INFINITE);
        assert_eq!(epsilon_tight(1.0, delta(0.1)).unwrap(), Epsilon::INFINITE);
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(epsilon_as_paper(bad).is_err() && epsilon_tight(bad, Delta::ZERO).is_err());
        }
    }

    /// The paper's table, whose lower bounds come from averages with more digits than it prints; and what its text says
    /// instead, which would be 6.4 for MNIST.
    #[test]
    fn the_papers_table_uses_the_bound_that_its_text_misprints() {
        for (printed_advantage, printed_bound) in [
            (0.0017, 0.00171),
            (0.0130, 0.01306),
            (0.0097, 0.00970),
            (0.0017, 0.00166),
            (0.0122, 0.01228),
            (0.0095, 0.00957),
        ] {
            let at = |a: f64| epsilon_as_paper(a).unwrap().value();
            let (low, high) = (at(printed_advantage - 5e-5), at(printed_advantage + 5e-5));
            assert!(
                (low - 5e-6..=high + 5e-6).contains(&printed_bound),
                "{printed_advantage}: {printed_bound}"
            );
            assert!(-f64::ln(printed_advantage) > 4.0);
        }
    }

    #[test]
    fn nothing_and_not_a_number_are_refused_by_name_and_place() {
        let refusal = |members: &[f64], others: &[f64]| {
            Losses::new(members.to_vec(), others.to_vec()).unwrap_err().to_string()
        };
        assert!(refusal(&[], &[1.0]).contains("no losses of members"));
        assert!(refusal(&[1.0], &[]).contains("no losses of others"));
        assert!(refusal(&[1.0, f64::NAN], &[1.0]).contains("loss 1 of the members"));
        assert!(refusal(&[1.0], &[f64::NAN]).contains("loss 0 of the others"));
        assert!(Losses::new(vec![f64::INFINITY], vec![0.0]).is_ok());
    }
}
