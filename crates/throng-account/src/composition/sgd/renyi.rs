//! LDP-SGD by Rényi divergences: the paper's open question, answered by both ways.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};

use super::{LdpSgd, StepPair};
use crate::Error;

impl LdpSgd {
    /// What the whole training guarantees if its steps are composed as Rényi divergences instead of convolved.
    ///
    /// # Privacy
    /// Replacement, proved: of the pair that bounds a sampled step, the Rényi divergence of each of some orders α, times the
    /// steps, turned into ε = T·D_α + ln(1 − 1/α) − (ln δ + ln α)/(α − 1) (Canonne, Kamath and Steinke 2020, Proposition
    /// 12), the least of them. Never less than what [`LdpSgd::guarantee`] convolves, but for rounding: a divergence of one
    /// order forgets most of the law that it is of. Only for reports that are randomized signs.
    /// # Paper
    /// Section VII.C, open question: "one may get stronger guarantees via Rényi differential privacy accounting".
    pub fn renyi_guarantee(&self, delta: Delta) -> Result<CentralGuarantee<Replacement>, Error> {
        let StepPair::Shuffled(pair) = &self.pair else {
            return Err(Error::NotApplicable(
                "Rényi divergences are computed of randomized signs only".into(),
            ));
        };
        let mut least = Epsilon::new(self.steps as f64 * self.pure_step() * (1.0 + 1e-14))?;
        if delta == Delta::ZERO {
            return Ok(CentralGuarantee::new(least, delta));
        }
        for order in ORDERS {
            let one = pair.renyi_sampled(order, self.share.value())?.value();
            let spread = (1.0 - 1.0 / order).ln() - (delta.value().ln() + order.ln()) / (order - 1.0);
            let epsilon = (self.steps as f64 * one + spread) * (1.0 + 1e-14);
            least = least.min(Epsilon::new(epsilon.max(0.0))?);
        }
        Ok(CentralGuarantee::new(least, delta))
    }
}

/// From coarse guarantees to fine ones; between them the answer changes by a percent or two.
const ORDERS: [f64; 22] = [
    1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 26.0, 33.0, 42.0, 54.0, 70.0, 90.0, 115.0,
    150.0, 200.0, 280.0, 400.0,
];
