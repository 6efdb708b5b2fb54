//! Several epochs behind one backstop: what all their releases guarantee together.
//!
//! Without a backstop every epoch spends again: [`crate::composition::counts_epsilon`].

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::amplification::exact;
use crate::composition::counts_epsilon;

/// Epochs in which each respondent draws fresh fragments from a permanent backstop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackstopSeries {
    /// Honest respondents in each epoch.
    pub honest: u64,
    /// The backstop.
    pub epsilon_backstop: Epsilon,
    /// Each report fragment.
    pub epsilon_fragment: Epsilon,
    /// Report fragments per epoch: tau.
    pub fragments: u32,
    /// How many epochs.
    pub epochs: u32,
}

/// Who takes part from epoch to epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The same respondents in all of them.
    Identical,
    /// Anyone may come and go, so that two releases can be differenced.
    Changing,
}

impl BackstopSeries {
    /// What all releases guarantee together.
    ///
    /// # Privacy
    /// *Identical*: everything that is seen is a post-processing of the same sums of backstops, so the series has the
    /// guarantee of one release, for any number of epochs.
    /// *Changing*: the difference of two releases shows the fragments of those who came or went. With the backstop as
    /// the data, an epoch's tau sums are tau exact pairs at ε_fragment; they are composed over all epochs. A backstop is
    /// ε_backstop-LDP whatever is done with it, so the smaller of the two holds.
    /// What overflowing envelopes add to δ, they add in every epoch; it is not in here (the ledger counts it).
    pub fn guarantee(
        &self,
        membership: Membership,
        delta: Delta,
    ) -> Result<CentralGuarantee<Removal>, Error> {
        let releases = u64::from(self.fragments) * u64::from(self.epochs);
        if releases == 0 {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO));
        }
        match membership {
            Membership::Identical => exact::epsilon_certified(self.honest, self.epsilon_backstop, delta),
            Membership::Changing => {
                let composed = counts_epsilon(self.honest, self.epsilon_fragment, releases, delta)?;
                Ok(if composed.epsilon() < self.epsilon_backstop {
                    composed
                } else {
                    CentralGuarantee::new(self.epsilon_backstop, Delta::ZERO)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

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
    fn the_same_people_pay_once() {
        let delta = Delta::new(1e-6).unwrap();
        let once = series(1).guarantee(Membership::Identical, delta).unwrap();
        let often = series(100).guarantee(Membership::Identical, delta).unwrap();
        assert_eq!(once, often);
        assert_eq!(once, exact::epsilon_certified(20_000, epsilon(5.0), delta).unwrap());
    }

    #[test]
    fn a_changing_crowd_pays_again_up_to_the_backstop() {
        let delta = Delta::new(1e-6).unwrap();
        let spent: Vec<f64> = [0, 1, 4, 16]
            .map(|epochs| series(epochs).guarantee(Membership::Changing, delta).unwrap().epsilon().value())
            .to_vec();
        assert_eq!(spent[0], 0.0);
        assert!(spent.windows(2).all(|w| w[0] < w[1]), "{spent:?}");
        // Four times the epochs cost about twice the epsilon, far from four times.
        assert!((1.8..3.0).contains(&(spent[2] / spent[1])), "{spent:?}");
        let many = BackstopSeries { honest: 40, ..series(1000) };
        let floor = many.guarantee(Membership::Changing, delta).unwrap();
        assert_eq!((floor.epsilon(), floor.delta()), (epsilon(5.0), Delta::ZERO));
    }
}
