//! The paper's own accounting of a training, to compare with.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};

use super::{LdpSgd, largest};
use crate::Error;
use crate::amplification::blanket::Inequality;
use crate::composition::advanced;

impl LdpSgd {
    /// What the paper's theorems say of the whole training: shuffling by the generic blanket bound, then sampling, then
    /// Theorem advc.
    ///
    /// # Privacy
    /// Proved, and far above [`LdpSgd::guarantee`]. Half of δ is the slack of Theorem advc, and the steps share the other
    /// half; sampling multiplies a step's δ by the share that is asked, and e^ε − 1 too. Refused where Theorem advc is not proved.
    /// # Paper
    /// Section VI, Theorem learning, and Section VII, which prints neither T nor δ nor how δ is split: with δ = 1e-5
    /// and Bennett's inequality, this split has its pattern over m.
    pub fn as_paper(
        &self,
        inequality: Inequality,
        delta: Delta,
    ) -> Result<CentralGuarantee<Replacement>, Error> {
        if self.steps == 0 {
            return Ok(CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO));
        }
        let half = Delta::new(0.5 * delta.value())?;
        advanced(self.step_as_paper(inequality, half)?, self.steps, half)
    }

    /// The largest number of steps of which the paper's theorems say that ε at δ is within `epsilon`; at most 10^12.
    pub fn steps_as_paper(
        &self,
        inequality: Inequality,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<u64, Error> {
        largest(|steps| Ok(self.with_steps(steps).as_paper(inequality, delta)?.epsilon() <= epsilon))
    }

    /// One step, where all of them together may spend `delta`.
    fn step_as_paper(
        &self,
        inequality: Inequality,
        delta: Delta,
    ) -> Result<CentralGuarantee<Replacement>, Error> {
        let share = self.share.value();
        let each = delta.value() / self.steps as f64;
        let shuffled = inequality.epsilon(
            self.crowd,
            Epsilon::new(self.epsilon_local())?,
            Delta::new((each / share).min(1.0))?,
        )?;
        let sampled = (share * shuffled.epsilon().value().exp_m1()).ln_1p() * (1.0 + 1e-14);
        Ok(CentralGuarantee::new(Epsilon::new(sampled)?, Delta::new(each)?))
    }
}
