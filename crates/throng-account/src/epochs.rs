//! Composition over time: what the releases of several epochs behind one backstop guarantee together.
//!
//! Without a backstop every epoch spends again: [`crate::composition::counts_epsilon`].

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::amplification::exact;
use crate::composition::counts_epsilon;

/// Epochs in which each respondent draws fresh fragments from the backstop of an answer, by permanent coins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackstopSeries {
    /// Honest respondents in each epoch.
    pub honest: u64,
    /// The loss of the backstop.
    pub epsilon_backstop: Epsilon,
    /// The loss of each report fragment.
    pub epsilon_fragment: Epsilon,
    /// Report fragments per epoch: tau.
    pub fragments: u32,
    /// How many epochs.
    pub epochs: u32,
}

/// What is known of the answers from epoch to epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Nothing: anyone may change theirs, come and go.
    MayChange,
    /// The survey has `answer_changes = "never"`: whatever is answered, all epochs are drawn from the first report.
    Kept,
    /// The respondent in question and those who hide them are there in every epoch (and counted by every instance that gets
    /// fragments), each with one answer throughout. Others may do what they like. No ledger can know this: it is an answer
    /// to "what if".
    Steady {
        /// How many these are, the respondent in question included.
        respondents: u64,
    },
}

impl BackstopSeries {
    /// What all releases guarantee together.
    ///
    /// # Privacy
    /// Removal: against having nothing to say in any epoch.
    /// With everybody's permanent coins as data, an epoch's tau sums of the answer's attribute are tau exact pairs at
    /// ε_fragment, whatever others answer, and whoever joins or leaves; fragments are fresh in every epoch, so these
    /// are composed over all. A single epoch is ε_backstop-LDP besides. All epochs are, where the first report counts.
    /// *Steady*: given all that others send, every sum is drawn from the same sum of backstops, so the series has the exact
    /// bound of that, for any number of epochs.
    /// What overflowing envelopes add to δ, they add in every epoch; it is not in here (the ledger counts it).
    pub fn guarantee(&self, answers: Answers, delta: Delta) -> Result<CentralGuarantee<Removal>, Error> {
        let releases = u64::from(self.fragments) * u64::from(self.epochs);
        if releases == 0 {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO));
        }
        let composed = counts_epsilon(self.honest, self.epsilon_fragment, releases, delta)?;
        let smaller = |one: CentralGuarantee<Removal>, other: CentralGuarantee<Removal>| {
            if one.epsilon() < other.epsilon() { one } else { other }
        };
        let whole = CentralGuarantee::new(self.epsilon_backstop, Delta::ZERO);
        Ok(match answers {
            Answers::MayChange if self.epochs > 1 => composed,
            Answers::MayChange | Answers::Kept => smaller(composed, whole),
            Answers::Steady { respondents } => {
                let sums = exact::epsilon_certified(respondents, self.epsilon_backstop, delta)?;
                smaller(sums, smaller(composed, whole))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::epsilon;

    fn series(epochs: u32) -> BackstopSeries {
        BackstopSeries {
            honest: 20_000,
            epsilon_backstop: epsilon(5.0),
            epsilon_fragment: epsilon(2.0),
            fragments: 4,
            epochs,
        }
    }

    #[test]
    fn steady_people_pay_once() {
        let delta = Delta::new(1e-6).unwrap();
        let steady = Answers::Steady { respondents: 15_000 };
        let often = series(100).guarantee(steady, delta).unwrap();
        assert_eq!(often, series(1000).guarantee(steady, delta).unwrap());
        assert_eq!(often, exact::epsilon_certified(15_000, epsilon(5.0), delta).unwrap());
        // One epoch may say less than its backstops do.
        let once = series(1).guarantee(steady, delta).unwrap();
        assert!(once.epsilon() <= often.epsilon());
        // Alone among people who change theirs: the backstop itself.
        let alone = series(1000).guarantee(Answers::Steady { respondents: 1 }, delta).unwrap();
        assert!(alone.epsilon() <= epsilon(5.0) && alone.epsilon().value() > 4.9, "{alone}");
    }

    #[test]
    fn answers_that_may_change_pay_again_and_kept_ones_up_to_the_backstop() {
        let delta = Delta::new(1e-6).unwrap();
        let spent: Vec<f64> = [0, 1, 4, 16]
            .map(|epochs| series(epochs).guarantee(Answers::MayChange, delta).unwrap().epsilon().value())
            .to_vec();
        assert_eq!(spent[0], 0.0);
        assert!(spent.windows(2).all(|w| w[0] < w[1]), "{spent:?}");
        // Four times the epochs cost about twice the epsilon, far from four times.
        assert!((1.8..3.0).contains(&(spent[2] / spent[1])), "{spent:?}");
        let few = |epochs, answers| {
            BackstopSeries { honest: 40, ..series(epochs) }.guarantee(answers, delta).unwrap()
        };
        let floor = few(1000, Answers::Kept);
        assert_eq!((floor.epsilon(), floor.delta()), (epsilon(5.0), Delta::ZERO));
        // No backstop stands behind answers that change, but for a single epoch.
        assert_eq!(few(1, Answers::MayChange).epsilon(), epsilon(5.0));
        assert!(few(30, Answers::MayChange).epsilon().value() > 10.0);
    }
}
