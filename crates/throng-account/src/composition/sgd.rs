//! LDP-SGD: many steps, each on a fresh random part of all respondents.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};

use super::sampling::Share;
use super::{Composition, ShuffledPair, tail_share};
use crate::Error;

/// Training in which every step asks a random part of the respondents for randomized gradients.
///
/// # Privacy
/// Replacement. The direction of a report is independent of the data, so a report is randomized response of one
/// sign and the step is bounded by [`ShuffledPair::new`] at the step's crowd, sampled without replacement; the steps
/// are convolved. A respondent who sends several reports in one step is accounted for as one report of the summed
/// ε_local in a crowd of respondents, not of reports, which the paper leaves out. Such a report is no longer a
/// randomized bit, so its step is bounded by [`ShuffledPair::any_randomizer`], with half of the blanket reports.
/// # Paper
/// Section VI, Theorem learning, whose bound (shuffling, then Theorem advc) is 35 to 120 times larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LdpSgd {
    share: Share,
    /// What each respondent of a step sends, as one report: the pair of a step.
    pair: ShuffledPair,
    steps: u64,
}

impl LdpSgd {
    /// `steps` steps with one report of ε_local from each of `crowd` out of `respondents` respondents.
    pub fn new(respondents: u64, crowd: u64, epsilon_local: Epsilon, steps: u64) -> Result<Self, Error> {
        let share = Share::of(crowd, respondents)?;
        Ok(Self { share, pair: ShuffledPair::new(crowd, epsilon_local)?, steps })
    }

    /// `reports` reports in every step, `reports_each` of them from the same respondent, ε_local each.
    pub fn grouped(
        respondents: u64,
        reports: u64,
        reports_each: u32,
        epsilon_local: Epsilon,
        steps: u64,
    ) -> Result<Self, Error> {
        let each = u64::from(reports_each);
        if each == 0 || !reports.is_multiple_of(each) {
            return Err(Error::Parameter {
                what: "the number of reports of one respondent",
                got: each as f64,
                expected: "give a divisor of the number of reports in a step",
            });
        }
        if each == 1 {
            return Self::new(respondents, reports, epsilon_local, steps);
        }
        let crowd = reports / each;
        let share = Share::of(crowd, respondents)?;
        let pair = ShuffledPair::any_randomizer(crowd, epsilon_local.times(reports_each))?;
        Ok(Self { share, pair, steps })
    }

    /// What the whole training guarantees.
    pub fn guarantee(&self, delta: Delta) -> Result<CentralGuarantee<Replacement>, Error> {
        // Without any δ: a step's largest loss, as often as there are steps.
        let pure = self.steps as f64 * self.share.sampled(self.pair.epsilon_local()) * (1.0 + 1e-14);
        let epsilon = if delta == Delta::ZERO || pure == 0.0 {
            Epsilon::new(pure)?
        } else {
            let tail = tail_share(delta, self.steps as f64);
            Composition::new()
                .with(self.pair.sampled(self.share.value(), tail)?, self.steps)
                .epsilon(delta)?
                .min(Epsilon::new(pure)?)
        };
        Ok(CentralGuarantee::new(epsilon, delta))
    }
}
